#!/usr/bin/env python3
"""Draws graphs at random and compares with ONNX Runtime: check_random_graphs.py PROGRAM [--graphs N] [--seed S] [--jobs J] [--kind K] [--keep FOLDER]

Every seed is a graph: operators that fuse, nearly fuse, view, overwrite, join, cut and reorder, with memory attributes, streams, batch
labels, sizes that runs decide, control flow or variables, as its kind says. ONNX Runtime, without its own optimisations, says what comes
out. `plimsoll conformance` runs each graph inside its plan, over poisoned memory and node by node; `plimsoll run` runs neighbours in one
session, under policies, options and threads that are drawn for them. A graph that differs is named by its seed and stays in FOLDER;
`--seed S --graphs 1` draws it again, with the same options. docs/testing.md tells more. Needs the `onnxruntime` package."""
import argparse
import collections
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

from random_graphs.sessions import GROUP, KINDS, check_group, kind_of


def groups(first, graphs, kinds):
    """Seeds that share a session, with their kind."""
    seeds = range(first, first + graphs)
    for group in range(first // GROUP, (first + graphs - 1) // GROUP + 1):
        own = [seed for seed in range(group * GROUP, (group + 1) * GROUP) if seed in seeds]
        yield kind_of(own[0], kinds), own


def check(job):
    return check_group(*job)


class Tally:
    def __init__(self):
        self.kinds = collections.defaultdict(collections.Counter)
        self.refusals, self.failures = collections.Counter(), []

    def add(self, verdict):
        counts = {"drawn": verdict.drawn, "equal": verdict.equal, "refused": verdict.drawn - verdict.equal - verdict.not_comparable - len(verdict.failures),
                  "not comparable": verdict.not_comparable, "wrong": len(verdict.failures)}
        self.kinds[verdict.kind].update(counts)
        self.refusals.update(verdict.refused)
        self.failures += verdict.failures

    def total(self, what):
        return sum(counts[what] for counts in self.kinds.values())

    def summary(self):
        parts = [f"{self.total(what)} {what}" for what in ("drawn", "equal", "refused", "not comparable", "wrong")]
        return ", ".join(parts)

    def table(self):
        lines = [f"{kind:10} " + ", ".join(f"{number} {what}" for what, number in counts.items() if number) for kind, counts in sorted(self.kinds.items())]
        return "\n".join(lines + [f"refused with {code}: {number}" for code, number in sorted(self.refusals.items())])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--jobs", type=int, default=1, help="processes that draw and run")
    parser.add_argument("--kind", choices=KINDS, action="append", help="draw these alone; repeatable")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "plimsoll_wrong_graphs", help="a folder for graphs that differ")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    jobs = [(program, kind, seeds, arguments.keep) for kind, seeds in groups(arguments.seed, arguments.graphs, arguments.kind or KINDS)]
    tally, shown = Tally(), time.monotonic()
    with multiprocessing.Pool(arguments.jobs) as pool:
        for verdict in pool.imap_unordered(check, jobs):
            tally.add(verdict)
            for failure in verdict.failures:
                print(failure, file=sys.stderr, flush=True)
            if time.monotonic() - shown > 20:
                shown = time.monotonic()
                print(f"so far {tally.summary()}", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"kinds": tally.kinds, "refusals": tally.refusals, "failures": tally.failures}, indent=2))
    else:
        print(tally.table())
        print(tally.summary())
    sys.exit(1 if tally.failures or not tally.total("equal") else 0)


if __name__ == "__main__":
    main()
