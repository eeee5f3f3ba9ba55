#!/usr/bin/env python3
"""Keeps docs/seed-map.md true: check_seed_map.py [--update] [--top FOLDER]

Every rule R1 to R315 has one row; a row is "not yet", or it names
 - symbols, each in one of the files that the row names, where it is defined; used by other code than tests; and, where
   build/release/plimsoll is there, part of that program and used by another source of it;
 - the highest level at which a test shows the rule. Tests of src/engine that make a Session show it in the engine; tests of src/cli
   that use that folder's code, and functions r42_... of tests/check_*.py, at the command line; all others in a library. R4 to R82 are
   shown in the engine or at the command line, but for the rules of OF_A_LIBRARY, whose rows say why;
 - every test that carries the rule's number in its name, and no other.
--update writes levels and tests as they are found; what a person must write (symbols, files, reasons) it leaves."""
import argparse
import collections
import pathlib
import re
import sys

from linked_program import LinkedProgram

RULES = 315
IN_THE_ENGINE = range(4, 83)  # rules that a library's test alone does not show
# Rules that speak of the planner or of one allocator by itself.
OF_A_LIBRARY = {"R38", "R39", "R40", "R41", "R64", "R65", "R67", "R68", "R69", "R71", "R72", "R73", "R74"}
LEVELS = ("library", "engine", "command line")
ROW = re.compile(r"^\| (R\d+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$")
NAME_ROW = re.compile(r"^\| ([A-Za-z]\w+) \| (`[^|]*`) \|$")
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*((?:R\d+_)+\w+)\)")
PYTHON_TEST = re.compile(r"^def ((?:r\d+_)+\w+)\(", re.MULTILINE)
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\")", re.DOTALL)

Row = collections.namedtuple("Row", "rule what symbols files level tests")


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def stem(path):
    """What a header, its source and their test have in common."""
    return re.sub(r"(_test)?\.\w+$", "", pathlib.PurePath(path).name)


class Tree:
    """The sources of a checkout."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.text = {}
        for folder in ("src", "include"):
            for path in sorted((self.top / folder).rglob("*")):
                if path.suffix in (".cc", ".h"):
                    self.text[str(path.relative_to(self.top))] = path.read_text()
        self.words = {}  # of code that is no test, without comments: how often each occurs
        for path, text in self.text.items():
            if not path.endswith(("_test.cc", "_for_tests.h")):
                code = COMMENTS.sub(lambda match: match[1] or " ", text)
                self.words[path] = collections.Counter(re.findall(r"\w+", code))
        self.tests = self.find_tests()

    def includes(self, path, wanted, seen=None):
        """Whether a test includes a header, by itself or through the headers that tests share."""
        seen = seen if seen is not None else set()
        seen.add(path)
        for header in re.findall(r'#include "([^"]+)"', self.text.get(path, "")):
            if wanted(header):
                return True
            shared = f"src/{header}"
            if header.endswith("_for_tests.h") and shared not in seen and self.includes(shared, wanted, seen):
                return True
        return False

    def level(self, path):
        room = path.split("/")[1]
        if room == "engine" and self.includes(path, lambda header: header == "engine/session.h"):
            return "engine"
        if room == "cli" and self.includes(path, lambda header: header.startswith("cli/")):
            return "command line"
        return "library"

    def find_tests(self):
        """Rule to its tests and the level of each, as (name, level)."""
        found = collections.defaultdict(list)
        for path, text in self.text.items():
            if path.endswith("_test.cc"):
                for suite, name in CPP_TEST.findall(text):
                    for rule in re.findall(r"R\d+", re.match(r"(?:R\d+_)+", name)[0]):
                        found[rule].append((f"{suite}.{name}", self.level(path)))
        for path in sorted((self.top / "tests").glob("check_*.py")):
            text = path.read_text()
            for name in PYTHON_TEST.findall(text):
                if "globals()" in text or len(re.findall(rf"\b{name}\b", text)) > 1:
                    for rule in re.findall(r"r\d+", re.match(r"(?:r\d+_)+", name)[0]):
                        found[rule.upper()].append((f"{path.stem}.{name}", "command line"))
        return found

    def level_of(self, rule):
        return max((level for _, level in self.tests[rule]), key=LEVELS.index) if self.tests.get(rule) else "–"


class Checker:
    def __init__(self, top):
        self.tree = Tree(top)
        self.page = pathlib.Path(top) / "docs/seed-map.md"
        self.program = LinkedProgram(pathlib.Path(top) / "build/release")
        self.wrong = []

    def rows(self):
        for line in self.page.read_text().splitlines():
            if match := ROW.match(line):
                yield Row(*match.groups())

    def check(self):
        seen = {}
        for row in self.rows():
            if row.rule in seen:
                self.wrong.append(f"{row.rule} has two rows")
            seen[row.rule] = row.tests != "not yet"
            self.check_tests(row)
            if seen[row.rule]:
                self.check_symbols(row.rule, quoted(row.symbols), quoted(row.files))
        for number in range(1, RULES + 1):
            if f"R{number}" not in seen:
                self.wrong.append(f"R{number} has no row")
        for line in self.page.read_text().splitlines():
            if match := NAME_ROW.match(line):
                self.check_name(match[1], quoted(match[2]))
        return sum(seen.values())

    def check_tests(self, row):
        named = set() if row.tests == "not yet" else set(quoted(row.tests))
        real = {name for name, _ in self.tree.tests.get(row.rule, [])}
        if named != real:
            self.wrong.append(f"{row.rule} names {sorted(named - real)} beyond, and lacks {sorted(real - named)}: run --update")
        level, _, reason = row.level.partition(": ")
        true_level = self.tree.level_of(row.rule)
        if level != true_level:
            self.wrong.append(f"{row.rule} says '{level}', its tests show it at '{true_level}': run --update")
        if true_level == "library" and int(row.rule[1:]) in IN_THE_ENGINE:
            if row.rule not in OF_A_LIBRARY:
                self.wrong.append(f"{row.rule} is shown in a library only: {', '.join(sorted(real))}")
            elif not reason:
                self.wrong.append(f"{row.rule} does not say why a library's test is enough: 'library: the reason'")

    def check_name(self, name, files):
        """A name of the documents can be found by searching for it, in a comment too."""
        if not any(re.search(rf"\b{name}\b", self.tree.text.get(path, "")) for path in files):
            self.wrong.append(f"{name} is in none of {', '.join(files)}")
        self.wrong += [f"{name} names {path}, which is not there" for path in files if path not in self.tree.text]

    def check_symbols(self, rule, symbols, files):
        if not symbols or not files:
            self.wrong.append(f"{rule} names no symbol, or no file")
        for path in files:
            if path not in self.tree.words:
                self.wrong.append(f"{rule} names {path}, which is not there or is a test")
            elif not any(self.word(symbol) in self.tree.words[path] for symbol in symbols):
                self.wrong.append(f"{rule} names {path}, where none of its symbols is")
        for symbol in symbols:
            if reason := self.why_not(symbol, files):
                self.wrong.append(f"{rule} names {symbol}: {reason}")

    @staticmethod
    def word(symbol):
        return symbol.split("::")[-1]

    def why_not(self, symbol, files):
        """What is wrong with a symbol; nothing when it is defined where the row says, and the program uses it."""
        word = self.word(symbol)
        homes = [path for path in files if word in self.tree.words.get(path, ())]
        if not homes:
            return f"it is not in {', '.join(files)}"
        definers = self.program.definers(symbol)
        own = {stem(path) for path in definers}
        if len(own) != 1:  # a type, a constant, or a function that classes override: the first file has it
            own = {stem(homes[0])}
        users = {path for path, words in self.tree.words.items() if word in words and stem(path) not in own}
        called_at_home = any(path.endswith(".cc") and self.tree.words[path][word] > 1 for path in homes)
        if not users and not called_at_home:
            return "only its own code and tests name it"
        if not self.program.built:
            return None
        if definers and not definers & self.program.linked:
            return f"{self.program.program.name} does not contain it"
        if not users & self.program.linked and not self.program.referrers(symbol):
            return f"nothing in {self.program.program.name} uses it"
        return None

    def update(self):
        lines = []
        for line in self.page.read_text().splitlines():
            if match := ROW.match(line):
                row = Row(*match.groups())
                tests = ", ".join(f"`{name}`" for name, _ in self.tree.tests.get(row.rule, [])) or "not yet"
                level = self.tree.level_of(row.rule)
                if level == row.level.partition(": ")[0]:
                    level = row.level
                line = "| " + " | ".join((row.rule, row.what, row.symbols, row.files, level, tests)) + " |"
            lines.append(line)
        self.page.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write levels and tests as they are found")
    parser.add_argument("--top", default=pathlib.Path(__file__).resolve().parents[2], help="the checkout")
    arguments = parser.parse_args()
    checker = Checker(arguments.top)
    if arguments.update:
        checker.update()
    shown = checker.check()
    print("\n".join(checker.wrong))
    if not checker.program.built:
        print(f"{checker.program.program} is not built: whether it contains the symbols was not checked")
    print(f"{shown} of {RULES} rules shown, {len(checker.wrong)} mistakes in the map")
    return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
