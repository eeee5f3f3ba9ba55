#!/usr/bin/env python3
"""Decodes with a cache that is a variable and compares with ONNX Runtime: check_kv_cache.py PROGRAM [--steps N] [--seed S]

A small decoder with random weights: two layers of GroupQueryAttention with rotary embeddings, SkipSimplifiedLayerNormalization and a
gated product. One run of the model is one token: it reads the token, the number of keys and the caches, and gives what replaces them.
In `plimsoll run --variables` all of these are variables, the caches with room for every step, so that `--repeat N` is N growing steps
without a caller; each must be written in place. ONNX Runtime is fed step by step with caches that grow. The tokens must be equal, and
the run must take what its plan says."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from answers import flat
from random_graphs.reference import Reference

LAYERS, HEADS, GROUPS, WIDTH, WORDS = 2, 4, 2, 16, 97
HIDDEN = HEADS * WIDTH
DOMAIN = "com.microsoft"


class Decoder:
    """`room`: rows of the caches, and of the list of tokens."""

    def __init__(self, seed, room):
        self.rng = np.random.default_rng(seed)
        self.room, self.nodes, self.constants, self.names = room, [], [], 0
        self.inputs, self.outputs, self.pairs = [], [], []

    def weights(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def constant(self, array):
        self.names += 1
        self.constants.append(numpy_helper.from_array(array, f"c{self.names}"))
        return f"c{self.names}"

    def add(self, op, inputs, outputs=1, domain="", **attributes):
        self.names += 1
        made = [f"v{self.names}_{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        self.nodes.append(helper.make_node(op, inputs, made, domain=domain, **attributes))
        return made[0] if len(made) == 1 else made

    def state(self, name, kind, shape, new):
        """An input and the output that replaces it."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.outputs.append(helper.make_tensor_value_info(new, kind, None))
        self.outputs[-1].ClearField("type")
        self.pairs.append((name, new))

    def layer(self, i, x, cosines, sines):
        query, key, value = (self.add("MatMul", [x, self.weights(HIDDEN, width)]) for width in (HIDDEN, GROUPS * WIDTH, GROUPS * WIDTH))
        for kind in ("key", "value"):
            self.state(f"past_{kind}_{i}", TensorProto.FLOAT, [1, GROUPS, f"past_{i}", WIDTH], f"present_{kind}_{i}")
        mixed = self.add("GroupQueryAttention", [query, key, value, f"past_key_{i}", f"past_value_{i}", "lengths", "total", cosines, sines],
                         [f"mixed_{i}", f"present_key_{i}", f"present_value_{i}"], DOMAIN, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)[0]
        mixed = self.add("MatMul", [mixed, self.weights(HIDDEN, HIDDEN)])
        ones = self.constant(np.ones(HIDDEN, np.float32))
        normal, x = self.add("SkipSimplifiedLayerNormalization", [x, mixed, ones], [f"normal_{i}", "", "", f"sum_{i}"], DOMAIN, epsilon=1e-5)[::3]
        gate = self.add("QuickGelu", [self.add("MatMul", [normal, self.weights(HIDDEN, 2 * HIDDEN)])], domain=DOMAIN, alpha=1.0)
        up = self.add("MatMul", [normal, self.weights(HIDDEN, 2 * HIDDEN)])
        return self.add("Add", [x, self.add("MatMul", [self.add("Mul", [gate, up]), self.weights(2 * HIDDEN, HIDDEN)])])

    def model(self):
        self.state("token", TensorProto.INT64, [1, 1], "next_token")
        self.state("lengths", TensorProto.INT32, [1], "next_lengths")
        self.state("total", TensorProto.INT32, [], "next_total")
        self.state("history", TensorProto.INT64, [self.room], "next_history")
        angles = np.arange(self.room)[:, None] / 100 ** (np.arange(WIDTH // 2) / (WIDTH // 2))
        cosines, sines = self.constant(np.cos(angles).astype(np.float32)), self.constant(np.sin(angles).astype(np.float32))
        x = self.add("Gather", [self.weights(WORDS, HIDDEN), "token"])
        for i in range(LAYERS):
            x = self.layer(i, x, cosines, sines)
        logits = self.add("MatMul", [x, self.weights(HIDDEN, WORDS)], ["logits"])
        # A word that was just said is not said again, so that the text does not end in one word.
        said = self.add("OneHot", ["token", self.constant(np.array(WORDS)), self.constant(np.array([0, 100], np.float32))])
        self.add("ArgMax", [self.add("Sub", [logits, said])], ["next_token"], axis=-1, keepdims=0)
        one = self.constant(np.array(1, np.int32))
        self.add("Add", ["lengths", one], ["next_lengths"])
        self.add("Add", ["total", one], ["next_total"])
        place = self.add("Cast", [self.add("Unsqueeze", ["lengths", self.constant(np.array([1]))])], to=TensorProto.INT64)
        self.add("ScatterND", ["history", place, self.add("Reshape", ["next_token", self.constant(np.array([1]))])], ["next_history"])
        self.add("Identity", ["next_history"], ["tokens"])
        self.outputs.append(helper.make_tensor_value_info("tokens", TensorProto.INT64, [self.room]))
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)], ir_version=10)


def tokens_of_peer(model, pairs, room, steps):
    """Fed step by step; caches begin empty and grow by a row each."""
    session = Reference(model)
    feeds = {"token": np.array([[1]]), "lengths": np.array([0], np.int32), "total": np.array(1, np.int32), "history": np.zeros(room, np.int64)}
    for i in range(LAYERS):
        for kind in ("key", "value"):
            feeds[f"past_{kind}_{i}"] = np.zeros((1, GROUPS, 0, WIDTH), np.float32)
    for _ in range(steps):
        results = dict(zip(session.names, session.session.run(None, feeds)))
        feeds = {name: results[new] for name, new in pairs}
    return results["tokens"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    room = arguments.steps + 20
    decoder = Decoder(arguments.seed, room)
    model = decoder.model()
    expected = tokens_of_peer(model, decoder.pairs, room, arguments.steps)
    with tempfile.TemporaryDirectory(prefix="plimsoll_kv_cache_") as folder:
        folder = pathlib.Path(folder)
        onnx.save(model, folder / "decoder.onnx")
        np.save(folder / "token.npy", np.array([[1]]))
        np.save(folder / "total.npy", np.array(1, np.int32))
        sizes = f"@1x{GROUPS}x{room}x{WIDTH}"
        variables = ",".join(f"{name}={new}{sizes if name.startswith('past') else ''}" for name, new in decoder.pairs)
        command = [arguments.program, "run", folder / "decoder.onnx", "--variables", variables, "--repeat", str(arguments.steps), "--output", folder, "--json",
                   "--input", f"token={folder / 'token.npy'}", "--input", f"total={folder / 'total.npy'}"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        one = flat(run.stdout)
        made = np.load(folder / "tokens.npy")
    wrong = int((made != expected).sum())
    caches = 2 * LAYERS * GROUPS * room * WIDTH * 4
    print(f"{arguments.steps} steps, {len(set(expected[:arguments.steps]))} different tokens, {wrong} unlike ONNX Runtime's; planned peak "
          f"{one['planned_peak_bytes']:,} bytes, actual {one['actual_peak_bytes']:,}, variables {one['variables_bytes']:,} of which caches {caches:,}")
    # A copy of a cache would lie in the feature map.
    inside = one["planned"] and one["actual_peak_bytes"] == one["planned_peak_bytes"] < caches // (2 * LAYERS) and not one["wrote_outside_plan"]
    if not inside:
        print("the run took more than its plan, or caches were copied")
    sys.exit(0 if inside and not wrong else 1)


if __name__ == "__main__":
    main()
