"""Models on two processors of which another process has a part, beside ONNX Runtime.

    build/venv/bin/python bench/contended.py build/release/plimsoll[,OTHER...] FOLDER --busy 0.5 --rounds 3

Each engine alone in a process of its own, by turns, with real-time priority on processors 0 and 1, so that nothing else of the machine
counts (root). Meanwhile a process of higher priority takes `--busy` of each `--slice` milliseconds of processor 0, as a scheduler shares
one between two; short slices make it a slower processor. A row is the medians over the rounds of the means of runs, since single
runs may be shorter than a slice; with nobody beside, of their medians. Everything else on the machine stands still meanwhile: a few models at a time."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import threads as measuring

RULES = ["chrt", "-f", "10", "taskset", "-c", "0,1"]


def burn(busy, slice_ms):
    """Computes for `busy` of each slice, until it is ended."""
    slice_s = slice_ms / 1000
    while True:
        begin = time.monotonic()
        while time.monotonic() - begin < busy * slice_s:
            pass
        time.sleep(max((1 - busy) * slice_s, 0))


class Competitor:
    def __init__(self, busy, slice_ms):
        self.command = ["chrt", "-f", "20", "taskset", "-c", "0", sys.executable, __file__, "--burn", str(busy), str(slice_ms)]
        self.busy = busy

    def __enter__(self):
        self.process = subprocess.Popen(self.command) if self.busy > 0 else None

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()


def ours(program, model, options, shapes):
    done = subprocess.run([*RULES, program, "bench", model, "--threads", str(options.threads), "--repeat", str(options.repeat), "--json",
                           *(["--pin-threads"] if options.pin else []), *shapes], check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)["models"][0]
    return 1000 / figures["runs_per_second"] if options.busy > 0 else figures["latency_ms"]["p50"]


def theirs(model, options):
    done = subprocess.run([*RULES, sys.executable, measuring.__file__, "--peer", model, "--threads", str(options.threads), "--repeat", str(options.repeat)],
                          check=True, capture_output=True, text=True)
    return float(done.stdout.split()[2 if options.busy > 0 else 0])


def main():
    if sys.argv[1:2] == ["--burn"]:
        return burn(float(sys.argv[2]), float(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", type=float, default=0.5)
    parser.add_argument("--slice", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", default="", help="comma-separated parts of names")
    parser.add_argument("--pin", action="store_true", help="bind our threads, as on a machine that takes a processor away")
    parser.add_argument("--no-peer", action="store_true", help="without ONNX Runtime: ratios are against the first program")
    options = parser.parse_args()
    programs = options.programs.split(",")
    wanted = [part for part in options.only.split(",") if part]
    models = [path for path in sorted(options.models.glob("*.onnx")) if not wanted or any(part in path.stem for part in wanted)]
    print("| model | " + " | ".join(pathlib.Path(program).name + " ms" for program in programs) + " | ORT ms | ratios |")
    print("|---" * (len(programs) + 3) + "|")
    ratios = [[] for _ in programs]
    for model in models:
        known = json.loads(subprocess.run([programs[0], "inspect", model, "--json"], check=True, capture_output=True, text=True).stdout)
        shapes = [word for name in known["models"][0].get("dynamic_dimensions", []) for word in ("--shape", f"{name}={measuring.SIZES.get(name, 1)}")]
        rounds = []
        with Competitor(options.busy, options.slice):
            for _ in range(options.rounds):
                rounds.append([ours(program, model, options, shapes) for program in programs] +
                              [0 if options.no_peer else theirs(model, options)])
        *our, their = (statistics.median(side) for side in zip(*rounds))
        reference = their or our[0]
        for row, own in zip(ratios, our):
            row.append(own / reference)
        print(f"| {model.stem} | " + " | ".join(f"{own:.2f}" for own in our) + f" | {their:.2f} | " +
              ", ".join(f"{own / reference:.2f}" for own in our) + " |", flush=True)
    print("| **mean, largest** |" + " |" * (len(programs) + 1) + " " +
          ", ".join(f"**{statistics.mean(row):.3f}, {max(row):.2f}**" for row in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
