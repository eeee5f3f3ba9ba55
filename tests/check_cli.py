#!/usr/bin/env python3
"""Uses the program as a person would and checks answers and exit codes: check_cli.py PROGRAM [GROUP...]

The tables are tests/cli/*.txt; docs/testing.md tells how they are read. Each runs in an empty folder that has examples/.
tests/cli/promises.md says which test belongs to which promise; here and in other scripts."""
import json
import lzma
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from answers import flat
from cli import models

TOP = pathlib.Path(__file__).resolve().parent.parent


class Told(dict):
    """An object of an answer, whose fields are read as told.field."""

    def __getattribute__(self, name):
        return self[name] if dict.__contains__(self, name) else dict.__getattribute__(self, name)


def with_fields(value):
    if isinstance(value, dict):
        return Told({name: with_fields(part) for name, part in value.items()})
    return [with_fields(part) for part in value] if isinstance(value, list) else value


class Table:
    """Runs one table, line by line, and counts what it checks."""

    def __init__(self, program, path, folder):
        self.program, self.path, self.folder = program, path, folder
        self.failures, self.commands, self.checks = [], 0, 0
        self.done = self.command = None
        self.expected = 0
        self.told = {}
        self.names = {"np": np, "lzma": lzma, "draw": np.random.default_rng, "folder": folder, "path": folder.joinpath,
                      "load": lambda name: np.load(folder / name), "read": lambda name: (folder / name).read_bytes(),
                      "text": lambda name: (folder / name).read_text(), "files": self.files,
                      **{name: getattr(models, name) for name in ("relu_over", "counting_loop", "places_of_positives", "constants_added", "rows_in_order")}}

    def files(self, under="."):
        """Names of the files that lie in a folder, links aside."""
        return sorted(str(found.relative_to(self.folder / under)) for found in (self.folder / under).rglob("*") if not found.is_symlink())

    def evaluate(self, expression):
        return eval(expression, {**self.names, **self.told})

    def filled(self, text):
        return re.sub(r"\{([^{}]+)\}", lambda found: str(self.evaluate(found[1])), text)

    def expect(self, condition, line, what):
        self.checks += 1
        if not condition:
            self.failures.append(f"{self.path.name}:{line}: {self.command}\n    {what}")

    def run(self, lines):
        place = 0
        while place < len(lines):
            number, text = lines[place]
            word, _, rest = text.strip().partition(" ")
            if word == "each":
                end = next(i for i in range(place, len(lines)) if lines[i][1].strip() == f"end {rest.split()[0]}")
                name, _, values = rest.partition(" in ")
                for value in self.evaluate(values):
                    names = name.split(",")
                    self.names.update(zip(names, value) if len(names) > 1 else {name: value}.items())
                    self.run(lines[place + 1:end])
                place = end + 1
                continue
            taken = 1
            while word == "file" and place + taken < len(lines) and lines[place + taken][1].startswith("|"):
                taken += 1
            if word == "file":
                body = "".join(row[1][2:] + "\n" for row in lines[place + 1:place + taken])
                (self.folder / self.filled(rest)).write_text(self.filled(body))
            else:
                self.step(number, word, rest.strip())
            place += taken

    def step(self, line, word, rest):
        if word == "$":
            self.finish_command(line)
            self.start(rest)
        elif word == "exit":
            self.expected = int(rest)
        elif word in ("out", "err", "not-out"):
            wanted, shown = self.filled(rest), self.done.stderr if word == "err" else self.done.stdout
            self.expect((wanted in shown) == (word != "not-out"), line, f"{word} {wanted!r} is not so: {shown.strip()[:300]}")
        elif word == "check":
            try:
                holds, why = self.evaluate(rest), str(self.told.get("answer", ""))[:600]
            except Exception as wrong:
                holds, why = False, repr(wrong)
            self.expect(holds, line, f"not so: {rest}: {why}")
        elif word == "as":
            self.names[self.filled(rest)] = with_fields(self.told["answer"])
        elif word == "let":
            name, _, expression = rest.partition(" = ")
            self.names[name] = self.evaluate(expression)
        elif word == "make":
            name, _, expression = rest.partition(" = ")
            self.make(self.folder / self.filled(name), self.evaluate(expression))
        else:
            sys.exit(f"{self.path}:{line}: unknown word {word!r}")

    def make(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        elif isinstance(content, onnx.ModelProto):
            onnx.save(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def start(self, text):
        self.told = {}
        self.command, self.expected = self.filled(text), 0
        words = shlex.split(self.command)
        variables = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        given = (self.folder / words.pop()).read_bytes() if words[-2:-1] == ["<"] else b""
        words = [word for word in words if word != "<"]
        self.done = subprocess.run([self.program, *words], capture_output=True, timeout=120, cwd=self.folder, input=given,
                                   env={**os.environ, **variables})
        self.done.stdout, self.done.stderr = self.done.stdout.decode(), self.done.stderr.decode()
        self.commands += 1
        self.told = {"out": self.done.stdout, "err": self.done.stderr}
        if "--json" in words:
            try:
                answer = with_fields(flat(self.done.stdout))
                self.told = {**answer, "answer": answer, **self.told}
            except json.JSONDecodeError as wrong:
                self.expect(False, 0, f"no JSON: {wrong}")

    def finish_command(self, line):
        """The exit code, which the lines below a command may have set; an error is one line."""
        if self.done is None:
            return
        self.expect(self.done.returncode == self.expected, line, f"above this line: exit {self.done.returncode}, not {self.expected}: {self.done.stderr.strip()[:300]}")
        if self.expected != 0:
            self.expect(len(self.done.stderr.strip().splitlines()) == 1, line, f"above this line: an error is one line, got {self.done.stderr!r}")
        self.done = None


def run_table(program, path):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "examples").symlink_to(TOP / "examples")
        table = Table(program, path, folder)
        lines = [(number, text) for number, text in enumerate(path.read_text().splitlines(), 1) if text.strip() and not text.startswith("#")]
        table.run(lines)
        table.finish_command(lines[-1][0])
    print(f"{path.stem}: {table.commands} commands, {table.checks} checks, {len(table.failures)} failures")
    return table


PEERS = ("bench", "run --by-operator", "compare", "extract", "compiled models", "completion", "JSON")


def unkept_promises():
    """What is wrong with tests/cli/promises.md: a promise without a test, a test that is not there."""
    rows = [line.strip("| ").split(" | ") for line in (TOP / "tests" / "cli" / "promises.md").read_text().splitlines() if line.startswith("| ")][1:]
    wanted = [f"{number} " for number in range(1, 17)] + list(PEERS)
    wrong = [f"promises.md: nothing is promised of {name.strip()}" for name in wanted if not any(row[0].startswith(name) for row in rows)]
    for promise, tests in rows:
        pairs = re.findall(r"`([^`]+)` `([^`]+)`", tests)
        wrong += [] if pairs else [f"promises.md: {promise}: has no test"]
        wrong += [f"promises.md: {promise}: {path} does not hold {text!r}" for path, text in pairs
                  if not (TOP / path).exists() or text not in (TOP / path).read_text()]
    return wrong


def main():
    program, groups = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    paths = sorted((TOP / "tests" / "cli").glob("*.txt"))
    unknown = set(groups) - {path.stem for path in paths}
    if unknown:
        sys.exit(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(path.stem for path in paths)}")
    tables = [run_table(program, path) for path in paths if not groups or path.stem in groups]
    failures = [failure for table in tables for failure in table.failures] + unkept_promises()
    print("\n".join(failures))
    print(f"{sum(table.commands for table in tables)} commands, {sum(table.checks for table in tables)} checks, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
