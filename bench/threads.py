"""Models with several numbers of threads beside ONNX Runtime, each engine alone in a process of its own.

    build/venv/bin/python bench/threads.py build/release/plimsoll FOLDER --threads 1,2 --rounds 5

FOLDER holds models with weights (tests/data/materialize.py). In each round first the one engine's process runs, then the other's, so
that neither's idle threads meet the other's work; a row is the medians over the rounds of the medians of runs, and what each process
holds after its runs above what it held before it read the model, inputs left out."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

SIZES = {"batch": 1, "seq": 128, "past": 128}


def our_figures(program, model, threads, repeat, shapes):
    """Milliseconds of a run, and bytes."""
    done = subprocess.run([program, "bench", model, "--threads", str(threads), "--repeat", str(repeat), "--json", *shapes],
                          check=True, capture_output=True, text=True)
    row = json.loads(done.stdout)["models"][0]
    return row["latency_ms"]["p50"], row["resident_above_base_bytes"]


def ours(program, model, threads, repeat, shapes):
    return our_figures(program, model, threads, repeat, shapes)[0]


def their_figures(model, threads, repeat):
    done = subprocess.run([sys.executable, __file__, "--peer", model, "--threads", str(threads), "--repeat", str(repeat)],
                          check=True, capture_output=True, text=True)
    milliseconds, resident = done.stdout.split()[:2]
    return float(milliseconds), int(resident)


def theirs(model, threads, repeat):
    return their_figures(model, threads, repeat)[0]


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def peer(model, threads, repeat):
    import numpy
    import onnxruntime
    draw = numpy.random.default_rng(1)
    draw.standard_normal(1)  # what numpy brings for it is not the engine's
    base = resident()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {}
    before = resident()
    for port in session.get_inputs():
        shape = [size if isinstance(size, int) else SIZES.get(size, 1) for size in port.shape]
        if "float" in port.type or "double" in port.type:
            feed[port.name] = draw.standard_normal(shape).astype(numpy.float64 if "double" in port.type else numpy.float32)
        elif "bool" in port.type:
            feed[port.name] = numpy.ones(shape, bool)
        else:
            feed[port.name] = draw.integers(0, 10, shape).astype(numpy.int64 if "64" in port.type else numpy.int32)
    base += resident() - before
    for _ in range(2):
        session.run(None, feed)
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - begin)
    print(statistics.median(times) * 1000, resident() - base, statistics.mean(times) * 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll", nargs="?")
    parser.add_argument("models", type=pathlib.Path, nargs="?")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", default="", help="comma-separated parts of names")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options.peer, int(options.threads), options.repeat)
    wanted = [part for part in options.only.split(",") if part]
    models = [path for path in sorted(options.models.glob("*.onnx")) if not wanted or any(part in path.stem for part in wanted)]
    print("| threads | model | ours ms | ORT ms | ratio | ours MB | ORT MB | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for threads in map(int, options.threads.split(",")):
        ratios, memory = [], []
        for model in models:
            known = json.loads(subprocess.run([options.plimsoll, "inspect", model, "--json"], check=True, capture_output=True, text=True).stdout)
            shapes = [word for name in known["models"][0].get("dynamic_dimensions", []) for word in ("--shape", f"{name}={SIZES.get(name, 1)}")]
            rounds = [our_figures(options.plimsoll, model, threads, options.repeat, shapes) + their_figures(model, threads, options.repeat)
                      for _ in range(options.rounds)]
            our, our_bytes, their, their_bytes = (statistics.median(side) for side in zip(*rounds))
            ratios.append(our / their)
            memory.append(our_bytes / their_bytes)
            print(f"| {threads} | {model.stem} | {our:.2f} | {their:.2f} | {our / their:.2f} "
                  f"| {our_bytes / 1e6:.1f} | {their_bytes / 1e6:.1f} | {memory[-1]:.2f} |", flush=True)
        print(f"| {threads} | **mean, largest** | | | **{statistics.mean(ratios):.3f}, {max(ratios):.2f}** "
              f"| | | **{statistics.mean(memory):.3f}, {max(memory):.2f}** |", flush=True)


if __name__ == "__main__":
    main()
