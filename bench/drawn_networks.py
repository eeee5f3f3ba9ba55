"""Networks of many families whose sizes and operators are drawn from a seed: make(family, seed, path) writes one as an ONNX file.

Convolutions (plain, dilated, depthwise, grouped, over one and three axes, transposed, of few channels), networks that join, cut and pad,
the forms that converters from TensorFlow write, recurrent networks and attention, pieces of networks in use. Needs numpy and onnx."""
import random

import numpy as np
from onnx import save

from drawn import classical, images, layers, operators, recurrent, scans, scenes, sequences, signals, tensorflow
from drawn.graph import Graph


def odd(r, low, high):
    return r.choice([size for size in range(low, high + 1) if size % 8])


def image(g, channels=None, sides=(32, 48, 56, 64, 80, 96)):
    side = g.r.choice(sides)
    return g.input([g.r.choice([1, 1, 1, 2]), channels or g.r.choice([3, 3, 1, 4]), side, g.r.choice([side, side, side + g.r.randint(-5, 9)])])


def classify(g, t):
    t = g.node("GlobalAveragePool", [t]) if g.r.random() < 0.5 else g.node("ReduceMean", [t], axes=list(range(2, len(g.dims(t)))), keepdims=1)
    return g.dense(g.node("Flatten", [t]), g.r.choice([10, 100, 37]))


def plain(g):
    r, t = g.r, image(g)
    t = g.act(g.norm(g.conv(t, r.choice([16, 24, 32, 64]), r.choice([3, 5, 7]), stride=2)))
    for _ in range(r.randint(1, 3)):
        t = g.act(g.norm(g.conv(t, r.choice([32, 48, 64, 96]), 3, stride=r.choice([1, 2]))))
        for _ in range(r.randint(1, 3)):
            wide = g.dims(t)[1]
            u = g.act(g.norm(g.conv(t, r.choice([wide // 4, wide // 2, wide]), r.choice([1, 3]))))
            t = g.act(g.node("Add", [g.norm(g.conv(u, wide, r.choice([1, 3, 5]))), t]))
    return classify(g, t)


def dilated(g):
    """The head of a segmentation network over a small image, with dilations that reach beyond it."""
    r = g.r
    t = image(g, r.choice([32, 64, 160, 256]), (14, 17, 20, 28, 33))
    branches = [g.act(g.norm(g.conv(t, r.choice([32, 64, 100, 128]), 1)))]
    for _ in range(r.randint(2, 4)):
        rate = r.choice([2, 3, 4, 6, 8, 12, 18, 24, 36])
        branches.append(g.act(g.norm(g.conv(t, r.choice([32, 64, 100, 128]), 3, dilation=rate))))
    t = g.act(g.norm(g.conv(g.node("Concat", branches, axis=1), r.choice([64, 128]), 1)))
    for _ in range(r.randint(0, 3)):
        t = g.act(g.conv(t, g.dims(t)[1], 3, dilation=r.choice([2, 4, 8])))
    if r.random() < 0.5:
        wide = g.dims(t)[1]
        t = g.act(g.norm(g.conv(t, wide, 3, dilation=r.choice([2, 4, 6]), groups=wide)))
    t = g.conv(t, r.choice([8, 19, 21]), 1)
    return g.resize(t, r.choice([2, 4]), "linear")


def depthwise(g):
    r, t = g.r, image(g)
    t = g.act(g.norm(g.conv(t, r.choice([16, 24, 32]), 3, stride=2)))
    for _ in range(r.randint(2, 6)):
        t = g.act(g.norm(g.conv(t, g.dims(t)[1] * r.choice([1, 2, 3, 4]) if g.dims(t)[1] < 100 else odd(r, 60, 150), 1)))
        wide, least = g.dims(t)[1], min(g.dims(t)[2:])
        stride = r.choice([1, 1, 1, 2, 2, 3, (1, 2), (2, 1)]) if least > 8 else 1
        pads = r.choice(["same", "same", "SAME_UPPER", "SAME_LOWER", "VALID", "uneven"]) if least > 12 else "same"
        t = g.act(g.norm(g.conv(t, wide, r.choice([3, 3, 5, 7, 9, (3, 5), (1, 7), (9, 1), 4]), stride=stride, groups=wide, pads=pads)))
        t = g.norm(g.conv(t, r.choice([16, 24, 40, 56, odd(r, 17, 70)]), 1))
    return classify(g, t)


def grouped(g, groups_of):
    r, t = g.r, image(g, sides=(32, 48, 56, 64))
    t = g.act(g.norm(g.conv(t, r.choice([32, 48, 64]), 3, stride=r.choice([1, 2]))))
    for _ in range(r.randint(2, 5)):
        groups = groups_of(r)
        per_group = r.choice([3, 4, 5, 6, 7, 8, 12, 16, 20]) if groups > 6 else r.choice([7, 9, 12, 16, 20, 27, 32])
        t = g.act(g.norm(g.conv(t, groups * per_group, 1)))
        filters = groups * r.choice([per_group, per_group, max(1, per_group - 1), per_group + 3])
        t = g.act(g.norm(g.conv(t, filters, r.choice([3, 3, 5, (1, 3), (3, 1)]), stride=r.choice([1, 1, 2]) if min(g.dims(t)[2:]) > 12 else 1, groups=groups)))
    return classify(g, t)


def grouped_few(g):
    return grouped(g, lambda r: r.choice([2, 2, 3, 4, 5]))


def grouped_many(g):
    return grouped(g, lambda r: r.choice([8, 11, 16, 24, 32]))


def convolution_1d(g):
    """Speech and waves: long rows, wide kernels, dilations that grow."""
    r = g.r
    t = g.input([r.choice([1, 1, 2]), r.choice([1, 13, 40, 64, 80]), r.choice([400, 777, 1000, 1600, 3000])])
    t = g.act(g.conv(t, r.choice([32, 64, 100, 128]), r.choice([3, 5, 9, 15]), stride=r.choice([1, 2])))
    for i in range(r.randint(3, 8)):
        wide = g.dims(t)[1]
        u = g.conv(t, wide, r.choice([3, 3, 5, 7, 11]), dilation=r.choice([1, 2 ** i, 3]))
        if r.random() < 0.3:
            u = g.node("Mul", [g.node("Tanh", [u]), g.node("Sigmoid", [g.conv(t, wide, 1)])])
        t = g.node("Add", [g.act(g.norm(u) if r.random() < 0.5 else u), t])
        if r.random() < 0.3:
            t = g.act(g.conv(t, g.dims(t)[1], r.choice([5, 9, 15, 31]), groups=g.dims(t)[1]))
        if r.random() < 0.25:
            t = g.node("MaxPool", [t], kernel_shape=[2], strides=[2])
    return g.conv(t, r.choice([1, 29, 64]), 1)


def wave_encoder(g):
    """A wave straight from the microphone: strides and kernels of tens over one channel."""
    r = g.r
    t = g.input([1, 1, r.choice([4000, 8000, 16000])])
    t = g.act(g.conv(t, r.choice([32, 64, 128]), r.choice([10, 16, 25, 80]), stride=r.choice([4, 5, 8])))
    for _ in range(r.randint(2, 5)):
        t = g.act(g.norm(g.conv(t, r.choice([64, 96, 128]), r.choice([2, 3, 4, 8]), stride=r.choice([1, 2, 2, 3]), pads=r.choice(["VALID", "same"]))))
    return g.conv(t, r.choice([16, 64]), r.choice([1, 3]))


def transposed(g):
    r = g.r
    t = g.input([r.choice([1, 2]), r.choice([64, 100, 128, 256]), r.choice([4, 5, 7, 8]), r.choice([4, 5, 7, 8])])
    for _ in range(r.randint(2, 4)):
        t = g.act(g.norm(g.transposed(t, max(8, g.dims(t)[1] // 2), r.choice([2, 3, 4, 5]), r.choice([2, 2, 2, 3, 1]), r.random() < 0.4)))
        if r.random() < 0.4:
            t = g.act(g.conv(t, g.dims(t)[1], 3))
    return g.node("Tanh", [g.conv(t, r.choice([1, 3]), r.choice([3, 7]))])


def vocoder(g):
    r = g.r
    t = g.conv(g.input([1, r.choice([20, 40, 80]), r.choice([16, 25, 40, 60])]), r.choice([64, 128, 192]), 7)
    for _ in range(r.randint(2, 3)):
        up = r.choice([2, 4, 5])
        t = g.transposed(g.node("LeakyRelu", [t], alpha=0.1), max(16, g.dims(t)[1] // 2), 2 * up, up, False)
        for kernel in r.sample([3, 5, 7, 11], 2):
            u = g.conv(g.node("LeakyRelu", [t], alpha=0.1), g.dims(t)[1], kernel, dilation=r.choice([1, 3, 5]))
            t = g.node("Add", [g.conv(g.node("LeakyRelu", [u], alpha=0.1), g.dims(t)[1], kernel), t])
    return g.node("Tanh", [g.conv(t, 1, 7)])


def few_channels(g):
    r = g.r
    t = image(g, r.choice([1, 1, 3, 4]), (64, 96, 128, 160))
    for _ in range(r.randint(2, 6)):
        t = g.act(g.conv(t, r.choice([1, 2, 3, 4, 6, 8, 12]), r.choice([1, 3, 3, 5, 7]), stride=r.choice([1, 1, 1, 1, 2]), dilation=r.choice([1, 1, 1, 2])))
    return g.conv(t, r.choice([1, 3]), r.choice([3, 5]))


def densenet(g):
    r, t = g.r, image(g)
    t = g.act(g.norm(g.conv(t, r.choice([16, 24, 32, 64]), r.choice([3, 7]), stride=2)))
    growth, bottleneck = r.choice([8, 12, 16, 32]), r.random() < 0.7
    for block in range(r.randint(2, 3)):
        for _ in range(r.randint(3, 8)):
            u = g.node("Relu", [g.norm(t)])
            if bottleneck:
                u = g.node("Relu", [g.norm(g.conv(u, 4 * growth, 1, bias=False))])
            t = g.node("Concat", [t, g.conv(u, growth, 3, bias=False)], axis=1)
        t = g.node("Relu", [g.norm(t)])
        if min(g.dims(t)[2:]) >= 8:
            t = g.node("AveragePool", [g.conv(t, g.dims(t)[1] // 2, 1, bias=False)], kernel_shape=[2, 2], strides=[2, 2])
    return classify(g, t)


def inception(g):
    r, t = g.r, image(g)
    t = g.act(g.norm(g.conv(t, 32, 3, stride=2)))
    for _ in range(r.randint(2, 5)):
        branches = [g.act(g.norm(g.conv(t, r.choice([16, 32, 48]), 1)))]
        u = g.act(g.norm(g.conv(t, r.choice([24, 32, 48]), 1)))
        branches.append(g.act(g.norm(g.conv(u, r.choice([32, 48, 64]), r.choice([3, 5])))))
        u = g.act(g.norm(g.conv(t, r.choice([24, 40]), 1)))
        u = g.act(g.norm(g.conv(u, r.choice([32, 40]), (1, 7))))
        branches.append(g.act(g.norm(g.conv(u, r.choice([32, 64]), (7, 1)))))
        pooled = g.node(r.choice(["AveragePool", "MaxPool"]), [t], kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
        branches.append(g.act(g.norm(g.conv(pooled, r.choice([16, 32]), 1))))
        t = g.node("Concat", branches, axis=1)
        if r.random() < 0.4 and min(g.dims(t)[2:]) > 12:
            t = g.node("MaxPool", [t], kernel_shape=[3, 3], strides=[2, 2])
    return classify(g, t)


def padded(g):
    """Pictures to pictures: every convolution behind a Pad node of its own."""
    r, t = g.r, image(g, 3, (48, 64, 80, 96))
    t = g.act(g.conv(g.pad(t, 3, r.choice(["reflect", "constant"])), r.choice([16, 24, 32]), 7, pads="VALID"))
    for _ in range(r.randint(2, 6)):
        mode = r.choice(["reflect", "reflect", "constant", "edge"])
        u = g.conv(g.pad(t, 1, mode), g.dims(t)[1], 3, pads="VALID")
        u = g.act(g.instance_norm(u) if r.random() < 0.4 else g.norm(u))
        t = g.node("Add", [g.conv(g.pad(u, 1, mode), g.dims(t)[1], 3, pads="VALID"), t])
    return g.node("Tanh", [g.conv(g.pad(t, 3, "reflect"), 3, 7, pads="VALID")])


def streamed(g):
    """A streaming network over one axis: what a layer needs of the past is joined in front, the end is kept for the next call."""
    r = g.r
    wide, length = r.choice([32, 64, 96, 130]), r.choice([64, 160, 400, 1000])
    t = g.conv(g.input([1, r.choice([1, 40, 80]), length]), wide, 3)
    for i in range(r.randint(4, 9)):
        dilation, kernel = r.choice([1, 2, 4, 8]), r.choice([3, 5])
        past = dilation * (kernel - 1)
        joined = g.node("Concat", [g.input([1, wide, past]), t], axis=2)
        g.output(g.slice(joined, 2, length, length + past))
        t = g.node("Add", [g.act(g.conv(joined, wide, kernel, dilation=dilation, pads="VALID")), t])
        if r.random() < 0.3:
            half = g.slice(t, 1, 0, wide // 2), g.slice(t, 1, wide // 2, wide)
            t = g.node("Concat", [g.node("Relu", [half[0]]), g.node("Neg", [half[1]])], axis=1)
    return g.conv(t, r.choice([1, 20]), 1)


def squeeze_excite(g):
    r, t = g.r, image(g, 3)
    activation = r.choice(["HardSwish", "swish", "Relu"])
    t = g.act(g.norm(g.conv(t, 16, 3, stride=2)), activation)
    for _ in range(r.randint(3, 8)):
        narrow = g.dims(t)[1]
        wide = narrow * r.choice([2, 3, 4, 6]) if narrow < 64 else narrow
        u = g.act(g.norm(g.conv(t, wide, 1)), activation)
        stride = r.choice([1, 1, 2]) if min(g.dims(u)[2:]) > 8 else 1
        u = g.act(g.norm(g.conv(u, wide, r.choice([3, 5]), stride=stride, groups=wide)), activation)
        s = g.node("Relu", [g.conv(g.node("GlobalAveragePool", [u]), max(4, wide // 4), 1)])
        u = g.node("Mul", [u, g.node(r.choice(["Sigmoid", "HardSigmoid"]), [g.conv(s, wide, 1)])])
        out = narrow if r.random() < 0.6 else r.choice([24, 40, 48, 80])
        u = g.norm(g.conv(u, out, 1))
        t = g.node("Add", [u, t]) if out == narrow and stride == 1 else u
    return classify(g, t)


def pixel_shuffle(g):
    r = g.r
    t = image(g, r.choice([1, 3]), (32, 48, 64))
    t = g.act(g.conv(t, r.choice([24, 32, 48, 64]), r.choice([3, 5])))
    first = t
    for _ in range(r.randint(1, 5)):
        t = g.node("Add", [g.conv(g.act(g.conv(t, g.dims(t)[1], 3)), g.dims(t)[1], 3), t])
    scale = r.choice([2, 3, 4])
    t = g.conv(g.node("Add", [t, first]), 3 * scale * scale, 3)
    if r.random() < 0.5:
        return g.node("DepthToSpace", [t], blocksize=scale, mode="CRD")
    n, c, h, w = g.dims(t)
    t = g.node("Transpose", [g.reshape(t, [n, 3, scale, scale, h, w])], perm=[0, 1, 4, 2, 5, 3])
    return g.reshape(t, [n, 3, h * scale, w * scale])


def unet(g):
    r = g.r
    t = image(g, r.choice([1, 3]), (48, 64, 96))
    n, c, h, w = g.dims(t)
    t = g.slice(t, 3, 0, w // 8 * 8)
    skips, wide = [], r.choice([8, 12, 16, 24])
    for level in range(3):
        for _ in range(r.randint(1, 2)):
            t = g.act(g.norm(g.conv(t, wide << level, 3)))
        skips.append(t)
        t = g.node("MaxPool", [t], kernel_shape=[2, 2], strides=[2, 2])
    t = g.act(g.conv(t, wide * 8, 3))
    for skip in reversed(skips):
        up = g.resize(t, 2, r.choice(["nearest", "linear"])) if r.random() < 0.7 else g.transposed(t, g.dims(skip)[1], 2, 2, False)
        t = g.act(g.norm(g.conv(g.node("Concat", [up, skip], axis=1), g.dims(skip)[1], 3)))
    return g.conv(t, r.choice([1, 2, 5]), 1)


def small_images(g):
    r = g.r
    t = g.input([r.choice([1, 1, 4, 8]), r.choice([1, 3, 48, 130]), odd(r, 5, 21), odd(r, 5, 21)])
    for _ in range(r.randint(3, 7)):
        t = g.act(g.norm(g.conv(t, r.choice([20, 32, 50, 64, 100, 160]), r.choice([1, 3, 3, 5, 2]))))
        if r.random() < 0.3 and min(g.dims(t)[2:]) >= 6:
            t = g.node(r.choice(["MaxPool", "AveragePool"]), [t], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return classify(g, t)


def volumes(g):
    r = g.r
    t = g.input([1, r.choice([1, 3]), r.choice([8, 12]), r.choice([24, 32, 40]), r.choice([24, 32, 40])])
    for _ in range(r.randint(2, 4)):
        t = g.act(g.norm(g.conv(t, r.choice([8, 16, 24, 32]), r.choice([3, (1, 3, 3), (3, 1, 1)]), stride=r.choice([1, 1, (1, 2, 2)]))))
    return classify(g, t)


def shuffled(g):
    r, t = g.r, image(g, 3)
    t = g.act(g.norm(g.conv(t, 2 * r.choice([16, 24, 29, 58]), 3, stride=2)))
    for _ in range(r.randint(3, 9)):
        n, c, h, w = g.dims(t)
        half = g.slice(t, 1, 0, c // 2), g.slice(t, 1, c // 2, c)
        u = g.act(g.norm(g.conv(half[1], c // 2, 1)))
        u = g.norm(g.conv(u, c // 2, r.choice([3, 5]), groups=c // 2))
        t = g.node("Concat", [half[0], g.act(g.norm(g.conv(u, c // 2, 1)))], axis=1)
        t = g.reshape(g.node("Transpose", [g.reshape(t, [n, 2, c // 2, h, w])], perm=[0, 2, 1, 3, 4]), [n, c, h, w])
    return classify(g, t)


def convnext(g):
    r = g.r
    t = g.conv(image(g, 3, (64, 96, 128)), r.choice([48, 64, 96]), 4, stride=4, pads="VALID")
    for _ in range(r.randint(2, 5)):
        wide = g.dims(t)[1]
        u = g.node("Transpose", [g.conv(t, wide, r.choice([5, 7]), groups=wide)], perm=[0, 2, 3, 1])
        u = g.dense(g.gelu(g.dense(g.layer_norm(u), 4 * wide)), wide)
        u = g.node("Transpose", [g.node("Mul", [u, g.weight(wide)])], perm=[0, 3, 1, 2])
        t = g.node("Add", [u, t])
    return classify(g, t)


def odd_transposed(g):
    """Transposed convolutions over one and two axes, in groups, one a channel, dilated, padded unevenly."""
    r = g.r
    axes = r.choice([1, 2])
    t = g.input([1, r.choice([24, 32, 48, 64]), *([r.choice([40, 100])] if axes == 1 else [r.choice([7, 10, 14])] * 2)])
    for _ in range(r.randint(2, 4)):
        wide = g.dims(t)[1]
        groups = r.choice([1, 2, 4, wide])
        filters = wide if groups == wide else r.choice([24, 32, 48])
        kernel, stride, dilation = r.choice([2, 3, 4, 6]), r.choice([1, 2, 2, 3]), r.choice([1, 1, 2])
        inputs = [t, g.weight(wide, filters // groups, *[kernel] * axes), g.weight(filters)]
        pads = [r.randint(0, 1) for _ in range(2 * axes)]
        t = g.act(g.node("ConvTranspose", inputs, kernel_shape=[kernel] * axes, strides=[stride] * axes, dilations=[dilation] * axes, pads=pads, group=groups))
        if r.random() < 0.5:
            t = g.act(g.norm(g.conv(t, r.choice([24, 32, 48]), 3)))
    return g.conv(t, r.choice([1, 3]), 3)


def grouped_1d(g):
    """Groups and channels by themselves over long rows, with strides."""
    r = g.r
    t = g.conv(g.input([r.choice([1, 2]), r.choice([12, 40, 64]), r.choice([300, 800, 2000])]), r.choice([48, 64, 96]), r.choice([3, 7]))
    for _ in range(r.randint(3, 7)):
        wide = g.dims(t)[1]
        groups = r.choice([2, 4, 8, wide, wide])
        t = g.act(g.norm(g.conv(t, wide, r.choice([3, 5, 9, 17]), stride=r.choice([1, 1, 2]), dilation=r.choice([1, 1, 2, 4]), groups=groups,
                                pads=r.choice(["same", "uneven"]))))
        t = g.act(g.conv(t, r.choice([48, 64, 96]), 1))
    return g.dense(g.node("ReduceMean", [t], axes=[2], keepdims=0), 12)


def detector(g):
    """Heads at several scales, decoded: sigmoid, cut into places and sizes, grids added, joined."""
    r, t = g.r, image(g, 3, (64, 96, 128))
    t = g.act(g.conv(t, r.choice([16, 24]), 3, stride=2), "swish")
    boxes, classes = [], r.choice([2, 20, 80])
    for _ in range(3):
        t = g.act(g.norm(g.conv(t, r.choice([32, 48, 64]), 3, stride=2)), "swish")
        half = g.dims(t)[1] // 2
        u = g.act(g.norm(g.conv(t, half, 1)), "swish")
        u = g.node("Add", [u, g.act(g.norm(g.conv(u, half, 3)), "swish")])
        t = g.act(g.norm(g.conv(g.node("Concat", [u, t], axis=1), 2 * half, 1)), "swish")
        n, c, h, w = g.dims(t)
        head = g.reshape(g.conv(t, 3 * (5 + classes), 1), [n, 3, 5 + classes, h, w])
        head = g.node("Sigmoid", [g.node("Transpose", [head], perm=[0, 1, 3, 4, 2])])
        place = g.node("Mul", [g.node("Add", [g.slice(head, 4, 0, 2), g.weight(1, 1, h, w, 2)]), g.constant(np.float32(8))])
        size = g.node("Mul", [g.node("Pow", [g.slice(head, 4, 2, 4), g.constant(np.float32(2))]), g.weight(1, 3, 1, 1, 2)])
        boxes.append(g.reshape(g.node("Concat", [place, size, g.slice(head, 4, 4, 5 + classes)], axis=4), [n, 3 * h * w, 5 + classes]))
    return g.node("Concat", boxes, axis=1)


FAMILIES = {make.__name__: make for make in (
    plain, dilated, depthwise, grouped_few, grouped_many, convolution_1d, wave_encoder, transposed, vocoder, few_channels, densenet,
    inception, padded, streamed, squeeze_excite, pixel_shuffle, unet, small_images, volumes, shuffled, convnext, odd_transposed, grouped_1d,
    detector, *images.FAMILIES, *signals.FAMILIES, *tensorflow.FAMILIES, *sequences.FAMILIES,
    *recurrent.FAMILIES, *scans.FAMILIES, *scenes.FAMILIES, *layers.FAMILIES)}
# Of microseconds; drawn by generated_networks.py alone, so that other tools' seeds give what they gave.
SMALL_FAMILIES = {make.__name__: make for make in (*recurrent.SMALL, *classical.SMALL)}
OPERATORS = operators.OPERATORS


def make(family, seed, path):
    graph = Graph(random.Random(f"{family} {seed}"))
    graph.output({**FAMILIES, **SMALL_FAMILIES, **OPERATORS}[family](graph))
    save(graph.model(f"{family}_{seed}"), path)
