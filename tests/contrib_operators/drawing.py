"""One node of com.microsoft with inputs that are drawn: `Drawn`, and what the generators of operators share."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"
FLOATS = {"rtol": 1e-3, "atol": 1e-4}
SAME = {"rtol": 0, "atol": 1e-9}  # bytes, and what bytes decide
BYTES = {"rtol": 0, "atol": 1}  # neighbours
OPSET = 21


class Drawn:
    """Inputs in the node's order, None where one is left out; outputs by whether the node wants each. `equivalents`: by place, inputs
    that must give the same result, of which ONNX Runtime's is more exact."""

    def __init__(self, op, inputs, attributes=None, outputs=(True,), tolerance=FLOATS, domain=DOMAIN, constants=(), equivalents=None, opset=OPSET):
        self.op, self.inputs, self.attributes, self.outputs = op, inputs, attributes or {}, outputs
        self.tolerance, self.domain, self.constants, self.opset = tolerance, domain, set(constants), opset
        self.equivalents = {f"x{i}": array for i, array in (equivalents or {}).items()}

    def model(self, rng):
        """Inputs are constants where the operator wants that, or by chance; sizes of the others may be open."""
        names = [f"x{i}" if array is not None else "" for i, array in enumerate(self.inputs)]
        while names and not names[-1]:
            names.pop()
        made = [f"y{i}" if wanted else "" for i, wanted in enumerate(self.outputs)]
        node = helper.make_node(self.op, names, made, domain=self.domain, **self.attributes)
        initializers, inputs = [], []
        self.feeds = {}
        for i, array in enumerate(self.inputs):
            if array is None:
                continue
            is_constant = i in self.constants or (i > 0 and rng.random() < 0.3)
            if is_constant:
                initializers.append(numpy_helper.from_array(array, f"x{i}"))
                continue
            open_sizes = i == 0 and rng.random() < 0.4
            shape = [f"d{i}_{axis}" if open_sizes and rng.random() < 0.5 else int(size) for axis, size in enumerate(array.shape)]
            inputs.append(helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(array.dtype), shape))
            self.feeds[f"x{i}"] = array
        outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in made if name]
        graph = helper.make_graph([node], "contributed", inputs, outputs, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid(DOMAIN, 1)], ir_version=10)
        for output in model.graph.output:
            output.ClearField("type")
        return model

    def for_reference(self, model):
        """The model and its feeds with the equivalents in place."""
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        for initializer in changed.graph.initializer:
            if initializer.name in self.equivalents:
                initializer.CopyFrom(numpy_helper.from_array(self.equivalents[initializer.name], initializer.name))
        return changed, {name: self.equivalents.get(name, array) for name, array in self.feeds.items()}


def floats(rng, *shape, scale=1.0, dtype=np.float32):
    return np.asarray(rng.standard_normal(shape) * scale).astype(dtype)


def size(rng, most=9, least=1):
    return int(rng.integers(least, most + 1))


def maybe(rng, make, chance=0.5):
    return make() if rng.random() < chance else None


def bytes_of(rng, shape, signed, narrow=False):
    """`narrow`: so that ONNX Runtime's sums of two products of uint8 with int8 do not saturate on processors without VNNI."""
    if signed:
        low, high = (-63, 64) if narrow else (-128, 128)
        return rng.integers(low, high, shape).astype(np.int8)
    return rng.integers(0, 256, shape).astype(np.uint8)


def zero_of(rng, signed, shape=()):
    return rng.integers(-20, 20, shape).astype(np.int8) if signed else rng.integers(100, 150, shape).astype(np.uint8)


def scale_of(rng, shape=()):
    return rng.uniform(0.005, 0.05, shape).astype(np.float32)


def related_scales(rng, count):
    """Scales of several tensors; in one draw of four they are simple multiples of each other, so that many results lie at or beside a tie."""
    if rng.random() < 0.75:
        return [scale_of(rng) for _ in range(count)]
    one = scale_of(rng)
    return [np.asarray(one * np.float32(ratio)) for ratio in rng.choice([0.5, 0.75, 0.9, 1, 1.2, 1.5, 2], count)]
