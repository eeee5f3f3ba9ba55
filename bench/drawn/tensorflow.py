"""The families of drawn_networks.py as converters from TensorFlow write them: channels last, masks by Where and Cast, OneHot, Expand."""
import numpy as np
from onnx import TensorProto

from drawn.sequences import heads


def tensorflow_image(g):
    """Data with the channels last, Transposes around, Pad, BatchNormalization by itself."""
    r = g.r
    side = r.choice([48, 64, 96])
    t = g.node("Transpose", [g.input([1, side, side, 3])], perm=[0, 3, 1, 2])
    for i in range(r.randint(3, 7)):
        wide = r.choice([16, 24, 32, 48, 64])
        stride = r.choice([1, 2]) if min(g.dims(t)[2:]) > 10 else 1
        if stride == 2 and r.random() < 0.7:
            t = g.conv(g.pad(t, [0, 0, 1, 1], "constant"), wide, 3, stride=2, pads="VALID", bias=False)
        else:
            t = g.conv(t, wide, r.choice([1, 3, 5]), stride=stride, pads=r.choice(["SAME_UPPER", "same"]), bias=False)
        t = g.node("Transpose", [t], perm=[0, 2, 3, 1])
        if r.random() < 0.5:
            t = g.node("Add", [g.node("Mul", [t, g.weight(wide)]), g.weight(wide)])
        else:
            t = g.node("Add", [t, g.weight(wide)])
        t = g.node("Min", [g.node("Max", [t, g.constant(np.float32(0))]), g.constant(np.float32(6))]) if r.random() < 0.4 else g.node("Relu", [t])
        t = g.node("Transpose", [t], perm=[0, 3, 1, 2])
        if r.random() < 0.6:
            t = g.norm(g.conv(t, g.dims(t)[1], 3, groups=g.dims(t)[1], pads="SAME_UPPER", bias=False))
            t = g.node("Relu", [t])
    t = g.node("Transpose", [t], perm=[0, 2, 3, 1])
    t = g.node("ReduceMean", [t], axes=[1, 2], keepdims=0)
    return g.node("Softmax", [g.dense(t, r.choice([10, 1001]))])


def tensorflow_1d(g):
    """Convolutions over one axis with Reshape, Unsqueeze and Squeeze around; letters by OneHot."""
    r = g.r
    length, letters = r.choice([100, 256, 600]), r.choice([20, 26, 64])
    if r.random() < 0.5:
        t = g.node("OneHot", [g.input([1, length], TensorProto.INT64), g.constant(np.int64(letters)), g.constant(np.array([0, 1], np.float32))])
    else:
        t = g.input([1, length, letters])
    for _ in range(r.randint(2, 5)):
        wide = r.choice([32, 64, 96, 128])
        if r.random() < 0.5:
            u = g.node("Unsqueeze", [g.node("Transpose", [t], perm=[0, 2, 1]), g.constant(np.array([2]))])
            u = g.node("Squeeze", [g.conv(u, wide, (1, r.choice([3, 5, 9])), pads="SAME_UPPER"), g.constant(np.array([2]))])
        else:
            u = g.reshape(g.node("Transpose", [t], perm=[0, 2, 1]), [1, g.dims(t)[2], 1, g.dims(t)[1]])
            u = g.conv(u, wide, (1, r.choice([3, 5, 9])), pads="SAME_UPPER")
            u = g.reshape(u, [1, wide, g.dims(u)[3]])
        t = g.node("Transpose", [g.act(u)], perm=[0, 2, 1])
    bias = g.node("Expand", [g.weight(1, 1, g.dims(t)[2]), g.constant(np.array(g.dims(t)))])
    return g.dense(g.node("Add", [t, bias]), r.choice([2, 20]))


def separable_1d(g):
    """Depthwise and pointwise convolutions over one axis as convolutions over two, the second of size one."""
    r = g.r
    wide, length = r.choice([24, 40, 64, 80]), r.choice([100, 256, 500, 980])
    t = g.input([1, length, wide])
    for _ in range(r.randint(3, 6)):
        u = g.node("Transpose", [g.node("Unsqueeze", [t, g.constant(np.array([1]))])], perm=[0, 3, 1, 2])
        wide = g.dims(u)[1]
        u = g.conv(u, wide, (1, r.choice([3, 5, 9, 13])), stride=(1, r.choice([1, 1, 2])), groups=wide, pads="SAME_UPPER", bias=False)
        u = g.conv(u, r.choice([32, 64, 96, 128]), 1, bias=False)
        u = g.node("Squeeze", [g.node("Transpose", [u], perm=[0, 2, 3, 1]), g.constant(np.array([1]))])
        t = g.node("Relu", [g.node("Add", [u, g.weight(g.dims(u)[2])])])
    return g.node("Softmax", [g.dense(g.node("ReduceMean", [t], axes=[1], keepdims=0), r.choice([12, 35]))])


def one_hot_tables(g):
    """Tables looked up by OneHot and MatMul, as old estimators do, then dense layers."""
    r = g.r
    batch, parts = r.choice([1, 16, 64]), []
    for _ in range(r.randint(2, 5)):
        letters = r.choice([20, 64, 200, 500])
        places = r.choice([[batch], [batch, r.choice([4, 10, 24])]])
        index = g.node("Cast", [g.input(places, TensorProto.INT64)], to=TensorProto.INT32)
        hot = g.node("OneHot", [index, g.constant(np.int32(letters)), g.constant(np.array([0, 1], np.float32))], axis=-1)
        found = g.node("MatMul", [hot, g.weight(letters, r.choice([8, 16, 32, 64]))])
        if len(places) == 2:
            found = g.node("ReduceSum", [found, g.constant(np.array([1]))], keepdims=0)
        parts.append(found)
    t = g.node("Concat", parts, axis=-1)
    for _ in range(r.randint(1, 3)):
        t = g.act(g.dense(t, r.choice([64, 128, 256])))
    return g.node("Sigmoid", [g.dense(t, 1)])


def masked_tokens(g):
    """Tokens whose padding is found by Equal, tiled to masks by Expand and Cast, and kept out by Where; then their masked mean."""
    r = g.r
    batch, length, count = r.choice([1, 2, 4]), r.choice([20, 48, 96]), r.choice([2, 4, 8])
    wide = count * r.choice([16, 32])
    tokens = g.input([batch, length], TensorProto.INT64)
    real = g.node("Not", [g.node("Equal", [tokens, g.constant(np.int64(0))])])
    x = g.node("Gather", [g.weight(50, wide), tokens])
    square = g.node("Expand", [g.reshape(real, [batch, 1, 1, length]), g.constant(np.array([batch, 1, length, length]))])
    for _ in range(r.randint(1, 3)):
        q, k, v = (heads(g, g.dense(x, wide), count) for _ in range(3))
        scores = g.node("Mul", [g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])]), g.constant(np.float32(0.25))])
        scores = g.node("Where", [square, scores, g.constant(np.float32(-1e9))])
        mixed = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
        mixed = g.reshape(g.node("Transpose", [mixed], perm=[0, 2, 1, 3]), [batch, length, wide])
        x = g.layer_norm(g.node("Add", [x, g.dense(mixed, wide)]))
        x = g.layer_norm(g.node("Add", [x, g.dense(g.act(g.dense(x, 2 * wide), "Relu"), wide)]))
    kept = g.node("Unsqueeze", [g.node("Cast", [real], to=TensorProto.FLOAT), g.constant(np.array([2]))])
    total = g.node("ReduceSum", [g.node("Mul", [x, kept]), g.constant(np.array([1]))], keepdims=0)
    count = g.node("Add", [g.node("ReduceSum", [kept, g.constant(np.array([1]))], keepdims=0), g.constant(np.float32(1e-6))])
    return g.dense(g.node("Div", [total, count]), r.choice([2, 10]))


def scaled_convolutions(g):
    """BatchNormalization written as Mul and Add, before and behind convolutions, in both layouts."""
    r = g.r
    side = r.choice([32, 56, 72])
    t = g.input([1, r.choice([3, 16]), side, side])
    for _ in range(r.randint(4, 8)):
        wide = r.choice([16, 32, 48, 64])
        stride = r.choice([1, 1, 2]) if min(g.dims(t)[2:]) > 10 else 1
        t = g.conv(t, wide, r.choice([1, 3, 3, 5]), stride=stride, bias=r.random() < 0.5)
        if r.random() < 0.6:
            t = g.node("Add", [g.node("Mul", [t, g.weight(1, wide, 1, 1)]), g.weight(1, wide, 1, 1)])
        else:
            t = g.node("Sub", [t, g.weight(wide, 1, 1)])
            t = g.node("Div", [t, g.constant(g.numbers.uniform(0.5, 1.5, (wide, 1, 1)).astype(np.float32))])
        t = g.act(t)
        if r.random() < 0.3:
            t = g.node("Add", [g.node("Mul", [t, g.weight(1, wide, 1, 1)]), g.weight(1, wide, 1, 1)])
    t = g.node("Transpose", [t], perm=[0, 2, 3, 1])
    return g.dense(g.node("ReduceMean", [t], axes=[1, 2], keepdims=0), 10)


def strided_slices(g):
    """Every second row and column by StridedSlice, joined as channels; the last places cut off and put in front."""
    r = g.r
    side = r.choice([64, 96, 128])
    t = g.input([1, side, side, 3])
    parts = []
    for row in (0, 1):
        for column in (0, 1):
            ends = [np.iinfo(np.int32).max] * 2
            parts.append(g.node("Slice", [t, *(g.constant(np.array(v, np.int64)) for v in ([row, column], ends, [1, 2], [2, 2]))]))
    t = g.node("Transpose", [g.node("Concat", parts, axis=3)], perm=[0, 3, 1, 2])
    for _ in range(r.randint(2, 5)):
        wide = r.choice([24, 32, 48])
        t = g.act(g.conv(t, wide, 3, stride=r.choice([1, 2]) if min(g.dims(t)[2:]) > 12 else 1))
        if r.random() < 0.6:
            width = g.dims(t)[3]
            t = g.node("Concat", [g.slice(t, 3, width - 1, width), g.slice(t, 3, 0, width - 1)], axis=3)
        if r.random() < 0.4:
            t = g.node("Concat", [g.slice(t, 1, wide // 2, wide), g.slice(t, 1, 0, wide // 2)], axis=1)
    return g.conv(t, r.choice([4, 21]), 1)


def odd_softmax(g):
    """Softmax over channels, rows and places of images, and sums weighted by it."""
    r = g.r
    t = g.input([r.choice([1, 2]), 3, r.choice([32, 48]), r.choice([32, 48])])
    t = g.act(g.conv(t, r.choice([16, 24, 40]), 3, stride=2))
    for _ in range(r.randint(2, 4)):
        n, c, h, w = g.dims(t)
        scores = g.conv(t, c, r.choice([1, 3]))
        axis = r.choice([1, 2, 3, -1, 0])
        if axis:
            scores = g.node("Softmax", [scores], axis=axis)
        else:
            scores = g.reshape(g.node("Softmax", [g.reshape(scores, [n, c, h * w])], axis=2), [n, c, h, w])
        t = g.node("Add", [t, g.conv(g.node("Mul", [scores, t]), c, 1)])
    return g.node("LogSoftmax", [g.conv(t, r.choice([5, 19]), 1)], axis=1)


def resized_pyramid(g):
    """A pyramid of images, each resized to the next and added, by every way to resize."""
    r = g.r
    t = g.act(g.conv(g.input([1, 3, 96, r.choice([96, 128])]), r.choice([16, 24, 32]), 3, stride=2))
    levels = [t]
    for _ in range(2):
        levels.append(g.act(g.conv(levels[-1], g.dims(t)[1], 3, stride=2)))
    ways = [("nearest", "asymmetric", "floor"), ("nearest", "half_pixel", "round_prefer_floor"), ("linear", "half_pixel", "floor"),
            ("linear", "align_corners", "floor"), ("linear", "pytorch_half_pixel", "floor"), ("cubic", "half_pixel", "floor")]
    t = levels.pop()
    while levels:
        mode, places, nearest = r.choice(ways)
        sizes = g.constant(np.array(g.dims(levels[-1]), np.int64))
        t = g.node("Resize", [t, "", "", sizes], mode=mode, coordinate_transformation_mode=places, nearest_mode=nearest)
        t = g.act(g.conv(g.node("Add", [t, levels.pop()]), g.dims(t)[1], 3))
    return g.node("Sigmoid", [g.conv(t, r.choice([1, 18]), 1)])


def unrolled_cell(g):
    """An LSTM written out step by step: the gates of a step by one MatMul over data and state, cut by Split."""
    r = g.r
    batch, wide, hidden, steps = r.choice([1, 1, 8]), r.choice([16, 40, 64]), r.choice([32, 64, 128]), r.choice([6, 10, 16])
    x = g.node("Transpose", [g.input([batch, steps, wide])], perm=[1, 0, 2])
    weights, bias = g.weight(wide + hidden, 4 * hidden), g.weight(4 * hidden)
    h, c = (g.constant(np.zeros((batch, hidden), np.float32)) for _ in range(2))
    for step in range(steps):
        now = g.node("Squeeze", [g.slice(x, 0, step, step + 1), g.constant(np.array([0]))])
        gates = g.node("Add", [g.node("MatMul", [g.node("Concat", [now, h], axis=1), weights]), bias])
        i, j, f, o = g.node("Split", [gates, g.constant(np.array([hidden] * 4))], 4, axis=1)
        keep = g.node("Mul", [c, g.node("Sigmoid", [g.node("Add", [f, g.constant(np.float32(1))])])])
        c = g.node("Add", [keep, g.node("Mul", [g.node("Sigmoid", [i]), g.node("Tanh", [j])])])
        h = g.node("Mul", [g.node("Tanh", [c]), g.node("Sigmoid", [o])])
    return g.dense(h, r.choice([2, 30]))


def counted_padding(g):
    """Convolutions behind Pads that are counted in floats from the data's Shape, so that strides meet its edges as TensorFlow's do."""
    r = g.r
    t = g.input([1, 3, r.choice([45, 64, 97]), r.choice([48, 61])])
    for _ in range(r.randint(2, 5)):
        kernel, stride = r.choice([3, 5]), r.choice([1, 2, 2])
        shape, sides = g.node("Shape", [t]), []
        for axis in (2, 3):
            size = g.node("Cast", [g.node("Gather", [shape, g.constant(np.array([axis]))])], to=TensorProto.FLOAT)
            steps = g.node("Sub", [g.node("Ceil", [g.node("Div", [size, g.constant(np.float32(stride))])]), g.constant(np.float32(1))])
            reach = g.node("Add", [g.node("Mul", [steps, g.constant(np.float32(stride))]), g.constant(np.float32(kernel))])
            whole = g.node("Clip", [g.node("Sub", [reach, size]), g.constant(np.float32(0))])
            half = g.node("Cast", [g.node("Div", [whole, g.constant(np.float32(2))])], to=TensorProto.INT64)
            sides.append((half, g.node("Sub", [g.node("Cast", [whole], to=TensorProto.INT64), half])))
        none = g.constant(np.array([0, 0]))
        n, c, *dims = g.dims(t)
        t = g.node("Pad", [t, g.node("Concat", [none, *(side[0] for side in sides), none, *(side[1] for side in sides)], axis=0)])
        g.shapes[t] = [n, c, *(dim + max((-(-dim // stride) - 1) * stride + kernel - dim, 0) for dim in dims)]
        t = g.act(g.conv(t, r.choice([16, 24, 40]), kernel, stride=stride, pads="VALID"))
    return g.dense(g.reshape(g.node("GlobalAveragePool", [t]), [1, -1]), r.choice([10, 100]))


def pooled_regions(g):
    """Regions of an image that the caller names, pooled to one size by RoiAlign, and a head over each."""
    r = g.r
    t = g.act(g.conv(g.input([1, 3, 96, r.choice([96, 128])]), r.choice([32, 64]), 3, stride=2))
    t = g.act(g.conv(t, r.choice([64, 96]), 3, stride=2))
    count, side = r.choice([8, 50, 200]), r.choice([5, 7, 14])
    corners = g.node("Mul", [g.node("Sigmoid", [g.input([count, 2])]), g.constant(np.float32(48))])
    sizes = g.node("Mul", [g.node("Sigmoid", [g.input([count, 2])]), g.constant(np.float32(64))])
    boxes = g.node("Concat", [corners, g.node("Add", [corners, sizes])], axis=1)
    pooled = g.node("RoiAlign", [t, boxes, g.constant(np.zeros(count, np.int64))], output_height=side, output_width=side, sampling_ratio=r.choice([0, 2]), spatial_scale=0.25)
    return g.dense(g.act(g.dense(g.reshape(pooled, [count, -1]), 64)), r.choice([4, 21]))


FAMILIES = (tensorflow_image, tensorflow_1d, separable_1d, one_hot_tables, masked_tokens, scaled_convolutions, strided_slices, odd_softmax,
            resized_pyramid, unrolled_cell, counted_padding, pooled_regions)
