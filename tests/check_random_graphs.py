#!/usr/bin/env python3
"""Draws graphs at random and compares with ONNX Runtime: check_random_graphs.py PROGRAM [--graphs N] [--seed S] [--keep FOLDER]

Each graph joins twenty or so operators that fuse, view, overwrite, join, cut and reorder; a third leave the sizes of their inputs open. ONNX Runtime, without its own
optimisations, says what comes out; the graphs are then cases for `plimsoll conformance`, which runs each inside its plan and over
poisoned memory. A graph that differs is named by its seed, and stays in FOLDER. Needs the `onnxruntime` package."""
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

OPSET = 20
MOST_ELEMENTS = 6000
UNARY = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "Softplus", "HardSwish", "Elu", "LeakyRelu", "Gelu", "Identity", "Dropout",
         "Sin"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


class Drawing:
    """One graph, made node by node; `values` are the float tensors so far with their shapes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.values = [], [], [], []

    def name(self):
        return f"v{len(self.nodes)}_{len(self.constants)}"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, shape, scale=1.0):
        return self.constant((scale * self.numbers.uniform(-1, 1, shape)).astype(np.float32))

    def integers(self, elements):
        return self.constant(np.array(elements, dtype=np.int64))

    def input(self, shape):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, shape))
        self.values.append((name, shape))

    def node(self, op, inputs, shape, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        self.values.append((out, tuple(shape)))
        return out

    def any(self, rank=None):
        """Recent values more often, so that memory is free again soon."""
        fitting = [v for v in self.values if rank is None or len(v[1]) == rank]
        if not fitting:
            return None
        return fitting[-1 - self.random.randrange(min(len(fitting), 1 + self.random.randrange(len(fitting))))]

    def axis(self, shape):
        return self.random.randrange(len(shape))

    # Operators, each a way to go on from a value.
    def unary(self, x, shape):
        self.node(self.random.choice(UNARY), [x], shape)

    def binary(self, x, shape):
        others = [v for v in self.values if fits(v[1], shape)]
        if self.random.random() < 0.3:
            drawn = tuple(d if self.random.random() < 0.6 else 1 for d in shape[self.random.randrange(len(shape)):])
            others = [(self.floats(drawn), drawn)]
        other = self.random.choice(others)[0]
        pair = [x, other] if self.random.random() < 0.5 else [other, x]
        self.node(self.random.choice(BINARY), pair, shape)

    def transpose(self, x, shape):
        perm = list(range(len(shape)))
        self.random.shuffle(perm)
        self.node("Transpose", [x], [shape[p] for p in perm], perm=perm)

    def reshape(self, x, shape):
        count, drawn = int(np.prod(shape)), []
        for _ in range(self.random.randrange(1, 4)):
            drawn.append(self.random.choice([d for d in range(1, count + 1) if count % d == 0]))
            count //= drawn[-1]
        self.node("Reshape", [x, self.integers(drawn + [count])], drawn + [count])

    def unsqueeze(self, x, shape):
        if len(shape) > 3:
            return self.reshape(x, shape)
        axis = self.random.randrange(len(shape) + 1)
        self.node("Unsqueeze", [x, self.integers([axis])], shape[:axis] + (1,) + shape[axis:])

    def slice(self, x, shape):
        axis = self.axis(shape)
        begin = self.random.randrange(shape[axis])
        end = self.random.randrange(begin + 1, shape[axis] + 1)
        step = self.random.choice([1, 1, 1, 2, -1])
        bounds = (begin, end) if step > 0 else (end - 1, begin - 1 - shape[axis])
        count = len(range(begin, end, abs(step)))
        parts = [self.integers([n]) for n in (*bounds, axis, step)]
        self.node("Slice", [x, *parts], shape[:axis] + (count,) + shape[axis + 1:])

    def split(self, x, shape):
        axis = self.axis(shape)
        if shape[axis] < 2:
            return self.unary(x, shape)
        first = self.random.randrange(1, shape[axis])
        outs = [self.name() + "a", self.name() + "b"]
        self.nodes.append(helper.make_node("Split", [x, self.integers([first, shape[axis] - first])], outs, axis=axis))
        for out, length in zip(outs, (first, shape[axis] - first)):
            self.values.append((out, shape[:axis] + (length,) + shape[axis + 1:]))

    def concat(self, x, shape):
        axis = self.axis(shape)
        others = [v for v in self.values if len(v[1]) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(v[1], shape)) if i != axis)]
        chosen = [(x, shape)] + [self.random.choice(others) for _ in range(self.random.randrange(1, 3))]
        self.random.shuffle(chosen)
        length = sum(s[axis] for _, s in chosen)
        self.node("Concat", [v for v, _ in chosen], shape[:axis] + (length,) + shape[axis + 1:], axis=axis)

    def gather(self, x, shape):
        axis = self.axis(shape)
        indices = [self.random.randrange(shape[axis]) for _ in range(self.random.randrange(1, 4))]
        self.node("Gather", [x, self.integers(indices)], shape[:axis] + (len(indices),) + shape[axis + 1:], axis=axis)

    def pad(self, x, shape):
        pads = [self.random.randrange(2) for _ in range(2 * len(shape))]
        mode = self.random.choice(["constant", "edge"])
        grown = [d + pads[i] + pads[i + len(shape)] for i, d in enumerate(shape)]
        self.node("Pad", [x, self.integers(pads)], grown, mode=mode)

    def expand(self, x, shape):
        grown = tuple(self.random.randrange(2, 4) if d == 1 else d for d in shape)
        self.node("Expand", [x, self.integers(grown)], grown)

    def reduce(self, x, shape):
        axis, keep = self.axis(shape), self.random.random() < 0.7 or len(shape) == 1
        left = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1:]
        self.node(self.random.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"]), [x, self.integers([axis])], left, keepdims=int(keep))

    def softmax(self, x, shape):
        self.node("Softmax", [x], shape, axis=self.axis(shape))

    def normalise(self, x, shape):
        scale = [self.floats(shape[-1:]), self.floats(shape[-1:])]
        self.node("LayerNormalization", [x, *scale], shape, axis=-1, epsilon=0.1)

    def cumulate(self, x, shape):
        self.node("CumSum", [x, self.constant(np.array(self.axis(shape), dtype=np.int64))], shape, reverse=self.random.randrange(2))

    def where(self, x, shape):
        mask = self.constant(self.numbers.random(shape[-1:]) < 0.5)
        other = self.random.choice([v for v in self.values if fits(v[1], shape)])[0]
        self.node("Where", [mask, x, other], shape)

    def scatter(self, x, shape):
        axis = self.axis(shape)
        updates = [v for v in self.values if len(v[1]) == len(shape) and all(a <= b for a, b in zip(v[1], shape))]
        update, size = self.random.choice(updates)
        order = self.random.sample(range(shape[axis]), size[axis])
        places = np.broadcast_to(np.array(order).reshape([-1 if i == axis else 1 for i in range(len(shape))]), size)
        self.node("ScatterElements", [x, self.constant(places.astype(np.int64)), update], shape, axis=axis)

    def matmul(self, x, shape):
        columns = self.random.randrange(1, 20)
        if len(shape) < 2:
            return self.unary(x, shape)
        if len(shape) == 2 and self.random.random() < 0.4:
            weights, bias = self.floats((columns, shape[1]), 0.5), self.floats((columns,))
            return self.node("Gemm", [x, weights, bias], (shape[0], columns), transB=1)
        others = [v for v in self.values if len(v[1]) == 2 and v[1][0] == shape[-1]]
        if others and self.random.random() < 0.5:
            other, (_, columns) = self.random.choice(others)
        else:
            other = self.floats((shape[-1], columns), 0.5)
        self.node("MatMul", [x, other], shape[:-1] + (columns,))

    def convolve(self, x, shape):
        if len(shape) != 4:
            return self.matmul(x, shape)
        kernel, stride, pad = self.random.choice([(1, 1, 0), (3, 1, 1), (3, 2, 1), (2, 2, 1)])
        size = [(d + 2 * pad - kernel) // stride + 1 for d in shape[2:]]
        if min(size) < 1:
            return self.unary(x, shape)
        out = self.random.choice([1, 8, 16, shape[1]])
        groups = shape[1] if out == shape[1] and self.random.random() < 0.4 else 1
        weights = [self.floats((out, shape[1] // groups, kernel, kernel), 0.5), self.floats((out,))]
        made = self.node("Conv", [x, *weights], (shape[0], out, *size), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups)
        if self.random.random() < 0.3:
            variance = self.constant(self.numbers.uniform(0.5, 1.5, out).astype(np.float32))
            self.node("BatchNormalization", [made, self.floats((out,)), self.floats((out,)), self.floats((out,)), variance], (shape[0], out, *size))

    def pool(self, x, shape):
        if len(shape) != 4 or min(shape[2:]) < 2:
            return self.softmax(x, shape)
        if self.random.random() < 0.3:
            return self.node("GlobalAveragePool", [x], shape[:2] + (1, 1))
        size = tuple((d - 2) // 2 + 1 for d in shape[2:])
        self.node(self.random.choice(["MaxPool", "AveragePool"]), [x], shape[:2] + size, kernel_shape=[2, 2], strides=[2, 2])

    def branch(self, x, shape):
        """An If whose condition only a run tells; both bodies read values from outside."""
        most, condition, out = self.name() + "m", self.name() + "c", self.name() + "i"
        limit = self.constant(np.array(self.random.choice([-1e6, 1e6]), dtype=np.float32))
        self.nodes.append(helper.make_node("ReduceMax", [x], [most], keepdims=0))
        self.nodes.append(helper.make_node("Greater", [most, limit], [condition]))
        bodies = []
        for name in ("then", "else"):
            first, last = f"{out}_{name}_a", f"{out}_{name}_b"
            other = self.random.choice([v for v in self.values if fits(v[1], shape)])[0]
            nodes = [helper.make_node(self.random.choice(BINARY), [x, other], [first]), helper.make_node(self.random.choice(UNARY), [first], [last])]
            bodies.append(helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)]))
        self.nodes.append(helper.make_node("If", [condition], [out], then_branch=bodies[0], else_branch=bodies[1]))
        self.values.append((out, shape))

    def draw_inputs(self):
        for shape in self.random.choice([[(2, 8, 6, 6), (2, 8, 1, 1)], [(4, 12), (1, 12), (12,)], [(2, 5, 16), (5, 1)], [(1, 3, 7, 5), (3, 7, 5)]]):
            self.input(shape)

    def grow(self, times):
        ways = [self.unary, self.unary, self.binary, self.binary, self.binary, self.transpose, self.reshape, self.unsqueeze, self.slice,
                self.slice, self.split, self.concat, self.concat, self.gather, self.pad, self.expand, self.reduce, self.softmax, self.normalise,
                self.cumulate, self.where, self.scatter, self.matmul, self.convolve, self.convolve, self.pool, self.branch]
        for _ in range(times):
            x, shape = self.any()
            before = len(self.nodes), len(self.values)
            self.random.choice(ways)(x, shape)
            if any(np.prod(s) > MOST_ELEMENTS for _, s in self.values[before[1]:]):
                del self.nodes[before[0]:], self.values[before[1]:]

    def model(self, chosen):
        """A third of the models leave the sizes of their inputs open."""
        open_sizes = self.random.random() < 0.3
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{i}" for i in range(len(shape))] if open_sizes else shape)
                 for name, shape in self.inputs]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * len(shape) if open_sizes else shape)
                   for name, shape in sorted(chosen)]
        graph = helper.make_graph(self.nodes, "drawn", ports, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def draw(self):
        self.draw_inputs()
        self.grow(self.random.randrange(6, 26))
        made = self.values[len(self.inputs):]
        return self.model({made[-1]} | {self.random.choice(made) for _ in range(self.random.randrange(3))})

    def feeds(self):
        return {name: self.numbers.uniform(-1, 1, shape).astype(np.float32) for name, shape in self.inputs}


def fits(shape, into):
    """Whether the first broadcasts into the second."""
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape[::-1], into[::-1]))


def reference(model, feeds):
    """What ONNX Runtime gives; nothing where it is too large to compare."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    results = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)
    large = any(not np.isfinite(r).all() or np.abs(r).max(initial=0) > 1e4 for r in results)
    return None if large else results


def write_case(folder, seed):
    """Gives whether the graph is worth running: its results are numbers of a reasonable size."""
    drawing = Drawing(seed)
    model = drawing.draw()
    onnx.checker.check_model(model)
    feeds = drawing.feeds()
    results = reference(model, feeds)
    if results is None:
        return False
    case = folder / f"seed_{seed}"
    data = case / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, case / "model.onnx")
    (case / "tolerance.json").write_text(json.dumps({"rtol": 1e-3, "atol": 1e-3}))
    for kind, arrays in (("input", feeds.values()), ("output", results)):
        for i, array in enumerate(arrays):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the graphs; else a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        drawn = sum(write_case(folder, arguments.seed + i) for i in range(arguments.graphs))
        run = subprocess.run([arguments.program.resolve(), "conformance", folder, "--json"], capture_output=True, text=True)
        if run.returncode not in (0, 5):
            sys.exit(f"conformance ended with {run.returncode}: {run.stderr.strip()[-400:]}")
        answer = json.loads(run.stdout)
        if answer["passed"] != drawn:
            for case in answer["cases"]:
                if case["outcome"] != "passed":
                    print(json.dumps(case))
            sys.exit(f"{drawn - answer['passed']} of {drawn} graphs differ")
        print(f"{drawn} of {arguments.graphs} graphs compared, none differs")


if __name__ == "__main__":
    main()
