"""What the tables of this folder make and look at where a line of text does not do."""
from onnx import TensorProto, helper, numpy_helper

FLOAT, info = TensorProto.FLOAT, helper.make_tensor_value_info


def model(graph, version):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=9)


def relu_over(*dims):
    """A model of one Relu over an input of these dimensions; None has no name."""
    return model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [info("x", FLOAT, dims)], [info("y", FLOAT, dims)]), 17)


def counting_loop(collects=False):
    """x + 1 as often as an input says; every sum where it collects them."""
    body = helper.make_graph(
        [helper.make_node("Add", ["carried", "one"], ["next"]), helper.make_node("Identity", ["go"], ["still"])], "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("carried", FLOAT, [64])],
        [info("still", TensorProto.BOOL, []), info("next", FLOAT, [64]), *([info("next", FLOAT, [64])] if collects else [])],
        [helper.make_tensor("one", FLOAT, [], [1.0])])
    outputs = [info("y", FLOAT, [64]), *([info("all", FLOAT, [None, 64])] if collects else [])]
    loop = helper.make_node("Loop", ["times", "", "x"], [output.name for output in outputs], body=body)
    return model(helper.make_graph([loop], "loop", [info("times", TensorProto.INT64, []), info("x", FLOAT, [64])], outputs), 20)


def places_of_positives():
    """Where x is above zero; how many places that are, only data tells."""
    nodes = [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("NonZero", ["positive"], ["places"]),
             helper.make_node("Neg", ["places"], ["y"])]
    return model(helper.make_graph(nodes, "places", [info("x", FLOAT, [64])], [info("y", TensorProto.INT64, [1, None])]), 17)


def constants_added(*arrays):
    """A model with these initializers, c0, c1 and so on, each of which it gives back."""
    held = [numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(arrays)]
    outputs = [info(f"y{i}", one.data_type, one.dims) for i, one in enumerate(held)]
    nodes = [helper.make_node("Identity", [one.name], [output.name]) for one, output in zip(held, outputs)]
    return model(helper.make_graph(nodes, "g", [], outputs, held), 17)


def rows_in_order(text, first, *others):
    """Whether rows begin so, each after the one before, from the row `first` on."""
    lines = text.splitlines()
    lines = lines[next((i for i, line in enumerate(lines) if line.startswith(f"  {first} ")), len(lines)):]
    places = [next((i for i, line in enumerate(lines) if line.startswith(f"  {row} ")), -1) for row in others]
    return bool(lines) and -1 not in places and places == sorted(places)
