#!/usr/bin/env python3
"""No plan is above plain lives: check_plan_peaks.py PROGRAM [--graphs N] [--seed S] [--keep FOLDER]

Draws graphs in which passes and kernels could lengthen lives or need memory of their own: layers that make the same tensors again, which
passes make one; Einsum of several operands; heads, windows, sums and recurrences between large tensors. `plimsoll plan` must not be above
plain lives in the file's order, and `plimsoll run` gives what ONNX Runtime gives. A graph that fails is named by its seed and stays in FOLDER."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from check_models import distance, file_name

ENOUGH = 1e-4
LETTERS = "abcde"


class Drawn:
    """A graph under construction; shapes are known to who adds nodes."""

    def __init__(self, seed):
        self.r = random.Random(f"peaks {seed}")
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.feeds = [], [], [], {}

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        self.feeds[name] = array
        return name

    def floats(self, *dims):
        return self.numbers.standard_normal(dims).astype(np.float32)

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [str(name) for name in inputs], names, name=f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def sum(self, x, *axes):
        return self.node("ReduceSum", x, *([self.constant(np.array(axes))] if axes else []), keepdims=1)

    def model(self, *outputs):
        ports = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, ports, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def again(g):
    """Layers that make large tensors of their own, and one or two that are the same in each."""
    rows, columns, layers = g.r.choice([96, 200, 512]), g.r.choice([16, 48, 64]), g.r.randint(2, 4)
    index = g.input(g.numbers.integers(0, rows, (rows, 1)))
    seen = g.node("Relu", g.input(g.floats(rows, 8)))
    y = g.node("Relu", g.input(g.floats(1, columns)))
    weight, whole = g.constant(g.floats(8, columns) / 3), g.constant(np.array([rows, columns]))
    kinds = g.r.sample(["indices", "product", "gather", "transpose", "chain"], g.r.randint(1, 2))
    for layer in range(layers):
        factor = g.r.choice([1, 2, 4])
        wide = g.node("Sigmoid", g.node("Expand", y, g.constant(np.array([rows * factor, columns]))))
        turned = g.node("Gather", wide, g.constant(g.numbers.integers(0, rows, rows * factor)))
        # A product, so that nothing of it is folded away.
        mean = g.node("ReduceMean", g.node("Mul", turned, g.node("Softmax", turned, axis=0)), axes=[0], keepdims=1)
        t = g.node("Expand", mean, whole)
        for kind in kinds:
            if kind == "indices":
                t = g.node("GatherElements", t, g.node("Expand", index, whole), axis=0)
            elif kind == "product":
                t = g.node("Add", t, g.node("MatMul", seen, weight))
            elif kind == "gather":
                t = g.node("Mul", t, g.node("Gather", g.node("MatMul", seen, weight), g.constant(np.arange(rows)[::-1].copy()), axis=0))
            elif kind == "transpose":
                t = g.node("MatMul", g.node("Transpose", g.node("MatMul", seen, weight), perm=[1, 0]), t)
                t = g.node("Expand", g.sum(t, 0), whole)
            else:
                same = g.node("Tile", seen, g.constant(np.array([1, columns // 8])))
                t = g.node("Sub", t, g.node("Where", g.node("Less", same, g.constant(np.float32(0.5))), same, g.node("Neg", same)))
        y = g.node("Tanh", g.sum(t, 0))
    return g.model(y)


def einsum(g):
    """Three to five operands between tensors that others make."""
    sizes = {letter: g.r.choice([2, 3, 5, 8, 16, 24]) for letter in LETTERS}
    terms = ["".join(g.r.sample(LETTERS, g.r.randint(1, 3))) for _ in range(g.r.randint(3, 5))]
    there = sorted(set("".join(terms)))
    kept = "".join(g.r.sample(there, g.r.randint(1, min(3, len(there)))))
    operands = [g.node("Sigmoid", g.input(g.floats(*(sizes[letter] for letter in term)) / 3)) for term in terms]
    y = g.node("Einsum", *operands, equation=f"{','.join(terms)}->{kept}")
    return g.model(g.sum(y), g.node("ReduceMax", g.node("Neg", y), keepdims=0))


def between(g):
    """One node that needs memory of its own between two that do not."""
    n, c, s = g.r.choice([1, 2]), g.r.choice([4, 12, 24, 32]), g.r.choice([14, 20, 33])
    x = g.node("Sigmoid", g.input(g.floats(n, c, s, s)))
    kind = g.r.choice(["bytes", "convolution", "transposed", "resize", "top", "lstm", "norm", "softmax", "cumsum", "attention", "pad"])
    if kind == "bytes":
        dilation = g.r.choice([1, 2, 6, 12])
        kernel = g.r.choice([1, 3])
        b, scale, zero = g.node("DynamicQuantizeLinear", x, outputs=3)
        w = g.constant(g.numbers.integers(-127, 127, (8, c, kernel, kernel)).astype(np.int8))
        reach = dilation * (kernel // 2)
        y = g.node("Cast", g.node("ConvInteger", b, w, zero, kernel_shape=[kernel] * 2, dilations=[dilation] * 2, pads=[reach] * 4), to=TensorProto.FLOAT)
        y = g.node("Mul", y, scale)
    elif kind == "convolution":
        dilation, kernel, groups = g.r.choice([1, 1, 3, 12]), g.r.choice([1, 3, 5]), g.r.choice([1, 1, 2, c])
        reach = dilation * (kernel // 2)
        y = g.node("Conv", x, g.constant(g.floats(g.r.choice([1, 2]) * c, c // groups, kernel, kernel) / 9), kernel_shape=[kernel] * 2,
                   dilations=[dilation] * 2, pads=[reach] * 4, group=groups, strides=[g.r.choice([1, 2])] * 2)
    elif kind == "transposed":
        y = g.node("ConvTranspose", x, g.constant(g.floats(c, g.r.choice([4, 16]), 4, 4) / 9), kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4)
    elif kind == "resize":
        y = g.node("Resize", x, "", g.constant(np.array([1, 1, *[g.r.choice([0.5, 2, 3.5])] * 2], np.float32)), mode=g.r.choice(["linear", "cubic", "nearest"]))
    elif kind == "top":
        y, _ = g.node("TopK", x, g.constant(np.array([g.r.choice([1, 5, 14])])), outputs=2, axis=g.r.choice([2, 3]))
    elif kind == "lstm":
        h = g.r.choice([8, 24])
        y = g.node("LSTM", g.node("Reshape", x, g.constant(np.array([s, -1, s]))), g.constant(g.floats(1, 4 * h, s) / 9), g.constant(g.floats(1, 4 * h, h) / 9), hidden_size=h)
    elif kind == "norm":
        y = g.node("InstanceNormalization", x, g.constant(g.floats(c)), g.constant(g.floats(c)))
    elif kind == "softmax":
        y = g.node(g.r.choice(["Softmax", "LogSoftmax", "Hardmax"]), x, axis=g.r.choice([1, 2, 3]))
    elif kind == "cumsum":
        y = g.node("CumSum", x, g.constant(np.int64(g.r.choice([1, 2, 3]))))
    elif kind == "attention":
        scores = g.node("Softmax", g.node("MatMul", x, g.node("Transpose", x, perm=[0, 1, 3, 2])), axis=3)
        y = g.node("MatMul", scores, x)
    else:
        y = g.node("Pad", x, g.constant(np.array([0, 0, 3, 3, 0, 0, 3, 3])), mode=g.r.choice(["constant", "reflect", "edge"]))
    return g.model(g.sum(g.node("Abs", y)))


FAMILIES = (again, again, einsum, between)


def check(program, seed, folder):
    """What is wrong; nothing where all is well. Leaves the model in the folder."""
    g = Drawn(seed)
    path = folder / f"peaks_{seed}.onnx"
    onnx.save(FAMILIES[seed % len(FAMILIES)](g), path)
    done = subprocess.run([program, "plan", path, "--json", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    plan = json.loads(done.stdout)["models"][0]
    if plan["planned_peak_bytes"] > plan["plain_peak_bytes"]:
        return f"planned at {plan['planned_peak_bytes']}, plain lives take {plan['plain_peak_bytes']}"
    given = []
    for name, array in g.feeds.items():
        np.save(folder / f"{name}.npy", array)
        given += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run([program, "run", path, *given, "--output", folder / "out", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for port, expected in zip(session.get_outputs(), session.run(None, g.feeds)):
        apart = distance(np.load(folder / "out" / file_name(port.name)), expected)
        if not apart <= ENOUGH:
            return f"{port.name} is {apart:.1e} from ONNX Runtime's"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "plimsoll_high_plans", help="a folder for graphs that fail")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(options.seed, options.seed + options.graphs):
            what = check(options.program.resolve(), seed, pathlib.Path(scratch))
            path = pathlib.Path(scratch) / f"peaks_{seed}.onnx"
            if what:
                options.keep.mkdir(parents=True, exist_ok=True)
                path.rename(options.keep / path.name)
                print(f"seed {seed}: {what}: {options.keep / path.name}", flush=True)
                wrong += 1
    print(f"{options.graphs} graphs drawn, {wrong} wrong")
    return 1 if wrong or options.graphs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
