#!/usr/bin/env python3
"""The same network from another exporter: other_export.py MODEL OUTPUT. Each Sigmoid is spelt out as 1 / (1 + exp(-x))."""
import sys

import onnx
from onnx import TensorProto, helper


def spelt_out(node):
    value, result, name = node.input[0], node.output[0], node.name or node.output[0]
    return [helper.make_node("Neg", [value], [result + "_negative"], name=name + "/Neg"),
            helper.make_node("Exp", [result + "_negative"], [result + "_power"], name=name + "/Exp"),
            helper.make_node("Add", [result + "_power", "one"], [result + "_sum"], name=name + "/Add"),
            helper.make_node("Reciprocal", [result + "_sum"], [result], name=name + "/Reciprocal")]


def main():
    model = onnx.load(sys.argv[1], load_external_data=False)
    model.graph.initializer.append(helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]))
    nodes = [made for node in model.graph.node for made in (spelt_out(node) if node.op_type == "Sigmoid" else [node])]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, sys.argv[2])


if __name__ == "__main__":
    main()
