"""The families of drawn_networks.py that work on sequences: attention and recurrent networks."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


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


def recurrent(g):
    r = g.r
    op, gates = r.choice([("LSTM", 4), ("GRU", 3)])
    length, batch, wide = r.choice([10, 30, 100]), r.choice([1, 1, 4]), r.choice([16, 40, 80, 128])
    x = g.input([length, batch, wide])
    for _ in range(r.randint(1, 3)):
        both, hidden = r.random() < 0.4, r.choice([32, 64, 100, 128, 200])
        d = 2 if both else 1
        more = {"linear_before_reset": 1} if op == "GRU" and r.random() < 0.7 else {}
        inputs = [x, g.weight(d, gates * hidden, g.dims(x)[2]), g.weight(d, gates * hidden, hidden), g.weight(d, 2 * gates * hidden)]
        y = g.node(op, inputs, hidden_size=hidden, direction="bidirectional" if both else "forward", **more)
        x = g.reshape(g.node("Transpose", [y], perm=[0, 2, 1, 3]), [length, batch, d * hidden])
        if r.random() < 0.3:
            x = g.layer_norm(x)
    return g.dense(x, r.choice([10, 64]))


def looped(g):
    """A gated cell written out in the body of a Scan."""
    r = g.r
    length, batch, wide, hidden = r.choice([10, 25, 60]), r.choice([1, 1, 4]), r.choice([16, 40, 80]), r.choice([32, 64, 100, 160])
    x, start = g.input([length, batch, wide]), g.input([batch, hidden])
    n = lambda *dims: (g.numbers.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32)
    held = {"wz": n(wide, hidden), "uz": n(hidden, hidden), "wh": n(wide, hidden), "uh": n(hidden, hidden), "b": n(hidden), "one": np.float32(1)}
    nodes = [("MatMul", "x wz", "a"), ("MatMul", "h uz", "c"), ("Add", "a c", "d"), ("Sigmoid", "d", "z"), ("MatMul", "x wh", "e"),
             ("Mul", "z h", "f"), ("MatMul", "f uh", "i"), ("Add", "e i", "j"), ("Add", "j b", "k"), ("Tanh", "k", "m"), ("Sub", "one z", "o"),
             ("Mul", "z h", "p"), ("Mul", "o m", "q"), ("Add", "p q", "next"), ("Identity", "next", "y")]
    port = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node(op, given.split(), [made]) for op, given, made in nodes], "cell",
                             [port("h", TensorProto.FLOAT, [batch, hidden]), port("x", TensorProto.FLOAT, [batch, wide])],
                             [port("next", TensorProto.FLOAT, [batch, hidden]), port("y", TensorProto.FLOAT, [batch, hidden])],
                             [numpy_helper.from_array(np.asarray(array), name) for name, array in held.items()])
    last, y = g.node("Scan", [start, x], 2, body=body, num_scan_inputs=1)
    g.output(last)
    return g.dense(y, r.choice([5, 32]))


FAMILIES = (encoder, causal, crossed, windows, recurrent, looped)
