#!/usr/bin/env python3
"""Measures the planner: planning.py PROGRAM [--models FOLDER] [--minimalloc FOLDER] [--idealloc FOLDER]

Models: peak and bound of the compiled program, and the ratio of its peak to plain lives of the file's graph in the file's order; models
that cannot be compiled (no kernels, sizes that only data tells) are marked: their figures are those of the file's graph. Tables: the public packing instances at their stated capacity,
at 5 and 10 % more, and minimised. Times are the program's own, one thread, median of five runs."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess

RUNS = 5


def answer(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def models(program, folder):
    print(f"{'model':30} {'nodes':>6} {'peak':>12} {'lower bound':>12} {'plain lives':>12} {'ratio':>7} {'ms':>6}")
    ratios = []
    for path in sorted(folder.glob("*.onnx")):
        runs = [answer(program, "plan", path, "--threads", 1)["models"][0] for _ in range(RUNS)]
        plan, ms = runs[0], statistics.median(run["planning_ms"] for run in runs)
        ratio = plan["planned_peak_bytes"] / max(1, plan["plain_peak_bytes"])
        if "train" not in path.name:
            ratios.append(ratio)
        name = path.name if plan["planned"] else f"{path.name} *"
        print(f"{name:30} {plan['nodes']:6} {plan['planned_peak_bytes']:12} {plan['lower_bound_bytes']:12} "
              f"{plan['plain_peak_bytes']:12} {ratio:7.4f} {ms:6.0f}")
    print("* the file's graph: it cannot be compiled")
    print(f"inference models, geometric mean of the ratio: {math.exp(statistics.fmean(map(math.log, ratios))):.4f}")


def table(program, path, capacity):
    asked = [] if capacity is None else ["--capacity", capacity]
    runs = [answer(program, "pack", path, *asked) for _ in range(RUNS)]
    seconds = statistics.median(run["seconds"] for run in runs)
    pack = runs[0]
    print(f"{path.name:22} {capacity or 'minimise':>10} {pack['peak_bytes']:14} {pack['peak_bytes'] / pack['lower_bound_bytes']:8.5f} "
          f"{'fits' if pack['fits'] else 'DOES NOT FIT':12} {'optimal' if pack['optimal'] else '':8} {seconds:7.3f} s")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    for name in ("models", "minimalloc", "idealloc"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.models:
        models(arguments.program, arguments.models)
    if arguments.minimalloc:
        for more in (1.0, 1.05, 1.1):
            paths = sorted(arguments.minimalloc.glob("*.1048576.csv"))
            total = sum(table(arguments.program, path, int(1048576 * more)) for path in paths)
            print(f"together at {more:.2f} of the capacity: {total:.3f} s")
        for path in paths:
            table(arguments.program, path, None)
    if arguments.idealloc:
        for path in sorted(arguments.idealloc.glob("*.csv")):
            table(arguments.program, path, None)


if __name__ == "__main__":
    main()
