"""The families of drawn_networks.py over images, films and scenes that came with names of their own: kernels made at every place, noise taken away
step by step, flows found by correlation, deformable attention, styles, rays, capsules, and the first networks for images."""
import numpy as np

from drawn.images import group_norm, halves, swish_conv
from drawn.scans import scalar
from drawn.sequences import attention


def sides(g, x):
    return g.dims(x)[2:]


def neighbourhoods(g, x, size):
    """[N, C, size * size, H, W]: what lies around every place, by slices of the padded image."""
    n, c, h, w = g.dims(x)
    padded = g.pad(x, size // 2, "constant")
    parts = []
    for row in range(size):
        for column in range(size):
            part = g.slice(g.slice(padded, 2, row, row + h), 3, column, column + w)
            parts.append(g.node("Unsqueeze", [part, g.constant(np.array([2]))]))
    return g.node("Concat", parts, axis=2)


def own_kernels(g):
    """Every place makes its own kernel, shared by groups of channels (involution)."""
    r = g.r
    t = swish_conv(g, g.input([1, 3, *[r.choice([32, 48])] * 2]), r.choice([16, 24, 32]), 3, 2)
    for _ in range(r.randint(1, 3)):
        n, c, h, w = g.dims(t)
        size, groups = r.choice([3, 3, 5, 7]), r.choice([1, 2, 4])
        kernels = g.conv(g.act(g.norm(g.conv(t, c // 2, 1)), "Relu"), groups * size * size, 1)
        kernels = g.reshape(kernels, [n, groups, 1, size * size, h, w])
        around = g.reshape(neighbourhoods(g, t, size), [n, groups, c // groups, size * size, h, w])
        u = g.node("ReduceSum", [g.node("Mul", [kernels, around]), g.constant(np.array([3]))], keepdims=0)
        u = g.act(g.norm(g.reshape(u, [n, c, h, w])), "Relu")
        t = g.node("Add", [t, g.norm(g.conv(u, c, 1))])
    return g.dense(g.node("Flatten", [g.node("GlobalAveragePool", [t])]), 10)


def noise_steps(g):
    """A U-Net that takes noise away: the time as sines, group norms, attention over places and to words at the coarse scales."""
    r = g.r
    wide, side, groups = r.choice([32, 48, 64]), r.choice([16, 24, 32]), 8
    moment = g.node("Mul", [g.input([1, 1]), g.constant(np.exp(-np.arange(16, dtype=np.float32) / 2).reshape(1, 16))])
    moment = g.dense(g.act(g.dense(g.node("Concat", [g.node("Sin", [moment]), g.node("Cos", [moment])], axis=1), 4 * wide), "swish"), 4 * wide)
    words = g.input([1, r.choice([7, 20, 77]), 2 * wide])

    def residual(t, filters):
        u = g.conv(g.act(group_norm(g, t, groups), "swish"), filters, 3)
        u = g.node("Add", [u, g.reshape(g.dense(g.act(moment, "swish"), filters), [1, filters, 1, 1])])
        u = g.conv(g.act(group_norm(g, u, groups), "swish"), filters, 3)
        return g.node("Add", [u, t if g.dims(t)[1] == filters else g.conv(t, filters, 1)])

    def attended(t):
        n, c, h, w = g.dims(t)
        u = g.node("Transpose", [g.reshape(g.conv(group_norm(g, t, groups), c, 1), [n, c, h * w])], perm=[0, 2, 1])
        inner = g.layer_norm(u)
        u = g.node("Add", [u, attention(g, inner, inner, 4)])
        u = g.node("Add", [u, attention(g, g.layer_norm(u), g.dense(words, c), 4)])
        value, gate = g.node("Split", [g.dense(g.layer_norm(u), 4 * c), g.constant(np.array([2 * c] * 2))], 2, axis=2)
        u = g.node("Add", [u, g.dense(g.node("Mul", [value, g.gelu(gate)]), c)])
        u = g.reshape(g.node("Transpose", [u], perm=[0, 2, 1]), [n, c, h, w])
        return g.node("Add", [t, g.conv(u, c, 1)])

    t = g.conv(g.input([1, 4, side, side]), wide, 3)
    skips = [t]
    for level in range(2):
        t = residual(t, wide << level)
        if level:
            t = attended(t)
        skips.append(t)
        if level == 0:
            t = g.conv(t, g.dims(t)[1], 3, stride=2)
            skips.append(t)
    t = residual(attended(residual(t, g.dims(t)[1])), g.dims(t)[1])
    for level in (1, 0):
        for _ in range(2):
            t = residual(g.node("Concat", [t, skips.pop()], axis=1), wide << level)
        if level:
            t = g.conv(g.resize(attended(t), 2, "nearest"), g.dims(t)[1], 3)
    return g.conv(g.act(group_norm(g, t, groups), "swish"), 4, 3)


def flow_steps(g):
    """How an image moved: every pair of places compared by Einsum or MatMul, pooled, read around a moving place by GridSample, a GRU of convolutions."""
    r = g.r
    side, wide = r.choice([64, 96]), r.choice([32, 48])
    stem = [(g.weight(wide, 3, 7, 7), g.weight(wide)), (g.weight(wide, wide, 3, 3), g.weight(wide)), (g.weight(wide, wide, 3, 3), g.weight(wide))]

    def features(x):
        for i, weights in enumerate(stem):
            kernel = 7 if i == 0 else 3
            x = g.node("Conv", [x, *weights], kernel_shape=[kernel] * 2, strides=[2, 2], pads=[kernel // 2] * 4)
            x = g.node("Relu", [g.instance_norm(x)]) if i < 2 else x
        return x

    first, second = g.input([1, 3, side, side]), g.input([1, 3, side, side])
    a, b = features(first), features(second)
    n, c, h, w = g.dims(a)
    if r.random() < 0.5:
        pairs = g.node("Einsum", [g.reshape(a, [n, c, h * w]), g.reshape(b, [n, c, h * w])], equation="bci,bcj->bij")
    else:
        pairs = g.node("MatMul", [g.node("Transpose", [g.reshape(a, [n, c, h * w])], perm=[0, 2, 1]), g.reshape(b, [n, c, h * w])])
    pairs = g.reshape(g.node("Div", [pairs, scalar(g, np.sqrt(c))]), [h * w, 1, h, w])
    pyramid = [pairs, g.node("AveragePool", [pairs], kernel_shape=[2, 2], strides=[2, 2])]
    reach = r.choice([2, 3])
    window = 2 * reach + 1
    around = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1, dtype=np.float32)] * 2), -1).reshape(1, window, window, 2)
    places = np.stack(np.meshgrid(np.arange(w, dtype=np.float32), np.arange(h, dtype=np.float32)), -1).reshape(h * w, 1, 1, 2)
    start, around = g.constant(places), g.constant(around)
    hidden = g.node("Tanh", [g.conv(a, wide, 1)])
    flow = g.constant(np.zeros((1, 2, h, w), np.float32))
    gates, candidate, out = [(g.weight(f, i, 3, 3), g.weight(f)) for f, i in ((2 * wide, 2 * wide + 2), (wide, 2 * wide + 2), (2, wide))]
    looked = g.weight(wide, len(pyramid) * window * window, 1, 1), g.weight(wide)
    for _ in range(r.randint(2, 3)):
        middle = g.node("Add", [start, g.reshape(g.node("Transpose", [flow], perm=[0, 2, 3, 1]), [h * w, 1, 1, 2])])
        found = []
        for level, image in enumerate(pyramid):
            at = g.node("Add", [g.node("Mul", [middle, scalar(g, 0.5**level)]), around])
            high, across = sides(g, image)
            spread = g.constant(np.array([2 / max(across - 1, 1), 2 / max(high - 1, 1)], np.float32))
            grid = g.node("Sub", [g.node("Mul", [at, spread]), scalar(g, 1)])
            part = g.node("GridSample", [image, grid], mode="bilinear", padding_mode="zeros", align_corners=1)
            found.append(g.reshape(part, [1, h, w, window * window]))
        seen = g.node("Transpose", [g.node("Concat", found, axis=3)], perm=[0, 3, 1, 2])
        seen = g.node("Relu", [g.node("Conv", [seen, *looked], kernel_shape=[1, 1])])
        whole = g.node("Concat", [hidden, seen, flow], axis=1)
        z, q = halves(g, g.node("Sigmoid", [g.node("Conv", [whole, *gates], kernel_shape=[3, 3], pads=[1] * 4)]))
        new = g.node("Concat", [g.node("Mul", [q, hidden]), seen, flow], axis=1)
        new = g.node("Tanh", [g.node("Conv", [new, *candidate], kernel_shape=[3, 3], pads=[1] * 4)])
        hidden = g.node("Add", [g.node("Mul", [g.node("Sub", [scalar(g, 1), z]), hidden]), g.node("Mul", [z, new])])
        flow = g.node("Add", [flow, g.node("Conv", [hidden, *out], kernel_shape=[3, 3], pads=[1] * 4)])
    scale = 4
    mask = g.node("Softmax", [g.reshape(g.conv(hidden, 9 * scale * scale, 1), [1, 1, 9, scale, scale, h, w])], axis=2)
    parts = g.reshape(neighbourhoods(g, g.node("Mul", [flow, scalar(g, scale)]), 3), [1, 2, 9, 1, 1, h, w])
    up = g.node("ReduceSum", [g.node("Mul", [mask, parts]), g.constant(np.array([2]))], keepdims=0)
    return g.reshape(g.node("Transpose", [up], perm=[0, 1, 4, 2, 5, 3]), [1, 2, scale * h, scale * w])


def deformable_attention(g):
    """Queries that look at a few places of several scales, each with a weight, by GridSample."""
    r = g.r
    wide, count, points = r.choice([32, 64, 128]), r.choice([2, 4, 8]), r.choice([2, 4])
    inner, scales = wide // count, [r.choice([(16, 20), (24, 24)]), (12, 12), (6, 7)][: r.randint(2, 3)]
    images = [g.input([1, wide, *size]) for size in scales]
    queries = r.choice([50, 100, 300])
    x, anchors = g.input([1, queries, wide]), g.node("Sigmoid", [g.input([1, queries, 1, 1, 1, 2])])
    values = []
    for image in images:
        n, c, h, w = g.dims(image)
        flat = g.dense(g.node("Transpose", [g.reshape(image, [n, c, h * w])], perm=[0, 2, 1]), wide)
        values.append(g.reshape(g.node("Transpose", [flat], perm=[0, 2, 1]), [count, inner, h, w]))
    for _ in range(r.randint(1, 3)):
        inside = g.layer_norm(x)
        x = g.node("Add", [x, attention(g, inside, inside, count)])
        t = g.layer_norm(x)
        offsets = g.reshape(g.dense(t, count * len(scales) * points * 2), [1, queries, count, len(scales), points, 2])
        weights = g.node("Softmax", [g.reshape(g.dense(t, count * len(scales) * points), [1, queries, count, len(scales) * points])], axis=3)
        places = g.node("Add", [anchors, g.node("Mul", [g.node("Tanh", [offsets]), scalar(g, 0.1)])])
        places = g.node("Sub", [g.node("Mul", [places, scalar(g, 2)]), scalar(g, 1)])
        read = []
        for level, value in enumerate(values):
            grid = g.node("Gather", [places, g.constant(np.int64(level))], axis=3)
            grid = g.reshape(g.node("Transpose", [grid], perm=[0, 2, 1, 3, 4]), [count, queries, points, 2])
            read.append(g.node("GridSample", [value, grid], mode="bilinear", padding_mode="zeros", align_corners=0))
        read = g.node("Concat", read, axis=3)
        weights = g.reshape(g.node("Transpose", [weights], perm=[0, 2, 1, 3]), [count, 1, queries, len(scales) * points])
        mixed = g.node("ReduceSum", [g.node("Mul", [read, weights]), g.constant(np.array([3]))], keepdims=0)
        mixed = g.node("Transpose", [g.reshape(mixed, [1, wide, queries])], perm=[0, 2, 1])
        x = g.node("Add", [x, g.dense(mixed, wide)])
        x = g.node("Add", [x, g.dense(g.act(g.dense(g.layer_norm(x), 4 * wide), "Relu"), wide)])
    return g.node("Sigmoid", [g.dense(x, r.choice([4, 84]))])


def styles(g):
    """Filters that a style scales and then norms, worked out in every run; noise; images joined over the scales, upsampled by weights of a line."""
    r = g.r
    wide, style = r.choice([24, 32, 64]), g.input([1, 64])
    for _ in range(r.randint(2, 4)):
        style = g.act(g.dense(style, 64), "LeakyRelu")

    def modulated(x, filters, kernel, norms=True):
        channels = g.dims(x)[1]
        scale = g.reshape(g.node("Add", [g.dense(style, channels), scalar(g, 1)]), [1, channels, 1, 1])
        weights = g.node("Mul", [g.weight(filters, channels, kernel, kernel), scale])
        if norms:
            total = g.node("ReduceSum", [g.node("Mul", [weights, weights]), g.constant(np.array([1, 2, 3]))], keepdims=1)
            weights = g.node("Div", [weights, g.node("Sqrt", [g.node("Add", [total, scalar(g, 1e-8)])])])
        return g.node("Conv", [x, weights], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)

    def doubled(x):
        channels = g.dims(x)[1]
        line = np.array([1, 3, 3, 1], np.float32) / 4
        kernel = np.broadcast_to(np.outer(line, line), (channels, 1, 4, 4)).copy()
        return g.node("ConvTranspose", [x, g.constant(kernel)], kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4, group=channels)

    t = g.node("Add", [g.weight(1, wide, 8, 8), g.reshape(g.dense(style, wide), [1, wide, 1, 1])])
    picture = None
    for level in range(r.randint(2, 3)):
        for _ in range(2):
            u = modulated(t, wide, 3)
            u = g.node("Add", [u, g.node("Mul", [g.weight(1, 1, *sides(g, u)), scalar(g, 0.1)])])
            t = g.act(g.node("Add", [u, g.weight(1, wide, 1, 1)]), "LeakyRelu")
        shown = modulated(t, 3, 1, False)
        picture = shown if picture is None else g.node("Add", [shown, doubled(picture)])
        t = doubled(t)
    return picture


def rays(g):
    """Points along rays as sines of many frequencies, dense layers with the points joined again, colours added up behind what hides them."""
    r = g.r
    count, steps, wide, octaves = r.choice([16, 64]), r.choice([16, 32]), r.choice([32, 64, 128]), r.choice([4, 6, 10])
    begins, ways = (g.node("Unsqueeze", [g.input([count, 3]), g.constant(np.array([1]))]) for _ in range(2))
    along = g.constant(np.linspace(0, 1, steps, dtype=np.float32).reshape(1, steps, 1))
    points = g.node("Add", [begins, g.node("Mul", [ways, along])])
    turned = g.node("Mul", [g.node("Unsqueeze", [points, g.constant(np.array([3]))]), g.constant((2.0 ** np.arange(octaves)).astype(np.float32))])
    turned = g.reshape(turned, [count, steps, 3 * octaves])
    first = g.node("Concat", [points, g.node("Sin", [turned]), g.node("Cos", [turned])], axis=2)
    t = first
    for layer in range(r.randint(3, 6)):
        t = g.act(g.dense(g.node("Concat", [t, first], axis=2) if layer == 2 else t, wide), "Relu")
    density = g.node("Relu", [g.node("Squeeze", [g.dense(t, 1), g.constant(np.array([2]))])])
    colour = g.node("Sigmoid", [g.dense(t, 3)])
    thick = g.node("Mul", [density, scalar(g, 1 / steps)])
    before = g.node("CumSum", [thick, g.constant(np.int64(1))], exclusive=1)
    weights = g.node("Mul", [g.node("Exp", [g.node("Neg", [before])]), g.node("Sub", [scalar(g, 1), g.node("Exp", [g.node("Neg", [thick])])])])
    weights = g.node("Unsqueeze", [weights, g.constant(np.array([2]))])
    return g.node("ReduceSum", [g.node("Mul", [weights, colour]), g.constant(np.array([1]))], keepdims=0)


def capsules(g):
    """Vectors that vote for vectors, agreed on in a few rounds."""
    r = g.r
    t = g.act(g.conv(g.input([1, 1, 28, 28]), r.choice([32, 64]), 9, pads="VALID"), "Relu")
    t = g.conv(t, 64, 9, stride=2, pads="VALID")
    n, c, h, w = g.dims(t)
    inner, count, kinds, wide = 8, c // 8 * h * w, r.choice([5, 10]), r.choice([8, 16])

    def squash(x):
        square = g.node("ReduceSum", [g.node("Mul", [x, x]), g.constant(np.array([-1]))], keepdims=1)
        root = g.node("Sqrt", [g.node("Add", [square, scalar(g, 1e-7)])])
        return g.node("Mul", [g.node("Div", [square, g.node("Add", [square, scalar(g, 1)])]), g.node("Div", [x, root])])

    x = squash(g.node("Transpose", [g.reshape(t, [n, c // inner, inner, h * w])], perm=[0, 1, 3, 2]))
    x = g.reshape(x, [n, count, inner])
    votes = g.node("Einsum", [x, g.weight(kinds, count, inner, wide)], equation="bni,knio->bkno")
    logits = g.constant(np.zeros((n, kinds, count, 1), np.float32))
    for turn in range(r.randint(2, 3)):
        share = g.node("Softmax", [logits], axis=1)
        out = squash(g.node("ReduceSum", [g.node("Mul", [share, votes]), g.constant(np.array([2]))], keepdims=1))
        logits = g.node("Add", [logits, g.node("ReduceSum", [g.node("Mul", [votes, out]), g.constant(np.array([-1]))], keepdims=1)])
    return g.node("Sqrt", [g.node("ReduceSum", [g.node("Mul", [out, out]), g.constant(np.array([2, 3]))], keepdims=0)])


def first_networks(g):
    """As ten years ago: large first filters, LRN over neighbouring channels, pools that overlap or take norms, two groups, wide dense layers."""
    r = g.r
    t = g.node("Relu", [g.conv(g.input([1, 3, *[r.choice([99, 115, 131])] * 2]), r.choice([24, 32, 48]), r.choice([7, 11]), stride=r.choice([2, 4]), pads="VALID")])
    for groups in (2, 1, 2):
        if r.random() < 0.7:
            t = g.node("LRN", [t], size=r.choice([3, 5]), alpha=1e-4, beta=0.75, bias=r.choice([1.0, 2.0]))
        kind = r.choice(["MaxPool", "MaxPool", "LpPool", "AveragePool"])
        if min(sides(g, t)) >= 6:
            t = g.node(kind, [t], kernel_shape=[3, 3], strides=[2, 2], **({"p": 2} if kind == "LpPool" else {}))
        t = g.node("Relu", [g.conv(t, r.choice([64, 96]), r.choice([3, 5]), groups=groups)])
    t = g.node("MaxPool", [t], kernel_shape=[2, 2], strides=[2, 2])
    t = g.node("Flatten", [t])
    for wide in (r.choice([128, 512]), r.choice([128, 512])):
        t = g.node("Relu", [g.dense(t, wide)])
    return g.node("Softmax", [g.dense(t, r.choice([10, 100]))], axis=1)


def films(g):
    """Short films: filters over places and over time apart, or one for each channel over both, with gates from the mean."""
    r = g.r
    t = g.input([1, 3, r.choice([4, 8]), *[r.choice([32, 40, 48])] * 2])
    t = g.act(g.norm(g.conv(t, r.choice([16, 24]), (1, 3, 3), stride=(1, 2, 2))), "Relu")
    own = r.random() < 0.6
    for _ in range(r.randint(2, 4)):
        narrow = g.dims(t)[1]
        stride = r.choice([1, 1, 2]) if min(g.dims(t)[3:]) >= 8 else 1
        if own:
            wide = narrow * r.choice([2, 3])
            u = g.act(g.norm(g.conv(t, wide, 1)), "Relu")
            u = g.norm(g.conv(u, wide, 3, stride=(1, stride, stride), groups=wide))
            gate = g.node("GlobalAveragePool", [u])
            gate = g.node("Sigmoid", [g.conv(g.node("Relu", [g.conv(gate, max(4, wide // 8), 1)]), wide, 1)])
            u = g.act(g.node("Mul", [u, gate]), "swish")
        else:
            u = g.act(g.norm(g.conv(t, r.choice([24, 40, 48]), (1, 3, 3), stride=(1, stride, stride))), "Relu")
            u = g.act(g.norm(g.conv(u, g.dims(u)[1], (3, 1, 1))), "Relu")
        out = narrow if stride == 1 else r.choice([24, 32, 48])
        u = g.norm(g.conv(u, out, 1))
        t = g.node("Add", [t, u]) if stride == 1 else u
    return g.dense(g.node("Flatten", [g.node("GlobalAveragePool", [t])]), 20)


def borrowed_attention(g):
    """Where to look by channels and by places: means and largest values over either, along rows and columns, as gates."""
    r = g.r
    t = g.act(g.norm(g.conv(g.input([1, 3, *[r.choice([48, 64])] * 2]), r.choice([24, 32, 44]), 3, stride=2)), "Relu")
    for _ in range(r.randint(2, 4)):
        n, c, h, w = g.dims(t)
        u = g.act(g.norm(g.conv(t, c, 3)), "HardSwish")
        if r.random() < 0.5:
            first, second = (g.weight(c // 4, c, 1, 1), g.weight(c, c // 4, 1, 1))
            pooled = [g.node("GlobalAveragePool", [u]), g.node("GlobalMaxPool", [u])]
            both = [g.node("Conv", [g.node("Relu", [g.node("Conv", [p, first])]), second]) for p in pooled]
            u = g.node("Mul", [u, g.node("Sigmoid", [g.node("Add", both)])])
            means = [g.node("ReduceMean", [u], axes=[1], keepdims=1), g.node("ReduceMax", [u], axes=[1], keepdims=1)]
            u = g.node("Mul", [u, g.node("Sigmoid", [g.conv(g.node("Concat", means, axis=1), 1, 7)])])
        else:
            down = g.node("ReduceMean", [u], axes=[3], keepdims=1)
            across = g.node("Transpose", [g.node("ReduceMean", [u], axes=[2], keepdims=1)], perm=[0, 1, 3, 2])
            both = g.act(g.norm(g.conv(g.node("Concat", [down, across], axis=2), max(8, c // 4), 1)), "HardSwish")
            down, across = g.node("Split", [both, g.constant(np.array([h, w]))], 2, axis=2)
            down = g.node("Sigmoid", [g.conv(down, c, 1)])
            across = g.node("Sigmoid", [g.conv(g.node("Transpose", [across], perm=[0, 1, 3, 2]), c, 1)])
            u = g.node("Mul", [g.node("Mul", [u, down]), across])
        t = g.node("Add", [t, u])
        if r.random() < 0.4 and min(h, w) >= 12:
            t = g.node("MaxPool", [t], kernel_shape=[2, 2], strides=[2, 2])
    return g.dense(g.node("Flatten", [g.node("GlobalAveragePool", [t])]), 10)


FAMILIES = (own_kernels, noise_steps, flow_steps, deformable_attention, styles, rays, capsules, first_networks, films, borrowed_attention)
