#!/usr/bin/env python3
"""Networks drawn from seeds (drawn_networks.py) beside ONNX Runtime: results first, then times, each engine alone in a process of its own.

    build/venv/bin/python bench/generated_networks.py build/release/plimsoll --seeds 1-2 --threads 1,2 --rounds 5

A seed gives one network of each family, or with --operators one node of each operator of drawn/operators.py. Kernels were tuned with seeds 1
to 20; seeds from 1001 on are kept apart for reports. Results must agree to 1e-4 of the spread of ONNX Runtime's. A row is the medians over the
rounds of the medians of runs, the engines by turns. Exits with 1 where results differ. Needs numpy, onnx and onnxruntime in the Python that
runs this."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import drawn_networks
import threads as alone

TOLERANCE = 1e-4
FEW, MANY, WANTED_MS = 5, 300, 250  # runs of a round: as many as take about so long


def feed_of(session, seed):
    draw = np.random.default_rng(seed)
    kinds = {"tensor(float)": lambda shape: draw.standard_normal(shape).astype(np.float32),
             "tensor(double)": lambda shape: draw.standard_normal(shape),
             "tensor(bool)": lambda shape: np.arange(np.prod(shape)).reshape(shape) % 8 < 6,
             "tensor(int32)": lambda shape: draw.integers(0, 20, shape, np.int32),
             "tensor(int64)": lambda shape: draw.integers(0, 20, shape)}
    return {port.name: kinds[port.type](port.shape) for port in session.get_inputs()}


def difference(program, model, threads, folder, close=False):
    """The largest difference of an output's elements, in parts of its spread; where they may lie close together, of a tenth of the largest if that
    is more."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    feed = feed_of(session, 1)
    given = []
    for name, array in feed.items():
        np.save(folder / f"{name}.npy", array)
        given += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run([program, "run", model, *given, "--output", folder / "out", "--threads", str(threads)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model.name}: {done.stderr}")
    largest = 0.0
    for port, wanted in zip(session.get_outputs(), session.run(None, feed)):
        made = np.load(folder / "out" / f"{port.name}.npy")
        if made.shape != wanted.shape or not np.array_equal(np.isnan(made), np.isnan(wanted)):
            return float("inf")
        size = float(np.nanmax(np.abs(wanted), initial=0)) / 10 if close else 0.0
        spread = max(float(np.ptp(wanted)), size) or 1.0
        largest = max(largest, float(np.nanmax(np.abs(np.subtract(made, wanted, dtype=np.float64)), initial=0)) / spread)
    return largest


def ratio(program, model, threads, rounds):
    runs = int(min(MANY, max(FEW, WANTED_MS / alone.theirs(model, threads, FEW))))
    pairs = [(alone.ours(program, model, threads, runs, []), alone.theirs(model, threads, runs)) for _ in range(rounds)]
    return [statistics.median(side) for side in zip(*pairs)]


def numbers(text):
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll")
    parser.add_argument("--seeds", type=numbers, default=numbers("1-2"), help="FIRST-LAST")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="comma-separated families")
    parser.add_argument("--operators", action="store_true", help="single operators instead of networks")
    parser.add_argument("--keep", type=pathlib.Path, help="write the models here and leave them")
    parser.add_argument("--results-only", action="store_true")
    options = parser.parse_args()
    drawn = drawn_networks.OPERATORS if options.operators else [*drawn_networks.FAMILIES, *drawn_networks.SMALL_FAMILIES]
    families = options.only.split(",") if options.only else list(drawn)
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        models = []
        for seed in options.seeds:
            for family in families:
                models.append(folder / f"{family}_{seed}.onnx")
                drawn_networks.make(family, seed, models[-1])
        print("| threads | network | ours ms | ORT ms | ratio |\n|---|---|---|---|---|", flush=True)
        for threads in map(int, options.threads.split(",")):
            rows = []
            for model in models:
                apart = difference(options.plimsoll, model, threads, pathlib.Path(scratch), close=options.operators)
                if not apart <= TOLERANCE:
                    wrong.append(f"{model.stem} with {threads} threads: {apart:.1e} of the spread")
                if options.results_only:
                    continue
                ours, theirs = ratio(options.plimsoll, model, threads, options.rounds)
                rows.append((ours / theirs, model.stem))
                print(f"| {threads} | {model.stem} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |", flush=True)
            if rows:
                print(f"| {threads} | **{len(rows)} networks: mean, largest** | | | **{statistics.mean(row[0] for row in rows):.3f}, {max(rows)[0]:.2f}** |", flush=True)
                print(f"| {threads} | above 1.2 | | | {', '.join(f'{name} {value:.2f}' for value, name in sorted(rows, reverse=True) if value > 1.2)} |", flush=True)
    print(f"{len(models)} networks, {len(wrong)} with other results than ONNX Runtime's")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
