#!/usr/bin/env python3
"""Decodes with a cache that is a variable and compares with ONNX Runtime: check_kv_cache.py PROGRAM [--steps N] [--seed S] [--batch B]

Small decoders with random weights. One run of a model is one token of each item: it reads the token and the caches, and gives what
replaces them. In `plimsoll run --variables` all of these are variables, the caches with room for every step, so that `--repeat N` is N
growing steps without a caller; each must be written in place. ONNX Runtime is fed step by step with caches that grow. The tokens must
be equal, and the run must take what its plan says. Two kinds:
- `cached`: two layers of GroupQueryAttention with rotary embeddings, SkipSimplifiedLayerNormalization and a gated product. Its caches
  have their full size from the beginning, and a number says how much of them is in use.
- `appended`: attention of plain operators over past and present, which a Concat makes of the past and the new token, as exporters of
  PyTorch models write it. Its caches, the attention mask and the list of tokens grow by a row each run.
A cache without room for another row ends with an error that names it."""
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

    def __init__(self, seed, batch, room):
        self.rng = np.random.default_rng(seed)
        self.batch, self.room, self.nodes, self.constants, self.names = batch, room, [], [], 0
        self.inputs, self.outputs = [], []
        self.pairs = {}  # by variable: the output that replaces it, and sizes that the model leaves open

    def weights(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def constant(self, array):
        self.names += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{self.names}"))
        return f"c{self.names}"

    def add(self, op, inputs, outputs=1, domain="", **attributes):
        self.names += 1
        made = [f"v{self.names}_{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        self.nodes.append(helper.make_node(op, inputs, made, domain=domain, **attributes))
        return made[0] if len(made) == 1 else made

    def state(self, name, kind, shape, new, sizes=None):
        """An input and the output that replaces it."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.outputs.append(helper.make_tensor_value_info(new, kind, None))
        self.outputs[-1].ClearField("type")
        self.pairs[name] = new, sizes

    def embedded(self):
        self.state("token", TensorProto.INT64, [self.batch, 1], "next_token")
        return self.add("Gather", [self.weights(WORDS, HIDDEN), "token"])

    def gated(self, normal):
        gate = self.add("MatMul", [normal, self.weights(HIDDEN, 2 * HIDDEN)])
        gate = self.add("Mul", [gate, self.add("Sigmoid", [gate])])
        up = self.add("MatMul", [normal, self.weights(HIDDEN, 2 * HIDDEN)])
        return self.add("MatMul", [self.add("Mul", [gate, up]), self.weights(2 * HIDDEN, HIDDEN)])

    def choose(self, x):
        """A word that was just said is not said again, so that the text does not end in one word."""
        logits = self.add("MatMul", [x, self.weights(HIDDEN, WORDS)], ["logits"])
        said = self.add("OneHot", ["token", self.constant(np.array(WORDS)), self.constant(np.array([0, 100], np.float32))])
        self.add("ArgMax", [self.add("Sub", [logits, said])], ["next_token"], axis=-1, keepdims=0)

    def model(self):
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)], ir_version=10)

    def variables(self):
        return ",".join(f"{name}={new}{'@' + 'x'.join(map(str, sizes)) if sizes else ''}" for name, (new, sizes) in self.pairs.items())


class CachedDecoder(Decoder):
    def __init__(self, seed, batch, room):
        super().__init__(seed, batch, room)
        x = self.embedded()
        self.state("lengths", TensorProto.INT32, [batch], "next_lengths")
        self.state("total", TensorProto.INT32, [], "next_total")
        self.state("history", TensorProto.INT64, [room, batch], "next_history")
        angles = np.arange(room)[:, None] / 100 ** (np.arange(WIDTH // 2) / (WIDTH // 2))
        cosines, sines = self.constant(np.cos(angles).astype(np.float32)), self.constant(np.sin(angles).astype(np.float32))
        for i in range(LAYERS):
            x = self.layer(i, x, cosines, sines)
        self.choose(x)
        one = self.constant(np.array(1, np.int32))
        self.add("Add", ["lengths", one], ["next_lengths"])
        self.add("Add", ["total", one], ["next_total"])
        place = self.add("Cast", [self.add("Sub", ["total", one])], to=TensorProto.INT64)
        place = self.add("Reshape", [place, self.constant(np.array([1, 1]))])
        self.add("ScatterND", ["history", place, self.add("Reshape", ["next_token", self.constant(np.array([1, batch]))])], ["next_history"])
        self.add("Identity", ["next_history"], ["tokens"])
        self.outputs.append(helper.make_tensor_value_info("tokens", TensorProto.INT64, [room, batch]))

    def layer(self, i, x, cosines, sines):
        query, key, value = (self.add("MatMul", [x, self.weights(HIDDEN, width)]) for width in (HIDDEN, GROUPS * WIDTH, GROUPS * WIDTH))
        for kind in ("key", "value"):
            self.state(f"past_{kind}_{i}", TensorProto.FLOAT, [self.batch, GROUPS, f"past_{i}", WIDTH], f"present_{kind}_{i}",
                       [self.batch, GROUPS, self.room, WIDTH])
        mixed = self.add("GroupQueryAttention", [query, key, value, f"past_key_{i}", f"past_value_{i}", "lengths", "total", cosines, sines],
                         [f"mixed_{i}", f"present_key_{i}", f"present_value_{i}"], DOMAIN, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)[0]
        mixed = self.add("MatMul", [mixed, self.weights(HIDDEN, HIDDEN)])
        ones = self.constant(np.ones(HIDDEN, np.float32))
        normal, x = self.add("SkipSimplifiedLayerNormalization", [x, mixed, ones], [f"normal_{i}", "", "", f"sum_{i}"], DOMAIN, epsilon=1e-5)[::3]
        return self.add("Add", [x, self.gated(normal)])

    def start(self, tokens):
        caches = {name: np.zeros((self.batch, GROUPS, 0, WIDTH), np.float32) for name in self.pairs if name.startswith("past")}
        return {"token": tokens, "total": np.array(1, np.int32)}, {"lengths": np.zeros(self.batch, np.int32),
                                                                   "history": np.zeros((self.room, self.batch), np.int64), **caches}

    def cache_bytes(self):
        return self.batch * GROUPS * self.room * WIDTH * 4


class AppendedDecoder(Decoder):
    def __init__(self, seed, batch, room):
        super().__init__(seed, batch, room)
        x = self.embedded()
        self.state("attention_mask", TensorProto.INT64, ["batch", "total_length"], "next_mask", [batch, room + 1])
        self.state("history", TensorProto.INT64, ["batch", "said"], "next_history", [batch, room])
        hidden = self.add("Sub", [self.add("Cast", ["attention_mask"], to=TensorProto.FLOAT), self.constant(np.array(1, np.float32))])
        mask = self.add("Mul", [self.add("Unsqueeze", [hidden, self.constant(np.array([1, 2]))]), self.constant(np.array(10000, np.float32))])
        # A position of its own for each number of keys, as exporters take it from the length of the past.
        place = self.add("Gather", [self.add("Shape", ["past_key_values.0.key"]), self.constant(np.array([2]))])
        x = self.add("Add", [x, self.add("Gather", [self.weights(room, HIDDEN), place])])
        for i in range(LAYERS):
            x = self.layer(i, x, mask)
        self.choose(x)
        one = self.constant(np.ones((batch, 1), np.int64))
        self.add("Concat", ["attention_mask", one], ["next_mask"], axis=1)
        self.add("Concat", ["history", "next_token"], ["next_history"], axis=-1)
        self.add("Identity", ["next_history"], ["tokens"])
        self.outputs.append(helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "said + 1"]))

    def heads_of(self, x):
        split = self.add("Reshape", [self.add("MatMul", [x, self.weights(HIDDEN, HIDDEN)]), self.constant(np.array([0, -1, HEADS, WIDTH]))])
        return self.add("Transpose", [split], perm=[0, 2, 1, 3])

    def layer(self, i, x, mask):
        ones, zeros = self.constant(np.ones(HIDDEN, np.float32)), self.constant(np.zeros(HIDDEN, np.float32))
        normal = self.add("LayerNormalization", [x, ones, zeros])
        query, new = self.heads_of(normal), {}
        for kind in ("key", "value"):
            past, present = f"past_key_values.{i}.{kind}", f"present.{i}.{kind}"
            self.state(past, TensorProto.FLOAT, ["batch", HEADS, "past_length", WIDTH], present, [self.batch, HEADS, self.room, WIDTH])
            new[kind] = self.add("Concat", [past, self.heads_of(normal)], [present], axis=-2)
        scores = self.add("MatMul", [query, self.add("Transpose", [new["key"]], perm=[0, 1, 3, 2])])
        scores = self.add("Add", [self.add("Div", [scores, self.constant(np.array(4, np.float32))]), mask])
        mixed = self.add("Transpose", [self.add("MatMul", [self.add("Softmax", [scores], axis=-1), new["value"]])], perm=[0, 2, 1, 3])
        mixed = self.add("Reshape", [mixed, self.constant(np.array([0, 0, HIDDEN]))])
        x = self.add("Add", [x, self.add("MatMul", [mixed, self.weights(HIDDEN, HIDDEN)])])
        return self.add("Add", [x, self.gated(self.add("LayerNormalization", [x, ones, zeros]))])

    def start(self, tokens):
        caches = {name: np.zeros((self.batch, HEADS, 0, WIDTH), np.float32) for name in self.pairs if name.startswith("past")}
        return {"token": tokens, "attention_mask": np.ones((self.batch, 1), np.int64)}, {"history": np.zeros((self.batch, 0), np.int64), **caches}

    def cache_bytes(self):
        return self.batch * HEADS * self.room * WIDTH * 4


DECODERS = {"cached": CachedDecoder, "appended": AppendedDecoder}


def tokens_of_peer(model, decoder, tokens, steps):
    """Fed step by step; caches begin empty and grow by a row each."""
    session = Reference(model)
    given, empty = decoder.start(tokens)
    feeds = {**given, **empty}
    for _ in range(steps):
        results = dict(zip(session.names, session.session.run(None, feeds)))
        feeds = {name: results[new] for name, (new, _) in decoder.pairs.items()}
    return results["tokens"]


def decode(program, decoder, folder, tokens, steps):
    """The ended process; outputs are in the folder."""
    onnx.save(decoder.model(), folder / "decoder.onnx")
    command = [program, "run", folder / "decoder.onnx", "--variables", decoder.variables(), "--repeat", str(steps), "--output", folder, "--json"]
    for name, array in decoder.start(tokens)[0].items():
        np.save(folder / f"{name}.npy", array)
        command += ["--input", f"{name}={folder / name}.npy"]
    return subprocess.run(command, capture_output=True, text=True)


def check(program, kind, seed, batch, steps):
    """Words about what is wrong."""
    tokens = 1 + np.arange(batch)[:, None]
    decoder = DECODERS[kind](seed, batch, steps + 20)
    expected = tokens_of_peer(decoder.model(), decoder, tokens, steps)
    with tempfile.TemporaryDirectory(prefix="plimsoll_kv_cache_") as folder:
        folder = pathlib.Path(folder)
        run = decode(program, decoder, folder, tokens, steps)
        if run.returncode != 0:
            return [run.stderr]
        one = flat(run.stdout)
        made = np.load(folder / "tokens.npy")
        wrong = int((made != expected).sum()) if made.shape == expected.shape else expected.size
        just_full, full = (decode(program, DECODERS[kind](seed, batch, steps), folder, tokens, count) for count in (steps, steps + 2))
    caches = decoder.cache_bytes()
    print(f"{kind}: {steps} steps of {batch}, {len(np.unique(expected))} different tokens, {wrong} unlike ONNX Runtime's; planned peak "
          f"{one['planned_peak_bytes']:,} bytes, actual {one['actual_peak_bytes']:,}, variables {one['variables_bytes']:,} of which caches {2 * LAYERS * caches:,}")
    problems = [f"{wrong} tokens differ"] if wrong else []
    # A copy of a cache would lie in the feature map.
    if not one["planned"] or one["wrote_outside_plan"] or not one["actual_peak_bytes"] == one["planned_peak_bytes"] < caches:
        problems.append("the run took more than its plan, or caches were copied")
    if just_full.returncode != 0:
        problems.append(f"a cache that is just full was refused: {just_full.stderr}")
    if full.returncode == 0 or (kind == "appended" and "variables.capacity" not in full.stderr + full.stdout):
        problems.append(f"a cache that is full was not refused: {full.stderr}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, help="items that are decoded at once; both 1 and 3 where none is given")
    arguments = parser.parse_args()
    problems = [f"{kind}, batch {batch}: {problem}" for kind in DECODERS for batch in ([arguments.batch] if arguments.batch else [1, 3])
                for problem in check(arguments.program, kind, arguments.seed, batch, arguments.steps)]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
