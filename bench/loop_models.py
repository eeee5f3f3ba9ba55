#!/usr/bin/env python3
"""Recurrent models as exporters of loops write them, raced against ONNX Runtime: loop_models.py PLIMSOLL [--steps N] [--repeat N] [--only TEXT] [--write FOLDER]

Each is written into a temporary folder (or FOLDER), run inside its plan and over poison by `plimsoll run --json`, whose planned and actual
peak must be equal, and raced with `plimsoll bench --against ort` (one thread, turns interleaved). Needs onnx, numpy and onnxruntime in the
Python that runs this."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18


class Nodes:
    """Nodes of one body, with the constants that it holds."""

    def __init__(self, prefix):
        self.prefix, self.nodes, self.constants, self.count = prefix, [], [], 0

    def add(self, op, inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{self.prefix}{op}{self.count}_{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{self.prefix}{op}{self.count}", **attributes))
        return names[0] if len(names) == 1 else names

    def constant(self, array):
        self.count += 1
        name = f"{self.prefix}c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name


def port(name, type, shape):
    return helper.make_tensor_value_info(name, type, shape)


FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def weights(random, *shape):
    return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def model(nodes, inputs, outputs, name):
    graph = helper.make_graph(nodes.nodes, name, inputs, outputs, nodes.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def lstm_cell(body, x, h, c, random, width, hidden):
    w, r, b = (body.constant(weights(random, width, 4 * hidden)), body.constant(weights(random, hidden, 4 * hidden)), body.constant(weights(random, 1, 4 * hidden)[0]))
    gates = body.add("Add", [body.add("Add", [body.add("MatMul", [x, w]), body.add("MatMul", [h, r])]), b])
    i, f, g, o = body.add("Split", [gates], 4, axis=-1, num_outputs=4)
    kept = body.add("Mul", [body.add("Sigmoid", [f]), c])
    new_c = body.add("Add", [kept, body.add("Mul", [body.add("Sigmoid", [i]), body.add("Tanh", [g])])])
    return body.add("Mul", [body.add("Sigmoid", [o]), body.add("Tanh", [new_c])]), new_c


def loop_body(body, inputs, outputs):
    return helper.make_graph(body.nodes, "body", inputs, outputs, body.constants)


def lstm_loop(steps, batch=1, width=64, hidden=128):
    """A LSTM as tf2onnx and scripted exports write it: a Loop that takes the step's row of the input by Gather and collects its states."""
    random, body, top = np.random.default_rng(1), Nodes("b_"), Nodes("t_")
    x = body.add("Gather", ["x", "i"], axis=0)
    h, c = lstm_cell(body, x, "h_in", "c_in", random, width, hidden)
    body.add("Identity", ["go"], ["go_out"])
    body.add("Identity", [h], ["h_slice"])
    state = [batch, hidden]
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("h_in", FLOAT, state), port("c_in", FLOAT, state)],
                      [port("go_out", BOOL, []), port(h, FLOAT, state), port(c, FLOAT, state), port("h_slice", FLOAT, state)])
    top.add("Loop", [top.constant(np.array(steps, np.int64)), top.constant(np.array(True)), "h0", "c0"], ["h_last", "c_last", "all"], body=graph)
    return model(top, [port("x", FLOAT, [steps, batch, width]), port("h0", FLOAT, state), port("c0", FLOAT, state)],
                 [port("h_last", FLOAT, state), port("c_last", FLOAT, state), port("all", FLOAT, [steps, batch, hidden])], "lstm_loop")


def lstm_loop_batch(steps):
    return lstm_loop(steps, batch=16, width=128, hidden=256)


def lstm_while(steps, batch=1, width=64, hidden=128):
    """The same as TensorFlow's while: nothing but the condition ends it, and the states are collected as often as that tells."""
    random, body, top = np.random.default_rng(1), Nodes("b_"), Nodes("t_")
    x = body.add("Gather", ["x", "t_in"], axis=0)
    h, c = lstm_cell(body, x, "h_in", "c_in", random, width, hidden)
    t = body.add("Add", ["t_in", body.constant(np.array(1, np.int32))])
    go = body.add("And", [body.add("Less", [t, "length"]), body.add("Less", [t, body.constant(np.array(10 ** 6, np.int32))])])
    body.add("Identity", [h], ["h_slice"])
    state = [batch, hidden]
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("t_in", TensorProto.INT32, []), port("h_in", FLOAT, state), port("c_in", FLOAT, state)],
                      [port(go, BOOL, []), port(t, TensorProto.INT32, []), port(h, FLOAT, state), port(c, FLOAT, state), port("h_slice", FLOAT, state)])
    top.add("Cast", [top.add("Gather", [top.add("Shape", ["x"]), top.constant(np.array(0, np.int64))], axis=0)], ["length"], to=TensorProto.INT32)
    zero = top.constant(np.array(0, np.int32))
    first = top.add("Less", [zero, "length"])
    top.add("Loop", [top.constant(np.array(np.iinfo(np.int64).max)), first, zero, "h0", "c0"], ["t_last", "h_last", "c_last", "all"], body=graph)
    top.add("Transpose", ["all"], ["batch_first"], perm=[1, 0, 2])
    return model(top, [port("x", FLOAT, [steps, batch, width]), port("h0", FLOAT, state), port("c0", FLOAT, state)],
                 [port("h_last", FLOAT, state), port("batch_first", FLOAT, [batch, None, hidden])], "lstm_while")


def gru_while(steps, batch=4, width=96, hidden=192):
    """A GRU with the condition of a while loop in its body: data tells the number of steps."""
    random, body, top = np.random.default_rng(2), Nodes("b_"), Nodes("t_")
    x = body.add("Gather", ["x", "t_in"], axis=0)
    gates = body.add("Add", [body.add("MatMul", [x, body.constant(weights(random, width, 3 * hidden))]), body.constant(weights(random, 1, 3 * hidden)[0])])
    zx, rx, nx = body.add("Split", [gates], 3, axis=-1, num_outputs=3)
    zr = body.add("MatMul", ["h_in", body.constant(weights(random, hidden, 2 * hidden))])
    zh, rh = body.add("Split", [zr], 2, axis=-1, num_outputs=2)
    z, r = body.add("Sigmoid", [body.add("Add", [zx, zh])]), body.add("Sigmoid", [body.add("Add", [rx, rh])])
    n = body.add("Tanh", [body.add("Add", [nx, body.add("MatMul", [body.add("Mul", [r, "h_in"]), body.constant(weights(random, hidden, hidden))])])])
    one = body.constant(np.array(1, np.float32))
    h = body.add("Add", [body.add("Mul", [body.add("Sub", [one, z]), n]), body.add("Mul", [z, "h_in"])])
    t = body.add("Add", ["t_in", body.constant(np.array(1, np.int64))])
    go = body.add("Less", [t, "told"])
    state = [batch, hidden]
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("t_in", INT64, []), port("h_in", FLOAT, state)],
                      [port(go, BOOL, []), port(t, INT64, []), port(h, FLOAT, state)])
    zero = top.constant(np.array(0, np.int64))
    large = top.add("Greater", [top.add("ReduceMax", ["h0"], keepdims=0), top.constant(np.float32(1e6))])
    top.add("Sub", [top.constant(np.array(steps, np.int64)), top.add("Cast", [large], to=INT64)], ["told"])
    top.add("Loop", ["", top.add("Less", [zero, "told"]), zero, "h0"], ["t_last", "h_last"], body=graph)
    return model(top, [port("x", FLOAT, [steps, batch, width]), port("h0", FLOAT, state)],
                 [port("t_last", INT64, []), port("h_last", FLOAT, state)], "gru_while")


def attention_loop(steps, heads=4, size=32, words=512):
    """A decoder that feeds its own word back: a cache of fixed length is carried and written row by row, attention looks at what is there."""
    random, body, top = np.random.default_rng(3), Nodes("b_"), Nodes("t_")
    width = heads * size
    table = body.constant(weights(random, words, width) * np.float32(4))
    x = body.add("Gather", [table, "word_in"], axis=0)
    split = body.constant(np.array([1, heads, 1, size], np.int64))
    q, k, v = (body.add("Reshape", [body.add("MatMul", [x, body.constant(weights(random, width, width))]), split]) for _ in range(3))
    place = body.add("Reshape", ["i", body.constant(np.array([1, 1, 1, 1], np.int64))])
    row = body.add("Expand", [place, body.constant(np.array([1, heads, 1, size], np.int64))])
    keys = body.add("ScatterElements", ["keys_in", row, k], axis=2)
    values = body.add("ScatterElements", ["values_in", row, v], axis=2)
    scores = body.add("Mul", [body.add("MatMul", [q, body.add("Transpose", [keys], perm=[0, 1, 3, 2])]), body.constant(np.float32(size ** -0.5))])
    seen = body.add("LessOrEqual", [body.constant(np.arange(steps, dtype=np.int64).reshape(1, 1, 1, steps)), place])
    probabilities = body.add("Softmax", [body.add("Where", [seen, scores, body.constant(np.float32(-1e9))])], axis=-1)
    mixed = body.add("Reshape", [body.add("MatMul", [probabilities, values]), body.constant(np.array([1, width], np.int64))])
    out = body.add("Add", [body.add("MatMul", [mixed, body.constant(weights(random, width, width))]), x])
    word = body.add("ArgMax", [body.add("MatMul", [out, body.constant(weights(random, width, words))])], axis=-1, keepdims=0)
    body.add("Identity", ["go"], ["go_out"])
    body.add("Identity", [word], ["word_slice"])
    cache = [1, heads, steps, size]
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("word_in", INT64, [1]), port("keys_in", FLOAT, cache), port("values_in", FLOAT, cache)],
                      [port("go_out", BOOL, []), port(word, INT64, [1]), port(keys, FLOAT, cache), port(values, FLOAT, cache), port("word_slice", INT64, [1])])
    empty = top.constant(np.zeros(cache, np.float32))
    first = top.add("Cast", [top.add("Clip", ["first", top.constant(np.float32(0)), top.constant(np.float32(words - 1))])], to=INT64)
    top.add("Loop", [top.constant(np.array(steps, np.int64)), "", first, empty, empty], ["last", "keys", "values", "words"], body=graph)
    return model(top, [port("first", FLOAT, [1])], [port("words", INT64, [steps, 1])], "attention_loop")


def scan_states(steps, batch=2, width=48, hidden=96):
    """A Scan with three states, of which one counts, over two sequences, one of them walked backward and along its second axis."""
    random, body, top = np.random.default_rng(4), Nodes("b_"), Nodes("t_")
    joined = body.add("Concat", ["x_t", "y_t"], axis=-1)
    h, c = lstm_cell(body, joined, "h_in", "c_in", random, 2 * width, hidden)
    sums = body.add("Add", ["s_in", h])
    body.add("Identity", [h], ["h_slice"])
    state = [batch, hidden]
    graph = loop_body(body, [port(name, FLOAT, state) for name in ("h_in", "c_in", "s_in")] + [port(name, FLOAT, [batch, width]) for name in ("x_t", "y_t")],
                      [port(name, FLOAT, state) for name in (h, c, sums, "h_slice")])
    top.add("Scan", ["h0", "c0", "s0", "x", "y"], ["h", "c", "s", "all"], body=graph, num_scan_inputs=2, scan_input_axes=[0, 1],
            scan_input_directions=[0, 1], scan_output_axes=[1])
    return model(top, [port(name, FLOAT, state) for name in ("h0", "c0", "s0")] + [port("x", FLOAT, [steps, batch, width]), port("y", FLOAT, [batch, steps, width])],
                 [port(name, FLOAT, state) for name in ("h", "c", "s")] + [port("all", FLOAT, [batch, steps, hidden])], "scan_states")


def growing_cache(steps, width=64):
    """Attention over keys that a Concat in the body appends a row to: a carried value whose shape grows."""
    random, body, top = np.random.default_rng(5), Nodes("b_"), Nodes("t_")
    query = body.add("MatMul", ["x_in", body.constant(weights(random, width, width))])
    keys = body.add("Concat", ["keys_in", body.add("MatMul", ["x_in", body.constant(weights(random, width, width))])], axis=0)
    probabilities = body.add("Softmax", [body.add("MatMul", [query, body.add("Transpose", [keys], perm=[1, 0])])], axis=-1)
    mixed = body.add("Add", ["x_in", body.add("MatMul", [probabilities, keys])])
    x = body.add("LayerNormalization", [mixed, body.constant(np.ones(width, np.float32))], axis=-1)
    body.add("Identity", ["go"], ["go_out"])
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("x_in", FLOAT, [1, width]), port("keys_in", FLOAT, ["rows", width])],
                      [port("go_out", BOOL, []), port(x, FLOAT, [1, width]), port(keys, FLOAT, ["more", width])])
    top.add("Loop", [top.constant(np.array(steps, np.int64)), "", "x", "x"], ["last", "keys"], body=graph)
    return model(top, [port("x", FLOAT, [1, width])], [port("last", FLOAT, [1, width]), port("keys", FLOAT, [None, width])], "growing_cache")


def list_loop(steps, batch=2, width=32, hidden=64):
    """A recurrent cell over a list of its inputs that appends its states to another, as scripted exports write it."""
    random, body, top = np.random.default_rng(6), Nodes("b_"), Nodes("t_")
    x = body.add("SequenceAt", ["pieces", "i"])
    sums = body.add("Add", [body.add("MatMul", [x, body.constant(weights(random, width, hidden))]), body.add("MatMul", ["h_in", body.constant(weights(random, hidden, hidden))])])
    h = body.add("Tanh", [sums])
    states = body.add("SequenceInsert", ["states_in", h])
    body.add("Identity", ["go"], ["go_out"])
    state, sequence = [batch, hidden], lambda name: helper.make_tensor_sequence_value_info(name, FLOAT, [batch, hidden])
    graph = loop_body(body, [port("i", INT64, []), port("go", BOOL, []), port("h_in", FLOAT, state), sequence("states_in")],
                      [port("go_out", BOOL, []), port(h, FLOAT, state), sequence(states)])
    top.add("SplitToSequence", ["x"], ["pieces"], axis=0, keepdims=0)
    top.add("Loop", [top.add("SequenceLength", ["pieces"]), "", "h0", top.add("SequenceEmpty", [])], ["last", "states"], body=graph)
    top.add("ConcatFromSequence", ["states"], ["all"], axis=0, new_axis=1)
    return model(top, [port("x", FLOAT, [steps, batch, width]), port("h0", FLOAT, state)], [port("all", FLOAT, [None, batch, hidden])], "list_loop")


MODELS = (lstm_loop, lstm_loop_batch, lstm_while, gru_while, attention_loop, scan_states, growing_cache, list_loop)


def run(command, environment):
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    environment = dict(os.environ, PLIMSOLL_PYTHON=sys.executable)
    print("| model | ours ms | ORT ms | ratio | spread | planned | actual | distance |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.write or pathlib.Path(temporary)
        for make in MODELS:
            if options.only not in make.__name__:
                continue
            file = folder / f"{make.__name__}.onnx"
            onnx.save(make(options.steps), file)
            if options.write:
                continue
            alone = run([options.plimsoll, "run", file, "--json"], environment)["models"][0]
            one = run([options.plimsoll, "bench", file, "--against", "ort", "--repeat", options.repeat, "--json"], environment)["models"][0]
            peer = one["peer"]
            print(f"| {make.__name__} | {one['latency_ms']['p50']:.2f} | {peer['latency_ms']['p50']:.2f} | {peer['ratio']:.3f} | {peer['ratio_spread'][0]:.3f} to "
                  f"{peer['ratio_spread'][1]:.3f} | {alone.get('planned_peak_bytes')} | {alone.get('actual_peak_bytes')} | {peer['output_distance']:.1e} |", flush=True)


if __name__ == "__main__":
    main()
