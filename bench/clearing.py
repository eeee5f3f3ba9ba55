#!/usr/bin/env python3
"""Memory and time of zeroed outputs: clearing.py PLIMSOLL [--rounds N] [--repeat N] [--models FOLDER]

Each model runs under atomic_clean_policy 0 (one clear of one area), 1 (each node's own clear) and with kernels that clear for
themselves (node metadata plimsoll.needs_clearing="", so that the plan clears nothing). A scatter starts from its data and asks for no
zeros; its last row shows what asking (plimsoll.needs_clearing=0) would cost. Variants take turns, round by round; times are medians
over rounds of each round's median, ratios are medians of the ratios within a round. Needs onnx and numpy. Exit code 1 when outputs
differ, or when policy 0 takes less memory than policy 1. Outputs are the same to the last bit where the same kernels made them. Which kernel
makes a node may depend on the room that a plan has for its workspace (row sums or blocks of channels, for one), and plans differ here; nodes
made by different kernels are named, and outputs may then differ by what the order of a sum rounds."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WINDOW = {"kernel_shape": [2, 2], "strides": [2, 2]}
ASKING = {"MaxUnpool", "Col2Im"}
SCATTERS = {"ScatterElements", "ScatterND"}
ROUNDED = 1e-6  # of the largest element


class Builder:
    def __init__(self):
        self.nodes, self.weights, self.draw = [], [], np.random.default_rng(7)

    def add(self, op, inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, inputs, outputs, size=3):
        weights = self.draw.standard_normal((outputs, inputs, size, size)) / np.sqrt(inputs * size * size)
        return self.add("Relu", [self.add("Conv", [x, self.constant(weights.astype(np.float32))], pads=[size // 2] * 4)])

    def build(self, shape, result):
        # The last value stays inside, so that no cleared output is the caller's memory.
        self.nodes.append(helper.make_node("ReduceMean", [result, self.constant(np.array([1], np.int64))], ["y"]))
        graph = helper.make_graph(self.nodes, "clearing", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def segnet(levels=4, channels=16, side=128):
    """Convolutions and poolings that keep where maxima were, then unpoolings and convolutions back up."""
    b = Builder()
    x, width, places = b.conv("x", 3, channels), channels, []
    for _ in range(levels):
        x, where = b.add("MaxPool", [x], 2, **WINDOW)
        places.append(where)
        x = b.conv(x, width, width)
    for where in reversed(places):
        x = b.conv(b.add("MaxUnpool", [x, where], **WINDOW), width, width)
    return b.build([1, 3, side, side], x)


def unpoolings(count=8, channels=32, side=128):
    """Poolings and unpoolings alone: as much of the time as zeroed memory can take."""
    b, x = Builder(), "x"
    for _ in range(count):
        pooled, where = b.add("MaxPool", [x], 2, **WINDOW)
        x = b.add("MaxUnpool", [b.add("Sigmoid", [pooled]), where], **WINDOW)
    return b.build([1, channels, side, side], x)


def col2im(count=6, channels=8, side=64):
    """Overlapping blocks folded back into an image, again and again."""
    b, x = Builder(), "x"
    image, block = b.constant(np.array([side, side], np.int64)), b.constant(np.array([4, 4], np.int64))
    columns = b.constant(np.array([1, channels * 16, (side // 4) ** 2], np.int64))
    for _ in range(count):
        blocks = b.add("Reshape", [b.add("Tanh", [x]), columns])
        x = b.add("Col2Im", [blocks, image, block], strides=[4, 4])
    return b.build([1, channels, side, side], x)


def graph_net(zeros, layers=6, vertices=8192, edges=16384, width=64):
    """Messages along edges added up at vertices by ScatterElements and ScatterND, onto zeros."""
    b, x = Builder(), "x"
    source = b.constant(b.draw.integers(0, vertices, edges))
    target = b.draw.integers(0, vertices, (edges, 1))
    wide, pairs = b.constant(np.broadcast_to(target, (edges, width)).copy()), b.constant(target)
    shape = b.constant(np.array([vertices, width], np.int64))
    for layer in range(layers):
        weights = (b.draw.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
        sent = b.add("Gather", [b.add("MatMul", [x, b.constant(weights)]), source])
        start = b.add("ConstantOfShape", [shape]) if zeros == "made" else b.constant(np.zeros((vertices, width), np.float32))
        scatter = ("ScatterElements", wide) if layer % 2 == 0 else ("ScatterND", pairs)
        x = b.add("Tanh", [b.add(scatter[0], [start, scatter[1], sent], reduction="add")])
    return b.build([vertices, width], x)


MODELS = {
    "segnet": segnet,
    "unpoolings": unpoolings,
    "col2im": col2im,
    "graph_net, zeros by ConstantOfShape": lambda: graph_net("made"),
    "graph_net, zeros stored": lambda: graph_net("stored"),
}


def marked(model, operators, value):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for node in model.graph.node:
        if node.op_type in operators:
            node.metadata_props.add(key="plimsoll.needs_clearing", value=value)
    return model


def kernels(program, model, policy):
    """The kernel of each node."""
    done = subprocess.run([program, "run", model, "--set", f"atomic_clean_policy={policy}", "--by-operator", "--json"], capture_output=True, text=True, check=True)
    return {row["node"]: row["kernel"] for row in json.loads(done.stdout)["by_operator"]["operators"]}


def same(program, rows, folder, outputs):
    """Whether every variant gives what the first gives."""
    first = kernels(program, folder / f"{rows[0][1]}.onnx", rows[0][2])
    good = True
    for (label, file, policy), output in zip(rows, outputs):
        others = {name: kernel for name, kernel in kernels(program, folder / f"{file}.onnx", policy).items() if first.get(name, kernel) != kernel}
        for name, kernel in others.items():
            print(f"{label}: '{name}' is made by {kernel}, by {first[name]} with {rows[0][0]}", file=sys.stderr)
        apart = np.abs(output - outputs[0]).max()
        good &= bool(apart == 0 or (others and apart <= ROUNDED * np.abs(outputs[0]).max()))
    return good


def run(program, model, policy, repeat, out):
    done = subprocess.run([program, "run", model, "--set", f"atomic_clean_policy={policy}", "--repeat", str(repeat), "--output", out,
                           "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    return json.loads(done.stdout)["models"][0], np.load(pathlib.Path(out) / "y.npy")


def variants(name, model, folder):
    """(row, file, policy)"""
    for label, operators, value in (("plain", set(), ""), ("self", ASKING, ""), ("asking", SCATTERS, "0")):
        onnx.save(marked(model, operators, value), folder / f"{label}.onnx")
    rows = [("policy 0", "plain", 0), ("policy 1", "plain", 1)]
    if name.startswith("graph_net"):
        return rows + [("scatters that ask, policy 0", "asking", 0), ("scatters that ask, policy 1", "asking", 1)]
    return rows + [("kernels clear for themselves", "self", 0)]


def measure(program, name, model, rounds, repeat, folder):
    rows = variants(name, model, folder)
    base = 0 if name.startswith("graph_net") else len(rows) - 1
    times, reports, outputs = [[] for _ in rows], [None] * len(rows), [None] * len(rows)
    for _ in range(rounds):
        for i, (_, file, policy) in enumerate(rows):
            reports[i], outputs[i] = run(program, folder / f"{file}.onnx", policy, repeat, folder / "out")
            times[i].append(reports[i]["latency_ms"]["p50"])
    for i, (label, _, _) in enumerate(rows):
        report = reports[i]
        ratio = statistics.median(t / b for t, b in zip(times[i], times[base]))
        print(f"| {name} | {label} | {report['clears']} | {report['cleared_bytes']:,} | {report['feature_map_bytes']:,} | "
              f"{report['weights_bytes']:,} | {report['feature_map_bytes'] / reports[base]['feature_map_bytes']:.3f} | "
              f"{statistics.median(times[i]):.3f} | {ratio:.3f} | {report['clear_ms']:.3f} |", flush=True)
    return same(program, rows, folder, outputs) and reports[0]["feature_map_bytes"] >= reports[1]["feature_map_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--models", type=pathlib.Path, help="a folder to keep the models in")
    arguments = parser.parse_args()
    good = True
    print("| model | variant | clears | cleared bytes | feature map bytes | weights | memory | ms | time | of it clearing, ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for name, make in MODELS.items():
            folder = (arguments.models or pathlib.Path(temporary)) / name.replace(", ", "_").replace(" ", "_")
            folder.mkdir(parents=True, exist_ok=True)
            good &= measure(arguments.plimsoll, name, make(), arguments.rounds, arguments.repeat, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
