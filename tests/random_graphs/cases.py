"""A drawn model with the inputs of some runs and what must come out: `Case`."""
import json
import shutil

import numpy as np
import onnx
from onnx import numpy_helper

from .reference import REFUSALS, Reference, difference

TOLERANCE = {"rtol": 1e-3, "atol": 1e-3}
RUN_AS_DATA_TELLS = {"Loop", "Scan", "NonZero"}


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


class Case:
    """`batch_of` gives the batch of an output that belongs to one. `refused` is the code with which the model must be refused, by itself and in a
    session with others (`refused_in_session`); `may_refuse` are codes with which it may be: each kind says when."""

    def __init__(self, drawing, model, sizes=({},), batch_of=None, refused=None, may_refuse=()):
        self.seed, self.model = drawing.seed, model
        self.batch_of, self.refused, self.may_refuse = batch_of or {}, refused, set(may_refuse)
        self.refused_in_session = refused
        self.node_by_node = any(node.op_type in RUN_AS_DATA_TELLS for node in nodes_of(model.graph))
        onnx.checker.check_model(model)
        self.feeds = [drawing.feeds(one) for one in sizes]
        try:
            reference = Reference(model)
            self.expected = [reference.run(feeds) for feeds in self.feeds]
        except REFUSALS:
            self.expected = [None]
        self.worth_running = all(expected is not None for expected in self.expected)

    def write(self, folder):
        """As a case for `plimsoll conformance`, and as a model for `plimsoll run`."""
        self.case = folder / "cases" / f"seed_{self.seed}"
        for i, (feeds, expected) in enumerate(zip(self.feeds, self.expected)):
            data = self.case / f"test_data_set_{i}"
            data.mkdir(parents=True)
            for kind, arrays in (("input", feeds.values()), ("output", expected.values())):
                for place, array in enumerate(arrays):
                    (data / f"{kind}_{place}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
        (self.case / "tolerance.json").write_text(json.dumps(TOLERANCE))
        onnx.save(self.model, self.case / "model.onnx")
        self.path = folder / f"seed_{self.seed}.onnx"
        self.path.symlink_to(self.case / "model.onnx")

    def keep(self, folder):
        """For replay; gives where."""
        shutil.copytree(self.case, folder / self.case.name, dirs_exist_ok=True)
        return folder / self.case.name

    def paths(self):
        """Models of `plimsoll run`."""
        return [self.path]

    def inputs(self):
        """Arguments of `plimsoll run`, of the first data set."""
        return [word for i, name in enumerate(self.feeds[0]) for word in ("--input", f"{name}={self.case / 'test_data_set_0' / f'input_{i}.pb'}")]

    def wrong(self, folder_of, batch):
        """How the files of a run over the first data set differ from what it must give; nothing where they do not. `folder_of`: by path."""
        for name, array in self.expected[0].items():
            file = folder_of(self.path) / f"{name}.npy"
            if self.batch_of.get(name, batch) != batch:
                if file.exists():
                    return f"{name} was made although it belongs to {self.batch_of[name]}"
            elif not file.exists():
                return f"{name} is missing"
            elif wrong := difference(np.load(file), array):
                return f"{name} {wrong}"
        return None
