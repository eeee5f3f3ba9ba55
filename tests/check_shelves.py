#!/usr/bin/env python3
"""Folders stay small enough to be looked through: check_shelves.py

No folder of the checkout holds more than 40 files, and a planted bug (tests/mutants) lies on the shelf of the source that it is
planted in."""
import collections
import os
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
MOST_FILES = 40
MADE = {"build", ".git", ".venv", "__pycache__", "tests/data/models", "tests/data/weights"}  # not part of the checkout


def sources():
    for folder, folders, names in os.walk(TOP):
        here = pathlib.Path(folder).relative_to(TOP)
        folders[:] = [name for name in folders if name not in MADE and str(here / name) not in MADE]
        yield from (here / name for name in names if not name.endswith(".pyc"))


def crowded(paths):
    for folder, count in sorted(collections.Counter(path.parent for path in paths).items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} files, at most {MOST_FILES} are allowed: move what belongs together into a folder of its own"


def misplaced(paths):
    for path in paths:
        if path.suffix != ".mutant":
            continue
        source = re.search(r"^file: (?:src/)?(\S+)$", (TOP / path).read_text(), re.MULTILINE)
        shelf = pathlib.Path("tests/mutants") / pathlib.Path(source[1]).parent if source else None
        if path.parent != shelf:
            yield f"{path}: its source lies in {shelf.relative_to('tests/mutants') if shelf else 'no file'}: move it to {shelf}"


def main():
    paths = list(sources())
    wrong = [*crowded(paths), *misplaced(paths)]
    print("\n".join(wrong))
    largest, count = collections.Counter(path.parent for path in paths).most_common(1)[0]
    print(f"{len(paths)} files, the largest folder is {largest} with {count}, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
