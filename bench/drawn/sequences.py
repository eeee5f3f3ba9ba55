"""The families of drawn_networks.py that work on sequences and sets at once: attention, dense layers, tables."""
import numpy as np
from onnx import TensorProto


def heads(g, x, count):
    batch, length, wide = g.dims(x)
    return g.node("Transpose", [g.reshape(x, [batch, length, count, wide // count])], perm=[0, 2, 1, 3])


def attention(g, x, source, count, mask=None):
    batch, length, wide = g.dims(x)
    if source == x and g.r.random() < 0.4:
        q, k, v = g.node("Split", [g.dense(x, 3 * wide), g.constant(np.array([wide] * 3))], 3, axis=2)
    else:
        q, k, v = g.dense(x, wide), g.dense(source, wide), g.dense(source, wide)
    q, k, v = (heads(g, t, count) for t in (q, k, v))
    scores = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scale = np.float32(np.sqrt(wide // count))
    scores = g.node("Div", [scores, g.constant(scale)]) if g.r.random() < 0.5 else g.node("Mul", [scores, g.constant(1 / scale)])
    if mask:
        scores = g.node("Add", [scores, mask])
    mixed = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
    return g.dense(g.reshape(g.node("Transpose", [mixed], perm=[0, 2, 1, 3]), [batch, length, wide]), wide)


def layer(g, x, mixed, first):
    x = g.node("Add", [x, mixed])
    x = x if first else g.layer_norm(x)
    inner = g.dense(g.layer_norm(x) if first else x, g.dims(x)[2] * g.r.choice([2, 4]))
    x = g.node("Add", [x, g.dense(g.r.choice([g.gelu, g.act])(inner), g.dims(x)[2])])
    return x if first else g.layer_norm(x)


def sizes(g):
    count = g.r.choice([1, 2, 3, 4, 6, 8, 12])
    return count, count * g.r.choice([16, 32, 40, 64] if count < 6 else [16, 24, 32])


def encoder(g):
    """Self-attention with padding masked by numbers or by truth values."""
    r = g.r
    count, wide = sizes(g)
    batch, length = r.choice([1, 1, 2, 4]), r.choice([17, 50, 64, 128, 197])
    x = g.input([batch, length, wide])
    mask = None
    if r.random() < 0.6:
        kept = g.node("Cast", [g.input([batch, 1, 1, length], TensorProto.BOOL)], to=TensorProto.FLOAT)
        mask = g.node("Mul", [g.node("Sub", [g.constant(np.float32(1)), kept]), g.constant(np.float32(-10000))])
    first = r.random() < 0.5
    for _ in range(r.randint(1, 4)):
        inner = g.layer_norm(x) if first else x
        x = layer(g, x, attention(g, inner, inner, count, mask), first)
    return g.dense(x, r.choice([2, 50, 300]))


def causal(g):
    """A decoder over tokens, each sees those before it."""
    r = g.r
    count, wide = sizes(g)
    length = r.choice([24, 64, 128, 200])
    tokens = g.input([1, length], TensorProto.INT64)
    x = g.node("Add", [g.node("Gather", [g.weight(100, wide), tokens]), g.weight(length, wide)])
    mask = g.constant(np.triu(np.full((1, 1, length, length), -1e9, np.float32), 1))
    for _ in range(r.randint(1, 4)):
        inner = g.layer_norm(x)
        x = layer(g, x, attention(g, inner, inner, count, mask), True)
    return g.dense(g.layer_norm(x), r.choice([100, 1000]))


def crossed(g):
    """A decoder that also looks at what an encoder made, of another length."""
    r = g.r
    count, wide = sizes(g)
    x, source = g.input([1, r.choice([1, 16, 40, 100]), wide]), g.input([1, r.choice([30, 77, 150, 400]), wide])
    for _ in range(r.randint(1, 3)):
        inner = g.layer_norm(x)
        x = g.node("Add", [x, attention(g, inner, inner, count)])
        x = layer(g, x, attention(g, g.layer_norm(x), source, count), True)
    return x


def windows(g):
    """Attention within windows of an image, with a bias per head and place."""
    r = g.r
    count, wide = sizes(g)
    window, across = r.choice([4, 7, 8]), r.choice([2, 4, 6])
    side, inside = window * across, window * window
    x = g.input([1, side, side, wide])
    for _ in range(r.randint(1, 3)):
        t = g.reshape(g.layer_norm(x), [1, across, window, across, window, wide])
        t = g.reshape(g.node("Transpose", [t], perm=[0, 1, 3, 2, 4, 5]), [across * across, inside, wide])
        t = attention(g, t, t, count, g.weight(1, count, inside, inside))
        t = g.node("Transpose", [g.reshape(t, [1, across, across, window, window, wide])], perm=[0, 1, 3, 2, 4, 5])
        x = g.node("Add", [x, g.reshape(t, [1, side, side, wide])])
        x = g.node("Add", [x, g.dense(g.gelu(g.dense(g.layer_norm(x), wide * 4)), wide)])
    return g.dense(x, r.choice([16, 64]))


def mixer(g):
    """Dense layers over channels and over places by turns."""
    r = g.r
    places, wide = r.choice([49, 64, 196]), r.choice([48, 96, 128, 192])
    x = g.input([1, places, wide])
    for _ in range(r.randint(2, 5)):
        t = g.node("Transpose", [g.layer_norm(x)], perm=[0, 2, 1])
        t = g.dense(g.gelu(g.dense(t, r.choice([32, 64, 128]))), places)
        x = g.node("Add", [x, g.node("Transpose", [t], perm=[0, 2, 1])])
        x = g.node("Add", [x, g.dense(g.gelu(g.dense(g.layer_norm(x), r.choice([2, 4]) * wide)), wide)])
    return g.dense(g.node("ReduceMean", [g.layer_norm(x)], axes=[1], keepdims=0), r.choice([10, 100]))


def conformer(g):
    """Attention and convolutions over one axis, gated, in one block."""
    r = g.r
    count, wide = r.choice([2, 4]), r.choice([64, 96, 144])
    x = g.input([1, r.choice([40, 97, 200]), wide])
    for _ in range(r.randint(1, 3)):
        x = g.node("Add", [x, g.dense(g.act(g.dense(g.layer_norm(x), 4 * wide), "swish"), wide)])
        inner = g.layer_norm(x)
        x = g.node("Add", [x, attention(g, inner, inner, count)])
        t = g.node("Transpose", [g.layer_norm(x)], perm=[0, 2, 1])
        value, gate = g.node("Split", [g.conv(t, 2 * wide, 1), g.constant(np.array([wide] * 2))], 2, axis=1)
        t = g.conv(g.node("Mul", [value, g.node("Sigmoid", [gate])]), wide, r.choice([9, 15, 31]), groups=wide)
        t = g.conv(g.act(g.norm(t), "swish"), wide, 1)
        x = g.node("Add", [x, g.node("Transpose", [t], perm=[0, 2, 1])])
    return g.dense(x, r.choice([29, 128]))


def decode_step(g):
    """One token, with keys and values of the tokens before it given and handed on."""
    r = g.r
    count, wide = sizes(g)
    past, inner = r.choice([16, 100, 300]), wide // count
    x = g.input([1, 1, wide])
    for _ in range(r.randint(1, 4)):
        t = g.layer_norm(x)
        q, k, v = (heads(g, g.dense(t, wide), count) for _ in range(3))
        k, v = (g.node("Concat", [g.input([1, count, past, inner]), new], axis=2) for new in (k, v))
        g.output(k)
        g.output(v)
        scores = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = g.node("Softmax", [g.node("Mul", [scores, g.constant(np.float32(inner**-0.5))])], axis=-1)
        mixed = g.reshape(g.node("Transpose", [g.node("MatMul", [scores, v])], perm=[0, 2, 1, 3]), [1, 1, wide])
        x = layer(g, x, g.dense(mixed, wide), True)
    return g.dense(g.layer_norm(x), r.choice([500, 4000]))


def interactions(g):
    """A recommender: rows of tables by Gather, every pair's product, dense layers before and behind."""
    r = g.r
    batch, wide = r.choice([1, 32, 128]), r.choice([16, 32, 64])
    rows = [g.act(g.dense(g.act(g.dense(g.input([batch, 13]), 128)), wide))]
    for _ in range(r.randint(4, 12)):
        rows.append(g.node("Gather", [g.weight(r.choice([20, 400, 3000]), wide), g.input([batch], TensorProto.INT64)]))
    t = g.node("Concat", [g.node("Unsqueeze", [row, g.constant(np.array([1]))]) for row in rows], axis=1)
    pairs = g.node("MatMul", [t, g.node("Transpose", [t], perm=[0, 2, 1])])
    t = g.node("Concat", [rows[0], g.reshape(pairs, [batch, len(rows) ** 2])], axis=1)
    for _ in range(r.randint(1, 3)):
        t = g.act(g.dense(t, r.choice([64, 128, 256])))
    return g.node("Sigmoid", [g.dense(t, 1)])


FAMILIES = (encoder, causal, crossed, windows, mixer, conformer, decode_step, interactions)
