"""The families of drawn_networks.py that are layers after layers of one kind at the edge of what is usual: dilations beyond the image, filters of one
channel with any kernel and stride, kernels as large as the image, single-channel transposed filters, causal layers that are cut afterwards, mixed heads,
and channels last with ArgMax, Casts and norms over short axes."""
import numpy as np


def sheet(g, channels, low, high):
    return g.input([g.r.choice([1, 1, 2]), channels, g.r.randint(low, high), g.r.randint(low, high)])


def dilated_alone(g):
    r = g.r
    t = sheet(g, r.choice([3, 16, 17, 48, 61]), 7, 33)
    for _ in range(r.randint(2, 4)):
        t = g.act(g.conv(t, r.choice([16, 24, 61, 64]), 3, dilation=r.randint(2, 36)))
    return t


def depthwise_alone(g):
    r = g.r
    t = sheet(g, r.choice([13, 40, 61, 128]), 10, 56)
    for _ in range(4):
        kernel, side = [r.randint(1, 9), r.randint(1, 9)], min(g.dims(t)[2:])
        stride = r.randint(1, 3) if side > 12 else 1
        t = g.act(g.conv(t, g.dims(t)[1], kernel, stride=stride, groups=g.dims(t)[1]))
    return g.conv(t, r.choice([16, 31, 61]), 1)


def large_kernels(g):
    r, wide = g.r, g.r.choice([8, 24, 48])
    t = sheet(g, wide, 18, 40)
    large = g.conv(t, wide, r.choice([13, 17, 21, 31]), groups=wide)
    t = g.act(g.norm(g.node("Add", [large, g.conv(t, wide, 5, groups=wide)])))
    return g.act(g.conv(t, 16, r.choice([9, 11, 15])))


def spread_channels(g):
    """Each channel grown by itself, then groups of few filters turned back."""
    r, wide = g.r, g.r.choice([8, 20, 32, 64])
    t, stride = sheet(g, wide, 8, 24), r.choice([2, 3, 4])
    kernel = r.choice([stride, 2 * stride])
    t = g.node("ConvTranspose", [t, g.weight(wide, 1, kernel, kernel)], strides=[stride] * 2, group=wide, pads=[(kernel - stride) // 2] * 4)
    t = g.node("ConvTranspose", [t, g.weight(wide, r.choice([2, 4, 7]), 5, 5)], group=2, pads=[2] * 4)
    return g.act(t)


def cut_afterwards(g):
    r, wide = g.r, g.r.choice([25, 32, 50])
    t = g.input([r.choice([1, 8]), r.choice([9, 30]), r.randint(50, 400)])
    for level in range(4):
        kernel, dilation, u = r.choice([2, 3, 7]), 2**level, t
        for _ in range(2):
            weights = [g.weight(wide, g.dims(u)[1], kernel), g.weight(wide)]
            u = g.node("Conv", [u, *weights], pads=[(kernel - 1) * dilation] * 2, dilations=[dilation])
            u = g.act(g.slice(u, 2, 0, -(kernel - 1) * dilation), "Relu")
        t = g.act(g.node("Add", [u, g.conv(t, wide, 1)]), "Relu")
    return t


def mixed_heads(g):
    """Scores of all heads mixed before and after Softmax."""
    r, heads, places = g.r, g.r.choice([4, 8]), g.r.randint(10, 100)
    t = g.input([r.choice([1, 2]), places, 16 * heads])
    q, k, v = (g.node("Transpose", [g.reshape(g.dense(t, 16 * heads), [0, places, heads, 16])], perm=[0, 2, *order]) for order in ([1, 3], [3, 1], [1, 3]))
    mixed = [g.weight(heads, heads) for _ in range(2)]
    scores = g.node("Einsum", [g.node("MatMul", [q, k]), mixed[0]], equation="bhts,hg->bgts")
    scores = g.node("Einsum", [g.node("Softmax", [scores], axis=-1), mixed[1]], equation="bhts,hg->bgts")
    t = g.reshape(g.node("Transpose", [g.node("MatMul", [scores, v])], perm=[0, 2, 1, 3]), [0, places, 16 * heads])
    return g.dense(t, 16 * heads)


def last_axis(g):
    """Channels last: the best class of every place, masks by Casts, and norms over groups of few channels."""
    r, groups = g.r, g.r.choice([3, 4, 8])
    n, high, across, wide = 1, r.randint(16, 48), r.randint(16, 48), groups * r.choice([3, 6])
    t = g.input([n, high, across, wide])
    best = g.node("ArgMax", [t], axis=3, keepdims=1)
    mask = g.node("Cast", [g.node("Cast", [best], to=6)], to=1)
    mask = g.node("Cast", [g.node("Greater", [mask, g.constant(np.float32(1))])], to=1)
    t = g.reshape(g.node("Mul", [t, mask]), [n, high, across, groups, wide // groups])
    t = g.node("Sub", [t, g.node("ReduceMean", [t], axes=[1, 2, 4])])
    spread = g.node("Sqrt", [g.node("Add", [g.node("ReduceMean", [g.node("Mul", [t, t])], axes=[1, 2, 4]), g.constant(np.float32(1e-5))])])
    return g.reshape(g.node("Div", [t, spread]), [n, high, across, wide])


FAMILIES = [dilated_alone, depthwise_alone, large_kernels, spread_channels, cut_afterwards, mixed_heads, last_axis]
