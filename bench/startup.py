#!/usr/bin/env python3
"""What the disk cache and a compiled file save at the start: startup.py PLIMSOLL MODEL... [--rounds N]

For each model, interleaved: a process without a cache, one that fills an empty cache, and one that finds it full. Prints the seconds of
each from its start to its end without the run itself, the least of the rounds, and their ratios; and the size of the cache. Then, interleaved
too, what reading, compiling and packing takes of the model and of the file that plimsoll compile makes of it. Exit code 1 when outputs differ
in a single bit, when a full cache does not start the first model within half the time that filling it takes, or when its compiled file is not
ready within a fifth of the model's time."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

MOST = 0.5
MOST_COMPILED = 0.2


def start(program, model, folder, out):
    """Seconds without the run."""
    cache = ["--set", "op_compiler_cache_mode=disable"] if folder is None else ["--set", f"op_compiler_cache_dir={folder}"]
    begin = time.perf_counter()
    done = subprocess.run([program, "run", model, "--json", "--output", out, *cache], capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(done.stderr)
    return seconds - json.loads(done.stdout)["models"][0]["latency_ms"]["p50"] / 1000


def ready(program, model):
    """Seconds until the first run can begin, without the start of the process."""
    done = subprocess.run([program, "bench", model, "--threads", "1", "--warm-up", "0", "--repeat", "1", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["models"][0]["load_ms"] / 1000


def compiled(program, model, rounds):
    """Seconds until ready of the model and of its compiled file, and whether both give the same bits."""
    with tempfile.TemporaryDirectory(prefix="plimsoll_compiled_") as temporary:
        folder = pathlib.Path(temporary)
        file = folder / "model.plm"
        subprocess.run([program, "compile", model, "--threads", "1", "-o", file], check=True, capture_output=True)
        made = []
        for source in (model, file):
            subprocess.run([program, "run", source, "--threads", "1", "--output", folder / source.suffix], check=True, capture_output=True)
            made.append(outputs(folder / source.suffix))
        times = [(ready(program, model), ready(program, file)) for _ in range(rounds)]
        return min(time for time, _ in times), min(time for _, time in times), file.stat().st_size, made[0] == made[1]


def outputs(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.npy"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    failed = False
    for number, model in enumerate(arguments.models):
        times = {"none": [], "empty": [], "full": []}
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory(prefix="plimsoll_cache_") as temporary:
                folder = pathlib.Path(temporary)
                made = []
                for kind in times:
                    out = folder / f"out_{kind}"
                    times[kind].append(start(arguments.program, model, None if kind == "none" else folder / "cache", out))
                    made.append(outputs(out))
                failed |= made[0] != made[1] or made[0] != made[2]
                size = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file())
        least = {kind: min(seconds) for kind, seconds in times.items()}
        print(f"{model.stem:24} no cache {least['none']:.3f} s, filling {least['empty']:.3f} s, full {least['full']:.3f} s: "
              f"{least['full'] / least['empty']:.2f} of filling, {least['full'] / least['none']:.2f} of none; {size / 2**20:.0f} MiB on disk",
              flush=True)
        failed |= number == 0 and least["full"] >= MOST * least["empty"]
        plain, quick, size, same = compiled(arguments.program, model, arguments.rounds)
        print(f"{model.stem:24} ready in {plain:.3f} s, compiled in {quick:.3f} s: {quick / plain:.2f}; {size / 2**20:.0f} MiB on disk", flush=True)
        failed |= not same or (number == 0 and quick > MOST_COMPILED * plain)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
