"""Many sessions at once on few cores: does the machine crawl?

    build/venv/bin/python bench/crowd.py build/release/plimsoll MODEL.onnx [MODEL.onnx...] --callers 8 --threads 4 --seconds 60

By turns one session with as many threads as there are cores, and a crowd: --callers sessions of --threads threads each, in one
process, all running at once. The ratio is what the crowd gets done in a second over what the one session does, the median over the
turns. With --stops the crowd's process is also stopped and continued at drawn moments; then the time it was stopped is taken off."""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import time

SLICE = 3.0  # seconds


def measured(program, model, threads, callers, stops=None):
    """Runs a second, of the time that the process was allowed to run."""
    process = subprocess.Popen([program, "bench", model, "--threads", str(threads), "--callers", str(callers), "--duration", str(SLICE), "--json"],
                               stdout=subprocess.PIPE, text=True)
    stopped = 0.0
    while stops is not None and process.poll() is None:
        time.sleep(stops.uniform(0.01, 0.4))
        if process.poll() is not None:
            break
        begin = time.monotonic()
        process.send_signal(signal.SIGSTOP)
        time.sleep(stops.uniform(0.001, 0.2))
        process.send_signal(signal.SIGCONT)
        stopped += time.monotonic() - begin
    answer = json.loads(process.communicate()[0])
    assert process.returncode == 0, answer
    row = answer["models"][0]
    seconds = row["runs"] / row["runs_per_second"]
    return row["runs"] / max(seconds - stopped, 0.1 * seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll")
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60, help="of the crowd, each model")
    parser.add_argument("--stops", type=int, help="seed of the moments at which the crowd is stopped and continued")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"| model | one session of {cores} threads, runs/s | {options.callers} sessions of {options.threads}, runs/s | ratio |")
    print("|---|---|---|---|")
    for model in options.models:
        stops = random.Random(options.stops) if options.stops is not None else None
        turns = []
        for _ in range(max(1, round(options.seconds / SLICE))):
            turns.append((measured(options.plimsoll, model, cores, 1), measured(options.plimsoll, model, options.threads, options.callers, stops)))
        one, crowd = (statistics.median(side) for side in zip(*turns))
        print(f"| {model.stem} | {one:.1f} | {crowd:.1f} | {statistics.median(c / o for o, c in turns):.2f} |", flush=True)


if __name__ == "__main__":
    main()
