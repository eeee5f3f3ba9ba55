#!/usr/bin/env python3
"""Models in float16 beside ONNX Runtime: halves.py PLIMSOLL OUT_FOLDER [MODEL.onnx...] [--seeds FIRST-LAST] [--threads 1,2]

Models with their weights (tests/data/materialize.py), and networks of all families that the seeds give (drawn_networks.py), are made float16 by
ONNX Runtime's own tool: NAME_f16 with inputs and outputs of float16, NAME_f16_io with those of float32 and Casts behind them. What is
there already is not made again. Each is raced (`plimsoll bench --against ort`, turns interleaved); --exact N also asks how far each
engine is from the answer in doubles (tests/exact_reference.py), for N drawn inputs of NAME_f16. A network that ONNX Runtime refuses is named and
left out. Open sizes are those below. Needs numpy, onnx and onnxruntime in the Python that runs this."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.transformers.float16 import convert_float_to_float16

import drawn_networks

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from exact_reference import evaluate  # noqa: E402

SIZES = {"batch": 1, "seq": 128, "past": 64, "N": 1, "height": 224, "width": 224}


def numbers(text):
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def convert(source, folder):
    """Both forms of one model; only files that are not there yet."""
    made = []
    for suffix, keep in (("f16", False), ("f16_io", True)):
        target = folder / f"{source.stem}_{suffix}.onnx"
        made.append(target)
        if target.exists():
            continue
        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=keep), target, save_as_external_data=True, location=f"{target.name}.data")
    return made


def shapes_of(program, path):
    known = json.loads(subprocess.run([program, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout)["models"][0]["dynamic_dimensions"]
    return [word for name in known for word in ("--shape", f"{name}={SIZES.get(name, 1)}")]


def race(program, path, threads, repeat):
    command = [program, "bench", path, "--against", "ort", "--repeat", str(repeat), "--threads", str(threads), "--json", *shapes_of(program, path)]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PLIMSOLL_PYTHON=sys.executable))
    if done.returncode not in (0, 5):  # 5: results differ, which the table shows
        raise RuntimeError(" ".join(done.stderr.split())[-300:])
    return json.loads(done.stdout)["models"][0]


def drawn(model, rng):
    feeds = {}
    for value in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [dim.dim_value or SIZES.get(dim.dim_param, 1) for dim in value.type.tensor_type.shape.dim]
        whole = kind in (np.int64, np.int32)
        feeds[value.name] = (rng.integers(0, 20, shape) if whole else rng.standard_normal(shape) > -1 if kind == bool else rng.standard_normal(shape)).astype(kind)
    return feeds


def from_exact(program, path, draws):
    """The largest relative distances from the answer in doubles, over all outputs: ours, ONNX Runtime's."""
    model, rng = onnx.load(path, load_external_data=False), np.random.default_rng(7)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_outputs()]
    far = [0.0, 0.0]
    for _ in range(draws):
        feeds = drawn(model, rng)
        exact = evaluate(path, feeds)
        with tempfile.TemporaryDirectory() as scratch:
            command = [program, "run", path, "--output", scratch]
            for key, array in feeds.items():
                np.save(f"{scratch}/{key}.npy", array)
                command += ["--input", f"{key}={scratch}/{key}.npy"]
            subprocess.run(command, check=True, capture_output=True)
            ours = [np.load(f"{scratch}/{name}.npy") for name in names]
        for side, outputs in enumerate((ours, session.run(names, feeds))):
            for name, output in zip(names, outputs):
                wanted = np.asarray(exact[name], np.float64)
                far[side] = max(far[side], float(np.linalg.norm(output - wanted) / max(np.linalg.norm(wanted), 1e-30)))
    return far


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--seeds", type=numbers, default=range(0))
    parser.add_argument("--families", default="", help="of the seeds, comma-separated; all of them where nothing is said")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--exact", type=int, default=0, metavar="N")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    options.folder.mkdir(parents=True, exist_ok=True)
    sources = list(options.models)
    for seed in options.seeds:
        for family in options.families.split(",") if options.families else drawn_networks.FAMILIES:
            sources.append(options.folder / f"{family}_{seed}.onnx")
            if not sources[-1].exists():
                drawn_networks.make(family, seed, sources[-1])
    print("| model | threads | ours ms | ORT ms | ratio | ours MiB | ORT MiB | memory | plan MiB | distance | from exact: ours, ORT |")
    print("|---" * 11 + "|")
    ratios, memories = [], []
    for path in (made for source in sources for made in convert(source, options.folder)):
        for threads in map(int, options.threads.split(",")):
            try:
                one = race(options.plimsoll, path, threads, options.repeat)
            except RuntimeError as error:
                print(f"{path.stem}: {error}", file=sys.stderr)
                break
            peer = one["peer"]
            ours, theirs = (side["resident_above_base_bytes"] / 2**20 for side in (one, peer))
            asks = options.exact and threads == 1 and path.stem.endswith("_f16")  # the tool leaves the others' nodes in an order that the reference cannot run
            far = ", ".join(f"{far:.1e}" for far in from_exact(options.plimsoll, path, options.exact)) if asks else ""
            print(f"| {path.stem} | {threads} | {one['latency_ms']['p50']:.1f} | {peer['latency_ms']['p50']:.1f} | {peer['ratio']:.2f} | {ours:.1f} | {theirs:.1f} | "
                  f"{ours / theirs:.2f} | {one['planned_peak_bytes'] / 2**20:.1f} | {peer['output_distance']:.1e} | {far} |", flush=True)
            ratios.append(peer["ratio"])
            memories.append(ours / theirs)
    if ratios:
        print(f"\n{len(ratios)} rows: time {math.exp(statistics.fmean(map(math.log, ratios))):.2f} (geometric mean), largest {max(ratios):.2f}; "
              f"memory {statistics.fmean(memories):.2f} in the mean")


if __name__ == "__main__":
    main()
