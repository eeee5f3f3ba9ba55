#!/usr/bin/env python3
"""Writes large ONNX models for the planner: scale_models.py FAMILY NODES FILE [--seed S] [--window W]

Families of the benchmark: `chain`, `random` (Add nodes whose two operands are drawn from the last W values) and `transformer`.
Families that provoke passes over all nodes inside another: the rest of `FAMILIES`. Same arguments, same file."""
import argparse
import random
import struct

WIDTH = 1024  # elements of a value, unless a family says otherwise
FLOAT, INT64 = 1, 7


def number(value):
    """A varint."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(index, value):
    """One protobuf field: an integer, text or bytes."""
    if isinstance(value, int):
        return number(index << 3) + number(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return number(index << 3 | 2) + number(len(data)) + data


def tensor_type(dims, element=FLOAT):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, field(1, element) + field(2, shape))


def attribute(name, value):
    if isinstance(value, bytes):
        return field(1, name) + field(6, value) + field(20, 5)
    if isinstance(value, float):
        return field(1, name) + number(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


class Body:
    """A graph as it is written: nodes and values in the order in which they were added."""

    def __init__(self, prefix=""):
        self.prefix = prefix
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.values = 0

    def name(self):
        self.values += 1
        return f"{self.prefix}{self.values:x}"

    def add(self, op, inputs, outputs=1, **attributes):
        """Adds a node; its outputs' names, one alone as text."""
        names = [self.name() for _ in range(outputs)]
        parts = [field(1, value) for value in inputs] + [field(2, value) for value in names] + [field(4, op)]
        parts += [field(5, attribute(key, value)) for key, value in attributes.items()]
        self.nodes.append(field(1, b"".join(parts)))
        return names[0] if outputs == 1 else names

    def input(self, dims, element=FLOAT):
        self.inputs.append(field(1, name := self.name()) + field(2, tensor_type(dims, element)))
        return name

    def output(self, value, dims):
        self.outputs.append(field(1, value) + field(2, tensor_type(dims)))

    def integers(self, values):
        data = struct.pack(f"<{len(values)}q", *values)
        self.constants.append(field(1, len(values)) + field(2, INT64) + field(8, name := self.name()) + field(9, data))
        return name

    def weight(self, dims):
        """Small numbers, not the same for any two weights."""
        count = 1
        for dim in dims:
            count *= dim
        data = struct.pack("<f", (self.values + 1) * 1e-7) * count
        head = b"".join(field(1, dim) for dim in dims)
        self.constants.append(head + field(2, FLOAT) + field(8, name := self.name()) + field(9, data))
        return name

    def graph(self):
        return b"".join([*self.nodes, field(2, "g"), *(field(5, item) for item in self.constants),
                         *(field(11, item) for item in self.inputs), *(field(12, item) for item in self.outputs)])

    def write(self, path):
        with open(path, "wb") as file:
            file.write(field(1, 8) + field(8, field(2, 17)) + field(7, self.graph()))


def chain(body, nodes, _random, _window):
    value = body.input([1, WIDTH])
    for i in range(nodes):
        value = body.add("Tanh" if i % 2 else "Sigmoid", [value])
    body.output(value, [1, WIDTH])


def draw_operands(values, draw, window):
    recent = min(window, len(values))
    return [values[len(values) - 1 - draw.randrange(recent)] for _ in range(2)]


def random_graph(body, nodes, draw, window):
    """What nobody reads is an output."""
    values = [body.input([1, WIDTH])]
    unread = {}
    for _ in range(nodes):
        operands = draw_operands(values, draw, window)
        for operand in operands:
            unread.pop(operand, None)
        values.append(body.add("Add", operands))
        unread[values[-1]] = True
    return values, unread


def random_outputs(body, nodes, draw, window):
    """What nobody reads is an output."""
    for value in random_graph(body, nodes, draw, window)[1]:
        body.output(value, [1, WIDTH])


def random_last(body, nodes, draw, window):
    """The last value is the output: what does not lead there is dead."""
    body.output(random_graph(body, nodes, draw, window)[0][-1], [1, WIDTH])


def random_total(body, nodes, draw, window):
    """What nobody reads is added up at the end."""
    total, *rest = random_graph(body, nodes, draw, window)[1]
    for value in rest:
        total = body.add("Add", [total, value])
    body.output(total, [1, WIDTH])


def transformer(body, nodes, _random, _window):
    """Blocks of attention and a feed-forward part, each with weights of its own."""
    tokens, hidden, heads = 16, 8, 2
    split, join = body.integers([1, tokens, heads, hidden // heads]), body.integers([1, tokens, hidden])
    scale = body.weight([1])
    x = body.input([1, tokens, hidden])

    def norm(value):
        return body.add("LayerNormalization", [value, body.weight([hidden]), body.weight([hidden])], axis=-1)

    def linear(value, rows, columns):
        return body.add("Add", [body.add("MatMul", [value, body.weight([rows, columns])]), body.weight([columns])])

    while len(body.nodes) < nodes:
        y = norm(x)
        q, k, v = (body.add("Transpose", [body.add("Reshape", [linear(y, hidden, hidden), split])], perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = body.add("Softmax", [body.add("Mul", [body.add("MatMul", [q, k]), scale])], axis=-1)
        mixed = body.add("Transpose", [body.add("MatMul", [scores, v])], perm=[0, 2, 1, 3])
        x = body.add("Add", [x, linear(body.add("Reshape", [mixed, join]), hidden, hidden)])
        up = linear(norm(x), hidden, 4 * hidden)
        gate = body.add("Sigmoid", [body.add("Mul", [up, scale])])
        x = body.add("Add", [x, linear(body.add("Mul", [up, gate]), 4 * hidden, hidden)])
    body.output(x, [1, tokens, hidden])


def star(body, nodes, _random, _window):
    """One value read by every node, and a chain that sums them up."""
    x = body.add("Tanh", [body.input([1, WIDTH])])
    total = x
    for _ in range(nodes // 2):
        total = body.add("Add", [total, body.add("Sub", [x, total])])
    body.output(total, [1, WIDTH])


def fan(body, nodes, _random, _window):
    """One value read by every node, each of which is an output."""
    x = body.add("Tanh", [body.input([1, WIDTH])])
    for i in range(nodes - 1):
        body.output(body.add("Add", [x, body.weight([1])]), [1, WIDTH])


def outputs(body, nodes, _random, _window):
    """A chain whose every value is an output."""
    value = body.input([1, WIDTH])
    for i in range(nodes):
        value = body.add("Tanh" if i % 2 else "Sigmoid", [value])
        body.output(value, [1, WIDTH])


def inputs(body, nodes, _random, _window):
    total = body.input([1, 16])
    for _ in range(nodes):
        total = body.add("Add", [total, body.input([1, 16])])
    body.output(total, [1, 16])


def concat(body, nodes, _random, _window):
    x = body.input([1, 16])
    parts = [body.add("Add", [x, body.weight([1])]) for _ in range(nodes - 1)]
    body.output(body.add("Concat", parts, axis=0), [nodes - 1, 16])


def split(body, nodes, _random, _window):
    x = body.add("Tanh", [body.input([nodes, 16])])
    parts = body.add("Split", [x, body.integers([1] * nodes)], outputs=nodes, axis=0)
    total = parts[0]
    for part in parts[1:]:
        total = body.add("Add", [total, part])
    body.output(total, [1, 16])


def wide(body, nodes, _random, _window):
    """Level by level: many branches up, then pairwise together."""
    x = body.add("Tanh", [body.input([1, WIDTH])])
    level = [body.add("Add", [x, body.weight([1])]) for _ in range(nodes // 4)]
    level = [body.add("Tanh", [value]) for value in level]
    level = [body.add("Sigmoid", [value]) for value in level]
    while len(level) > 1:
        level = [body.add("Add", level[i:i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    body.output(level[0], [1, WIDTH])


def views(body, nodes, _random, _window):
    """Reshapes of reshapes."""
    value = body.add("Tanh", [body.input([1, WIDTH])])
    shapes = [body.integers([WIDTH, 1]), body.integers([2, WIDTH // 2]), body.integers([1, WIDTH])]
    for i in range(nodes - 2):
        value = body.add("Reshape", [value, shapes[i % 3]])
    body.output(body.add("Tanh", [body.add("Reshape", [value, shapes[2]])]), [1, WIDTH])


def slices(body, nodes, _random, _window):
    """Halves of halves of a value, each read once more."""
    size, steps = 1 << 20, max(1, nodes // 40)
    x = body.input([size])
    outs = []
    for _ in range(steps):
        value = body.add("Tanh", [x])
        for level in range(19):
            value, rest = body.add("Split", [value], outputs=2, axis=0)
            outs.append(body.add("ReduceSum", [rest], keepdims=1))
    total = outs[0]
    for value in outs[1:]:
        total = body.add("Add", [total, value])
    body.output(total, [1])


def components(body, nodes, _random, _window):
    """Small diamonds that do not touch."""
    for _ in range(max(1, nodes // 5)):
        x = body.input([1, 16])
        a = body.add("Tanh", [x])
        parts = [body.add(op, [a]) for op in ("Sigmoid", "Neg")]
        body.output(body.add("Sigmoid", [body.add("Add", parts)]), [1, 16])


def branches(body, nodes, _random, _window):
    """An If inside an If inside an If."""
    depth = min(60, max(1, nodes // 4))  # the reader takes 64
    condition = body.input([], element=9)
    x = body.input([1, 16])

    def nest(outer, level, value):
        if level == 0:
            return outer.add("Tanh", [value])
        sides = []
        for side in "te":
            inner = Body(f"{outer.prefix}{side}")
            inside = inner.add("Sigmoid" if side == "t" else "Neg", [value])
            out = nest(inner, level - 1, inside) if side == "t" else inner.add("Tanh", [inside])
            inner.output(out, [1, 16])
            sides.append(inner.graph())
        name = outer.name()
        parts = field(1, condition) + field(2, name) + field(4, "If")
        for key, graph in zip(("then_branch", "else_branch"), sides):
            parts += field(5, field(1, key) + field(6, graph) + field(20, 5))
        outer.nodes.append(field(1, parts))
        return name

    body.output(nest(body, depth, x), [1, 16])


def transpose_chain(body, nodes, _random, _window):
    """Transposes that move along elementwise nodes."""
    value = body.input([32, 32])
    for i in range(nodes // 2):
        value = body.add("Tanh", [body.add("Transpose", [value], perm=[1, 0])])
    body.output(value, [32, 32])


def dense(body, nodes, _random, _window):
    """Layers that concatenate the sixteen before."""
    values = [body.add("Tanh", [body.input([1, 16])])]
    while len(body.nodes) < nodes:
        joined = body.add("Concat", values[-16:], axis=1)
        values.append(body.add("Tanh", [body.add("MatMul", [joined, body.weight([16 * min(16, len(values)), 16])])]))
    body.output(values[-1], [1, 16])


FAMILIES = {"chain": chain, "random": random_outputs, "random_last": random_last, "random_total": random_total, "transformer": transformer, "star": star, "fan": fan,
            "outputs": outputs, "inputs": inputs, "concat": concat, "split": split, "wide": wide, "views": views,
            "slices": slices, "components": components, "branches": branches, "transposes": transpose_chain, "dense": dense}


def write(family, nodes, path, seed=0, window=100):
    body = Body()
    FAMILIES[family](body, nodes, random.Random(seed), window)
    body.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("nodes", type=int)
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=int, default=100, help="operands are drawn from this many values")
    arguments = parser.parse_args()
    write(arguments.family, arguments.nodes, arguments.file, arguments.seed, arguments.window)


if __name__ == "__main__":
    main()
