"""A graph that is made node by node: `Drawing` holds it, ways (functions of a drawing and one of its values) go on from there."""
import dataclasses
import random

import numpy as np
from onnx import helper, numpy_helper

from .sizes import Unfit, at, count, fits, is_open

OPSET = 20
MOST_ELEMENTS = 4000
TAKE_EMPTY = {"unary", "binary", "cast", "concat", "transpose", "unsqueeze"}  # ways that can go on from a value without elements
FLOAT, INT64, INT32, BOOL = (np.dtype(name) for name in ("float32", "int64", "int32", "bool"))


@dataclasses.dataclass(frozen=True)
class Value:
    """`exact`: every engine gives the same bits, so that it may decide something (a comparison, a rounding)."""

    name: str
    shape: tuple
    type: np.dtype = FLOAT
    exact: bool = False

    @property
    def rank(self):
        return len(self.shape)


class Drawing:
    """`values` are the tensors that later nodes may read. The body of a node is a drawing too, that sees what is around it."""

    def __init__(self, seed, prefix="", around=None):
        self.random = around.random if around else random.Random(seed)
        self.numbers = around.numbers if around else np.random.default_rng(seed)
        self.prefix, self.around = prefix, around
        self.depth = around.depth + 1 if around else 0
        self.root = around.root if around else self
        self.nodes, self.constants, self.values = [], [], list(around.values) if around else []
        self.inputs, self.feeders, self.outputs, self.names = [], {}, {}, 0

    def name(self, letter="v"):
        self.root.names += 1
        return f"{self.root.prefix}{letter}{self.root.names}"

    def chance(self, share):
        return self.random.random() < share

    # Constants and inputs.
    def constant(self, array):
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, shape, scale=1.0, shift=0.0):
        if any(map(is_open, shape)):
            raise Unfit
        return self.constant((shift + scale * self.numbers.uniform(-1, 1, shape)).astype(np.float32))

    def scalar(self, number, type=FLOAT):
        return self.constant(np.array(number, dtype=type))

    def integers(self, elements):
        return self.constant(np.array(elements, dtype=np.int64))

    def input(self, shape, type=FLOAT, feed=None):
        """`feed` gives an array for a shape without open sizes; else numbers between -1 and 1."""
        value = Value(self.name("x"), tuple(shape), type, exact=True)
        self.inputs.append(value)
        self.values.append(value)
        self.feeders[value.name] = feed or (lambda numbers, shape: numbers.uniform(-1, 1, shape).astype(np.float32))
        return value

    # Nodes.
    def add_many(self, op, inputs, outputs, exact=False, **attributes):
        """`outputs`: a shape and a type for each; all join the values."""
        names = [one.name if isinstance(one, Value) else one for one in inputs]
        made = [Value(self.name(), tuple(shape), np.dtype(type), exact) for shape, type in outputs]
        if any(count(value.shape) > MOST_ELEMENTS for value in made):
            raise Unfit
        self.nodes.append(helper.make_node(op, names, [value.name for value in made], **attributes))
        self.values += made
        return made

    def add(self, op, inputs, shape, type=FLOAT, exact=False, **attributes):
        return self.add_many(op, inputs, [(shape, type)], exact, **attributes)[0]

    def hide(self, *values):
        """Nobody else reads these."""
        self.values = [value for value in self.values if value not in values]

    def any(self, accept=lambda value: True, type=FLOAT, empty=False):
        """Recent values more often, so that memory is free again soon. `empty`: also one without elements."""
        fitting = [value for value in self.values if (type is None or value.type == type) and accept(value) and (empty or count(value.shape) > 0)]
        if not fitting:
            raise Unfit
        return fitting[-1 - self.random.randrange(min(len(fitting), 1 + self.random.randrange(len(fitting))))]

    def operand(self, shape, type=FLOAT):
        """Something that broadcasts into the shape."""
        fixed = [dim if not is_open(dim) and self.chance(0.6) else 1 for dim in shape]
        if type == FLOAT and shape and self.chance(0.3):
            return self.floats(fixed[self.random.randrange(len(shape)):])
        return self.any(lambda value: fits(value.shape, shape), type)

    def axis(self, shape):
        if not shape:
            raise Unfit
        return self.random.randrange(len(shape))

    # Growing.
    def attempt(self, way, x):
        """Gives whether the way did fit; where not, nothing is left of it."""
        before = len(self.nodes), len(self.constants), list(self.values)
        try:
            way(self, x)
            return True
        except Unfit:
            del self.nodes[before[0]:], self.constants[before[1]:]
            self.values = before[2]
            return False

    def grow(self, times, ways, accept=lambda value: True):
        """`ways`: functions with their weights."""
        done = 0
        for _ in range(4 * times):
            way = self.random.choices(list(ways), ways.values())[0]
            done += self.attempt(way, self.any(accept, None, way.__name__ in TAKE_EMPTY))
            if done == times:
                return

    # The model.
    def feeds(self, sizes):
        return {value.name: self.feeders[value.name](self.numbers, at(value.shape, sizes)) for value in self.inputs}

    def model(self, outputs, every_size_open=False):
        """Declared are symbols where sizes are open; every size of every input where asked for."""
        def port(value, open_dim):
            dims = [dim.symbol if is_open(dim) and dim.scale == 1 and dim.offset == 0 else open_dim(i) if is_open(dim) or every_size_open else dim
                    for i, dim in enumerate(value.shape)]
            return helper.make_tensor_value_info(value.name, tensor_type(value.type), dims)

        ports = [port(value, lambda i, value=value: f"{value.name}_{i}") for value in self.inputs]
        results = [port(value, lambda i: None) for value in sorted(set(outputs), key=lambda value: value.name)]
        graph = helper.make_graph(self.nodes, "drawn", ports, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def body(self, name, inputs, outputs):
        """As an attribute of the node around it."""
        def port(value):
            return helper.make_tensor_value_info(value.name, tensor_type(value.type), [None] * value.rank)

        return helper.make_graph(self.nodes, name, [port(value) for value in inputs], [port(value) for value in outputs], self.constants)


def tensor_type(type):
    return helper.np_dtype_to_tensor_dtype(np.dtype(type))


