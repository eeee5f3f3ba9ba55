"""Layers: products, convolutions, pools, normalisations, recurrences."""
import numpy as np

from .drawing import FLOAT, INT64
from .elementwise import only_float
from .sizes import Unfit, is_open


def matmul(draw, x):
    only_float(x)
    if x.rank < 2 or is_open(x.shape[-1]):
        raise Unfit
    columns = draw.random.randrange(1, 20)
    if draw.chance(0.5):
        other = draw.any(lambda value: value.rank == 2 and value.shape[0] == x.shape[-1])
        return draw.add("MatMul", [x, other], x.shape[:-1] + (other.shape[1],))
    return draw.add("MatMul", [x, draw.floats((x.shape[-1], columns), 0.5)], x.shape[:-1] + (columns,))


def batched_matmul(draw, x):
    only_float(x)
    if x.rank < 3:
        raise Unfit
    other = draw.any(lambda value: value.shape[:-2] == x.shape[:-2] and value.rank == x.rank and value.shape[-1] == x.shape[-1])
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    turned = draw.add("Transpose", [other], other.shape[:-2] + (other.shape[-1], other.shape[-2]), perm=perm)
    draw.add("MatMul", [x, turned], x.shape[:-1] + (other.shape[-2],))


def gemm(draw, x):
    only_float(x)
    if x.rank != 2:
        raise Unfit
    rows, inner = x.shape if draw.chance(0.7) else x.shape[::-1]
    turned = (rows, inner) != x.shape or (rows == inner and draw.chance(0.3))
    columns = draw.random.randrange(1, 20)
    transposed = draw.chance(0.5)
    weights = draw.floats((columns, inner) if transposed else (inner, columns), 0.5)
    more = draw.random.choice([[], [draw.floats((columns,))], [draw.floats((1, columns))], [draw.floats(())], ["rows"]])
    if more == ["rows"]:
        more = [draw.any(lambda value: value.shape in ((rows, 1), (rows, columns)))]
    factors = {name: draw.random.choice([0.5, 2.0]) for name in ("alpha", "beta") if draw.chance(0.2)}
    draw.add("Gemm", [x, weights, *more], (rows, columns), transA=int(turned), transB=int(transposed), **factors)


def convolve(draw, x):
    only_float(x)
    if x.rank not in (3, 4) or is_open(x.shape[1]):
        raise Unfit
    flat = x.rank - 2
    kernel, stride, pad, dilation = draw.random.choice([(1, 1, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 2, 1, 1), (3, 1, 2, 2), (2, 1, 0, 1)])
    size = [(dim + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for dim in x.shape[2:]]
    if min(size) < 1:
        raise Unfit
    channels = x.shape[1]
    out = draw.random.choice([1, 8, 16, 3, channels])
    groups = draw.random.choice([channels, *(g for g in (2, 4) if channels % g == 0 and out % g == 0)]) if out == channels and draw.chance(0.4) else 1
    inputs = [x, draw.floats((out, channels // groups, *[kernel] * flat), 0.5)] + ([draw.floats((out,))] if draw.chance(0.7) else [])
    return draw.add("Conv", inputs, (x.shape[0], out, *size), kernel_shape=[kernel] * flat, strides=[stride] * flat, pads=[pad] * 2 * flat,
                    dilations=[dilation] * flat, group=groups)


def convolve_back(draw, x):
    only_float(x)
    if x.rank != 4 or is_open(x.shape[1]):
        raise Unfit
    kernel, stride, pad = draw.random.choice([(2, 2, 0), (3, 1, 1), (3, 2, 1)])
    size = [stride * (dim - 1) + kernel - 2 * pad for dim in x.shape[2:]]
    if min(size) < 1:
        raise Unfit
    out = draw.random.choice([1, 4, 8])
    draw.add("ConvTranspose", [x, draw.floats((x.shape[1], out, kernel, kernel), 0.5), draw.floats((out,))], (x.shape[0], out, *size),
             kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


def batch_norm(draw, x):
    only_float(x)
    if x.rank < 2:
        raise Unfit
    channels = x.shape[1]
    return draw.add("BatchNormalization", [x, *(draw.floats((channels,)) for _ in range(3)), draw.floats((channels,), 0.5, 1.0)], x.shape)


def pool(draw, x):
    only_float(x)
    if x.rank != 4:
        raise Unfit
    if draw.chance(0.3):
        return draw.add(draw.random.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], x.shape[:2] + (1, 1))
    kernel, stride, pad = draw.random.choice([(2, 2, 0), (3, 1, 1), (3, 2, 1), (2, 1, 0)])
    up = draw.chance(0.2)
    reach = [dim + 2 * pad - kernel for dim in x.shape[2:]]
    if min(reach) < 0:
        raise Unfit
    size = [(length + stride - 1) // stride + 1 if up else length // stride + 1 for length in reach]
    if up and any((n - 1) * stride >= dim + pad for n, dim in zip(size, x.shape[2:])):
        raise Unfit
    shared = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "ceil_mode": int(up)}
    if draw.chance(0.5):
        return draw.add("AveragePool", [x], x.shape[:2] + tuple(size), count_include_pad=draw.random.randrange(2), **shared)
    return draw.add("MaxPool", [x], x.shape[:2] + tuple(size), exact=x.exact, **shared)


def pool_and_back(draw, x):
    """MaxUnpool writes some places of zeroed memory."""
    only_float(x)
    if x.rank != 4 or not x.exact or any(map(is_open, x.shape)) or min(x.shape[2:]) < 2 or any(dim % 2 for dim in x.shape[2:]):
        raise Unfit
    small = x.shape[:2] + tuple(dim // 2 for dim in x.shape[2:])
    shared = {"kernel_shape": [2, 2], "strides": [2, 2]}
    top, places = draw.add_many("MaxPool", [x], [(small, FLOAT), (small, INT64)], True, **shared)
    draw.hide(places)
    draw.add("MaxUnpool", [top, places], x.shape, exact=True, **shared)


def softmax(draw, x):
    only_float(x)
    draw.add(draw.random.choice(["Softmax", "Softmax", "LogSoftmax"]), [x], x.shape, axis=draw.axis(x.shape))


def layer_norm(draw, x):
    only_float(x)
    if not x.shape:
        raise Unfit
    more = [draw.floats(x.shape[-1:])] if draw.chance(0.7) else []
    draw.add("LayerNormalization", [x, draw.floats(x.shape[-1:]), *more], x.shape, axis=-1, epsilon=0.1)


def channel_norm(draw, x):
    only_float(x)
    if x.rank != 4 or is_open(x.shape[1]):
        raise Unfit
    kind = draw.random.choice(["InstanceNormalization", "LRN", "LpNormalization"])
    if kind == "InstanceNormalization":
        return draw.add(kind, [x, draw.floats(x.shape[1:2]), draw.floats(x.shape[1:2])], x.shape, epsilon=0.1)
    if kind == "LRN":
        return draw.add(kind, [x], x.shape, size=3)
    shifted = draw.add("Add", [draw.add("Abs", [x], x.shape), draw.floats(x.shape[1:2] + (1, 1), 0.2, 0.7)], x.shape)
    return draw.add(kind, [shifted], x.shape, axis=1, p=2)


def resize(draw, x):
    only_float(x)
    if x.rank != 4 or any(map(is_open, x.shape[2:])):
        raise Unfit
    width = draw.random.choice([1, 2])
    scales = draw.constant(np.array([1, 1, 2, width], dtype=np.float32))
    mode = draw.random.choice(["nearest", "linear"])
    draw.add("Resize", [x, "", scales], x.shape[:2] + (x.shape[2] * 2, x.shape[3] * width), mode=mode,
             coordinate_transformation_mode=draw.random.choice(["asymmetric", "half_pixel"]), nearest_mode="floor")


def blocks(draw, x):
    only_float(x)
    if x.rank != 4 or any(map(is_open, x.shape[1:])):
        raise Unfit
    n, c, h, w = x.shape
    if c % 4 == 0 and draw.chance(0.5):
        return draw.add("DepthToSpace", [x], (n, c // 4, 2 * h, 2 * w), blocksize=2, mode=draw.random.choice(["DCR", "CRD"]), exact=x.exact)
    if h % 2 or w % 2:
        raise Unfit
    return draw.add("SpaceToDepth", [x], (n, 4 * c, h // 2, w // 2), blocksize=2, exact=x.exact)


def einsum(draw, x):
    only_float(x)
    if x.rank != 3:
        raise Unfit
    other = draw.any(lambda value: value.rank == 3 and value.shape[0] == x.shape[0] and value.shape[2] == x.shape[2])
    draw.add("Einsum", [x, other], (x.shape[0], x.shape[1], other.shape[1]), equation="bik,bjk->bij")


def recurrent(draw, x):
    only_float(x)
    if x.rank != 3 or is_open(x.shape[2]) or int(x.shape[0]) > 8:
        raise Unfit
    kind, gates = draw.random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = draw.random.choice(["forward", "reverse", "bidirectional"])
    ways, hidden = 2 if direction == "bidirectional" else 1, draw.random.randrange(1, 6)
    weights = [draw.floats((ways, gates * hidden, x.shape[2]), 0.5), draw.floats((ways, gates * hidden, hidden), 0.5)]
    if draw.chance(0.5):
        weights.append(draw.floats((ways, 2 * gates * hidden), 0.3))
    state = ((ways, x.shape[1], hidden), FLOAT)
    outputs = [((x.shape[0], ways, x.shape[1], hidden), FLOAT), state] + ([state] if kind == "LSTM" else [])
    more = {"linear_before_reset": draw.random.randrange(2)} if kind == "GRU" else {}
    draw.add_many(kind, [x, *weights], outputs, hidden_size=hidden, direction=direction, **more)


WAYS = {matmul: 2, batched_matmul: 0.7, gemm: 1.2, convolve: 3, convolve_back: 0.4, batch_norm: 0.7, pool: 1.5, pool_and_back: 0.4, softmax: 1, layer_norm: 1,
        channel_norm: 0.5, resize: 0.4, blocks: 0.4, einsum: 0.3, recurrent: 0.6}
