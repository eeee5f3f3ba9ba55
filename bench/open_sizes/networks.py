"""Networks with symbolic axes, drawn from a seed, as exporters write them: what a caller runs with another size in each call.

Each network is a function of a numpy generator that gives (onnx.ModelProto, feeds), where feeds(number) gives the inputs of run `number` by
name, in sizes that no earlier number had. Used by new_sizes.py."""
import numpy as np

from families import FLOAT, INT64, Builder, ints, normal


class Network(Builder):
    """With layers. The generator draws weights."""

    def __init__(self, generator):
        super().__init__()
        self.generator = generator

    def weight(self, *dims):
        return self.constant(normal(self.generator, *dims) / np.sqrt(np.float32(max(1, np.prod(dims[1:])))))

    def near_one(self, count):
        return self.constant(self.generator.uniform(0.5, 1.5, count), np.float32)

    def conv(self, x, channels, filters, kernel, stride=1, dilation=1, groups=1, axes=2, op="Conv"):
        dims = [filters, channels // groups] if op == "Conv" else [channels, filters // groups]
        reach = (kernel - 1) * dilation
        pads = [reach // 2] * axes + [reach - reach // 2] * axes if op == "Conv" else [(kernel - stride) // 2] * 2 * axes
        return self.node(op, x, self.weight(*dims, *[kernel] * axes), self.weight(filters), kernel_shape=[kernel] * axes, strides=[stride] * axes,
                         dilations=[dilation] * axes, group=groups, pads=pads)

    def norm(self, x, channels):
        return self.node("BatchNormalization", x, self.near_one(channels), self.weight(channels), self.weight(channels), self.near_one(channels))

    def block(self, x, channels, filters, kernel=3, stride=1, groups=1):
        return self.node("Relu", self.norm(self.conv(x, channels, filters, kernel, stride, groups=groups), filters))

    def dense(self, x, wide, filters):
        return self.node("Add", self.node("MatMul", x, normal(self.generator, wide, filters) / np.sqrt(np.float32(wide))), self.weight(filters))

    def size(self, x, axis):
        return self.node("Gather", self.node("Shape", x), np.int64(axis))

    def dims(self, *parts):
        """A shape of numbers and of scalars that the graph works out."""
        return self.node("Concat", *(ints(part) if isinstance(part, int) else self.node("Unsqueeze", part, ints(0)) for part in parts), axis=0)

    def layer_norm(self, x, wide):
        return self.node("LayerNormalization", x, self.near_one(wide), self.weight(wide), axis=-1)


def encoder(generator):
    """Layers of attention over words, with shapes worked out as the older exporter of PyTorch does."""
    n, layers, heads, each = Network(generator), int(generator.integers(2, 7)), int(generator.integers(2, 9)), int(generator.choice([16, 32, 64]))
    wide, letters = heads * each, 500
    ids, mask = n.input("ids", INT64, ["batch", "length"]), n.input("mask", INT64, ["batch", "length"])
    steps = n.node("Range", np.int64(0), n.size(ids, 1), np.int64(1))
    x = n.node("Add", n.node("Gather", normal(generator, letters, wide), ids), n.node("Gather", normal(generator, 1000, wide), steps))
    x = n.layer_norm(x, wide)
    shown = n.node("Unsqueeze", n.node("Unsqueeze", n.node("Cast", mask, to=FLOAT), ints(1)), ints(2))
    hidden = n.node("Mul", n.node("Sub", np.float32(1), shown), np.float32(-1e4))

    def split(t):
        return n.node("Transpose", n.node("Reshape", t, n.dims(n.size(t, 0), n.size(t, 1), heads, each)), perm=[0, 2, 1, 3])

    for _ in range(layers):
        query, key, value = (split(n.dense(x, wide, wide)) for _ in range(3))
        scores = n.node("Div", n.node("MatMul", query, n.node("Transpose", key, perm=[0, 1, 3, 2])), np.float32(np.sqrt(each)))
        mixed = n.node("Transpose", n.node("MatMul", n.node("Softmax", n.node("Add", scores, hidden), axis=-1), value), perm=[0, 2, 1, 3])
        mixed = n.node("Reshape", mixed, n.dims(n.size(mixed, 0), n.size(mixed, 1), wide))
        x = n.layer_norm(n.node("Add", n.dense(mixed, wide, wide), x), wide)
        inner = n.dense(x, wide, 4 * wide)
        gelu = n.node("Mul", n.node("Mul", inner, n.node("Add", n.node("Erf", n.node("Div", inner, np.float32(np.sqrt(2)))), np.float32(1))), np.float32(0.5))
        x = n.layer_norm(n.node("Add", n.dense(gelu, 4 * wide, wide), x), wide)
    n.output(x, FLOAT)

    def feeds(number):
        draw, length = np.random.default_rng(number), 5 + 2 * number
        return {"ids": draw.integers(0, letters, (1, length)), "mask": np.ones((1, length), np.int64)}
    return n.build(), feeds


def u_net(generator):
    """Down, and up again beside what went down."""
    n, wide, depth, sides = Network(generator), int(generator.choice([8, 12, 16, 24])), int(generator.integers(2, 5)), bool(generator.integers(0, 2))
    x, channels, skips = n.input("x", FLOAT, [1, 3, "h", "w"]), 3, []
    for level in range(depth):
        x = n.block(n.block(x, channels, wide << level), wide << level, wide << level)
        channels = wide << level
        skips.append(x)
        x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.block(x, channels, channels)
    for level in reversed(range(depth)):
        if sides:
            x = n.conv(x, channels, wide << level, 2, stride=2, op="ConvTranspose")
        else:
            goal = n.node("Concat", n.node("Slice", n.node("Shape", x), ints(0), ints(2)), n.node("Slice", n.node("Shape", skips[level]), ints(2), ints(4)), axis=0)
            x = n.node("Resize", x, "", "", goal, mode="linear", coordinate_transformation_mode="half_pixel")
            x = n.conv(x, channels, wide << level, 1)
        channels = wide << level
        x = n.block(n.node("Concat", x, skips[level], axis=1), 2 * channels, channels)
    n.output(n.node("Sigmoid", n.conv(x, channels, 2, 1)), FLOAT)

    def feeds(number):
        step = 1 << depth
        return {"x": normal(np.random.default_rng(number), 1, 3, step * (4 + number), step * (4 + (number * 7) % 11))}
    return n.build(), feeds


def detector(generator):
    """Features of three scales, joined from above, and boxes of all places."""
    n, wide, classes = Network(generator), int(generator.choice([16, 24, 32])), int(generator.integers(2, 30))
    x = n.block(n.input("image", FLOAT, [1, 3, "h", "w"]), 3, wide, stride=2)
    found, channels = [], wide
    for filters in (wide, 2 * wide, 3 * wide, 4 * wide):
        x = n.block(n.block(x, channels, channels, stride=2, groups=channels), channels, filters, kernel=1)
        for _ in range(int(generator.integers(1, 3))):
            x = n.node("Add", x, n.block(n.block(x, filters, filters, groups=filters), filters, filters, kernel=1))
        channels = filters
        found.append((x, filters))
    joined, outputs = None, []
    for x, filters in reversed(found[1:]):
        lateral = n.conv(x, filters, wide, 1)
        if joined is not None:
            goal = n.node("Concat", n.node("Slice", n.node("Shape", joined), ints(0), ints(2)), n.node("Slice", n.node("Shape", lateral), ints(2), ints(4)), axis=0)
            lateral = n.node("Add", lateral, n.node("Resize", joined, "", "", goal, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
        joined = lateral
        head = n.conv(n.block(joined, wide, wide), wide, 4 + classes, 1)
        outputs.append(n.node("Reshape", n.node("Transpose", head, perm=[0, 2, 3, 1]), n.dims(n.size(head, 0), -1, 4 + classes)))
    rows = n.node("Concat", *outputs, axis=1)
    n.output(n.node("Slice", rows, ints(0), ints(4), ints(2)), FLOAT)
    n.output(n.node("Sigmoid", n.node("Slice", rows, ints(4), ints(4 + classes), ints(2))), FLOAT)

    def feeds(number):
        return {"image": normal(np.random.default_rng(number), 1, 3, 32 * (3 + number % 7), 32 * (3 + number // 2))}
    return n.build(), feeds


def vocoder(generator):
    """Sound from features: transposed convolutions, and dilated ones of several widths added."""
    n, wide = Network(generator), int(generator.choice([32, 64, 128]))
    x = n.conv(n.input("features", FLOAT, [1, 40, "t"]), 40, wide, 7, axes=1)
    for stride in (8, 4, 2):
        wide //= 2
        x = n.conv(n.node("LeakyRelu", x, alpha=0.1), 2 * wide, wide, 2 * stride, stride, axes=1, op="ConvTranspose")
        branches = []
        for kernel in (3, 7):
            t = x
            for dilation in (1, 3, 5):
                inner = n.conv(n.node("LeakyRelu", t, alpha=0.1), wide, wide, kernel, dilation=dilation, axes=1)
                t = n.node("Add", t, n.conv(n.node("LeakyRelu", inner, alpha=0.1), wide, wide, kernel, axes=1))
            branches.append(t)
        x = n.node("Div", n.node("Add", *branches), np.float32(2))
    n.output(n.node("Tanh", n.conv(n.node("LeakyRelu", x), wide, 1, 7, axes=1)), FLOAT)

    def feeds(number):
        return {"features": normal(np.random.default_rng(number), 1, 40, 20 + 3 * number)}
    return n.build(), feeds


def listener(generator):
    """Speech or not: convolutions over a spectrum, a recurrent layer over its steps."""
    n, wide, units = Network(generator), int(generator.choice([24, 40, 64])), int(generator.choice([32, 64]))
    x, channels = n.node("Unsqueeze", n.input("spectrum", FLOAT, [1, 64, "t"]), ints(1)), 1
    for filters in (8, 16):
        x = n.block(x, channels, filters)
        x = n.node("MaxPool", x, kernel_shape=[2, 1], strides=[2, 1])
        channels = filters
    steps = n.node("Reshape", n.node("Transpose", x, perm=[3, 0, 1, 2]), ints(0, 0, -1))
    steps = n.node("Relu", n.dense(steps, 16 * 16, wide))
    y = n.node("GRU", steps, n.weight(2, 3 * units, wide), n.weight(2, 3 * units, units), n.weight(2, 6 * units), hidden_size=units, direction="bidirectional",
               linear_before_reset=1, outputs=2)[0]
    y = n.node("Reshape", n.node("Transpose", y, perm=[2, 0, 1, 3]), ints(0, 0, -1))
    n.output(n.node("Sigmoid", n.dense(y, 2 * units, 1)), FLOAT)

    def feeds(number):
        return {"spectrum": normal(np.random.default_rng(number), 1, 64, 20 + 3 * number)}
    return n.build(), feeds


NETWORKS = [encoder, u_net, detector, vocoder, listener]
