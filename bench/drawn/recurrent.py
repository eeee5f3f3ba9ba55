"""The families of drawn_networks.py that go through sequences step by step."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


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


def wide_recurrent(g):
    """Layers of many units over several items, RNN too, with initial states and items of different lengths."""
    r = g.r
    op, gates = r.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    length, batch, wide = r.choice([16, 40]), r.choice([1, 2, 4, 8, 16, 32]), r.choice([64, 128, 300])
    x = g.input([length, batch, wide])
    for _ in range(r.randint(1, 2)):
        hidden, direction = r.choice([128, 256, 384, 512]), r.choice(["forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        lengths = g.constant(np.array([length - i % 5 for i in range(batch)], np.int32)) if r.random() < 0.3 else ""
        inputs = [x, g.weight(d, gates * hidden, g.dims(x)[2]), g.weight(d, gates * hidden, hidden), g.weight(d, 2 * gates * hidden), lengths]
        if r.random() < 0.5:
            inputs += [g.weight(d, batch, hidden)] * (2 if op == "LSTM" else 1)
        y = g.node(op, inputs, hidden_size=hidden, direction=direction)
        x = g.reshape(g.node("Transpose", [y], perm=[0, 2, 1, 3]), [length, batch, d * hidden])
    return g.dense(x, r.choice([9, 20]))


def small_recurrent(g):
    """Layers of few units over one item, of any size, as sensors, voices and gestures have them: items first, both states of the last step or
    all of them, and dense layers behind."""
    r = g.r
    op, gates = r.choice([("LSTM", 4), ("LSTM", 4), ("GRU", 3), ("GRU", 3), ("RNN", 1)])
    length, batch, wide = r.choice([1, 3, 10, 25, 64, 150]), r.choice([1, 1, 1, 2, 5]), r.choice([1, 3, 4, 13, 26, 40, 80])
    x = g.node("Transpose", [g.input([batch, length, wide])], perm=[1, 0, 2])
    hidden, both, late = r.choice([5, 16, 20, 32, 42, 64, 100, 128, 200, 256]), r.random() < 0.35, r.random() < 0.6
    d = 2 if both else 1
    for _ in range(r.randint(1, 3)):
        more = {"linear_before_reset": 1} if op == "GRU" and late else {}
        inputs = [x, g.weight(d, gates * hidden, g.dims(x)[2]), g.weight(d, gates * hidden, hidden), g.weight(d, 2 * gates * hidden)]
        y, last = g.node(op, inputs, 3 if op == "LSTM" else 2, hidden_size=hidden, direction="bidirectional" if both else "forward", **more)[:2]
        x = g.reshape(g.node("Transpose", [y], perm=[0, 2, 1, 3]), [length, batch, d * hidden])
    t = g.reshape(g.node("Transpose", [last], perm=[1, 0, 2]), [batch, d * hidden]) if r.random() < 0.6 else g.node("Transpose", [x], perm=[1, 0, 2])
    if r.random() < 0.5:
        t = g.act(g.dense(t, r.choice([16, 32, 64])), "Relu")
    return g.node(r.choice(["Sigmoid", "Softmax"]), [g.dense(t, r.choice([1, 2, 7, 20]))])


def small_dense(g):
    """Perceptrons of a few features, scaled first."""
    r = g.r
    t = g.input([r.choice([1, 1, 1, 4, 32, 200]), r.choice([3, 4, 6, 11, 19, 30, 50])])
    if r.random() < 0.5:
        t = g.node("Div", [g.node("Sub", [t, g.weight(g.dims(t)[1])]), g.positive(g.dims(t)[1])])
    for _ in range(r.randint(1, 4)):
        t = g.dense(t, r.choice([8, 15, 32, 50, 64, 100, 128, 256, 300]))
        t = g.norm(t) if r.random() < 0.2 else t
        t = g.node(r.choice(["Tanh", "Sigmoid", "Elu", "Selu"]), [t]) if r.random() < 0.4 else g.act(t)
    t = g.dense(t, r.choice([1, 1, 2, 5, 12]))
    return g.node(r.choice(["Sigmoid", "Softmax", "Tanh"]), [t]) if r.random() < 0.6 else t


FAMILIES = (recurrent, wide_recurrent, looped)
SMALL = (small_recurrent, small_dense)
