#!/usr/bin/env python3
"""Memory attributes drawn at random, at the command line: check_attributes.py PROGRAM [--graphs N] [--seed S] [--kind K] [--keep FOLDER]

N graphs of each kind (labelled, streamed, grouped, addresses, cleared) carry node metadata `plimsoll.*`. ONNX Runtime, which passes over
the metadata, says what comes out. `plimsoll run` must give the same, or refuse the model in one line with the code of that kind. Several
models share a session; every policy is run with 1 and 2 threads. Needs the `onnxruntime` package."""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from check_random_graphs import Drawing, reference

SETTINGS = list(itertools.product((0, 2, 3, 4), (1, 2)))  # policy, threads
REFUSALS = {"labelled": {"graph.batch"}, "streamed": {"graph.stream"}, "grouped": {"graph.group", "graph.continuous"},
            "addresses": {"run.stable_address"}, "cleared": {"graph.clearing", "graph.memory_type"}}
SWITCHES = {"streamed": "ac_parallel_enable", "addresses": "ge.featureBaseRefreshable", "cleared": "atomic_clean_policy"}


class MarkedDrawing(Drawing):
    """A drawing whose inputs have names that no other drawing uses, so that several models can be given theirs at once."""

    def __init__(self, seed):
        super().__init__(seed)
        self.seed = seed

    def input(self, shape):
        super().input(shape)
        self.inputs[-1] = self.values[-1] = (f"s{self.seed}_{self.inputs[-1][0]}", shape)


class Case:
    """A model with attributes; `batch_of` gives the batch of an output where it belongs to one."""

    def __init__(self, drawing, model, batch_of=None, meets=False):
        self.seed, self.model, self.feeds = drawing.seed, model, drawing.feeds()
        self.batch_of, self.meets = batch_of or {}, meets
        results = reference(model, self.feeds)
        self.worth_running = results is not None
        self.expected = dict(zip((output.name for output in model.graph.output), results or []))

    def write(self, folder):
        self.path = folder / f"seed_{self.seed}.onnx"
        onnx.save(self.model, self.path)
        self.inputs = []
        for name, array in self.feeds.items():
            np.save(folder / f"{name}.npy", array)
            self.inputs += ["--input", f"{name}={folder / name}.npy"]

    def wrong(self, folder, batch):
        """How the files of a run differ from what it must give; nothing where they do not."""
        for name, array in self.expected.items():
            file = folder / f"{name}.npy"
            if self.batch_of.get(name, batch) != batch:
                if file.exists():
                    return f"{name} was made although it belongs to {self.batch_of[name]}"
                continue
            if not file.exists():
                return f"{name} is missing"
            made = np.load(file)
            if made.shape != array.shape or not np.allclose(made, array, rtol=1e-3, atol=1e-3):
                return f"{name} differs by {np.abs(made - array).max() if made.shape == array.shape else 'its shape'}"
        return None


def mark(node, key, value):
    node.metadata_props.add(key=f"plimsoll.{key}", value=str(value))


def labelled(drawing):
    """What every batch needs, then 2 to 4 batches with outputs of their own; in one of eight a node reads two batches."""
    drawing.draw_inputs()
    drawing.grow(drawing.random.randrange(3, 8))
    chosen, batch_of, label_of, last = set(), {}, {}, []
    for batch in range(drawing.random.randrange(2, 5)):
        values, nodes = len(drawing.values), len(drawing.nodes)
        drawing.grow(drawing.random.randrange(2, 6))
        drawing.unary(*drawing.any())
        made = drawing.values[values:]
        for output in {made[-1], drawing.random.choice(made)}:
            chosen.add(output)
            batch_of[output[0]] = f"b{batch}"
        label_of.update({i: f"b{batch}" for i in range(nodes, len(drawing.nodes))})
        last.append(made[-1][0])
        del drawing.values[values:]
    meets = drawing.random.randrange(8) == 0
    if meets:
        sums = [drawing.node("ReduceSum", [value], (), keepdims=0) for value in last[:2]]
        chosen.add((drawing.node("Add", sums, ()), ()))
    model = drawing.model(chosen)
    for i, label in label_of.items():
        mark(model.graph.node[i], "batch_label", label)
    return Case(drawing, model, batch_of, meets)


def streamed(drawing):
    model, streams = drawing.draw(), drawing.random.randrange(2, 7)
    for node in model.graph.node:
        mark(node, "stream", drawing.random.randrange(streams))
    return Case(drawing, model)


def grouped(drawing):
    model, random = drawing.draw(), drawing.random
    constants = {constant.name for constant in model.graph.initializer}
    for node in model.graph.node:
        if len(node.input) > 1 and not constants & set(node.input) and random.random() < 0.4:
            mark(node, "continuous_input", random.choice(["padded", "unpadded"]))
        if len(node.output) > 1 and random.random() < 0.4:
            mark(node, "continuous_output", random.choice(["padded", "unpadded"]))
    plain = [node for node in model.graph.node if len(node.output) == 1 and node.op_type != "If"]
    twice = random.random() < 0.1
    for index, node in enumerate(random.sample(plain, min(len(plain), random.randrange(4)))):
        mark(node, "group", f"row,{0 if twice else index}")
    return Case(drawing, model)


def addresses(drawing):
    model = drawing.draw()
    for node in model.graph.node:
        for key in ("fixed_address", "no_address_refresh"):
            if drawing.random.random() < 0.2:
                mark(node, key, 1)
    return Case(drawing, model)


def cleared(drawing):
    model = drawing.draw()
    for node in model.graph.node:
        if drawing.random.random() < 0.3:
            mark(node, "needs_clearing", ",".join(str(i) for i in range(len(node.output))))
        if drawing.random.random() < 0.3:
            mark(node, "memory_type", drawing.random.choice(["p2p", "host"]))
    return Case(drawing, model)


class Check:
    """One kind: runs its cases, counts those that are equal and those that are refused, and keeps what is neither."""

    def __init__(self, program, kind, folder):
        self.program, self.kind, self.folder = program, kind, folder
        self.equal, self.refused, self.failures = 0, 0, []

    def command(self, cases, setting, batch):
        policy, threads = setting
        words = ["--policy", str(policy), "--threads", str(threads), "--repeat", "2"]
        if self.kind in SWITCHES:
            words += ["--set", f"{SWITCHES[self.kind]}={cases[0].seed % 2}"]
        if batch:
            words += ["--batch", batch]
        return [self.program, "run", *(case.path for case in cases), *(word for case in cases for word in case.inputs), *words]

    def run(self, cases, setting, batch=None):
        """All in one session; where one is refused, each by itself."""
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            command = self.command(cases, setting, batch) + ["--output", made]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode != 0 and len(cases) > 1:
                for case in cases:
                    self.run([case], setting, batch)
                return
            for case in cases:
                where = f"{self.kind}, seed {case.seed}: {' '.join(map(str, command[1:]))}"
                if done.returncode != 0:
                    self.judge(where, done, REFUSALS[self.kind])
                    continue
                wrong = case.wrong(pathlib.Path(made) / (case.path.stem if len(cases) > 1 else ""), batch)
                if case.meets:
                    wrong = "batches meet, and it was not refused"
                self.equal += not wrong
                if wrong:
                    self.failures.append(f"{where}: {wrong}")

    def judge(self, where, done, codes):
        """One line with a known code, with its reason and a remedy."""
        told = re.fullmatch(r"[^\n]*: [^\n]*; [^\n]*\[([a-z._0-9]+)\]\n", done.stderr)
        if done.returncode in (1, 2, 4, 6) and told and told[1] in codes:
            self.refused += 1
        else:
            self.failures.append(f"{where}: exit {done.returncode}: {done.stderr.strip()[-300:]}")

    def run_without_batch(self, case):
        for batch in (None, "nowhere"):
            done = subprocess.run(self.command([case], (0, 1), batch), capture_output=True, text=True, timeout=300)
            self.judge(f"{self.kind}, seed {case.seed}, batch {batch}", done, {"run.batch"})

    def run_all(self, cases):
        size = min(8, -(-len(cases) // len(SETTINGS)))
        chunks = [cases[i:i + size] for i in range(0, len(cases), size)]
        for chunk, setting in zip(chunks, itertools.cycle(SETTINGS)):
            batches = sorted({batch for case in chunk for batch in case.batch_of.values()})
            for batch in batches or [None]:
                self.run([case for case in chunk if not batches or batch in case.batch_of.values()], setting, batch)


def check_kind(program, kind, draw, seeds, folder):
    cases = [case for case in (draw(MarkedDrawing(seed)) for seed in seeds) if case.worth_running]
    for case in cases:
        case.write(folder)
    check = Check(program, kind, folder)
    check.run_all(cases)
    if kind == "labelled":
        for case in [case for case in cases if not case.meets][:3]:
            check.run_without_batch(case)
    print(f"{kind}: {check.equal} equal, {check.refused} refused, {len(check.failures)} neither")
    if check.equal < check.refused:
        check.failures.append(f"{kind}: most were refused, so little was tested")
    return check.failures


def main():
    kinds = {draw.__name__: draw for draw in (labelled, streamed, grouped, addresses, cleared)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=24, help="of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--kind", choices=kinds, action="append", help="these alone; repeatable")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the models; else a temporary one")
    arguments = parser.parse_args()
    told = {}
    for kind in arguments.kind or kinds:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.keep or pathlib.Path(temporary)) / kind
            folder.mkdir(parents=True, exist_ok=True)
            seeds = range(arguments.seed, arguments.seed + arguments.graphs)
            told[kind] = check_kind(arguments.program.resolve(), kind, kinds[kind], seeds, folder)
    for failures in told.values():
        print("\n".join(failures[:3]))
    sys.exit(1 if any(told.values()) else 0)


if __name__ == "__main__":
    main()
