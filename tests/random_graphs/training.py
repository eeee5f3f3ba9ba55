"""Graphs that update variables: a step takes the state as inputs and gives the new state as outputs, in a session that keeps it."""
import json

import numpy as np
import onnx
from onnx import helper

from .cases import Case
from .drawing import FLOAT
from .kinds import SeededDrawing, mark_addresses, mark_clearing, mark_streams
from .reference import Reference, comparable, difference
from .sizes import fits
from .ways import BRANCHES, LOOPS


class TrainingCase(Case):
    """Its data set is the first step, for a run without variables. In a session with variables the step is `plimsoll run` again and again, and a
    second model, which only reads the variables, gives them after each."""

    def __init__(self, drawing, model, next_of):
        self.next_of = next_of  # by variable: the output that replaces it
        super().__init__(drawing, model)

    def expect(self, steps):
        """What the last of so many steps gives, the state behind it, and the loss of each step."""
        reference, feeds, self.losses = Reference(self.model), dict(self.feeds[0]), []
        for _ in range(steps):
            made = reference.run(feeds)
            if made is None:
                self.worth_running = False
                return
            self.losses.append(float(made["loss"]))
            feeds.update({name: made[new] for name, new in self.next_of.items()})
        self.state = {name: feeds[name] for name in self.next_of}
        self.last = {name: array for name, array in made.items() if name not in self.next_of.values()}
        self.worth_running &= all(map(comparable, self.state.values()))

    def write(self, folder):
        super().write(folder)
        self.reader = folder / f"seed_{self.seed}_reader.onnx"
        inputs = [port for i, port in enumerate(self.model.graph.input) if i == 0 or port.name in self.next_of]
        nodes = [helper.make_node("Neg", [port.name], [f"minus_{port.name}"]) for port in inputs]
        outputs = [helper.make_tensor_value_info(f"minus_{port.name}", 1, [dim.dim_value for dim in port.type.tensor_type.shape.dim]) for port in inputs]
        model = helper.make_model(helper.make_graph(nodes, "reader", inputs, outputs), opset_imports=self.model.opset_import, ir_version=9)
        helper.set_model_props(model, {"state": ",".join(self.next_of)})
        onnx.save(model, self.reader)
        for name, array in self.feeds[0].items():
            np.save(self.case / f"{name}.npy", array)

    def paths(self):
        return [self.path, self.reader]

    def files(self, argument, names):
        return [word for name in names for word in (argument, f"{name}={self.case / name}.npy")]

    def inputs(self):
        return self.files("--input", self.feeds[0])

    def train_arguments(self):
        return [self.path, *self.files("--input", self.feeds[0].keys() - self.next_of.keys())]

    def initial_arguments(self):
        return self.files("--initial", self.next_of)

    def wrong(self, folder_of, batch):
        checks = [(self.path, name, array) for name, array in self.last.items()]
        checks += [(self.reader, f"minus_{name}", -array) for name, array in self.state.items()]
        for path, name, array in checks:
            file = folder_of(path) / f"{name}.npy"
            if not file.exists():
                return f"{name} is missing"
            if wrong := difference(np.load(file), array):
                return f"{name} {wrong}"
        return None


def new_value(drawing, variable, others):
    """From the old one, from another variable, or from what the step made."""
    random, shape = drawing.random, variable.shape
    kind = random.choice(["descend", "descend", "momentum", "swap", "same", "twice"])
    if kind == "swap":
        kept = [other for other in others if other.shape == shape]
        return drawing.add("Identity", [random.choice(kept)], shape)
    if kind == "same":
        return drawing.add("Identity", [variable], shape)
    change = drawing.any(lambda value: fits(value.shape, shape))
    change = drawing.add("Tanh", [change], change.shape)
    if kind == "momentum":
        old = drawing.add("Mul", [variable, drawing.scalar(0.9)], shape)
        return drawing.add("Add", [old, drawing.add("Mul", [change, drawing.scalar(0.1)], change.shape)], shape)
    stepped = drawing.add("Sub", [variable, drawing.add("Mul", [change, drawing.scalar(0.1)], change.shape)], shape)
    if kind == "twice":  # the new value is read too, and the old one once more behind it
        drawing.add("Add", [drawing.add("Sin", [stepped], shape), variable], shape)
    return stepped


def variables(seed):
    drawing = SeededDrawing(seed, opened=False)
    drawing.all_open = False
    random = drawing.random
    shapes = [value.shape for value in drawing.inputs if value.type == FLOAT] + [(4, 12), (8, 1, 1), ()]
    state = [drawing.input(random.choice(shapes)) for _ in range(random.randrange(1, 5))]
    state += [drawing.input(value.shape) for value in state if drawing.chance(0.3)]
    drawing.grow(random.randrange(3, 12), LOOPS if drawing.chance(0.1) else BRANCHES)
    next_of = {variable.name: new_value(drawing, variable, state) for variable in state}
    made = {name for node in drawing.nodes for name in node.output}
    chosen = {value for value in drawing.values if value.name in made and value.type == FLOAT and value not in next_of.values() and drawing.chance(0.1)}
    chosen |= {value for value in drawing.outputs.values() if value.name in made and value not in next_of.values()}
    last = drawing.any(lambda value: value.name in made)
    drawing.nodes.append(helper.make_node("ReduceMean", [last.name], ["loss"], keepdims=0))
    model = drawing.model(chosen | set(next_of.values()))
    model.graph.output.insert(0, helper.make_tensor_value_info("loss", 1, []))
    names = {name: value.name for name, value in next_of.items()}
    helper.set_model_props(model, {"state": json.dumps(names) if drawing.chance(0.5) else ",".join(f"{old}={new}" for old, new in names.items())})
    marking = drawing.random.choices([None, mark_streams, mark_addresses, mark_clearing], [6, 1, 2, 2])[0]
    if marking:
        marking(drawing, model)
    case = TrainingCase(drawing, model, names)
    if len({prop.value for node in model.graph.node for prop in node.metadata_props if prop.key == "plimsoll.stream"}) > 1:
        case.refused_in_session = "graph.stream"
    if case.node_by_node:
        case.may_refuse |= {"run.memory_attribute", "train.dynamic"}
    return case
