#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_corpus.py FOLDER. Needs onnx and numpy.

Small models of our own that between them use every construct that the reader knows."""
import pathlib
import sys

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def tensor(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, opset=20, ir=9, extra_opsets=(), **graph_parts):
    functions = graph_parts.pop("functions", [])
    graph = helper.make_graph(nodes, "g", inputs, outputs, **graph_parts)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(*o) for o in extra_opsets]
    made = helper.make_model(graph, opset_imports=opsets, functions=functions, producer_name="plimsoll")
    made.ir_version = ir
    return made


def body(nodes, inputs, outputs, name="body"):
    return helper.make_graph(nodes, name, inputs, outputs)


def seeds():
    node = helper.make_node
    x, y = tensor("x", ["n", 4]), tensor("y", None)
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    target = helper.make_tensor("shape", INT64, [2], [-1, 6])
    yield "dense", model([node("MatMul", ["x", "w"], ["h"], name="m"), node("Reshape", ["h", "shape"], ["y"])],
                         [x], [y], initializer=[weight, target], value_info=[tensor("h", ["n", 3])])
    kernel = numpy_helper.from_array(np.zeros((2, 3, 3, 3), np.float16), "k")
    yield "convolution", model([node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
                                node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]), node("Softmax", ["p"], ["y"], axis=-1)],
                               [tensor("x", [1, 3, "h", "2*h"], TensorProto.FLOAT16)],
                               [tensor("y", None, TensorProto.FLOAT16)], initializer=[kernel])
    yield "if", model([node("ReduceSum", ["x"], ["s"], keepdims=0), node("Cast", ["s"], ["b"], to=BOOL),
                       node("If", ["b"], ["y"], then_branch=body([node("Neg", ["x"], ["t"])], [], [tensor("t", ["n", 4])]),
                            else_branch=body([node("Exp", ["x"], ["e"])], [], [tensor("e", ["n", 4])]))], [x], [y])
    step = body([node("Add", ["acc", "x"], ["next"]), node("Identity", ["cond"], ["go"]), node("Shape", ["next"], ["scan"])],
                [tensor("i", [], INT64), tensor("cond", [], BOOL), tensor("acc", ["n", 4])],
                [tensor("go", [], BOOL), tensor("next", ["n", 4]), tensor("scan", [2], INT64)])
    yield "loop", model([node("Loop", ["trips", "", "x"], ["y", "all"], body=step)], [x, tensor("trips", [], INT64)],
                        [y, tensor("all", None, INT64)])
    swap = body([node("Add", ["a", "b"], ["s"])], [tensor("a", [4]), tensor("b", [4])], [tensor("s", [4])])
    yield "scan", model([node("Scan", ["first", "x"], ["y"], num_scan_inputs=1, body=swap)], [tensor("first", [4]), x], [y])
    call = helper.make_node("half", ["x"], ["h"], domain="local", scale=2)
    inner = helper.make_node("Softmax", ["a"], ["b"])
    inner.attribute.append(helper.make_attribute_ref("axis", AttributeProto.INT))
    inner.attribute[0].ref_attr_name = "scale"
    half = helper.make_function("local", "half", ["a"], ["c"], [inner, node("Neg", ["b"], ["c"])],
                                [helper.make_opsetid("", 20)], ["scale"])
    yield "function", model([call, node("half", ["h"], ["y"], domain="local", scale=1)], [x], [y],
                            extra_opsets=[("local", 1)], functions=[half])
    yield "sequence", model([node("SequenceConstruct", ["x", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)],
                            [x], [y])
    external = TensorProto(name="w", data_type=FLOAT, dims=[4, 2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "32")):
        external.external_data.add(key=key, value=value)
    yield "external", model([node("Gemm", ["x", "w"], ["y"], transB=0)], [x], [y], initializer=[external])
    old = model([node("Add", ["x", "w"], ["y"])], [x, tensor("w", [4])], [y], opset=7, ir=3,
                initializer=[helper.make_tensor("w", FLOAT, [4], [1, 2, 3, 4])])
    yield "old", old
    packed = [helper.make_tensor("i4", TensorProto.INT4, [3], [1, -2, 3]), helper.make_tensor("bf", TensorProto.BFLOAT16, [2], [1, 2]),
              helper.make_tensor("f8", TensorProto.FLOAT8E4M3FN, [2], [1, 2]), helper.make_tensor("s", TensorProto.STRING, [2], [b"a", b"b"])]
    yield "types", model([node("Identity", ["i4"], ["y"])], [x], [tensor("y", [3], TensorProto.INT4)], opset=21, ir=10,
                         initializer=packed)
    marked = node("aten.mul", ["x", "x"], ["y"], domain="aten", view=1, name="v")
    for key, value in (("plimsoll.stream", "1"), ("plimsoll.reference_output", "0:0")):
        marked.metadata_props.add(key=key, value=value)
    yield "foreign", model([marked], [x], [y], ir=10, extra_opsets=[("aten", 1)])
    shapes = [node("Shape", ["x"], ["d"]), node("Slice", ["d", "zero", "one"], ["n0"]), node("Concat", ["n0", "two"], ["to"], axis=0),
              node("Expand", ["x", "to"], ["e"]), node("Einsum", ["e", "x"], ["y"], equation="ij,ij->i")]
    numbers = [helper.make_tensor(n, INT64, [1], [v]) for n, v in (("zero", 0), ("one", 1), ("two", 4))]
    yield "shapes", model(shapes, [x], [y], initializer=numbers)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in seeds():
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())


main()
