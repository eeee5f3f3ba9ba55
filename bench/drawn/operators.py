"""Single operators for generated_networks.py --operators: one node over a tensor of 10 kB to 10 MB whose rank, sizes, axes and attributes are drawn."""
import math

import numpy as np
from onnx import TensorProto

INT64, INT32 = TensorProto.INT64, TensorProto.INT32


def dims_of(g, rank, least=2500, most=2500000):
    """Sizes whose product is about what is drawn, evenly over its logarithm: axes of all lengths, some of them powers of two."""
    r = g.r
    wanted, dims = math.exp(r.uniform(math.log(least), math.log(most))), []
    for left in range(rank, 1, -1):
        mean = max(2.0, wanted ** (1 / left))
        size = max(2, round(mean * math.exp(r.uniform(-1, 1))))
        size = 2 ** round(math.log2(size)) if r.random() < 0.4 else size
        dims.append(size)
        wanted = max(2.0, wanted / size)
    dims.append(max(2, round(wanted)))
    r.shuffle(dims)
    return dims


def tensor(g, type=TensorProto.FLOAT, ranks=(1, 2, 3, 4)):
    return g.input(dims_of(g, g.r.choice(ranks)), type)


def picture(g, channels=(1, 3, 16, 24, 64), most=400000):
    """Images, or rows of a sequence."""
    n, c, axes = g.r.choice([1, 1, 2, 8]), g.r.choice(channels), g.r.choice([1, 2, 2, 2])
    side = max(5, int((most / n / c * g.r.uniform(0.02, 1)) ** (1 / axes)))
    return g.input([n, c] + [side + g.r.randint(0, 5) for _ in range(axes)])


def axis(g, x):
    return g.r.randrange(len(g.dims(x)))


def places(g, dims, below):
    return g.constant(g.numbers.integers(-below, below, dims))


def unary(op, type=TensorProto.FLOAT, **attributes):
    return lambda g: g.node(op, [tensor(g, type)], **attributes)


def joined(op, type=TensorProto.FLOAT):
    """Two tensors of one shape, or the second spread over some axes of the first."""
    def make(g):
        x = tensor(g, type)
        spread = g.r.random() < 0.5
        return g.node(op, [x, g.input([1 if spread and g.r.random() < 0.5 else size for size in g.dims(x)], type)])
    return make


def reduced(op, type=TensorProto.FLOAT):
    def make(g):
        x = tensor(g, type)
        axes = sorted(g.r.sample(range(len(g.dims(x))), g.r.randint(1, max(1, len(g.dims(x)) - 1))))
        keep = g.r.randint(0, 1)
        if op == "ReduceSum":
            return g.node(op, [x, g.constant(np.array(axes, np.int64))], keepdims=keep)
        return g.node(op, [x], axes=axes, keepdims=keep)
    return make


def along(op, type=TensorProto.FLOAT, ranks=(1, 2, 3, 4), **attributes):
    def make(g):
        x = tensor(g, type, ranks)
        return g.node(op, [x], axis=axis(g, x), **{key: g.r.choice(values) for key, values in attributes.items()})
    return make


def mean_variance(g):
    x = tensor(g, ranks=(3, 4))
    axes = [0, 2, 3][:len(g.dims(x)) - 1] if g.r.random() < 0.5 else sorted(g.r.sample(range(len(g.dims(x))), g.r.randint(1, 3)))
    return g.node("MeanVarianceNormalization", [x], axes=axes)


def layer_norm(g):
    x = tensor(g, ranks=(2, 3, 4))
    first = g.r.randrange(1, len(g.dims(x)))
    return g.node("LayerNormalization", [x, g.weight(*g.dims(x)[first:]), g.weight(*g.dims(x)[first:])], axis=first)


def instance_norm(g):
    return g.instance_norm(picture(g))


def batch_norm(g):
    return g.norm(picture(g))


def response(g):
    dims = [g.r.choice([1, 2]), g.r.choice([3, 16, 64]), g.r.randint(8, 70), g.r.randint(8, 70)]
    return g.node("LRN", [g.input(dims)], size=g.r.choice([3, 5]))


def top_k(g, type=TensorProto.FLOAT):
    x = tensor(g, type)
    place = axis(g, x)
    kept = g.r.choice([1, 2, 5, 10, 50, 100, 1000, g.dims(x)[place]])
    values, found = g.node("TopK", [x, g.constant(np.array([min(kept, g.dims(x)[place])], np.int64))], 2, axis=place, largest=g.r.randint(0, 1))
    g.output(found)
    return values


def gather(g):
    x = tensor(g)
    place = axis(g, x)
    count = g.r.choice([1, 7, g.dims(x)[place], min(1000, 2 * g.dims(x)[place])])
    return g.node("Gather", [x, places(g, [count], g.dims(x)[place])], axis=place)


def indices_for(g, x, place):
    dims = [size if g.r.random() < 0.6 else max(1, size // 2) for size in g.dims(x)]
    return places(g, dims, g.dims(x)[place]), dims


def gather_elements(g):
    x = tensor(g)
    place = axis(g, x)
    return g.node("GatherElements", [x, indices_for(g, x, place)[0]], axis=place)


def scatter_elements(g):
    """Indices along the axis are all different, so that the order of updates tells nothing, or updates are added."""
    x = tensor(g)
    place, dims = axis(g, x), g.dims(x)
    adds = g.r.random() < 0.5
    if adds:
        found, dims = indices_for(g, x, place)
    else:
        found = g.constant(np.argsort(g.numbers.random(dims), axis=place))
    return g.node("ScatterElements", [x, found, g.input(dims)], axis=place, reduction="add" if adds else "none")


def tuples(g, x):
    depth, count = g.r.randint(1, len(g.dims(x))), g.r.choice([10, 100, 2000])
    numbers = np.stack([g.numbers.integers(0, size, count) for size in g.dims(x)[:depth]], -1)
    return g.constant(np.unique(numbers, axis=0)), depth


def gather_nd(g):
    x = tensor(g)
    return g.node("GatherND", [x, tuples(g, x)[0]])


def scatter_nd(g):
    x = tensor(g)
    found, depth = tuples(g, x)
    return g.node("ScatterND", [x, found, g.input([g.dims(found)[0], *g.dims(x)[depth:]])])


def compress(g):
    x = tensor(g)
    place = axis(g, x)
    flags = g.numbers.random(g.dims(x)[place]) < g.r.choice([0.1, 0.5, 0.9])
    flags[0] = True
    made, = g.made("Compress", [x, g.constant(flags)], 1, "", axis=place)
    return g.known(made, TensorProto.FLOAT, [int(flags.sum()) if i == place else size for i, size in enumerate(g.dims(x))])


def non_zero(g):
    x = tensor(g)
    made, = g.made("NonZero", [g.node("Relu", [x])], 1, "")
    return g.known(made, INT64, [len(g.dims(x)), None])


def unique(g, type=TensorProto.FLOAT):
    x = g.input([g.r.choice([2500, 20000, 100000, 300000])], type)
    made = g.made("Unique", [x], 4, "", sorted=g.r.choice([1, 1, 0]))
    g.output(g.known(made[2], INT64, g.dims(x)))
    return g.known(made[0], type, [None])


def one_hot(g):
    classes = g.r.choice([2, 10, 100, 1000])
    x = g.input([max(1, g.r.choice([5000, 50000, 500000]) // classes), g.r.choice([1, 4])], INT64)
    return g.node("OneHot", [x, g.constant(np.array([classes], np.int64)), g.constant(np.array([0, 1], np.float32))], axis=g.r.choice([-1, -1, 0, 1]))


def cumulated(g, type=TensorProto.FLOAT):
    x = tensor(g, type)
    return g.node("CumSum", [x, g.constant(np.int64(axis(g, x)))], exclusive=g.r.randint(0, 1), reverse=g.r.randint(0, 1))


def triangle(g):
    return g.node("Trilu", [tensor(g, ranks=(2, 3)), g.constant(np.int64(g.r.choice([0, 1, -2])))], upper=g.r.randint(0, 1))


def tile(g):
    x = g.input(dims_of(g, g.r.randint(1, 4), 500, 300000))
    return g.node("Tile", [x, g.constant(np.array([g.r.choice([1, 2, 3]) for _ in g.dims(x)], np.int64))])


def expand(g):
    wanted = dims_of(g, g.r.randint(2, 4))
    some = set(g.r.sample(range(len(wanted)), g.r.randint(1, len(wanted) - 1)))
    x = g.input([1 if i in some else size for i, size in enumerate(wanted)])
    return g.node("Expand", [x, g.constant(np.array(wanted, np.int64))])


def concat(g):
    x = tensor(g)
    place = axis(g, x)
    others = [g.input([g.r.choice([1, 4, size]) if i == place else size for i, size in enumerate(g.dims(x))]) for _ in range(g.r.randint(1, 3))]
    return g.node("Concat", [x, *others], axis=place)


def split(g):
    x = tensor(g)
    place = axis(g, x)
    first = g.r.randrange(1, g.dims(x)[place])
    one, other = g.node("Split", [x, g.constant(np.array([first, g.dims(x)[place] - first], np.int64))], 2, axis=place)
    g.output(one)
    return other


def cut(g):
    x = tensor(g)
    place, step = axis(g, x), g.r.choice([1, 1, 2, -1])
    size = g.dims(x)[place]
    ends = (0, size - size // 4) if step > 0 else (size - 1, -size - 1)
    return g.node("Slice", [x, *(g.constant(np.array([value], np.int64)) for value in (*ends, place, step))])


def pad(g):
    x = tensor(g)
    sizes = [g.r.choice([0, 1, 1]) for _ in g.dims(x)] * 2
    return g.node("Pad", [x, g.constant(np.array(sizes, np.int64))], mode=g.r.choice(["constant", "reflect", "edge"]))


def transpose(g):
    x = tensor(g, ranks=(2, 3, 4))
    order = list(range(len(g.dims(x))))
    g.r.shuffle(order)
    return g.node("Transpose", [x], perm=order)


def blocks(op):
    def make(g):
        n, size, c, h, w = g.r.choice([1, 2]), g.r.choice([2, 3]), g.r.choice([3, 16, 24]), g.r.randint(10, 60), g.r.randint(10, 60)
        dims, more = ([n, c * size * size, h, w], {"mode": g.r.choice(["DCR", "CRD"])}) if op == "DepthToSpace" else ([n, c, h * size, w * size], {})
        return g.node(op, [g.input(dims)], blocksize=size, **more)
    return make


def turned_back(g):
    dims = dims_of(g, 3)
    return g.node("ReverseSequence", [g.input(dims), g.constant(g.numbers.integers(1, dims[0] + 1, dims[1]))], time_axis=0, batch_axis=1)


def where(g):
    x = tensor(g)
    return g.node("Where", [g.node("Less", [x, g.constant(np.float32(0))]), x, g.input(g.dims(x) if g.r.random() < 0.5 else [1])])


def pooled(op, **attributes):
    def make(g):
        x = picture(g)
        axes, size = len(g.dims(x)) - 2, g.r.choice([2, 3, 5])
        return g.node(op, [x], kernel_shape=[size] * axes, strides=[g.r.choice([1, 2])] * axes, pads=[g.r.choice([0, size // 2])] * 2 * axes, **attributes)
    return make


def over_all(op):
    return lambda g: g.node(op, [picture(g)])


def small_products(g):
    r, m, k, n = g.r, *(g.r.choice([1, 3, 4, 8, 9, 16, 17, 32, 64]) for _ in range(3))
    batch = max(2, r.choice([10000, 100000, 400000]) // max(m * k, k * n, m * n))
    turned = r.random() < 0.5
    left, right = g.input([batch, m, k]), g.input([batch, n, k] if turned else [batch, k, n])
    return g.node("MatMul", [left, g.node("Transpose", [right], perm=[0, 2, 1]) if turned else right])


def product(g):
    m, k, n = (g.r.choice([1, 2, 7, 16, 33, 64, 100, 256, 500]) for _ in range(3))
    if g.r.random() < 0.5:
        return g.node("MatMul", [g.input([m, k]), g.weight(k, n)])
    a, b = g.r.randint(0, 1), g.r.randint(0, 1)
    return g.node("Gemm", [g.input([k, m] if a else [m, k]), g.weight(n, k) if b else g.weight(k, n), g.weight(n)], transA=a, transB=b)


def cast(source, target):
    return lambda g: g.node("Cast", [tensor(g, source)], to=target)


def prelu(g):
    x = picture(g)
    return g.node("PRelu", [x, g.weight(*([g.dims(x)[1]] + [1] * (len(g.dims(x)) - 2)))])


def clipped(g):
    return g.node("Clip", [tensor(g, INT64), g.constant(np.int64(2)), g.constant(np.int64(7))])


def quantised(g):
    return g.node("QuantizeLinear", [tensor(g), g.constant(np.float32(0.03)), g.constant(np.uint8(128))])


def dequantised(g):
    x = g.node("QuantizeLinear", [tensor(g), g.constant(np.float32(0.03)), g.constant(np.uint8(128))])
    return g.node("DequantizeLinear", [x, g.constant(np.float32(0.05)), g.constant(np.uint8(7))])


def compared(op, type=TensorProto.FLOAT):
    return lambda g: g.node("Cast", [joined(op, type)(g)], to=INT32)


FLOAT_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
UNARY = ("Abs", "Neg", "Floor", "Sign", "Sqrt", "Exp", "Erf", "Tanh", "Sigmoid", "Softplus", "Softsign", "Elu", "Selu", "Celu", "ThresholdedRelu", "HardSigmoid",
         "HardSwish", "LeakyRelu", "Shrink", "Sin", "Reciprocal")
OPERATORS = {
    **{op: reduced(op) for op in FLOAT_REDUCTIONS},
    **{f"{op}_int32": reduced(op, INT32) for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL1", "ReduceSumSquare")},
    **{f"{op}_int64": reduced(op, INT64) for op in ("ReduceSum", "ReduceMax", "ReduceMin")},
    **{op: along(op, keepdims=[0, 1]) for op in ("ArgMax", "ArgMin")}, "ArgMax_int32": along("ArgMax", INT32, keepdims=[0, 1]),
    **{op: along(op) for op in ("Softmax", "LogSoftmax", "Hardmax")}, "LpNormalization": along("LpNormalization", p=[1, 2]),
    "MeanVarianceNormalization": mean_variance, "LayerNormalization": layer_norm, "InstanceNormalization": instance_norm, "BatchNormalization": batch_norm,
    "LRN": response, "TopK": top_k, "TopK_int64": lambda g: top_k(g, INT64), "Gather": gather, "GatherElements": gather_elements,
    "ScatterElements": scatter_elements, "GatherND": gather_nd, "ScatterND": scatter_nd, "Compress": compress, "NonZero": non_zero, "Unique": unique,
    "Unique_int64": lambda g: unique(g, INT64), "OneHot": one_hot, "CumSum": cumulated, "CumSum_int64": lambda g: cumulated(g, INT64), "Trilu": triangle,
    "Tile": tile, "Expand": expand, "Concat": concat, "Split": split, "Slice": cut, "Pad": pad, "Transpose": transpose, "DepthToSpace": blocks("DepthToSpace"),
    "SpaceToDepth": blocks("SpaceToDepth"), "ReverseSequence": turned_back, "Where": where, "MaxPool": pooled("MaxPool"), "AveragePool": pooled("AveragePool"),
    "LpPool": pooled("LpPool", p=2), "LpPool_1": pooled("LpPool", p=1), **{op: over_all(op) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    "MatMul_small": small_products, "MatMul": product, "PRelu": prelu, "Clip_int64": clipped, "QuantizeLinear": quantised, "DequantizeLinear": dequantised,
    "Cast_to_int64": cast(TensorProto.FLOAT, INT64), "Cast_from_int64": cast(INT64, TensorProto.FLOAT), "Cast_to_int32": cast(INT64, INT32),
    **{op: unary(op) for op in UNARY}, "Abs_int64": unary("Abs", INT64), "Neg_int64": unary("Neg", INT64),
    **{op: joined(op) for op in ("Add", "Mul", "Div", "Max", "Min", "Mean")}, **{f"{op}_int64": joined(op, INT64) for op in ("Add", "Mul", "Sub", "Max")},
    "Equal_int64": compared("Equal", INT64), "Greater": compared("Greater"),
}
