#!/usr/bin/env python3
"""Makes the models in this folder: make_examples.py [FOLDER]. Needs onnx and numpy.

tiny_cnn is the demo's model: a small image classifier with a symbolic batch. tiny_train is one whole training step with two
variables. The others have one memory attribute each, given as node metadata `plimsoll.<attribute>` or, for needs_clearing, by the
operator itself."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
FLOAT = TensorProto.FLOAT


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, FLOAT, shape)


def weight(name, *shape):
    draw = np.random.default_rng(sum(name.encode()))
    fan_in = int(np.prod(shape[1:])) or 1
    return numpy_helper.from_array((draw.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32), name)


def node(op, inputs, outputs, memory=None, **attributes):
    made = helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)
    for key, value in (memory or {}).items():
        made.metadata_props.add(key=f"plimsoll.{key}", value=value)
    return made


def model(name, nodes, inputs, outputs, weights=(), values=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights), value_info=list(values))
    made = helper.make_model(graph, producer_name="plimsoll examples", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.checker.check_model(made, full_check=True)
    return made


def tiny_cnn():
    nodes, weights, last, channels = [], [], "image", 3
    for i, width in enumerate((8, 16, 32)):
        weights += [weight(f"w{i}", width, channels, 3, 3), weight(f"b{i}", width)]
        nodes += [
            node("Conv", [last, f"w{i}", f"b{i}"], [f"conv{i}"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("Relu", [f"conv{i}"], [f"relu{i}"]),
        ]
        last, channels = f"relu{i}", width
        if i == 1:  # two branches that meet again, so that there is something to plan
            weights += [weight("left_w", 8, 16, 1, 1), weight("right_w", 8, 16, 3, 3)]
            nodes += [
                node("Conv", [last, "left_w"], ["left"], kernel_shape=[1, 1]),
                node("Conv", [last, "right_w"], ["right"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                node("Concat", ["left", "right"], ["joined"], axis=1),
                node("Add", ["joined", last], ["mixed"]),
            ]
            last = "mixed"
    weights += [weight("head_w", 32, 10), weight("head_b", 10)]
    nodes += [
        node("GlobalAveragePool", [last], ["pooled"]),
        node("Flatten", ["pooled"], ["features"], axis=1),
        node("Gemm", ["features", "head_w", "head_b"], ["logits"]),
        node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    return model("tiny_cnn", nodes, [tensor("image", "batch", 3, 64, 64)], [tensor("probabilities", "batch", 10)], weights)


def attribute_example(name, memory, op="Relu", inputs=("x",), outputs=1, **attributes):
    """x and friends pass through a Sigmoid, then through the node with the attribute, then through a Tanh."""
    made = [f"{i}_ready" for i in inputs]
    results = [f"marked{i}" for i in range(outputs)]
    nodes = [node("Sigmoid", [i], [m]) for i, m in zip(inputs, made)]
    nodes.append(node(op, made, results, memory, **attributes))
    nodes += [node("Tanh", [r], [f"y{i}"]) for i, r in enumerate(results)]
    shape = (4, 256)
    out_shape = {"Concat": (4 * len(inputs), 256), "Split": (4 // outputs, 256)}.get(op, shape)
    return model(name, nodes, [tensor(i, *shape) for i in inputs], [tensor(f"y{i}", *out_shape) for i in range(outputs)])


def needs_clearing():
    """MaxUnpool writes only where maxima were found: the operator's own row says that its output needs clearing."""
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Sigmoid", ["x"], ["ready"]),
        node("MaxPool", ["ready"], ["pooled", "places"], **window),
        node("MaxUnpool", ["pooled", "places"], ["marked0"], **window),
        node("Tanh", ["marked0"], ["y0"]),
    ]
    return model("needs_clearing", nodes, [tensor("x", 1, 4, 16, 16)], [tensor("y0", 1, 4, 16, 16)])


def with_metadata(made, **entries):
    for key, value in entries.items():
        made.metadata_props.add(key=f"plimsoll.{key}", value=value)
    return made


def subgraph_output():
    """Both branches of an If make an output of the model: a subgraph's NetOutput never uses zero copy."""
    def branch(name, op):
        return helper.make_graph([node(op, ["ready"], [f"{name}_result"])], name, [], [tensor(f"{name}_result", 4, 256)])

    nodes = [
        node("Sigmoid", ["x"], ["ready"]),
        helper.make_node("If", ["flag"], ["y0"], name="y0", then_branch=branch("then", "Relu"), else_branch=branch("else", "Neg")),
    ]
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    return model("subgraph_output", nodes, [tensor("x", 4, 256), flag], [tensor("y0", 4, 256)])


def multi_batch_shape():
    """Two gears of one network, of which one runs at a time, and an input that carries the shapes of the gears."""
    nodes = [node("Sigmoid", ["gears"], ["gears_ready"])]
    for label, rows in (("gear_1", 1), ("gear_4", 4)):
        nodes += [
            node("Sigmoid", [f"x_{rows}"], [f"{label}_a"], {"batch_label": label}),
            node("MatMul", [f"{label}_a", "w"], [f"{label}_b"], {"batch_label": label}),
            node("Tanh", [f"{label}_b"], [f"y_{rows}"], {"batch_label": label}),
        ]
    nodes.append(node("Tanh", ["gears_ready"], ["y_gears"]))
    made = model("multi_batch_shape", nodes, [tensor("gears", 8), tensor("x_1", 1, 256), tensor("x_4", 4, 256)],
                 [tensor("y_1", 1, 256), tensor("y_4", 4, 256), tensor("y_gears", 8)], [weight("w", 256, 256)])
    return with_metadata(made, multi_batch_shape="gears")


def continuous_gears():
    """Two values that a sum needs side by side, in a network whose batch is open: made for gears (dynamic_dims)."""
    shape = ("batch", 256)
    nodes = [node("Sigmoid", ["x"], ["x_ready"]), node("Sigmoid", ["z"], ["z_ready"]),
             node("Sum", ["x_ready", "z_ready"], ["sum"], {"continuous_input": "padded"})]
    last = "sum"
    for i in range(3):
        nodes += [node("MatMul", [last, "w"], [f"product{i}"]), node("Tanh", [f"product{i}"], [f"y{i}"])]
        last = f"y{i}"
    return model("continuous_gears", nodes, [tensor("x", *shape), tensor("z", *shape)], [tensor(last, *shape)], [weight("w", 256, 256)])


def p2p_clearing():
    """Memory to be cleared, once in ordinary memory and once in P2P memory: two areas, never one clear."""
    nodes = [
        node("Sigmoid", ["x"], ["ready"]),
        node("Relu", ["ready"], ["plain"], {"needs_clearing": "0"}),
        node("Relu", ["plain"], ["peer"], {"needs_clearing": "0", "memory_type": "p2p"}),
        node("Tanh", ["peer"], ["y0"]),
    ]
    return model("p2p_clearing", nodes, [tensor("x", 4, 256)], [tensor("y0", 4, 256)])


def tiny_train():
    """Least squares by gradient descent with momentum: w and m are replaced by next_w and next_m."""
    number = lambda name, value: numpy_helper.from_array(np.float32(value), name)
    nodes = [
        node("MatMul", ["x", "w"], ["guess"]),
        node("Sub", ["guess", "target"], ["error"]),
        node("Mul", ["error", "error"], ["squares"]),
        node("ReduceMean", ["squares"], ["loss"], keepdims=0),
        node("Transpose", ["x"], ["x_t"], perm=[1, 0]),
        node("MatMul", ["x_t", "error"], ["slope"]),
        node("Mul", ["slope", "share"], ["gradient"]),
        node("Mul", ["m", "decay"], ["kept"]),
        node("Add", ["kept", "gradient"], ["next_m"]),
        node("Mul", ["next_m", "rate"], ["step"]),
        node("Sub", ["w", "step"], ["next_w"]),
    ]
    made = model("tiny_train", nodes, [tensor("w", 8, 1), tensor("m", 8, 1), tensor("x", 32, 8), tensor("target", 32, 1)],
                 [tensor("loss"), tensor("next_w", 8, 1), tensor("next_m", 8, 1)],
                 [number("share", 2 / 32), number("decay", 0.9), number("rate", 0.05)])
    made.metadata_props.add(key="state", value='{"w": "next_w", "m": "next_m"}')
    return made


EXAMPLES = {
    "tiny_cnn": tiny_cnn,
    "tiny_train": tiny_train,
    "memory_type": lambda: attribute_example("memory_type", {"memory_type": "p2p"}),
    "continuous_input_padded": lambda: attribute_example("continuous_input_padded", {"continuous_input": "padded"}, "Sum", ("x", "z")),
    "continuous_input_unpadded": lambda: attribute_example("continuous_input_unpadded", {"continuous_input": "unpadded"}, "Concat", ("x", "z"), axis=0),
    "continuous_output_padded": lambda: attribute_example("continuous_output_padded", {"continuous_output": "padded"}, "Split", outputs=2, axis=0, num_outputs=2),
    "continuous_output_unpadded": lambda: attribute_example("continuous_output_unpadded", {"continuous_output": "unpadded"}, "Split", outputs=2, axis=0, num_outputs=2),
    "continuous_gears": continuous_gears,
    "reference_output": lambda: attribute_example("reference_output", {"reference_output": "0:0"}),
    "needs_clearing": needs_clearing,
    "fixed_address": lambda: attribute_example("fixed_address", {"fixed_address": "1"}),
    "no_address_refresh": lambda: attribute_example("no_address_refresh", {"no_address_refresh": "1"}),
    "batch_label": lambda: attribute_example("batch_label", {"batch_label": "gear_4"}),
    "subgraph_output": subgraph_output,
    "multi_batch_shape": multi_batch_shape,
    "p2p_clearing": p2p_clearing,
    "stream": lambda: attribute_example("stream", {"stream": "1"}),
}


def main(folder):
    for name, make in EXAMPLES.items():
        (pathlib.Path(folder) / f"{name}.onnx").write_bytes(make().SerializeToString(deterministic=True))
    print(f"{len(EXAMPLES)} models in {folder}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
