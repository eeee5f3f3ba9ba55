"""What is drawn: each kind is a function of a seed that gives a `Case`."""
import onnx

from .cases import Case, nodes_of
from .drawing import BOOL, FLOAT, INT64, Drawing
from .sizes import Open
from .ways import BRANCHES, EVERY, LOOPS

SHAPES = ([(2, 8, 6, 6), (2, 8, 1, 1)], [(4, 12), (1, 12), (12,)], [(2, 5, 16), (5, 1)], [(1, 3, 7, 5), (3, 7, 5)], [(3, 6, 8), (3, 1, 8)],
          [(2, 16, 5, 5), (16, 1, 1)], [(1, 4, 8, 8), (1, 4, 8, 8)])
KEEPS_SHAPE = {"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "Sin", "Cos", "Softplus", "Identity"}
BATCHES = ("b0", "b1", "b2", "b3")


class SeededDrawing(Drawing):
    """Inputs of one of the families of shapes, with names that no other seed has; their first size may be open, and every size may be declared so."""

    def __init__(self, seed, opened=None):
        super().__init__(seed, prefix=f"s{seed}_")
        self.seed = seed
        self.opened = self.chance(0.3) if opened is None else opened
        self.all_open = not self.opened and self.chance(0.15)
        family = self.random.choice(SHAPES)
        for shape in family:
            if self.opened and len(shape) == len(family[0]):
                shape = (Open(self.random.choice([1, 2, 3]) if len(self.inputs) == 0 else self.inputs[0].shape[0].smallest, "n"), *shape[1:])
            self.input(shape)
        if self.chance(0.5):
            self.input((5,), INT64, lambda numbers, shape: numbers.integers(-4, 9, shape))

    def sizes(self):
        """Of one run, or of four where they are open; one size comes again."""
        if not self.opened:
            return ({},)
        smallest = self.inputs[0].shape[0].smallest
        drawn = [smallest, smallest + self.random.randrange(1, 4), smallest, smallest + self.random.randrange(1, 6)]
        return tuple({"n": size} for size in drawn)

    def draw(self, ways, least=6, most=22):
        self.grow(self.random.randrange(least, most), ways)
        return self.choose()

    def choose(self):
        """The model with some of the values as outputs, the last for sure."""
        made = {name for node in self.nodes for name in node.output}
        values = [value for value in self.values if value.name in made and value.type in (FLOAT, INT64, BOOL)]
        if not values:
            values = [self.add("Neg", [self.inputs[0]], self.inputs[0].shape)]
        chosen = {values[-1], *(self.random.choice(values) for _ in range(self.random.randrange(3)))}
        chosen |= {value for value in self.outputs.values() if value.name in made}
        return self.model(chosen, self.all_open)


def mark(node, key, value):
    node.metadata_props.add(key=f"plimsoll.{key}", value=str(value))


def has_bodies(node):
    return any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute)


def plain(seed):
    drawing = SeededDrawing(seed, opened=False)
    return Case(drawing, drawing.draw(BRANCHES))


def opened(seed):
    drawing = SeededDrawing(seed, opened=True)
    return Case(drawing, drawing.draw(BRANCHES), drawing.sizes())


def looped(seed):
    drawing = SeededDrawing(seed)
    return Case(drawing, drawing.draw(LOOPS, 3, 14), drawing.sizes())


def labelled(seed):
    """What every batch needs, then batches with outputs of their own; in one of eight a node reads two batches, which is refused."""
    drawing = SeededDrawing(seed)
    random = drawing.random
    drawing.grow(random.randrange(2, 8), EVERY if drawing.chance(0.2) else BRANCHES)
    chosen, batch_of, label_of, last = set(), {}, {}, []
    for batch in BATCHES:
        values, nodes = list(drawing.values), len(drawing.nodes)
        drawing.grow(random.randrange(1, 6), BRANCHES)
        x = drawing.any(type=None)
        drawing.add("Identity", [x], x.shape, x.type, x.exact)
        made = [value for value in drawing.values[len(values):] if value.type in (FLOAT, INT64, BOOL)]
        made = made or [drawing.add("Neg", [drawing.inputs[0]], drawing.inputs[0].shape)]
        for output in {made[-1], random.choice(made)}:
            chosen.add(output)
            batch_of[output.name] = batch
        label_of.update({i: batch for i in range(nodes, len(drawing.nodes))})
        last.append(made[-1])
        drawing.values = values
    drawing.outputs = {}
    meets = random.randrange(8) == 0
    if meets:
        sums = [drawing.add("ReduceSum", [drawing.add("Cast", [value], value.shape, to=1)], (), keepdims=0) for value in last[:2]]
        chosen.add(drawing.add("Add", sums, ()))
    model = drawing.model(chosen, drawing.all_open)
    for i, label in label_of.items():
        mark(model.graph.node[i], "batch_label", label)
    if drawing.chance(0.4):
        random.choice([mark_streams, mark_addresses, mark_clearing])(drawing, model)
    case = Case(drawing, model, drawing.sizes(), batch_of, "graph.batch" if meets else None)
    if case.node_by_node:
        case.may_refuse.add("run.memory_attribute")
    return case


def mark_streams(drawing, model):
    streams = drawing.random.randrange(2, 7)
    for node in model.graph.node:
        mark(node, "stream", drawing.random.randrange(streams))


def mark_groups(drawing, model):
    """Gives the code with which the groups are refused: an index twice."""
    random = drawing.random
    constants = {constant.name for constant in model.graph.initializer}
    for node in model.graph.node:
        if has_bodies(node):
            continue
        if len(node.input) > 1 and not constants & set(node.input) and random.random() < 0.4:
            mark(node, "continuous_input", random.choice(["padded", "unpadded"]))
        if len(node.output) > 1 and random.random() < 0.4:
            mark(node, "continuous_output", random.choice(["padded", "unpadded"]))
    single = [node for node in model.graph.node if len(node.output) == 1 and not has_bodies(node)]
    members = random.sample(single, min(len(single), random.randrange(4)))
    twice = random.random() < 0.05
    for index, node in enumerate(members):
        mark(node, "group", f"row,{0 if twice else index}")
    return "graph.group" if twice and len(members) > 1 else None


def mark_addresses(drawing, model):
    for node in model.graph.node:
        for key in ("fixed_address", "no_address_refresh"):
            if drawing.random.random() < 0.2:
                mark(node, key, 1)


def mark_references(drawing, model):
    """Outputs that are the memory of an input: of nodes that could work in place, where nobody else reads that input."""
    readers = [name for node in nodes_of(model.graph) for name in node.input] + [port.name for port in model.graph.output]
    makers = {name for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        private = node.op_type in KEEPS_SHAPE and node.input[0] in makers and readers.count(node.input[0]) == 1
        if private and drawing.chance(0.5):
            mark(node, "reference_output", "0:0")


def mark_clearing(drawing, model):
    for node in model.graph.node:
        if drawing.random.random() < 0.3:
            mark(node, "needs_clearing", ",".join(str(i) for i in range(len(node.output))))
        if drawing.random.random() < 0.3:
            mark(node, "memory_type", drawing.random.choice(["p2p", "host"]))


def marked(seed, *marks, may_refuse=()):
    drawing = SeededDrawing(seed)
    model = drawing.draw(EVERY if drawing.chance(0.1) else BRANCHES)
    refused = [marking(drawing, model) for marking in marks]
    case = Case(drawing, model, drawing.sizes(), refused=next((code for code in refused if code), None), may_refuse=may_refuse)
    if case.node_by_node:
        case.may_refuse.add("run.memory_attribute")
    return case


def streamed(seed):
    return marked(seed, mark_streams)


def grouped(seed):
    return marked(seed, mark_groups, may_refuse=["graph.continuous"])


def addresses(seed):
    return marked(seed, mark_addresses, mark_references)


def cleared(seed):
    return marked(seed, mark_clearing)


def mixed(seed):
    return marked(seed, mark_streams, mark_groups, mark_addresses, mark_clearing, may_refuse=["graph.continuous", "run.stable_address"])
