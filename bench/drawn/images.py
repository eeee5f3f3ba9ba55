"""The families of drawn_networks.py that are whole pieces of networks over images and volumes in use: heads of detectors, pyramids, decoders,
mobile networks with channels that fill no vectors, and networks that choose their own filters."""
import numpy as np


def halves(g, x, axis=1):
    wide = g.dims(x)[axis]
    return g.node("Split", [x, g.constant(np.array([wide // 2, wide - wide // 2]))], 2, axis=axis)


def group_norm(g, x, groups):
    """As exporters write it: groups as places of an InstanceNormalization, then a scale and a bias for each channel."""
    n, c, *places = g.dims(x)
    t = g.node("InstanceNormalization", [g.reshape(x, [n, groups, -1]), g.constant(np.ones(groups, np.float32)), g.constant(np.zeros(groups, np.float32))])
    t = g.reshape(t, [n, c, *places])
    return g.node("Add", [g.node("Mul", [t, g.weight(c, *[1] * len(places))]), g.weight(c, *[1] * len(places))])


def swish_conv(g, x, filters, kernel, stride=1, groups=1):
    return g.act(g.norm(g.conv(x, filters, kernel, stride=stride, groups=groups)), "swish")


def boxes_by_bins(g):
    """A detector whose sides of boxes are expected values over bins, one head for places and one for classes at each scale."""
    r = g.r
    t = swish_conv(g, g.input([r.choice([1, 1, 2]), 3, *[r.choice([96, 128, 160])] * 2]), r.choice([16, 24]), 3, 2)
    classes, bins, scales = r.choice([1, 20, 80]), r.choice([8, 16]), []
    for _ in range(3):
        t = swish_conv(g, t, min(96, 2 * g.dims(t)[1]), 3, 2)
        parts = halves(g, swish_conv(g, t, g.dims(t)[1], 1))
        for _ in range(r.randint(1, 2)):
            inner = swish_conv(g, swish_conv(g, parts[-1], g.dims(parts[-1])[1], 3), g.dims(parts[-1])[1], 3)
            parts.append(g.node("Add", [parts[-1], inner]))
        t = swish_conv(g, g.node("Concat", parts, axis=1), g.dims(t)[1], 1)
        scales.append(t)
    pools = [swish_conv(g, t, g.dims(t)[1] // 2, 1)]
    for _ in range(3):
        pools.append(g.node("MaxPool", [pools[-1]], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    scales[-1] = swish_conv(g, g.node("Concat", pools, axis=1), g.dims(t)[1], 1)
    found = []
    for t in scales:
        sides = g.conv(swish_conv(g, t, r.choice([32, 48, 64]), 3), 4 * bins, 1)
        kinds = g.conv(swish_conv(g, t, r.choice([40, 64]), 3), classes, 1)
        n, _, h, w = g.dims(t)
        found.append(g.reshape(g.node("Concat", [sides, kinds], axis=1), [n, 4 * bins + classes, h * w]))
    t = g.node("Concat", found, axis=2)
    n, _, places = g.dims(t)
    sides, kinds = g.node("Split", [t, g.constant(np.array([4 * bins, classes]))], 2, axis=1)
    sides = g.node("Transpose", [g.reshape(sides, [n, 4, bins, places])], perm=[0, 2, 1, 3])
    expected = g.constant(np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1))
    sides = g.reshape(g.node("Conv", [g.node("Softmax", [sides], axis=1), expected]), [n, 4, places])
    low, high = halves(g, sides)
    low, high = g.node("Sub", [g.weight(1, 2, places), low]), g.node("Add", [g.weight(1, 2, places), high])
    middle = g.node("Div", [g.node("Add", [low, high]), g.constant(np.float32(2))])
    boxes = g.node("Mul", [g.node("Concat", [middle, g.node("Sub", [high, low])], axis=1), g.positive((1, places))])
    return g.node("Concat", [boxes, g.node("Sigmoid", [kinds])], axis=1)


def odd_unet(g):
    """A U-Net over sizes that do not halve evenly: what comes up is padded, or the skip cut, to meet."""
    r = g.r
    t = g.input([1, r.choice([1, 3]), r.choice([67, 75, 90, 101]), r.choice([53, 77, 99])])
    skips, wide, crops = [], r.choice([8, 12, 16, 20]), r.random() < 0.5
    for level in range(3):
        for _ in range(2):
            t = g.act(g.norm(g.conv(t, wide << level, 3)), "Relu")
        skips.append(t)
        t = g.node("MaxPool", [t], kernel_shape=[2, 2], strides=[2, 2])
    t = g.act(g.conv(t, wide * 8, 3), "Relu")
    for skip in reversed(skips):
        up = g.transposed(t, g.dims(skip)[1], 2, 2, False) if r.random() < 0.6 else g.conv(g.resize(t, 2, "linear"), g.dims(skip)[1], 1)
        missing = [wanted - had for wanted, had in zip(g.dims(skip)[2:], g.dims(up)[2:])]
        if crops:
            for axis, less in zip((2, 3), missing):
                skip = g.slice(skip, axis, less, g.dims(skip)[axis]) if less else skip
        elif any(missing):
            up = g.pad(up, [0, 0, *missing], "constant")
        t = g.act(g.norm(g.conv(g.node("Concat", [skip, up], axis=1), g.dims(skip)[1], 3)), "Relu")
    return g.conv(t, r.choice([1, 2, 5]), 1)


def keywords(g):
    """Words in a second of sound: a small image of frequencies, wide first filters, channels by themselves."""
    r = g.r
    t = g.input([1, 1, r.choice([49, 98, 101]), r.choice([10, 13, 40])])
    t = g.act(g.norm(g.conv(t, r.choice([32, 64, 76]), (10, 4), stride=(2, r.choice([1, 2])))), "Relu")
    for _ in range(r.randint(3, 6)):
        wide = g.dims(t)[1]
        t = g.act(g.norm(g.conv(t, wide, r.choice([3, (3, 1), (1, 3)]), groups=wide)), "Relu")
        t = g.act(g.norm(g.conv(t, r.choice([wide, wide, 64]), 1)), "Relu")
    pooled = g.node("AveragePool", [t], kernel_shape=g.dims(t)[2:])
    return g.node("Softmax", [g.dense(g.node("Flatten", [pooled]), r.choice([12, 35]))], axis=1)


def odd_mobile(g):
    """Blocks of a mobile network as searches find them: channels of any number, gates, half of the channels made from the other half."""
    r = g.r
    t = g.input([r.choice([1, 1, 4]), 3, *[r.choice([80, 96, 128])] * 2])
    t = g.act(g.norm(g.conv(t, r.choice([12, 14, 16, 20]), 3, stride=2)), "HardSwish")
    cheap = r.random() < 0.6
    for _ in range(r.randint(4, 9)):
        narrow = g.dims(t)[1]
        wide = r.choice([30, 44, 60, 72, 92, 100, 116])
        stride = r.choice([1, 1, 2]) if min(g.dims(t)[2:]) > 8 else 1
        if cheap:
            half = g.act(g.norm(g.conv(t, wide // 2, 1)), "Relu")
            u = g.node("Concat", [half, g.act(g.norm(g.conv(half, wide // 2, 3, groups=wide // 2)), "Relu")], axis=1)
        else:
            u = g.act(g.norm(g.conv(t, wide, 1)), "HardSwish")
        if stride == 2 or not cheap:
            u = g.norm(g.conv(u, wide, r.choice([3, 5]), stride=stride, groups=wide))
            u = u if cheap else g.act(u, "HardSwish")
        if r.random() < 0.6:
            s = g.node("Relu", [g.conv(g.node("ReduceMean", [u], axes=[2, 3], keepdims=1), max(4, wide // 4), 1)])
            u = g.node("Mul", [u, g.node("HardSigmoid", [g.conv(s, wide, 1)], alpha=1 / 6, beta=0.5)])
        out = narrow if stride == 1 and r.random() < 0.6 else r.choice([12, 18, 20, 28, 40, 52])
        if cheap:
            half = g.norm(g.conv(u, out // 2, 1))
            u = g.node("Concat", [half, g.norm(g.conv(half, out // 2, 3, groups=out // 2))], axis=1)
        else:
            u = g.norm(g.conv(u, out, 1))
        t = g.node("Add", [u, t]) if out == narrow and stride == 1 else u
    return g.dense(g.node("Flatten", [g.node("GlobalAveragePool", [t])]), r.choice([10, 100]))


def gated_images(g):
    """Convolutions whose one half decides how much of the other passes."""
    r = g.r
    t = g.conv(g.input([1, r.choice([1, 4]), *[r.choice([48, 64, 80])] * 2]), r.choice([24, 32, 48]), r.choice([3, 5]))
    for _ in range(r.randint(3, 6)):
        wide = g.dims(t)[1]
        value, gate = halves(g, g.conv(t, 2 * wide, 3, dilation=r.choice([1, 1, 2, 4])))
        value = g.node("Tanh", [value]) if r.random() < 0.5 else g.act(value, "Elu")
        u = g.node("Mul", [value, g.node("Sigmoid", [gate])])
        t = g.node("Add", [t, g.conv(u, wide, 1)]) if r.random() < 0.6 else g.instance_norm(u)
    return g.conv(t, r.choice([1, 3]), 3)


def latent_decoder(g):
    """From a small code to an image: group norms, swish, attention over places, every scale by the nearest place."""
    r = g.r
    wide = r.choice([32, 64, 96])
    t = g.conv(g.input([1, 4, *[r.choice([8, 12, 16])] * 2]), wide, 3)
    for level in range(r.randint(2, 3)):
        for _ in range(r.randint(1, 2)):
            u = g.conv(g.act(group_norm(g, t, 8), "swish"), wide, 3)
            t = g.node("Add", [t, g.conv(g.act(group_norm(g, u, 8), "swish"), wide, 3)])
        if level == 0:
            n, c, h, w = g.dims(t)
            q, k, v = (g.reshape(g.conv(group_norm(g, t, 8), wide, 1), [n, c, h * w]) for _ in range(3))
            scores = g.node("MatMul", [g.node("Transpose", [q], perm=[0, 2, 1]), k])
            scores = g.node("Softmax", [g.node("Mul", [scores, g.constant(np.float32(c**-0.5))])], axis=-1)
            mixed = g.node("MatMul", [v, g.node("Transpose", [scores], perm=[0, 2, 1])])
            t = g.node("Add", [t, g.conv(g.reshape(mixed, [n, c, h, w]), c, 1)])
        t = g.conv(g.resize(t, 2, "nearest"), wide, 3)
    return g.conv(g.act(group_norm(g, t, 8), "swish"), 3, 3)


def weighted_pyramid(g):
    """Images of several scales that add each other, each with a weight, up and down again."""
    r = g.r
    wide, side = r.choice([40, 56, 64, 88]), r.choice([32, 48, 64])
    levels = [g.input([1, wide, side >> i, side >> i]) for i in range(4)]

    def mix(tensors):
        share = [g.node("Mul", [t, g.constant(np.float32(r.uniform(0.2, 0.8)))]) for t in tensors]
        total = share[0]
        for t in share[1:]:
            total = g.node("Add", [total, t])
        t = g.conv(g.act(total, "swish"), wide, 3, groups=wide, bias=False)
        return g.norm(g.conv(t, wide, 1))

    for _ in range(r.randint(1, 3)):
        down = [levels[-1]]
        for t in reversed(levels[:-1]):
            down.insert(0, mix([t, g.resize(down[0], 2, "nearest")]))
        up = [down[0]]
        for t, first in zip(down[1:], levels[1:]):
            pooled = g.node("MaxPool", [up[-1]], kernel_shape=[3, 3], pads=[0, 0, 1, 1], strides=[2, 2])
            up.append(mix([t, first, pooled]))
        levels = up
    flat = [g.reshape(g.conv(t, 36, 3), [1, 36, -1]) for t in levels]
    return g.node("Transpose", [g.node("Concat", flat, axis=2)], perm=[0, 2, 1])


def many_scales(g):
    """Branches of several scales side by side that exchange what they found."""
    r = g.r
    wide = r.choice([16, 18, 24, 32])
    t = g.act(g.norm(g.conv(g.input([1, 3, *[r.choice([96, 128])] * 2]), 32, 3, stride=2)), "Relu")
    branches = [g.act(g.norm(g.conv(t, wide, 3, stride=2)), "Relu")]
    for _ in range(r.randint(2, 3)):
        branches.append(g.act(g.norm(g.conv(branches[-1], 2 * g.dims(branches[-1])[1], 3, stride=2)), "Relu"))
        for i, t in enumerate(branches):
            u = g.act(g.norm(g.conv(t, g.dims(t)[1], 3)), "Relu")
            branches[i] = g.act(g.node("Add", [t, g.norm(g.conv(u, g.dims(t)[1], 3))]), "Relu")
        mixed = []
        for i, target in enumerate(branches):
            total = target
            for j, source in enumerate(branches):
                if j > i:
                    u = g.resize(g.norm(g.conv(source, g.dims(target)[1], 1)), 2 ** (j - i), r.choice(["nearest", "linear"]))
                    total = g.node("Add", [total, u])
                elif j < i:
                    u = source
                    for step in range(i - j):
                        u = g.norm(g.conv(u, g.dims(target)[1] if step == i - j - 1 else g.dims(u)[1], 3, stride=2))
                    total = g.node("Add", [total, u])
            mixed.append(g.act(total, "Relu"))
        branches = mixed
    return g.conv(branches[0], r.choice([17, 19]), 1)


def volume_unet(g):
    """A U-Net of volumes with instance norms, as medical images have."""
    r = g.r
    t = g.input([1, r.choice([1, 2, 4]), *[r.choice([16, 20, 24])] * 3])
    skips, wide = [], r.choice([8, 12, 16])
    for level in range(2):
        t = g.act(g.instance_norm(g.conv(t, wide << level, 3)), "LeakyRelu")
        skips.append(t)
        t = g.conv(t, wide << level, 3, stride=2) if r.random() < 0.5 else g.node("MaxPool", [t], kernel_shape=[2] * 3, strides=[2] * 3)
    t = g.act(g.instance_norm(g.conv(t, wide * 4, 3)), "LeakyRelu")
    for skip in reversed(skips):
        up = g.transposed(t, g.dims(skip)[1], 2, 2, False)
        t = g.act(g.instance_norm(g.conv(g.node("Concat", [up, skip], axis=1), g.dims(skip)[1], 3)), "LeakyRelu")
    return g.conv(t, r.choice([2, 4]), 1)


def wide_windows(g):
    """Windows of up to 31 places, one a channel."""
    r = g.r
    t = g.act(g.norm(g.conv(g.input([1, 3, *[r.choice([64, 96])] * 2]), r.choice([32, 48, 60]), 3, stride=4)))
    for _ in range(r.randint(2, 4)):
        wide = g.dims(t)[1]
        u = g.act(g.norm(g.conv(t, wide, 1)), "Relu")
        u = g.act(g.norm(g.conv(u, wide, r.choice([11, 13, 21, 31, (1, 11), (21, 1)]), groups=wide)), "Relu")
        t = g.node("Add", [t, g.norm(g.conv(u, wide, 1))])
        t = g.node("Add", [t, g.conv(g.gelu(g.conv(t, 2 * wide, 1)), wide, 1)])
    return g.dense(g.node("Flatten", [g.node("GlobalAveragePool", [t])]), 100)


def template_search(g):
    """A template found in an image: both through one network, then the one is the filter that the other is searched with."""
    r = g.r
    wide = r.choice([32, 64, 96])
    stem, inner = (g.weight(wide, 3, 3, 3), g.weight(wide)), (g.weight(wide, wide, 3, 3), g.weight(wide))

    def features(x):
        t = g.node("Relu", [g.node("Conv", [x, *stem], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)])
        return g.node("Relu", [g.node("Conv", [t, *inner], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)])

    template, t = features(g.input([1, 3, *[r.choice([24, 32])] * 2])), features(g.input([1, 3, *[r.choice([64, 96])] * 2]))
    if r.random() < 0.5:
        found = g.node("Conv", [t, template])
    else:
        n, c, h, w = g.dims(template)
        found = g.node("Conv", [t, g.reshape(template, [c, 1, h, w])], group=c)
        found = g.act(g.conv(found, r.choice([32, 48]), 1), "Relu")
    return g.conv(found, r.choice([2, 10]), 3)


def sampled(g):
    """An image read at places that a network chose (GridSample), several times and with weights."""
    r = g.r
    n, side = 1, r.choice([32, 40, 56])
    t = g.act(g.norm(g.conv(g.input([n, r.choice([3, 8]), side, side]), r.choice([16, 32, 48]), 3)))
    for _ in range(r.randint(1, 3)):
        wide, parts = g.dims(t)[1], []
        flows = g.conv(t, 2 * r.choice([1, 3]), 3)
        for i in range(g.dims(flows)[1] // 2):
            flow = g.node("Mul", [g.node("Tanh", [g.slice(flows, 1, 2 * i, 2 * i + 2)]), g.constant(np.float32(0.1))])
            grid = g.node("Add", [g.node("Transpose", [flow], perm=[0, 2, 3, 1]), g.weight(1, side, side, 2)])
            parts.append(g.node("GridSample", [t, grid], mode="bilinear", padding_mode=r.choice(["zeros", "border"]), align_corners=r.choice([0, 1])))
        t = g.act(g.conv(g.node("Concat", [*parts, t], axis=1), wide, 3))
    return g.conv(t, 3, 3)


def image_tokens(g):
    """Patches of an image as tokens behind a class token; or a convolutional network whose middle is attention between patches."""
    r = g.r
    count, wide = r.choice([(3, 48), (2, 64), (4, 96), (3, 192)])
    patch = r.choice([8, 16])
    t = g.conv(g.input([r.choice([1, 1, 4]), 3, *[r.choice([96, 112, 128])] * 2]), wide, patch, stride=patch, pads="VALID")
    n, c, h, w = g.dims(t)
    t = g.node("Transpose", [g.reshape(t, [n, c, h * w])], perm=[0, 2, 1])
    first = g.node("Expand", [g.weight(1, 1, c), g.constant(np.array([n, 1, c]))])
    t = g.node("Add", [g.node("Concat", [first, t], axis=1), g.weight(1, h * w + 1, c)])
    for _ in range(r.randint(1, 4)):
        length = h * w + 1
        together = g.reshape(g.dense(g.layer_norm(t), 3 * c), [n, length, 3, count, c // count])
        together = g.node("Transpose", [together], perm=[2, 0, 3, 1, 4])
        q, k, v = (g.node("Gather", [together, g.constant(np.int64(i))], axis=0) for i in range(3))
        scores = g.node("MatMul", [g.node("Mul", [q, g.constant(np.float32((c // count) ** -0.5))]), g.node("Transpose", [k], perm=[0, 1, 3, 2])])
        mixed = g.node("Transpose", [g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        t = g.node("Add", [t, g.dense(g.reshape(mixed, [n, length, c]), c)])
        t = g.node("Add", [t, g.dense(g.gelu(g.dense(g.layer_norm(t), 4 * c)), c)])
    return g.dense(g.node("Gather", [g.layer_norm(t), g.constant(np.int64(0))], axis=1), 100)


FAMILIES = (boxes_by_bins, odd_unet, keywords, odd_mobile, gated_images, latent_decoder, weighted_pyramid, many_scales, volume_unet,
            wide_windows, template_search, sampled, image_tokens)
