#!/usr/bin/env python3
"""Every command where the world fails it: check_cli_robustness.py PROGRAM [--runs N] [--seed S]

Each run draws a command and one of: a full disk, a folder that cannot be written to, little memory, a standard output that is closed or
full, Ctrl-C at any moment. It must end with a documented exit code (0 to 6, 130; 127 where the system cannot even load the program) and,
unless all is well, with a message; files are whole or as they were, special ones stay what they are, nothing unfinished stays, and who
exits 0 has done its work."""
import argparse
import collections
import json
import os
import pathlib
import pickle
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
NOBODY = 65534
OLD = "what was there before\n"


def valid_csv(path):
    text = path.read_text()
    return text.endswith("\n") and "," in text.splitlines()[0] and len({line.count(",") for line in text.splitlines()}) == 1


def valid_json(path):
    return isinstance(json.loads(path.read_text()), (dict, list))


def valid_html(path):
    return path.read_text().rstrip().endswith("</html>")


def valid_npy(path):
    return np.load(path).size > 0


def valid_pickle(path):
    return bool(pickle.loads(path.read_bytes()))


def valid_onnx(path):
    onnx.checker.check_model(str(path))
    return True


def valid_folder(path):
    """Arrays, and what else a profile or a comparison writes, each whole."""
    kinds = {".npy": valid_npy, ".csv": valid_csv, ".json": valid_json, ".html": valid_html, ".pickle": valid_pickle}
    return all(kinds[file.suffix](file) for file in path.rglob("*") if file.is_file())


class Command:
    """A command line; {o} is where it writes. `valid` looks at what it wrote."""

    def __init__(self, line, name=None, valid=None):
        self.line, self.name, self.valid = line, name, valid
        self.answers = True  # on standard output


def restores(program):
    def valid(path):
        return subprocess.run([program, "train", path.parent.parent / "step.onnx", "--steps", "1", "--restore", path], capture_output=True).returncode == 0
    return valid


def runs(program):
    def valid(path):
        return subprocess.run([program, "run", path], capture_output=True).returncode == 0
    return valid


def commands(program, base):
    table = [
        Command("inspect {b}/cnn.onnx"), Command("inspect {b}/cnn.onnx --json"), Command("plan {b}/cnn.onnx --shape batch=2"),
        Command("plan {b}/cnn.onnx --shape batch=2 --csv {o}", "plan.csv", valid_csv), Command("plan {b}/cnn.onnx --shape batch=2 --html {o}", "plan.html", valid_html),
        Command("pack {b}/table.csv -o {o}", "placed.csv", valid_csv), Command("pack {b}/table.csv --json"),
        Command("replay {b}/trace.csv --repeat 3"), Command("report {b}/page.html -o {o}", "report.html", valid_html),
        Command("run {b}/cnn.onnx --shape batch=2 --repeat 30 --output {o}", "outputs", valid_folder),
        Command("run {b}/cnn.onnx --shape batch=2 --profile {o}", "profile", valid_folder),
        Command("train {b}/step.onnx --steps 20 --save {o}", "state.plv", restores(program)),
        Command("bench {b}/cnn.onnx --shape batch=1 --csv {o}", "bench.csv", valid_csv),
        Command("bench {b}/cnn.onnx --shape batch=1 --save-baseline {o}", "base.json", valid_json),
        Command("compare {b}/cnn.onnx --shape batch=1 --engine plimsoll --against plain"),
        Command("compare {b}/cnn.onnx --shape batch=1 --save {o}", "values", valid_folder),
        Command("extract {b}/cnn.onnx --to logits -o {o}", "part.onnx", valid_onnx),
        Command("compile {b}/cnn.onnx --shape batch=1 -o {o}", "model.plm", runs(program)),
        Command("compare {b}/cnn.onnx --shape batch=1 --against {b}/values.npz --tolerance 100"),
        Command("inspect {b}/cnn.onnx --compiled --shape batch=4"), Command("inspect {b}/cnn.onnx --compiled --shape batch=4 --json"),
        Command("inspect {b}/cnn.onnx --weights"), Command("inspect {b}/cnn.onnx --graph --json"),
        Command("plan {b}/cnn.onnx --shape batch=2 --csv -"), Command("plan {b}/cnn.onnx --limit 1MiB"), Command("plan {b}/cnn.onnx --shape batch=2 --policy all"),
        Command("pack {b}/gaps.csv -o {o}", "placed.csv", valid_csv), Command("pack {b}/gaps.csv -o -"),
        Command("conformance {b}/cases"), Command("options"), Command("doctor"), Command("help run"), Command("version"), Command("completion bash"), Command("man"),
    ]
    for command in table:
        command.line = command.line.replace("{b}", str(base))
    return table


def prepare(base):
    base.chmod(0o755)
    shutil.copy(EXAMPLES / "tiny_cnn.onnx", base / "cnn.onnx")
    shutil.copy(EXAMPLES / "tiny_train.onnx", base / "step.onnx")
    draw = random.Random(1)
    rows = [f"b{i},{low},{low + draw.randrange(5, 90)},{draw.randrange(1, 900) * 8}" for i in range(120) for low in [draw.randrange(300)]]
    (base / "table.csv").write_text("\n".join(["id,lower,upper,size", *rows]) + "\n")
    (base / "gaps.csv").write_text("\n".join(["id,lower,upper,size,gaps", *(f"{row},{int(row.split(',')[1]) + 1}-{int(row.split(',')[1]) + 3}" for row in rows)]) + "\n")
    np.savez(base / "values.npz", nothing=np.zeros(3), probabilities=np.full((1, 10), 0.1, np.float32))
    events = [f"{event},{i},{1000 + i},0,{i}" for i in range(500) for event in "af"]
    (base / "trace.csv").write_text("\n".join(["event,id,bytes,stream,time_us", *events]) + "\n")
    data = base / "cases" / "relu" / "test_data_set_0"
    data.mkdir(parents=True)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), data.parent / "model.onnx")
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(np.float32([-1, 1]), "x").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.float32([0, 1]), "y").SerializeToString())


class Run:
    """One command under one condition."""

    def __init__(self, program, command, condition, folder, draw):
        self.command, self.condition, self.folder, self.draw, self.program = command, condition, folder, draw, program
        self.output = folder / command.name if command.name else None
        self.target = self.output  # of a link
        self.before = None
        self.limits = []

    def arrange(self):
        self.folder.mkdir()
        file = self.output is not None and "." in self.command.name
        if file and self.condition != "read-only" and self.draw.random() < 0.5:
            if self.draw.random() < 0.5:
                self.target = self.folder / "target"
                self.output.symlink_to(self.target)
            # Who saves variables does not replace what holds none.
            if self.command.name != "state.plv":
                self.before = OLD
                self.target.write_text(OLD)
        if self.condition == "read-only":
            self.folder.chmod(0o555)

    def child(self):
        if self.condition == "read-only" and os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for which, most in self.limits:
            resource.setrlimit(which, (most, most))
        if self.condition == "closed output":
            os.close(1)

    def start(self, longest):
        if self.condition == "full disk":
            self.limits.append((resource.RLIMIT_FSIZE, self.draw.choice([0, 1, 100, 1000, 5000])))
        if self.condition == "little memory" and not self.limits:
            self.limits.append((resource.RLIMIT_AS, self.draw.choice([*range(20, 120, 2), *range(120, 400, 40)]) << 20))
        output = open("/dev/full", "w") if self.condition == "full output" else subprocess.PIPE
        words = self.command.line.replace("{o}", str(self.output)).split()
        self.words = words
        running = subprocess.Popen([self.program, *words], stdout=output, stderr=subprocess.PIPE, text=True, preexec_fn=self.child, cwd=self.folder)
        if self.condition == "Ctrl-C":
            time.sleep(self.draw.random() * longest)
            running.send_signal(self.draw.choice([signal.SIGINT, signal.SIGTERM]))
        out, error = running.communicate(timeout=120)
        self.out, self.error, self.code = out or "", error, running.returncode

    def mistakes(self):
        found = []
        documented = {0, 1, 2, 3, 4, 5, 6, 130}
        if self.condition == "little memory":
            documented.add(127)
        if self.condition == "Ctrl-C" and self.out == "" and self.error == "":
            documented |= {-signal.SIGINT, -signal.SIGTERM}  # the system was still loading the program
        if self.code not in documented:
            found.append(f"exit {self.code}")
        if self.condition == "Ctrl-C" and self.code not in (0, 130, -2, -15):
            found.append(f"exit {self.code} after Ctrl-C")
        if self.code > 0 and "error" not in self.error and "libgomp: " not in self.error:
            found.append("no message")
        takes_nothing = self.condition in ("closed output", "full output") and self.command.answers
        if takes_nothing and self.code == 0:
            found.append("exit 0, and nobody has read the answer")
        unfinished = [path.name for path in self.folder.rglob("*") if path.name.endswith((".unfinished", ".partial"))]
        if unfinished:
            found.append(f"unfinished: {unfinished}")
        if self.output is not None:
            found += self.mistakes_in_file()
        return found

    def mistakes_in_file(self):
        if self.target != self.output and not self.output.is_symlink():
            return ["a link was replaced"]
        if not self.target.exists():
            return ["exit 0 and no file"] if self.code == 0 else []
        if self.target.is_file() and self.before is not None and self.target.read_text(errors="replace") == self.before:
            return ["exit 0 and the old file"] if self.code == 0 else []
        if self.condition == "read-only":
            return ["written into a folder that cannot be"]
        try:
            return [] if self.command.valid(self.target) else ["a file that is not whole"]
        except Exception as wrong:
            return [f"a file that is not whole: {wrong}"]


def every_step_of_memory(program, table, base, failures):
    """Address space from 20 MB up, a step at a time: what compiles and packs meets the end of it in every of its parts."""
    command = next(command for command in table if command.line.startswith("bench") and "--csv" in command.line)
    for size in range(20, 100, 2):
        run = Run(program, command, "little memory", base / f"memory{size}", random.Random(size))
        run.limits.append((resource.RLIMIT_AS, size << 20))
        run.arrange()
        run.start(0)
        failures += [f"{size} MB: {' '.join(map(str, run.words))}: {mistake}: {run.error.strip()[-300:]}" for mistake in run.mistakes()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    conditions = ["full disk", "read-only", "little memory", "closed output", "full output", "Ctrl-C", "Ctrl-C"]
    told, failures, longest = collections.Counter(), [], {}
    with tempfile.TemporaryDirectory() as temporary:
        base = pathlib.Path(temporary)
        prepare(base)
        program = base / "plimsoll"
        shutil.copy(arguments.program, program)
        subprocess.run([program, "plan", base / "cnn.onnx", "--shape", "batch=2", "--html", base / "page.html"], check=True, capture_output=True)
        table = commands(program, base)
        for number, command in enumerate(table):  # undisturbed: it works, and how long it takes
            run = Run(program, command, "nothing", base / f"whole{number}", random.Random(1))
            run.folder.mkdir()
            begin = time.monotonic()
            run.start(0)
            longest[command.line] = (time.monotonic() - begin) * 1.2
            command.answers = run.out != ""
            wrong = run.mistakes() if run.code == 0 else [f"exit {run.code}: {run.error[-300:]}"]
            failures += [f"{command.line}: undisturbed: {mistake}" for mistake in wrong]
        every_step_of_memory(program, table, base, failures)
        for number in range(arguments.runs):
            command = draw.choice(table)
            condition = draw.choice(conditions)
            run = Run(program, command, condition, base / f"run{number}", draw)
            run.arrange()
            run.start(longest[command.line])
            told[f"{condition}: exit {run.code}"] += 1
            failures += [f"run {number}, {condition} {run.limits}: {' '.join(map(str, run.words))}: {mistake}: {run.error.strip()[-300:]}" for mistake in run.mistakes()]
            run.folder.chmod(0o755)
    print("\n".join(failures))
    print("  ".join(f"{key} x{count}" for key, count in sorted(told.items())))
    print(f"{arguments.runs} runs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
