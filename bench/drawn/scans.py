"""The families of drawn_networks.py that go through time by sums, scans and steps: state spaces, decays, cells of convolutions, beams."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from drawn.sequences import attention


def scalar(g, value):
    return g.constant(np.float32(value))


def shifted(g, x):
    """Each place sees the one before it."""
    length = g.dims(x)[1]
    return g.slice(g.node("Pad", [x, g.constant(np.array([0, 1, 0, 0, 0, 0]))]), 1, 0, length)


def decaying_states(g):
    """Layers with weighted sums of the past that decay, by CumSum over exponentials, and mixing with the token before."""
    r = g.r
    length, wide = r.choice([32, 64, 200]), r.choice([64, 96, 160])
    x = g.node("Gather", [g.weight(64, wide), g.input([r.choice([1, 1, 2]), length], TensorProto.INT64)])

    def blend(t, before):
        share = g.constant(g.numbers.uniform(0, 1, (1, 1, wide)).astype(np.float32))
        return g.node("Add", [g.node("Mul", [t, share]), g.node("Mul", [before, g.node("Sub", [scalar(g, 1), share])])])

    def bare(t, filters):
        return g.node("MatMul", [t, g.constant((g.numbers.standard_normal((g.dims(t)[-1], filters)) / np.sqrt(g.dims(t)[-1])).astype(np.float32))])

    decay = g.constant((g.numbers.uniform(0.01, 0.1, (1, 1, wide)) * np.arange(length)[None, :, None]).astype(np.float32))
    for _ in range(r.randint(1, 3)):
        t = g.layer_norm(x)
        before = shifted(g, t)
        k, v, gate = (bare(blend(t, before), wide) for _ in range(3))
        raised = g.node("Exp", [g.node("Add", [k, decay])])
        above = g.node("CumSum", [g.node("Mul", [raised, v]), g.constant(np.int64(1))])
        below = g.node("CumSum", [raised, g.constant(np.int64(1))])
        t = g.node("Mul", [g.node("Sigmoid", [gate]), g.node("Div", [above, below])])
        x = g.node("Add", [x, bare(t, wide)])
        t = g.layer_norm(x)
        before = shifted(g, t)
        k = g.node("Relu", [bare(blend(t, before), 2 * wide)])
        t = g.node("Mul", [g.node("Sigmoid", [bare(blend(t, before), wide)]), bare(g.node("Mul", [k, k]), wide)])
        x = g.node("Add", [x, t])
    return bare(g.layer_norm(x), r.choice([64, 500]))


def state_space(g):
    """Selective state spaces: a causal convolution one a channel, steps by Softplus, states by Einsum and CumSum, a gate."""
    r = g.r
    length, wide, states = r.choice([16, 48, 96]), r.choice([32, 48, 64]), r.choice([4, 8, 16])
    x = g.input([1, length, wide])
    for _ in range(r.randint(1, 3)):
        inner = 2 * wide
        t, gate = g.node("Split", [g.dense(g.layer_norm(x), 2 * inner), g.constant(np.array([inner] * 2))], 2, axis=2)
        t = g.node("Transpose", [t], perm=[0, 2, 1])
        t = g.node("Conv", [t, g.weight(inner, 1, 4), g.weight(inner)], kernel_shape=[4], pads=[3, 3], group=inner)
        t = g.node("Transpose", [g.slice(t, 2, 0, length)], perm=[0, 2, 1])
        t = g.act(t, "swish")
        rank = max(2, wide // 16)
        parts = g.dense(t, rank + 2 * states)
        step, b, c = g.node("Split", [parts, g.constant(np.array([rank, states, states]))], 3, axis=2)
        step = g.node("Mul", [g.node("Softplus", [g.dense(step, inner)]), scalar(g, 0.05)])
        rates = g.constant(-np.tile(np.arange(1, states + 1, dtype=np.float32) / states, (inner, 1)))
        fall = g.node("Einsum", [step, rates], equation="bld,dn->bldn")
        into = g.node("Einsum", [step, b, t], equation="bld,bln,bld->bldn")
        total = g.node("CumSum", [fall, g.constant(np.int64(1))])
        lifted = g.node("Mul", [into, g.node("Exp", [g.node("Neg", [total])])])
        states_now = g.node("Mul", [g.node("CumSum", [lifted, g.constant(np.int64(1))]), g.node("Exp", [total])])
        y = g.node("Einsum", [states_now, c], equation="bldn,bln->bld")
        y = g.node("Add", [y, g.node("Mul", [t, g.weight(inner)])])
        x = g.node("Add", [x, g.dense(g.node("Mul", [y, g.act(gate, "swish")]), wide)])
    return g.dense(g.node("ReduceMean", [x], axes=[1], keepdims=0), 10)


def long_kernels(g):
    """Filters as long as the sequence, worked out from exponentials and applied by a product of every pair of places, or by Fourier transforms."""
    r = g.r
    length, wide = r.choice([32, 64, 128]), r.choice([16, 32, 48])
    x = g.input([1, wide, length])
    for _ in range(r.randint(1, 3)):
        rates = g.constant(g.numbers.uniform(0.05, 0.5, (wide, 4, 1)).astype(np.float32))
        times = g.constant(np.arange(length, dtype=np.float32).reshape(1, 1, length))
        falling = g.node("Mul", [g.weight(wide, 4, 1), g.node("Exp", [g.node("Neg", [g.node("Mul", [rates, times])])])])
        kernel = g.node("ReduceSum", [falling, g.constant(np.array([1]))], keepdims=0)
        if r.random() < 0.5:
            places = np.arange(length)[:, None] - np.arange(length)[None]
            matrix = g.node("Gather", [kernel, g.constant(np.maximum(places, 0))], axis=1)
            matrix = g.node("Mul", [matrix, g.constant((places >= 0).astype(np.float32))])
            y = g.node("Einsum", [matrix, x], equation="dts,bds->bdt")
        else:
            def transformed(t, batch):
                padded = g.node("Pad", [t, g.constant(np.array([0, 0, 0, 0, 0, length]))])
                return g.node("DFT", [g.reshape(padded, [batch * wide, 2 * length, 1])], axis=1)
            a, b = transformed(x, 1), transformed(g.reshape(kernel, [1, wide, length]), 1)
            ar, ai, br, bi = (g.node("Gather", [t, g.constant(np.int64(i))], axis=2) for t in (a, b) for i in (0, 1))
            real = g.node("Sub", [g.node("Mul", [ar, br]), g.node("Mul", [ai, bi])])
            imaginary = g.node("Add", [g.node("Mul", [ar, bi]), g.node("Mul", [ai, br])])
            both = g.node("Concat", [g.node("Unsqueeze", [t, g.constant(np.array([2]))]) for t in (real, imaginary)], axis=2)
            back = g.node("DFT", [both], axis=1, inverse=1)
            y = g.slice(g.reshape(g.node("Gather", [back, g.constant(np.int64(0))], axis=2), [1, wide, 2 * length]), 2, 0, length)
        y = g.gelu(g.node("Add", [y, g.node("Mul", [x, g.weight(wide, 1)])]))
        value, gate = g.node("Split", [g.conv(y, 2 * wide, 1), g.constant(np.array([wide] * 2))], 2, axis=1)
        x = g.node("Add", [x, g.node("Mul", [value, g.node("Sigmoid", [gate])])])
    return g.dense(g.node("ReduceMean", [x], axes=[2], keepdims=0), 10)


def image_cells(g):
    """A cell of convolutions over frames (ConvLSTM or ConvGRU), written out step by step."""
    r = g.r
    steps, inputs, wide, side = r.choice([3, 5, 8]), r.choice([1, 3, 8]), r.choice([8, 16, 24]), r.choice([16, 24, 32])
    frames = g.input([1, steps, inputs, side, side])
    kernel, lstm = r.choice([3, 3, 5]), r.random() < 0.6
    pads = [kernel // 2] * 4
    gates = g.weight((4 if lstm else 2) * wide, inputs + wide, kernel, kernel), g.weight((4 if lstm else 2) * wide)
    candidate = g.weight(wide, inputs + wide, kernel, kernel), g.weight(wide)
    h = c = g.constant(np.zeros((1, wide, side, side), np.float32))
    outputs = []
    for step in range(steps):
        now = g.node("Gather", [frames, g.constant(np.int64(step))], axis=1)
        made = g.node("Conv", [g.node("Concat", [now, h], axis=1), *gates], kernel_shape=[kernel] * 2, pads=pads)
        if lstm:
            i, f, o, n = g.node("Split", [made, g.constant(np.array([wide] * 4))], 4, axis=1)
            i, f, o = (g.node("Sigmoid", [t]) for t in (i, f, o))
            c = g.node("Add", [g.node("Mul", [f, c]), g.node("Mul", [i, g.node("Tanh", [n])])])
            h = g.node("Mul", [o, g.node("Tanh", [c])])
        else:
            z, q = g.node("Split", [g.node("Sigmoid", [made]), g.constant(np.array([wide] * 2))], 2, axis=1)
            n = g.node("Tanh", [g.node("Conv", [g.node("Concat", [now, g.node("Mul", [q, h])], axis=1), *candidate], kernel_shape=[kernel] * 2, pads=pads)])
            h = g.node("Add", [g.node("Mul", [g.node("Sub", [scalar(g, 1), z]), h]), g.node("Mul", [z, n])])
        outputs.append(g.node("Unsqueeze", [h, g.constant(np.array([1]))]))
    stacked = g.node("Concat", outputs, axis=1)
    t = g.reshape(stacked, [steps, wide, side, side])
    return g.node("Sigmoid", [g.conv(t, r.choice([1, 3]), 1)])


def sample_steps(g):
    """A vocoder that works out one sample after another: features stretched, a GRU or two with what is added behind, dense layers, a Softmax."""
    r = g.r
    frames, bands, hidden, stretch = r.choice([4, 8, 16]), r.choice([20, 80]), r.choice([64, 128, 192]), r.choice([4, 5, 8])
    t = g.act(g.norm(g.conv(g.input([1, bands, frames]), r.choice([32, 64]), 5)), "Relu")
    for _ in range(r.randint(1, 3)):
        t = g.node("Add", [g.norm(g.conv(g.act(g.norm(g.conv(t, g.dims(t)[1], 1)), "Relu"), g.dims(t)[1], 1)), t])
    scales = g.constant(np.array([1, 1, stretch], np.float32))
    t = g.node("Resize", [t, "", scales], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    features = g.node("Transpose", [t], perm=[2, 0, 1])
    length, wide = g.dims(features)[0], g.dims(features)[2]
    x = g.dense(g.node("Concat", [g.input([length, 1, 1]), features], axis=2), hidden)
    for _ in range(r.randint(1, 2)):
        inputs = [x, g.weight(1, 3 * hidden, hidden), g.weight(1, 3 * hidden, hidden), g.weight(1, 6 * hidden)]
        y = g.node("GRU", [*inputs, "", g.input([1, 1, hidden])], 2, hidden_size=hidden, linear_before_reset=1)
        g.output(y[1])
        x = g.node("Add", [x, g.node("Squeeze", [y[0], g.constant(np.array([1]))])])
    x = g.act(g.dense(g.node("Concat", [x, features], axis=2), hidden), "Relu")
    return g.node("Softmax", [g.dense(x, r.choice([30, 256]))], axis=-1)


def beams(g):
    """One step of a beam search: log probabilities added, the best of all found by TopK, their histories and states gathered."""
    r = g.r
    batch, width, letters, length, hidden = r.choice([1, 2, 4]), r.choice([3, 4, 8]), r.choice([50, 500, 2000]), r.choice([5, 12]), r.choice([64, 128])
    state, scores, history = g.input([batch * width, hidden]), g.input([batch, width]), g.input([batch, width, length], TensorProto.INT64)
    table = g.weight(letters, hidden)
    for _ in range(r.randint(1, 4)):
        count = g.dims(history)[2]
        last = g.reshape(g.slice(history, 2, count - 1, count), [batch * width])
        seen = g.node("Concat", [g.node("Gather", [table, last]), state], axis=1)
        state = g.node("Tanh", [g.dense(seen, hidden)])
        chances = g.node("LogSoftmax", [g.dense(state, letters)], axis=-1)
        total = g.node("Add", [g.reshape(chances, [batch, width, letters]), g.node("Unsqueeze", [scores, g.constant(np.array([2]))])])
        scores, found = g.node("TopK", [g.reshape(total, [batch, width * letters]), g.constant(np.array([width]))], 2, axis=1)
        whence = g.node("Div", [found, g.constant(np.int64(letters))])
        letter = g.node("Mod", [found, g.constant(np.int64(letters))])
        items = g.constant(np.arange(batch).reshape(batch, 1, 1).repeat(width, 1))
        pairs = g.node("Concat", [items, g.node("Unsqueeze", [whence, g.constant(np.array([2]))])], axis=2)
        history = g.node("Concat", [g.node("GatherND", [history, pairs]), g.node("Unsqueeze", [letter, g.constant(np.array([2]))])], axis=2)
        state = g.reshape(g.node("GatherND", [g.reshape(state, [batch, width, hidden]), pairs]), [batch * width, hidden])
    g.output(scores)
    g.output(state)
    return history


def masked_scan(g):
    """An LSTM as Keras has it in the body of a Scan: one product for data, one for the state, gates cut by Split, steps beyond an item's length kept out by Where."""
    r = g.r
    length, batch, wide, hidden = r.choice([8, 20, 50]), r.choice([1, 4, 16]), r.choice([16, 50, 100]), r.choice([32, 64, 128])
    x = g.node("Transpose", [g.input([batch, length, wide])], perm=[1, 0, 2])
    ends = g.constant((np.arange(batch) % 3 + length - 2).clip(1, length).astype(np.int64))
    inside = g.node("Less", [g.constant(np.arange(length).reshape(length, 1)), g.node("Unsqueeze", [ends, g.constant(np.array([0]))])])
    inside = g.node("Unsqueeze", [inside, g.constant(np.array([2]))])
    n = lambda *dims: (g.numbers.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32)
    held = {"w": n(wide, 4 * hidden), "u": n(hidden, 4 * hidden), "b": n(4 * hidden)}
    port, make = helper.make_tensor_value_info, helper.make_node
    nodes = [make("MatMul", ["x", "w"], ["a0"]), make("MatMul", ["h", "u"], ["a1"]), make("Add", ["a0", "a1"], ["a2"]), make("Add", ["a2", "b"], ["a3"]),
             make("Split", ["a3"], ["i", "f", "g", "o"], axis=1), make("Sigmoid", ["i"], ["si"]), make("Sigmoid", ["f"], ["sf"]), make("Tanh", ["g"], ["tg"]),
             make("Sigmoid", ["o"], ["so"]), make("Mul", ["sf", "c"], ["fc"]), make("Mul", ["si", "tg"], ["ig"]), make("Add", ["fc", "ig"], ["c1"]),
             make("Tanh", ["c1"], ["tc"]), make("Mul", ["so", "tc"], ["h1"]), make("Where", ["m", "h1", "h"], ["hn"]), make("Where", ["m", "c1", "c"], ["cn"]),
             make("Identity", ["hn"], ["y"])]
    state = [batch, hidden]
    given = [port("h", TensorProto.FLOAT, state), port("c", TensorProto.FLOAT, state), port("x", TensorProto.FLOAT, [batch, wide])]
    body = helper.make_graph(nodes, "cell", [*given, port("m", TensorProto.BOOL, [batch, 1])],
                             [port(name, TensorProto.FLOAT, state) for name in ("hn", "cn", "y")], [numpy_helper.from_array(array, name) for name, array in held.items()])
    zeros = g.constant(np.zeros(state, np.float32))
    last, _, y = g.node("Scan", [zeros, zeros, x, inside], 3, body=body, num_scan_inputs=2)
    g.output(g.dense(last, r.choice([2, 20])))
    return g.node("Transpose", [y], perm=[1, 0, 2])


def relative_positions(g):
    """Attention with positions told apart by their distance: scores of distances are shifted row by row with Pad, Reshape and Slice."""
    r = g.r
    count, inner, length = r.choice([2, 4]), r.choice([16, 24, 36]), r.choice([24, 65, 128])
    wide = count * inner
    x, distances = g.input([1, length, wide]), g.weight(1, 2 * length - 1, wide)
    for _ in range(r.randint(1, 3)):
        x = g.node("Add", [x, g.node("Mul", [g.dense(g.act(g.dense(g.layer_norm(x), 4 * wide), "swish"), wide), scalar(g, 0.5)])])
        t = g.layer_norm(x)
        q, k, v = (g.reshape(g.dense(t, wide), [1, length, count, inner]) for _ in range(3))
        near = g.node("Transpose", [g.node("Add", [q, g.weight(count, inner)])], perm=[0, 2, 1, 3])
        far = g.node("Transpose", [g.node("Add", [q, g.weight(count, inner)])], perm=[0, 2, 1, 3])
        p = g.node("Transpose", [g.reshape(g.dense(distances, wide), [1, 2 * length - 1, count, inner])], perm=[0, 2, 3, 1])
        content = g.node("MatMul", [near, g.node("Transpose", [k], perm=[0, 2, 3, 1])])
        moved = g.node("Pad", [g.node("MatMul", [far, p]), g.constant(np.array([0, 0, 0, 1, 0, 0, 0, 0]))])
        moved = g.slice(g.reshape(moved, [1, count, 2 * length, length]), 2, 1, 2 * length)
        moved = g.slice(g.reshape(moved, [1, count, length, 2 * length - 1]), 3, 0, length)
        scores = g.node("Div", [g.node("Add", [content, moved]), scalar(g, np.sqrt(inner))])
        mixed = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), g.node("Transpose", [v], perm=[0, 2, 1, 3])])
        x = g.node("Add", [x, g.dense(g.reshape(g.node("Transpose", [mixed], perm=[0, 2, 1, 3]), [1, length, wide]), wide)])
        t = g.node("Transpose", [g.layer_norm(x)], perm=[0, 2, 1])
        value, gate = g.node("Split", [g.conv(t, 2 * wide, 1), g.constant(np.array([wide] * 2))], 2, axis=1)
        t = g.conv(g.node("Mul", [value, g.node("Sigmoid", [gate])]), wide, r.choice([7, 15, 31]), groups=wide)
        x = g.node("Add", [x, g.node("Transpose", [g.conv(g.act(g.norm(t), "swish"), wide, 1)], perm=[0, 2, 1])])
    return g.node("LogSoftmax", [g.dense(x, r.choice([29, 128]))], axis=-1)


def latents(g):
    """A few latents look at many inputs, then at each other, by turns; the answer is read from them by queries of its own."""
    r = g.r
    count, wide, places, few = r.choice([1, 4, 8]), r.choice([64, 96, 128]), r.choice([200, 500, 1024]), r.choice([16, 32, 64])
    data = g.layer_norm(g.dense(g.input([1, places, r.choice([3, 32, 67])]), wide))
    x = g.weight(1, few, wide)
    for _ in range(r.randint(1, 3)):
        x = g.node("Add", [x, attention(g, g.layer_norm(x), data, count)])
        for _ in range(r.randint(1, 2)):
            inner = g.layer_norm(x)
            x = g.node("Add", [x, attention(g, inner, inner, count)])
            x = g.node("Add", [x, g.dense(g.gelu(g.dense(g.layer_norm(x), 2 * wide)), wide)])
    asked = g.input([1, r.choice([1, 10, 100]), wide])
    return g.dense(attention(g, asked, g.layer_norm(x), count), r.choice([2, 40]))


def gated_places(g):
    """Dense layers whose one half is mixed over places and gates the other; convolutions over places, or a matrix of all pairs."""
    r = g.r
    places, wide = r.choice([49, 64, 128, 196]), r.choice([48, 64, 128])
    x = g.input([r.choice([1, 1, 2]), places, wide])
    for _ in range(r.randint(2, 5)):
        hidden = r.choice([2, 4]) * wide
        value, gate = g.node("Split", [g.gelu(g.dense(g.layer_norm(x), hidden)), g.constant(np.array([hidden // 2] * 2))], 2, axis=2)
        gate = g.layer_norm(gate)
        if r.random() < 0.5:
            gate = g.node("Conv", [gate, g.weight(places, places, 1), g.positive(places)], kernel_shape=[1])
        else:
            gate = g.node("Add", [g.node("MatMul", [g.weight(places, places), gate]), g.weight(places, 1)])
        x = g.node("Add", [x, g.dense(g.node("Mul", [value, gate]), wide)])
    return g.dense(g.node("ReduceMean", [x], axes=[1], keepdims=0), r.choice([10, 100]))


def segments(g):
    """Sound taken apart: a learnt basis, overlapping segments by slices, recurrent layers within and across segments, masks, added up again by a transposed convolution."""
    r = g.r
    wide, window, hidden = r.choice([32, 64]), r.choice([16, 20]), r.choice([32, 48])
    basis = g.node("Relu", [g.conv(g.input([1, 1, r.choice([1600, 3200])]), wide, window, stride=window // 2, pads="VALID", bias=False)])
    frames = g.dims(basis)[2] // 20 * 20
    basis = g.slice(basis, 2, 0, frames)
    x = g.reshape(g.node("Transpose", [basis], perm=[2, 0, 1]), [frames // 20, 20, wide])
    for _ in range(r.randint(1, 2)):
        for across in (False, True):
            t = x if across else g.node("Transpose", [x], perm=[1, 0, 2])
            y = g.node("LSTM", [t, g.weight(2, 4 * hidden, wide), g.weight(2, 4 * hidden, hidden), g.weight(2, 8 * hidden)], hidden_size=hidden, direction="bidirectional")
            y = g.dense(g.reshape(g.node("Transpose", [y], perm=[0, 2, 1, 3]), [*g.dims(t)[:2], 2 * hidden]), wide)
            x = g.node("Add", [x, g.layer_norm(y if across else g.node("Transpose", [y], perm=[1, 0, 2]))])
    masks = g.node("Transpose", [g.reshape(g.dense(x, 2 * wide), [1, frames, 2, wide])], perm=[2, 0, 3, 1])
    apart = g.node("Mul", [g.reshape(g.node("Sigmoid", [masks]), [2, wide, frames]), basis])
    return g.node("ConvTranspose", [apart, g.weight(wide, 1, window)], kernel_shape=[window], strides=[window // 2])


FAMILIES = (decaying_states, state_space, long_kernels, image_cells, sample_steps, beams, masked_scan, relative_positions, latents, gated_places, segments)
