"""A graph under construction for drawn_networks.py: nodes, weights, and the shapes that the next node depends on."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference

OPSET = 17


def per_axis(size, axes):
    return [size] * axes if isinstance(size, int) else list(size)


class Graph:
    def __init__(self, drawn):
        self.r = drawn
        self.numbers = np.random.default_rng(drawn.getrandbits(32))
        self.nodes, self.constants, self.inputs, self.outputs, self.shapes, self.types = [], [], [], [], {}, {}

    def dims(self, name):
        return list(self.shapes[name])

    def input(self, dims, type=TensorProto.FLOAT):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, type, dims))
        self.shapes[name], self.types[name] = list(dims), type
        return name

    def output(self, name):
        self.outputs.append(helper.make_tensor_value_info(name, self.types[name], self.shapes[name]))

    def constant(self, array):
        array = np.asarray(array)
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        self.shapes[name], self.types[name] = list(array.shape), helper.np_dtype_to_tensor_dtype(array.dtype)
        return name

    def weight(self, *dims):
        fan = max(1, int(np.prod(dims[1:])))
        return self.constant((self.numbers.standard_normal(dims) / np.sqrt(fan)).astype(np.float32))

    def positive(self, count):
        return self.constant(self.numbers.uniform(0.5, 1.5, count).astype(np.float32))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        made = helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", **attributes)
        self.nodes.append(made)
        self.infer(made)
        return names[0] if outputs == 1 else names

    def made(self, op, inputs, outputs, domain, **attributes):
        """The outputs of a node whose types shape inference does not tell (known)."""
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return names

    def known(self, name, type, dims):
        self.types[name], self.shapes[name] = type, list(dims)
        return name

    def infer(self, node):
        """The shapes of one node's outputs, by a graph of that node alone."""
        used = [name for name in node.input if name]
        known = {tensor.name: tensor for tensor in self.constants if tensor.name in used}
        ports = [helper.make_tensor_value_info(name, self.types[name], self.shapes[name]) for name in dict.fromkeys(used) if name not in known]
        alone = helper.make_graph([node], "one", ports, [helper.make_empty_tensor_value_info(name) for name in node.output], list(known.values()))
        model = shape_inference.infer_shapes(helper.make_model(alone, opset_imports=[helper.make_opsetid("", OPSET)]), data_prop=True, strict_mode=True)
        for port in model.graph.output:
            self.types[port.name] = port.type.tensor_type.elem_type
            self.shapes[port.name] = [dim.dim_value for dim in port.type.tensor_type.shape.dim]

    def conv(self, x, filters, kernel, stride=1, dilation=1, groups=1, pads="same", bias=True):
        axes, channels = len(self.dims(x)) - 2, self.dims(x)[1]
        kernel, stride, dilation = (per_axis(size, axes) for size in (kernel, stride, dilation))
        reach = [(size - 1) * apart for size, apart in zip(kernel, dilation)]
        attributes = {"kernel_shape": kernel, "strides": stride, "dilations": dilation, "group": groups}
        if pads == "same":
            attributes["pads"] = [size // 2 for size in reach] + [size - size // 2 for size in reach]
        elif pads == "uneven":
            attributes["pads"] = [self.r.randint(0, size) for size in reach * 2]
        else:
            attributes["auto_pad"] = pads
        inputs = [x, self.weight(filters, channels // groups, *kernel)] + ([self.weight(filters)] if bias else [])
        return self.node("Conv", inputs, **attributes)

    def transposed(self, x, filters, kernel, stride, grown):
        axes, channels = len(self.dims(x)) - 2, self.dims(x)[1]
        pad = max(0, (kernel - stride) // 2)
        more = {"output_padding": [1] * axes} if grown and stride > 1 else {}
        return self.node("ConvTranspose", [x, self.weight(channels, filters, *[kernel] * axes), self.weight(filters)], kernel_shape=[kernel] * axes,
                         strides=[stride] * axes, pads=[pad] * 2 * axes, **more)

    def norm(self, x):
        wide = self.dims(x)[1]
        return self.node("BatchNormalization", [x, self.positive(wide), self.weight(wide), self.weight(wide), self.positive(wide)])

    def instance_norm(self, x):
        wide = self.dims(x)[1]
        return self.node("InstanceNormalization", [x, self.positive(wide), self.weight(wide)])

    def layer_norm(self, x):
        wide = self.dims(x)[-1]
        return self.node("LayerNormalization", [x, self.positive(wide), self.weight(wide)], axis=-1)

    def act(self, x, kind=None):
        kind = kind or self.r.choice(["Relu", "Relu", "Relu", "LeakyRelu", "HardSwish", "swish", "Elu", "clip"])
        if kind == "swish":
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        if kind == "clip":
            return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])
        return self.node(kind, [x])

    def gelu(self, x):
        """As exporters write it out."""
        inner = self.node("Erf", [self.node("Div", [x, self.constant(np.float32(np.sqrt(2)))])])
        return self.node("Mul", [self.node("Mul", [x, self.node("Add", [inner, self.constant(np.float32(1))])]), self.constant(np.float32(0.5))])

    def dense(self, x, filters):
        """The last axis by a matrix, and a bias."""
        wide = self.dims(x)[-1]
        matrix = self.constant((self.numbers.standard_normal([wide, filters]) / np.sqrt(wide)).astype(np.float32))
        if len(self.dims(x)) == 2 and self.r.random() < 0.5:
            return self.node("Gemm", [x, matrix, self.weight(filters)])
        return self.node("Add", [self.node("MatMul", [x, matrix]), self.weight(filters)])

    def reshape(self, x, dims):
        return self.node("Reshape", [x, self.constant(np.array(dims, np.int64))])

    def slice(self, x, axis, begin, end):
        return self.node("Slice", [x, *(self.constant(np.array([value], np.int64)) for value in (begin, end, axis))])

    def pad(self, x, size, mode):
        axes = len(self.dims(x)) - 2
        sizes = [size] * 2 * axes if isinstance(size, int) else size
        return self.node("Pad", [x, self.constant(np.array([0, 0, *sizes[:axes], 0, 0, *sizes[axes:]], np.int64))], mode=mode)

    def resize(self, x, scale, mode):
        scales = np.array([1, 1] + [scale] * (len(self.dims(x)) - 2), np.float32)
        more = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"} if mode == "nearest" else {}
        return self.node("Resize", [x, "", self.constant(scales)], mode=mode, **more)

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        domains = {node.domain for node in self.nodes} - {""}
        imports = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 3) for domain in domains)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)
