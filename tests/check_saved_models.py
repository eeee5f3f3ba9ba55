#!/usr/bin/env python3
"""Runs files that ONNX Runtime saves after its optimisations: check_saved_models.py PROGRAM [--networks N] [--seed S] [--keep FOLDER]

Draws networks of convolutions (few channels, depthwise, groups), pools, sums, joins and upsampling; ONNX Runtime saves each at its level
"all", where data and weights lie in blocks of channels, and `plimsoll run` of what it saved is compared with ONNX Runtime's plain run of the
drawn one. Where all channels are whole blocks of 16 the weights are then put into the other sizes of blocks, as other processors write
them; the spread of weights is that of trained ones, so that the file tells the size."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft.nchwc"
SIZES = (4, 8, 16)
ENOUGH = 3e-4  # sums in another order, through several layers
TELLING = 2000  # weights that tell the size of their blocks


class Network:
    """Values by name with their channels and side; each draw adds nodes that read some of them."""

    def __init__(self, rng, whole):
        self.rng, self.whole, self.nodes, self.constants = rng, whole, [], []
        self.values = [("x", int(rng.choice([1, 3, 16, 24])) if not whole else 3, 12)]
        for _ in range(int(rng.integers(4, 14))):
            self.draw()

    def channels(self):
        return int(self.rng.choice([16, 32, 48])) if self.whole else int(self.rng.choice([4, 8, 12, 16, 20, 24, 32, 40]))

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op, inputs, channels, side, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        self.values.append((self.nodes[-1].output[0], channels, side))

    def weights(self, *shape):
        spread = np.exp(0.7 * self.rng.standard_normal((shape[0], *[1] * (len(shape) - 1))))
        return (self.rng.standard_normal(shape) * spread / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    def convolution(self, name, channels, side):
        groups = int(self.rng.choice([1, 1, channels, 2 if channels % 32 == 0 else 1]))
        filters = self.channels() if groups == 1 else channels
        kernel, stride = int(self.rng.choice([1, 3])), int(self.rng.choice([1, 1, 2]))
        inputs = [name, self.constant(self.weights(filters, channels // groups, kernel, kernel))]
        if self.rng.random() < 0.7:
            inputs.append(self.constant(self.weights(filters)))
        self.add("Conv", inputs, filters, (side - 1) // stride + 1, group=groups, pads=[kernel // 2] * 4, strides=[stride] * 2, kernel_shape=[kernel] * 2)
        activation = self.rng.choice(["", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"])
        if activation:
            self.add(str(activation), [self.values[-1][0]], *self.values[-1][1:])

    def draw(self):
        name, channels, side = self.values[int(self.rng.integers(max(0, len(self.values) - 3), len(self.values)))]
        others = [other for other, *size in self.values if size == [channels, side] and other != name]
        kind = self.rng.choice(["Conv", "Conv", "Conv", "Add", "Mul", "Concat", "MaxPool", "AveragePool", "Global", "Resize"])
        if kind in ("Add", "Mul") and others:
            self.add(str(kind), [name, others[0]], channels, side)
        elif kind == "Concat" and others:
            self.add("Concat", [name, others[0]], 2 * channels, side, axis=1)
        elif kind in ("MaxPool", "AveragePool") and side > 2:
            self.add(str(kind), [name], channels, (side - 1) // 2 + 1, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        elif kind == "Global":
            self.add(str(self.rng.choice(["GlobalAveragePool", "GlobalMaxPool"])), [name], channels, 1)
        elif kind == "Resize" and side < 10:
            mode = str(self.rng.choice(["nearest", "linear"]))
            position = "asymmetric" if mode == "nearest" else str(self.rng.choice(["asymmetric", "half_pixel", "align_corners"]))
            self.add("Resize", [name, "", self.constant(np.array([1, 1, 2, 2], np.float32))], channels, 2 * side, mode=mode, nearest_mode="floor", coordinate_transformation_mode=position)
        else:
            self.convolution(name, channels, side)

    def model(self):
        read = {name for node in self.nodes for name in node.input}
        _, channels, side = self.values[0]
        batch = "n" if self.rng.random() < 0.3 else 2
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name, *_ in self.values[1:] if name not in read]
        graph = helper.make_graph(self.nodes, "drawn", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, channels, side, side])], outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        for output in model.graph.output:
            output.ClearField("type")
        return model, self.rng.standard_normal((2, channels, side, side)).astype(np.float32)


def session(path, level, saved=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    if saved:
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def in_blocks_of(model, old, new):
    """The same file with weights in blocks of another size, all channels being whole blocks."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    constants = {constant.name: constant for constant in changed.graph.initializer}
    blocked, done = set(), set()
    for node in changed.graph.node:
        if node.domain == DOMAIN and node.op_type == "Conv" and node.input[1] not in done:
            done.add(node.input[1])
            constant = constants[node.input[1]]
            o, i, h, w = constant.dims
            array = numpy_helper.to_array(constant)
            if node.input[0] in blocked and i > 1:
                plain = array.reshape(o // old, i // old, h, w, old, old).transpose(0, 5, 1, 4, 2, 3).reshape(o, i, h, w)
                array = plain.reshape(o // new, new, i // new, new, h, w).transpose(0, 2, 4, 5, 3, 1)
            else:
                plain = array.reshape(o // old, i, h, w, old).transpose(0, 4, 1, 2, 3).reshape(o, i, h, w)
                array = plain.reshape(o // new, new, i, h, w).transpose(0, 2, 3, 4, 1)
            constant.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array).reshape(o, i, h, w), constant.name))
        if node.op_type == "Reshape" and len(node.input) == 2 and node.input[1] in constants and node.input[0] in blocked:
            shape = numpy_helper.to_array(constants[node.input[1]]).copy()
            if len(shape) == 5 and node.input[1] not in done:
                done.add(node.input[1])
                shape[4] = new
                constants[node.input[1]].CopyFrom(numpy_helper.from_array(shape, node.input[1]))
        if node.op_type != "ReorderOutput" and (node.domain == DOMAIN or any(name in blocked for name in node.input)):
            blocked.update(node.output)
    return changed


def blocked_weights(model):
    read = {node.input[1] for node in model.graph.node if node.domain == DOMAIN and node.op_type == "Conv"}
    return sum(int(np.prod(constant.dims)) for constant in model.graph.initializer if constant.name in read)


def distance(program, path, x, expected, folder):
    """How far our outputs are from those expected, or what went wrong."""
    np.save(folder / "x.npy", x)
    shutil.rmtree(folder / "out", ignore_errors=True)
    run = subprocess.run([program, "run", path, "--input", f"x={folder / 'x.npy'}", "--output", folder / "out", "--threads", "1"], capture_output=True, text=True)
    if run.returncode != 0:
        return " ".join(run.stderr.split())[-300:]
    return max(np.abs(np.load(folder / "out" / f"{name}.npy") - array).max() / max(1.0, np.abs(array).max()) for name, array in expected.items())


def check(program, seed, folder, block):
    """Lines about what differs, and in how many files blocks were read."""
    rng = np.random.default_rng([seed, 18])
    whole = rng.random() < 0.5
    model, x = Network(rng, whole).model()
    onnx.save(model, folder / "drawn.onnx")
    peer = session(folder / "drawn.onnx", "ORT_DISABLE_ALL")
    names = [port.name for port in peer.get_outputs()]
    expected = dict(zip(names, peer.run(names, {"x": x})))
    session(folder / "drawn.onnx", "ORT_ENABLE_ALL", folder / "saved.onnx")
    saved = onnx.load(folder / "saved.onnx")
    files = ["saved.onnx"]
    has_blocks = any(node.domain == DOMAIN for node in saved.graph.node)
    if whole and blocked_weights(saved) >= TELLING:
        for size in SIZES:
            if size != block:
                onnx.save(in_blocks_of(saved, block, size), folder / f"blocks_{size}.onnx")
                files.append(f"blocks_{size}.onnx")
    wrong = []
    for name in files:
        found = distance(program, folder / name, x, expected, folder)
        if isinstance(found, str) or not found <= ENOUGH:
            wrong.append(f"seed {seed}, {name}: {found}")
    return wrong, len(files) if has_blocks else 0


def block_of_this_machine(folder):
    """From what a filter of one channel is filled up to."""
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "one", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(np.ones((4, 3, 1, 1), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "one.onnx")
    session(folder / "one.onnx", "ORT_ENABLE_ALL", folder / "one_saved.onnx")
    return max(constant.dims[0] for constant in onnx.load(folder / "one_saved.onnx").graph.initializer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first network")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for files that differ")
    arguments = parser.parse_args()
    wrong, files = [], 0
    with tempfile.TemporaryDirectory(prefix="plimsoll_saved_") as folder:
        folder = pathlib.Path(folder)
        block = block_of_this_machine(folder)
        for seed in range(arguments.seed, arguments.seed + arguments.networks):
            found, count = check(arguments.program.resolve(), seed, folder, block)
            wrong += found
            files += count
            if found and arguments.keep:
                shutil.copytree(folder, arguments.keep / f"seed_{seed}", dirs_exist_ok=True)
    print("\n".join(wrong))
    print(f"{arguments.networks} networks, {files} files with blocks of channels, {len(wrong)} wrong")
    sys.exit(1 if wrong or files == 0 else 0)


if __name__ == "__main__":
    main()
