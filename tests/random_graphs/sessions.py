"""Groups of graphs that share a session: drawn, run by `plimsoll` and judged."""
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import tempfile

import numpy as np

from . import kinds, training
from .kinds import BATCHES
from .settings import draw_settings, draw_training

KINDS = {kind.__name__: kind for kind in (kinds.plain, kinds.opened, kinds.looped, kinds.labelled, kinds.streamed, kinds.grouped, kinds.addresses,
                                          kinds.cleared, kinds.mixed, training.variables)}

GROUP = 6  # neighbouring seeds in one session
TIMEOUT = 300
MOST_SHOWN = 400


@dataclasses.dataclass
class Verdict:
    """Of a group; `failures` name the seed, what differs, and where the model was kept."""

    kind: str
    drawn: int = 0
    equal: int = 0
    refused: dict = dataclasses.field(default_factory=dict)  # by code
    not_comparable: int = 0
    failures: list = dataclasses.field(default_factory=list)


def group_random(seed):
    return random.Random(f"group {seed // GROUP}")


def kind_of(seed, names):
    """Each in turn, so that few groups show them all."""
    return list(names)[seed // GROUP % len(names)]


def refusal(text):
    """The code of an error that is one line with a reason and a remedy; none for anything else."""
    told = re.fullmatch(r"[^\n]*: [^\n]*; [^\n]*\[([a-z0-9_.]+)\]\n", text)
    return told[1] if told else None


class Group:
    """The models of one session. `keep`: where those stay that go wrong."""

    def __init__(self, program, kind, seeds, folder, keep):
        self.program, self.kind, self.folder, self.keep = program, kind, folder, keep
        self.verdict = Verdict(kind)
        drawing = group_random(seeds[0])
        drawing.random()
        self.settings = draw_settings(drawing, folder / "work", BATCHES if kind == "labelled" else (), kind == "opened")
        if kind == "variables":
            draw_training(drawing, self.settings)
        (folder / "work").mkdir()
        self.cases = []
        for seed in seeds:
            try:
                case = KINDS[kind](seed)
            except Exception as error:
                raise RuntimeError(f"{kind}, seed {seed} cannot be drawn: {error!r}") from error
            if kind == "variables" and case.worth_running:
                case.expect(self.settings.steps)
            if case.node_by_node and "dynamic_dims" in self.settings.options:
                case.may_refuse.add("config.gears")
            self.verdict.drawn += 1
            self.verdict.not_comparable += not case.worth_running
            if case.worth_running:
                self.cases.append(case)
        for case in self.cases:
            case.write(folder)
        self.wrong, self.codes = {}, {}

    def call(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)

    def note(self, case, command, what):
        self.wrong.setdefault(case.seed, f"{what}: plimsoll {' '.join(map(str, command))}")

    def refuse(self, case, command, code, text):
        """A refusal that its kind allows, or a failure."""
        if code and code in {case.refused, case.refused_in_session, *case.may_refuse}:
            self.codes.setdefault(case.seed, set()).add(code)
        else:
            self.note(case, command, f"refused or failed: {text.strip()[-MOST_SHOWN:]}")

    # Each by itself: over every data set, over poison, node by node.
    def conform(self, batch=None):
        command = ["conformance", self.folder / "cases", "--json", *self.settings.arguments(), *(["--batch", batch] if batch else [])]
        done = self.call(*command)
        if done.returncode not in (0, 4, 5):
            for case in self.cases:
                self.conform_alone(case, command)
            return
        for told in json.loads(done.stdout)["cases"]:
            self.judge(command, told)

    def conform_alone(self, case, command):
        command = [command[0], case.case, *command[2:]]
        done = self.call(*command)
        if done.returncode not in (0, 4, 5):
            return self.note(case, command, f"exit {done.returncode}: {done.stderr.strip()[-MOST_SHOWN:]}")
        return self.judge(command, json.loads(done.stdout)["cases"][0])

    def judge(self, command, told):
        case = next(case for case in self.cases if told["name"] == case.case.name)
        reason = told.get("reason", "")
        if told["outcome"] != "passed":
            self.refuse(case, command, refusal(reason + "\n"), f"{reason} at {told.get('node', 'no node')}")
        elif case.refused:
            self.note(case, command, f"must be refused with {case.refused} and was not")

    # All in one session, again and again.
    def run(self, cases, batch=None):
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            paths = [path for case in cases for path in case.paths()]
            command = ["run", *paths, *(word for case in cases for word in case.inputs()), *self.settings.run_arguments(),
                       *(["--batch", batch] if batch else []), "--output", made]
            folder_of = (lambda path: pathlib.Path(made) / path.stem) if len(paths) > 1 else (lambda path: pathlib.Path(made))
            done = self.call(*command)
            if done.returncode != 0 and len(cases) > 1:
                for case in cases:
                    self.run([case], batch)
                return
            for case in cases:
                if done.returncode != 0:
                    self.refuse(case, command, refusal(done.stderr), f"exit {done.returncode}: {done.stderr}")
                elif case.refused_in_session:
                    self.note(case, command, f"must be refused with {case.refused_in_session} and was not")
                elif wrong := case.wrong(folder_of, batch):
                    self.note(case, command, wrong)
            if done.returncode == 0 and self.settings.deterministic:
                self.run_with_other_threads(cases, command, pathlib.Path(made))

    def run_with_other_threads(self, cases, command, before):
        """The same bytes, whatever the number of threads."""
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            again = [*command[:-1], made]
            again[again.index("--threads") + 1] = str(self.settings.threads % 3 + 1)
            done = self.call(*again)
            for file in sorted(before.rglob("*.npy")):
                case = next(case for case in cases if len(cases) == 1 or file.parent.name in {path.stem for path in case.paths()})
                other = pathlib.Path(made) / file.relative_to(before)
                if done.returncode != 0 or not np.array_equal(np.load(file), np.load(other), equal_nan=True):
                    self.note(case, again, f"{file.stem} differs from the run with --threads {self.settings.threads}: {done.stderr[-MOST_SHOWN:]}")

    def run_without_batch(self, case):
        """No batch, and one that is nowhere."""
        for words in ([], ["--batch", "nowhere"]):
            command = ["run", case.path, *case.inputs(), *words]
            done = self.call(*command)
            if done.returncode == 0 or "[run.batch]" not in done.stderr:
                self.note(case, command, f"must be refused with run.batch: exit {done.returncode}: {done.stderr.strip()[-MOST_SHOWN:]}")

    # Steps one after the other, saved and restored in between.
    def train(self, case):
        first = self.settings.training.get("iterations_per_loop", 1)
        saved = [self.folder / name for name in ("first.plv", "second.plv")]
        parts = [(first, [*case.initial_arguments(), "--save", saved[0]]), (self.settings.steps, ["--restore", saved[0], "--save", saved[1]])]
        case.expect(first + self.settings.steps)
        losses = []
        for steps, words in parts if case.worth_running else []:
            command = ["train", *case.train_arguments(), "--steps", steps, *self.settings.train_arguments(), *words, "--json"]
            done = self.call(*command)
            code = refusal(done.stderr) if done.returncode != 0 else None
            if code == "train.steps" and "compile_dynamic_mode" in self.settings.options:
                return None  # every size is open, and so are those of the outputs
            if done.returncode != 0:
                return self.refuse(case, command, code, f"exit {done.returncode}: {done.stderr}")
            told = json.loads(done.stdout)["models"][0]
            losses += zip(told["at_step"], told["losses"])
        for step, loss in losses:
            if not np.isclose(loss, case.losses[step - 1], rtol=1e-3, atol=1e-3):
                self.note(case, command, f"the loss of step {step} is {loss}, expected {case.losses[step - 1]}")
                break
        return None

    def check(self):
        for batch in BATCHES if self.kind == "labelled" else [None]:
            if self.cases:
                self.conform(batch)
                self.run(self.cases, batch)
        if self.kind == "labelled":
            for case in [case for case in self.cases if not case.refused][:1]:
                self.run_without_batch(case)
        if self.kind == "variables" and self.cases and not self.settings.plain:
            self.train(self.cases[0])
        for case in self.cases:
            if case.seed in self.wrong:
                where = case.keep(self.keep)
                (where / "what.txt").write_text(self.wrong[case.seed] + "\n")
                self.verdict.failures.append(f"{self.kind}, seed {case.seed}, kept in {where}: {self.wrong[case.seed]}")
            elif codes := self.codes.get(case.seed):
                for code in codes:
                    self.verdict.refused[code] = self.verdict.refused.get(code, 0) + 1
            else:
                self.verdict.equal += 1
        return self.verdict


def check_group(program, kind, seeds, keep):
    with tempfile.TemporaryDirectory(prefix="plimsoll_random_graphs_") as folder:
        return Group(program, kind, seeds, pathlib.Path(folder), keep).check()
