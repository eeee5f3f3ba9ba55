#!/usr/bin/env python3
"""Draws mutants at random, to look for holes that nobody thought of.

Each changes one line: a statement left out, a bound moved, a condition halved, an error not handed on, the last taken for the first. Some
change nothing that can be seen, and some do not compile; those that survive are for a person to look at.

  tests/draw_mutants.py memory device --count 100 --seed 7 -o build/drawn
  scripts/mutate --mutants build/drawn
"""
import argparse
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What to look for, what to put there (a string for re.sub), in words.
CHANGES = [
    (r"^(\s+)(?!return|const |auto |using |static |std::|case |break|continue|delete|throw)[\w\[\]().>*-]+ ?(?:[-+|&]?= .*|\+\+|--|(?:\.|->)\w+\(.*\));$", r"\1;",
     "a statement is left out"),
    (r"^(\s+)(?:\+\+|--)[\w\[\]().>-]+;$", r"\1;", "a count is left out"),
    (r"^(\s+)if \(.*\) (?:return .*|continue|break);$", r"\1;", "an early end is left out"),
    (r"PLIMSOLL_TRY\((.*)\);$", r"(void)(\1);", "an error is not handed on"),
    (r"^(\s+)PLIMSOLL_TRY\((.*)\);$", r"\1;", "a step that can fail is left out"),
    (r" < ", " <= ", "a bound is one too far"),
    (r" <= ", " < ", "a bound is one too near"),
    (r" > ", " >= ", "a bound is one too near"),
    (r" >= ", " > ", "a bound is one too far"),
    (r" [+-] 1\b", "", "one is left out"),
    (r" && [^&|()]*(?:\([^()]*\))?[^&|()]*(?=\)| &&|;)", "", "half of a condition is dropped"),
    (r" \|\| [^&|()]*(?:\([^()]*\))?[^&|()]*(?=\)| \|\||;)", "", "half of a condition is dropped"),
    (r" && ", " || ", "either for both"),
    (r"std::max\(", "std::min(", "the smallest for the largest"),
    (r"std::min\(", "std::max(", "the largest for the smallest"),
    (r"\btrue\b", "false", "false for true"),
    (r"\bfalse\b", "true", "true for false"),
    (r"\.front\(\)", ".back()", "the last for the first"),
    (r"\.back\(\)", ".front()", "the first for the last"),
    (r" \+= ", " = ", "the last for the sum"),
    (r" -= ", " += ", "added for taken away"),
    (r" == ", " != ", "unequal for equal"),
    (r" \|= ", " = ", "the last for any"),
    (r"(?<=[\w)]) \+ (?=[\w(])", " - ", "taken away for added"),
    (r"\bcontinue;", "break;", "the end for the next"),
]
PASSED_OVER = re.compile(r'^\s*(//|#|assert|Log\(|static_assert|case |default:|"|namespace|template|using )|StrCat\(|operator|^\s*$|for \(.*\bfound')


def sources(room):
    return sorted(path for path in (ROOT / "src" / room).rglob("*.cc") if not re.search(r"_test\.cc$|_for_tests", path.name))


def candidates(room):
    """Every (path, line index, new line, words) that the changes can make in a room, by kind of change."""
    by_change = {}
    for path in sources(room):
        for at, line in enumerate(path.read_text().splitlines()):
            if PASSED_OVER.search(line):
                continue
            for number, (pattern, new, words) in enumerate(CHANGES):
                for found in re.finditer(pattern, line):
                    changed = line[: found.start()] + found.expand(new) + line[found.end() :]
                    if changed.strip() != line.strip():
                        by_change.setdefault(number, []).append((path, at, changed, words))
    return by_change


def mutant_text(room, path, at, changed, words):
    """The mutant with as many neighbouring lines as make it unique; None when the file repeats itself too much."""
    lines = path.read_text().splitlines()
    bare = [line.strip() for line in lines]
    for reach in range(6):
        low, high = max(0, at - reach), min(len(lines), at + reach + 1)
        window = bare[low:high]
        if sum(bare[start : start + len(window)] == window for start in range(len(bare))) == 1:
            old = [f"- {line}" for line in lines[low:high]]
            new = [f"+ {line}" for line in lines[low:at] + [changed] + lines[at + 1 : high]]
            file = path.relative_to(ROOT).as_posix()
            return "\n".join([f"room: {room}", f"file: {file}", f"says: {words} at line {at + 1}", *old, *new]) + "\n"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--count", type=int, default=50, help="mutants a room (default 50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder for the .mutant files")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for room in arguments.rooms:
        by_change = candidates(room)
        if not by_change:
            sys.exit(f"error: nothing to change in src/{room}")
        draw = random.Random(f"{arguments.seed} {room}")
        made = set()
        for _ in range(20 * arguments.count):
            if len(made) == arguments.count:
                break
            choice = draw.choice(by_change[draw.choice(sorted(by_change))])
            text = mutant_text(room, *choice)
            name = f"{room}_{choice[0].stem}_{choice[1] + 1}_{len(made)}"
            if text and choice not in made:
                made.add(choice)
                (arguments.output / f"{name}.mutant").write_text(text)
        print(f"{room}: {len(made)} mutants")
    return 0


if __name__ == "__main__":
    sys.exit(main())
