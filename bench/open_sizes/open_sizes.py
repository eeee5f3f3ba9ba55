#!/usr/bin/env python3
"""Small graphs with sizes that only data tells, beside ONNX Runtime: open_sizes.py PROGRAM_OF_BENCH [--seeds FIRST-LAST] [--only FAMILY...]

Each seed draws a graph of each family (families.py). It is run over inputs of the same sizes ("same"), and over a list of inputs that
keep changing sizes and the elements that tell them ("changing"), by PROGRAM_OF_BENCH (changing_inputs) and by ONNX Runtime, one process at a
time, one thread each: medians of all runs but the first pass. Outputs must agree within 1e-4. Exit code 1 where they do not."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

from families import FAMILIES

LARGEST_ERROR = 1e-4
CHANGES = 100  # inputs in a list that changes: more than plans are kept for


def open_peer(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def read_runs(session, folder):
    names = [port.name for port in session.get_inputs()]
    return [{name: np.load(folder / str(run) / f"in_{i}.npy") for i, name in enumerate(names)} for run in range(sum(1 for _ in folder.iterdir()))]


def time_peer(path, folder, seconds):
    """Prints the median in milliseconds: the only work of its process."""
    session = open_peer(path)
    runs, taken, begin, first = read_runs(session, folder), [], time.perf_counter(), True
    while first or time.perf_counter() - begin < seconds or len(taken) < 3 * len(runs):
        for feeds in runs:
            start = time.perf_counter()
            session.run(None, feeds)
            if not first:
                taken.append(1e3 * (time.perf_counter() - start))
        first = False
    print(statistics.median(taken))
    return 0


def error_of(path, folder):
    session, worst = open_peer(path), 0.0
    for run, feeds in enumerate(read_runs(session, folder)):
        for i, expected in enumerate(session.run(None, feeds)):
            got = np.load(folder / str(run) / f"out_{i}.npy").astype(np.float64)
            if got.shape != expected.shape:
                return float("inf")
            size = np.linalg.norm(expected)
            worst = max(worst, float(np.linalg.norm(got - expected) / size) if size > 0 else float(np.abs(got).max(initial=0)))
    return worst


def write_runs(draw, generator, folder, changes):
    for run in range(CHANGES if changes else 1):
        place = folder / str(run)
        place.mkdir(parents=True)
        for i, array in enumerate(draw(generator, changes).values()):
            np.save(place / f"in_{i}.npy", array)


def measure(program, path, folder, settings):
    ours, theirs = [], []
    for _ in range(settings.rounds):
        done = subprocess.run([program, path, folder, str(settings.seconds)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-300:])
        ours.append(json.loads(done.stdout))
        peer = [sys.executable, __file__, "--time-peer", path, folder, str(settings.seconds)]
        theirs.append(float(subprocess.run(peer, capture_output=True, text=True, check=True).stdout))
    last = ours[-1]
    last["p50"] = statistics.median(each["p50"] for each in ours)
    return last, statistics.median(theirs)


def check(family, seed, changes, settings):
    model, draw = family(np.random.default_rng([seed, FAMILIES.index(family)]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        onnx.save(model, folder / "model.onnx")
        write_runs(draw, np.random.default_rng(seed), folder / "runs", changes)
        ours, theirs = measure(settings.program, folder / "model.onnx", folder / "runs", settings)
        error = error_of(folder / "model.onnx", folder / "runs")
    ratio = ours["p50"] / theirs
    wrong = not error <= LARGEST_ERROR
    print(f"{family.__name__:18} {seed:5} {'changing' if changes else 'same':9} {error:9.1e} {ours['p50']:8.4f} / {theirs:8.4f} ms  {ratio:5.2f}  "
          f"{ours['single_nodes']:3} single, {ours['feature_map_bytes'] / 2**20:6.2f} MiB{'  differs' if wrong else ''}", flush=True)
    return ratio, wrong


def main():
    if sys.argv[1:2] == ["--time-peer"]:
        return time_peer(sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--only", nargs="+", default=[""], help="families whose names contain one of these")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=1)
    settings = parser.parse_args()
    low, _, high = settings.seeds.partition("-")
    rows = {0: [], 1: []}
    for family in FAMILIES:
        if not any(word in family.__name__ for word in settings.only):
            continue
        for seed in range(int(low), int(high or low) + 1):
            for changes in rows:
                rows[changes].append(check(family, seed, changes, settings))
    for changes, found in rows.items():
        ratios = [ratio for ratio, _ in found]
        print(f"{'changing' if changes else 'same'}: geometric mean {statistics.geometric_mean(ratios):.2f}, largest {max(ratios):.2f}, {sum(r > 1.2 for r in ratios)} above 1.2, {sum(r > 1.5 for r in ratios)} above 1.5, of {len(ratios)}")
    return 1 if any(wrong for found in rows.values() for _, wrong in found) else 0


if __name__ == "__main__":
    sys.exit(main())
