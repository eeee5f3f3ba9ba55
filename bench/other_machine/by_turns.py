"""Models beside ONNX Runtime by turns of single runs: by_turns.py PLIMSOLL FOLDER --threads 1,4 [--rounds 5] [--seconds 500]

Where a core is half as fast a second later, engines that are measured one after the other meet different machines. Here both processes are on the
same cores, and while one runs the other is stopped (`plimsoll bench --against ort`), so that they change places within a second. A round starts new
processes, on the next cores; a row is the medians over the rounds. Rounds go through all numbers of threads until SECONDS are over."""
import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

SIZES = {"batch": 1, "seq": 128, "past": 128}
FEW, MANY, WANTED_MS = 3, 200, 300  # runs of a round: as many as take about so long


def shapes_of(program, model):
    known = json.loads(subprocess.run([program, "inspect", model, "--json"], check=True, capture_output=True, text=True).stdout)
    return [word for name in known["models"][0].get("dynamic_dimensions", []) for word in ("--shape", f"{name}={SIZES.get(name, 1)}")]


def turns(program, model, threads, cores, runs, shapes):
    """Milliseconds of a run and bytes, ours and theirs; none where one of the two fails."""
    done = subprocess.run(["taskset", "-c", ",".join(map(str, cores)), program, "bench", model, "--against", "ort", "--threads", str(threads),
                           "--repeat", str(runs), "--json", *shapes], capture_output=True, text=True)
    if done.returncode:
        print(f"{model.stem}: {done.stderr.strip()}", file=sys.stderr, flush=True)
        return None
    row = json.loads(done.stdout)["models"][0]
    return [side["latency_ms"]["p50"] for side in (row, row["peer"])] + [side["resident_above_base_bytes"] for side in (row, row["peer"])]


def runs_of(program, model, shapes):
    done = subprocess.run([program, "run", model, "--threads", "1", "--repeat", "3", "--json", *shapes], capture_output=True, text=True)
    if done.returncode:
        return FEW  # what fails is told when it is measured
    milliseconds = json.loads(done.stdout)["models"][0]["latency_ms"]["p50"]
    return int(min(MANY, max(FEW, WANTED_MS / milliseconds)))


def table(threads, rows):
    print("| threads | model | rounds | ours ms | ORT ms | ratio | of the rounds | ours MB | ORT MB | ratio |\n|---|---|---|---|---|---|---|---|---|---|")
    ratios, memory = [], []
    for model, rounds in sorted(rows.items()):
        our, their, our_bytes, their_bytes = (statistics.median(side) for side in zip(*rounds))
        ratios.append(our / their)
        memory.append(our_bytes / their_bytes)
        print(f"| {threads} | {model} | {len(rounds)} | {our:.2f} | {their:.2f} | {our / their:.2f} | {' '.join(f'{row[0] / row[1]:.2f}' for row in rounds)} "
              f"| {our_bytes / 1e6:.1f} | {their_bytes / 1e6:.1f} | {our_bytes / their_bytes:.2f} |")
    print(f"| {threads} | **mean, largest** | | | | **{statistics.mean(ratios):.3f}, {max(ratios):.2f}** | | | | **{statistics.mean(memory):.3f}** |\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", default="1,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", default="", help="a regular expression for names")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    machine = sorted(os.sched_getaffinity(0))
    models = [path for path in sorted(options.folder.glob("*.onnx")) if re.search(options.only, path.stem)]
    shapes = {model: shapes_of(options.plimsoll, model) for model in models}
    runs = {model: runs_of(options.plimsoll, model, shapes[model]) for model in models}
    counts = [int(count) for count in options.threads.split(",")]
    rows = {count: collections.defaultdict(list) for count in counts}
    for number in range(options.rounds):
        for threads in counts:
            first = number * max(threads, 3)  # one thread: another pair of cores, and another one of it
            cores = [machine[(first + i) % len(machine)] for i in range(min(threads, len(machine)))]
            for model in models:
                if time.monotonic() > end:
                    break
                measured = turns(options.plimsoll, model, threads, cores, runs[model], shapes[model])
                if measured:
                    rows[threads][model.stem].append(measured)
            print(f"round {number + 1}, {threads} threads done, {end - time.monotonic():.0f} s left", file=sys.stderr, flush=True)
    for threads in counts:
        measured = {model: rounds for model, rounds in rows[threads].items() if rounds}
        if measured:
            table(threads, measured)


if __name__ == "__main__":
    main()
