#!/usr/bin/env python3
"""Keeps docs/seed-map.md true: check_seed_map.py

Every rule R1 to R315 has one row; a row is either "not yet" or names files that exist and a test that is there and carries the
rule's number; every test that carries a number stands in its rule's row."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
RULES = 315
ROW = re.compile(r"^\| (R\d+) \| (.*?) \| (.*?) \| (.*?) \|$")
NUMBERED = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*((?:R\d+_)+\w+)\)")


def numbered_tests():
    """Rule number to the names of its tests."""
    found = {}
    for path in sorted((TOP / "src").rglob("*_test.cc")):
        for suite, name in NUMBERED.findall(path.read_text()):
            for rule in re.findall(r"R\d+", name.split("__")[0]):
                found.setdefault(rule, []).append((f"{suite}.{name}", path))
    return found


def main():
    wrong, seen = [], {}
    tests = numbered_tests()
    for line in (TOP / "docs/seed-map.md").read_text().splitlines():
        match = ROW.match(line)
        if not match:
            continue
        rule, _, files, shown = match.groups()
        if rule in seen:
            wrong.append(f"{rule} has two rows")
        seen[rule] = shown
        if shown == "not yet":
            if rule in tests:
                wrong.append(f"{rule} says not yet, but {tests[rule][0][0]} shows it")
            continue
        for path in re.findall(r"`([^`]+)`", files):
            if not (TOP / path).exists():
                wrong.append(f"{rule} names {path}, which is not there")
        named = set(re.findall(r"`([^`]+)`", shown))
        real = {name for name, _ in tests.get(rule, [])}
        if named != real:
            wrong.append(f"{rule} names {sorted(named - real)} beyond, and lacks {sorted(real - named)}")
    for number in range(1, RULES + 1):
        if f"R{number}" not in seen:
            wrong.append(f"R{number} has no row")
    built = sum(1 for shown in seen.values() if shown != "not yet")
    print("\n".join(wrong))
    print(f"{built} of {RULES} rules shown, {len(wrong)} mistakes in the map")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
