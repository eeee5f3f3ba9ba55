"""Small models that tests make with onnx."""
import onnx
from onnx import TensorProto, helper


def model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def tensor(name, kind, dims):
    return helper.make_tensor_value_info(name, kind, dims)


def identity(kind, dims=("n",)):
    """y = x; a model whose output is its input."""
    return model([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", kind, dims)], [tensor("y", kind, dims)])


def double(kind=TensorProto.FLOAT, dims=("n",)):
    """y = x + x"""
    return model([helper.make_node("Add", ["x", "x"], ["y"])], [tensor("x", kind, dims)], [tensor("y", kind, dims)])


def endless():
    """A loop that nobody waits for."""
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["still"]), helper.make_node("Sin", ["state"], ["next"])], "body",
                             [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, []),
                              tensor("state", TensorProto.FLOAT, [64])],
                             [tensor("still", TensorProto.BOOL, []), tensor("next", TensorProto.FLOAT, [64])])
    turns = helper.make_tensor("turns", TensorProto.INT64, [], [1 << 50])
    go = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    return model([helper.make_node("Loop", ["turns", "yes", "x"], ["y"], body=body)], [tensor("x", TensorProto.FLOAT, [64])],
                 [tensor("y", TensorProto.FLOAT, [64])], [turns, go])


def split_to_sequence():
    node = helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0)
    parts = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    return model([node], [tensor("x", TensorProto.FLOAT, ["n"])], [parts])


def join_sequence():
    parts = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    node = helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=0)
    return model([node], [parts], [tensor("y", TensorProto.FLOAT, ["n"])])


def nonzero():
    """Its output's size depends on data."""
    return model([helper.make_node("NonZero", ["x"], ["y"])], [tensor("x", TensorProto.FLOAT, ["n"])],
                 [tensor("y", TensorProto.INT64, [1, None])])
