"""The families of drawn_networks.py that are whole pieces of networks over sound, text, tables, points and graphs in use."""
import numpy as np
from onnx import TensorProto


def root_mean_square_norm(g, x):
    """As exporters write it."""
    squares = g.node("ReduceMean", [g.node("Pow", [x, g.constant(np.float32(2))])], axes=[-1], keepdims=1)
    below = g.node("Sqrt", [g.node("Add", [squares, g.constant(np.float32(1e-5))])])
    return g.node("Mul", [g.positive(g.dims(x)[-1]), g.node("Div", [x, below])])


def bare_dense(g, x, filters):
    return g.node("MatMul", [x, g.constant((g.numbers.standard_normal([g.dims(x)[-1], filters]) / np.sqrt(g.dims(x)[-1])).astype(np.float32))])


def rotated(g, x, cosines, sines):
    """Positions as angles: the halves of each head turned."""
    wide = g.dims(x)[-1]
    low, high = g.slice(x, 3, 0, wide // 2), g.slice(x, 3, wide // 2, wide)
    turned = g.node("Concat", [g.node("Neg", [high]), low], axis=3)
    return g.node("Add", [g.node("Mul", [x, cosines]), g.node("Mul", [turned, sines])])


def shared_keys(g):
    """Layers of a language model: positions as angles, several heads of queries to one of keys, gated dense layers; a prompt or one token."""
    r = g.r
    groups, per_group, inner = r.choice([1, 2, 4]), r.choice([2, 4]), r.choice([16, 32, 64])
    count, wide = groups * per_group, groups * per_group * inner
    length, past = r.choice([(1, 60), (1, 200), (32, 0), (96, 0)])
    x = g.input([1, length, wide])
    angles = g.numbers.uniform(0, 6, (1, 1, length, inner // 2)).repeat(2, 3)
    cosines, sines = (g.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    for _ in range(r.randint(1, 3)):
        t = root_mean_square_norm(g, x)
        q, k, v = (g.node("Transpose", [g.reshape(bare_dense(g, t, heads * inner), [1, length, heads, inner])], perm=[0, 2, 1, 3])
                   for heads in (count, groups, groups))
        q, k = rotated(g, q, cosines, sines), rotated(g, k, cosines, sines)
        if past:
            k, v = (g.node("Concat", [g.input([1, groups, past, inner]), new], axis=2) for new in (k, v))
            g.output(k)
            g.output(v)
        seen = length + past
        spread = [g.node("Expand", [g.node("Unsqueeze", [t, g.constant(np.array([2]))]), g.constant(np.array([1, groups, per_group, seen, inner]))]) for t in (k, v)]
        k, v = (g.reshape(t, [1, count, seen, inner]) for t in spread)
        scores = g.node("Div", [g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])]), g.constant(np.float32(inner**0.5))])
        if length > 1:
            scores = g.node("Add", [scores, g.constant(np.triu(np.full((1, 1, length, seen), -1e9, np.float32), 1))])
        mixed = g.node("Transpose", [g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        x = g.node("Add", [x, bare_dense(g, g.reshape(mixed, [1, length, wide]), wide)])
        t = root_mean_square_norm(g, x)
        hidden = r.choice([2 * wide, 8 * wide // 3 // 4 * 4])
        x = g.node("Add", [x, bare_dense(g, g.node("Mul", [g.act(bare_dense(g, t, hidden), "swish"), bare_dense(g, t, hidden)]), wide)])
    return bare_dense(g, root_mean_square_norm(g, x), r.choice([500, 2000]))


def joined_speech(g):
    """The joint of a transducer: every step of sound meets every step of text."""
    r = g.r
    wide, hidden = r.choice([128, 256, 320]), r.choice([128, 256, 512])
    sound, text = g.input([1, r.choice([1, 20, 60]), wide]), g.input([1, r.choice([1, 1, 12]), wide])
    sound = g.node("Unsqueeze", [g.dense(sound, hidden), g.constant(np.array([2]))])
    text = g.node("Unsqueeze", [g.dense(text, hidden), g.constant(np.array([1]))])
    both = g.node(r.choice(["Tanh", "Relu"]), [g.node("Add", [sound, text])])
    return g.node("LogSoftmax", [g.dense(both, r.choice([29, 500, 1025]))], axis=-1)


def read_lines(g):
    """A line of text: convolutions that make its height one, an LSTM in both directions, letters by LogSoftmax."""
    r = g.r
    t = g.input([1, r.choice([1, 3]), 32, r.choice([100, 160, 240])])
    for wide, pool in ((r.choice([32, 48]), (2, 2)), (r.choice([64, 96]), (2, 2)), (r.choice([96, 128]), (2, 1)), (128, (2, 1))):
        t = g.act(g.norm(g.conv(t, wide, 3)), "Relu")
        t = g.node("MaxPool", [t], kernel_shape=list(pool), strides=list(pool))
    t = g.act(g.conv(t, 128, 2, pads="VALID"), "Relu")
    t = g.node("Transpose", [g.node("Squeeze", [t, g.constant(np.array([2]))])], perm=[2, 0, 1])
    hidden = r.choice([48, 64, 96])
    weights = [g.weight(2, 4 * hidden, 128), g.weight(2, 4 * hidden, hidden), g.weight(2, 8 * hidden)]
    t = g.node("LSTM", [t, *weights], 3, hidden_size=hidden, direction="bidirectional")[0]
    steps = g.dims(t)[0]
    t = g.reshape(g.node("Transpose", [t], perm=[0, 2, 1, 3]), [steps, 1, 2 * hidden])
    return g.node("LogSoftmax", [g.dense(t, r.choice([37, 97, 500]))], axis=2)


def heard_frequencies(g):
    """From a wave to frequencies on an ear's scale by a convolution with sines, then a small network over them."""
    r = g.r
    window, hop = r.choice([(256, 128), (400, 160), (512, 160), (512, 256)])
    bins, bands = window // 2 + 1, r.choice([40, 64, 80])
    wave = g.pad(g.input([1, 1, r.choice([8000, 16000])]), window // 2, "reflect")
    turns = 2 * np.pi * np.outer(np.arange(bins), np.arange(window)) / window
    waves = np.concatenate([np.cos(turns), -np.sin(turns)]) * np.hanning(window)
    t = g.node("Conv", [wave, g.constant(waves[:, None].astype(np.float32))], kernel_shape=[window], strides=[hop])
    real, imaginary = g.node("Split", [t, g.constant(np.array([bins] * 2))], 2, axis=1)
    power = g.node("Add", [g.node("Pow", [part, g.constant(np.float32(2))]) for part in (real, imaginary)])
    if r.random() < 0.5:
        power = g.node("Sqrt", [power])
    heard = g.node("MatMul", [g.constant(np.abs(g.numbers.standard_normal((bands, bins))).astype(np.float32) / bins), power])
    t = g.node("Log", [g.node("Max", [heard, g.constant(np.float32(1e-5))])])
    t = g.node("Sub", [t, g.node("ReduceMean", [t], axes=[2], keepdims=1)])
    for _ in range(r.randint(2, 4)):
        t = g.act(g.norm(g.conv(t, r.choice([64, 96, 128]), r.choice([3, 5]), stride=r.choice([1, 2]))))
    return g.dense(g.node("ReduceMean", [t], axes=[2], keepdims=0), r.choice([10, 192]))


def cut_causal(g):
    """Convolutions over time that are padded on both sides and cut at the end, with dilations that double."""
    r = g.r
    t = g.input([r.choice([1, 1, 8]), r.choice([1, 6, 24]), r.choice([96, 300, 784])])
    wide, kernel = r.choice([25, 32, 50, 64]), r.choice([3, 5, 7])
    for i in range(r.randint(3, 7)):
        u, length = t, g.dims(t)[2]
        for _ in range(2):
            past = (kernel - 1) * 2**i
            weights = [g.weight(wide, g.dims(u)[1], kernel), g.weight(wide)]
            u = g.node("Conv", [u, *weights], kernel_shape=[kernel], dilations=[2**i], pads=[past, past])
            u = g.node("Relu", [g.slice(u, 2, 0, -past)])
        shortcut = t if g.dims(t)[1] == wide else g.conv(t, wide, 1)
        t = g.node("Relu", [g.node("Add", [u, shortcut])])
        assert g.dims(t)[2] == length
    last = g.node("Gather", [t, g.constant(np.int64(-1))], axis=2)
    return g.dense(last, r.choice([1, 10]))


def word_filters(g):
    """Words by Gather, filters of several widths over them, the largest of each."""
    r = g.r
    length, wide = r.choice([40, 100, 256]), r.choice([50, 100, 128])
    x = g.node("Gather", [g.weight(500, wide), g.input([r.choice([1, 1, 8]), length], TensorProto.INT64)])
    t, found = g.node("Transpose", [x], perm=[0, 2, 1]), []
    for kernel in (2, 3, 4, 5)[:r.randint(2, 4)]:
        u = g.act(g.conv(t, r.choice([64, 100]), kernel, pads="VALID"), "Relu")
        found.append(g.node("ReduceMax", [u], axes=[2], keepdims=0) if r.random() < 0.5 else g.node("Squeeze", [g.node("MaxPool", [u], kernel_shape=[length - kernel + 1]), g.constant(np.array([2]))]))
    return g.node("Softmax", [g.dense(g.act(g.dense(g.node("Concat", found, axis=1), 64), "Relu"), r.choice([2, 20]))], axis=1)


def points(g):
    """Points of a scene, each through the same layers, the largest of all joined to each."""
    r = g.r
    batch, count = r.choice([1, 1, 4]), r.choice([256, 1000, 2048])
    t = g.input([batch, 3, count])
    turn = t
    for wide in (64, 128, r.choice([128, 256])):
        turn = g.act(g.norm(g.conv(turn, wide, 1)), "Relu")
    turn = g.reshape(g.dense(g.act(g.dense(g.node("ReduceMax", [turn], axes=[2], keepdims=0), 64), "Relu"), 9), [batch, 3, 3])
    t = g.node("Transpose", [g.node("MatMul", [g.node("Transpose", [t], perm=[0, 2, 1]), turn])], perm=[0, 2, 1])
    near = g.act(g.norm(g.conv(t, 64, 1)), "Relu")
    far = g.norm(g.conv(g.act(g.norm(g.conv(near, 128, 1)), "Relu"), r.choice([256, 512]), 1))
    all_of_it = g.node("ReduceMax", [far], axes=[2], keepdims=1)
    spread = g.node("Expand", [all_of_it, g.constant(np.array([batch, g.dims(far)[1], count]))])
    t = g.node("Concat", [near, spread], axis=1)
    for wide in (r.choice([128, 256]), 64):
        t = g.act(g.norm(g.conv(t, wide, 1)), "Relu")
    return g.node("LogSoftmax", [g.node("Transpose", [g.conv(t, r.choice([13, 50]), 1)], perm=[0, 2, 1])], axis=2)


def table_rows(g):
    """Rows of a table: norms, small dense layers with residuals and gates, columns of kinds by Gather."""
    r = g.r
    batch, numbers = r.choice([1, 16, 256]), r.choice([9, 28, 54])
    columns = [g.norm(g.input([batch, numbers]))]
    for _ in range(r.randint(0, 6)):
        columns.append(g.node("Gather", [g.weight(r.choice([20, 100]), r.choice([4, 8])), g.input([batch], TensorProto.INT64)]))
    t = g.node("Concat", columns, axis=1) if len(columns) > 1 else columns[0]
    wide = r.choice([32, 64, 100, 192])
    t = g.dense(t, wide)
    for _ in range(r.randint(2, 6)):
        if r.random() < 0.4:
            value, gate = g.node("Split", [g.norm(g.dense(t, 2 * wide)), g.constant(np.array([wide] * 2))], 2, axis=1)
            u = g.node("Mul", [value, g.node("Sigmoid", [gate])])
        else:
            u = g.dense(g.node("Relu", [g.dense(g.norm(t), 2 * wide)]), wide)
        t = g.node("Mul", [g.node("Add", [t, u]), g.constant(np.float32(np.sqrt(0.5)))])
    return g.dense(g.node("Relu", [g.norm(t)]), r.choice([1, 7]))


def neighbours(g):
    """A graph of nodes and edges: what nodes send along edges, added where it arrives."""
    r = g.r
    nodes, edges, wide = r.choice([20, 100, 400]), r.choice([60, 400, 2000]), r.choice([16, 32, 64])
    source, target = (g.constant(g.numbers.integers(0, nodes, edges)) for _ in range(2))
    t = g.act(g.dense(g.input([nodes, r.choice([9, 30])]), wide), "Relu")
    known = g.dense(g.input([edges, 4]), wide)
    places = g.node("Expand", [g.node("Unsqueeze", [target, g.constant(np.array([1]))]), g.constant(np.array([edges, wide]))])
    for _ in range(r.randint(2, 4)):
        sent = g.node("Concat", [g.node("Gather", [t, source]), g.node("Gather", [t, target]), known], axis=1)
        sent = g.act(g.dense(sent, wide), "Relu")
        zeros = g.constant(np.zeros((nodes, wide), np.float32))
        got = g.node("ScatterElements", [zeros, places, sent], axis=0, reduction="add")
        t = g.node("Add", [t, g.act(g.dense(g.node("Concat", [t, got], axis=1), wide), "Relu")])
    return g.dense(g.node("ReduceMean", [t], axes=[0], keepdims=1), 12)


def kernel_attention(g):
    """Attention without a Softmax over pairs: keys times values first; and gates between the halves of a dense layer."""
    r = g.r
    count, inner, length = r.choice([2, 4, 8]), r.choice([16, 32]), r.choice([64, 196, 400])
    wide = count * inner
    x = g.input([1, length, wide])
    for _ in range(r.randint(2, 4)):
        t = g.layer_norm(x)
        q, k, v = (g.node("Transpose", [g.reshape(g.dense(t, wide), [1, length, count, inner])], perm=[0, 2, 1, 3]) for _ in range(3))
        q, k = (g.node("Add", [g.node("Elu", [part]), g.constant(np.float32(1))]) for part in (q, k))
        pairs = g.node("MatMul", [g.node("Transpose", [k], perm=[0, 1, 3, 2]), v])
        total = g.node("ReduceSum", [k, g.constant(np.array([2]))], keepdims=1)
        below = g.node("ReduceSum", [g.node("Mul", [q, total]), g.constant(np.array([3]))], keepdims=1)
        mixed = g.node("Div", [g.node("MatMul", [q, pairs]), g.node("Add", [below, g.constant(np.float32(1e-6))])])
        x = g.node("Add", [x, g.dense(g.reshape(g.node("Transpose", [mixed], perm=[0, 2, 1, 3]), [1, length, wide]), wide)])
        value, gate = g.node("Split", [g.dense(g.layer_norm(x), 4 * wide), g.constant(np.array([2 * wide] * 2))], 2, axis=2)
        x = g.node("Add", [x, g.dense(g.node("Mul", [value, g.gelu(gate)]), wide)])
    return g.dense(g.node("ReduceMean", [x], axes=[1], keepdims=0), 10)


FAMILIES = (shared_keys, joined_speech, read_lines, heard_frequencies, cut_causal, word_filters, points, table_rows, neighbours, kernel_attention)
