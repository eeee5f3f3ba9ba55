#!/usr/bin/env python3
"""Models in float16 beside ONNX Runtime: halves.py PLIMSOLL OUT_FOLDER [MODEL.onnx...] [--seeds FIRST-LAST] [--threads 1,2]

Models with their weights (tests/data/materialize.py), and networks of all families that the seeds give (drawn_networks.py), are made float16 by
ONNX Runtime's own tool: NAME_f16 with inputs and outputs of float16, NAME_f16_io with those of float32 and Casts behind them. What is
there already is not made again. Each is raced (`plimsoll bench --against ort`, turns interleaved). --exact also tells, of the second form,
how far each engine is from the model whose weights are rounded to halves and nothing else is. A network that ONNX Runtime refuses is
named and left out. Open sizes are those below. Needs numpy, onnx and onnxruntime in the Python that runs this."""
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
from onnx import numpy_helper
from onnxruntime.transformers.float16 import convert_float_to_float16

import drawn_networks

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


def rounded(source, target):
    """The model with constants rounded to halves that are float32 again: what the halves' model says where nothing else is rounded."""
    model = onnx.load(source)
    constants = [*model.graph.initializer, *(one.t for node in model.graph.node if node.op_type == "Constant" for one in node.attribute if one.name == "value")]
    for tensor in constants:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            halves = np.clip(numpy_helper.to_array(tensor), -65504, 65504).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(halves.astype(np.float32), tensor.name))
    onnx.save(model, target, save_as_external_data=True, location=f"{target.name}.data")


def drawn(session, rng):
    """Numbers that are halves, words and masks."""
    feeds = {}
    for port in session.get_inputs():
        shape = [dim if isinstance(dim, int) else SIZES.get(dim, 1) for dim in port.shape]
        if "int" in port.type:
            feeds[port.name] = rng.integers(0, 20, shape).astype(np.int32 if "32" in port.type else np.int64)
        elif "bool" in port.type:
            feeds[port.name] = rng.standard_normal(shape) > -1
        else:
            feeds[port.name] = rng.standard_normal(shape).astype(np.float16).astype(np.float32)
    return feeds


def from_exact(program, source, path):
    """The largest relative distances (L2) of an output from that of `rounded` in float32: ours, ONNX Runtime's. For models of float32 inputs and outputs."""
    with tempfile.TemporaryDirectory() as scratch:
        rounded(source, pathlib.Path(scratch) / "rounded.onnx")
        exact, peer = (onnxruntime.InferenceSession(str(one), providers=["CPUExecutionProvider"]) for one in (f"{scratch}/rounded.onnx", path))
        feeds = drawn(exact, np.random.default_rng(7))
        command = [program, "run", path, "--output", scratch]
        for key, array in feeds.items():
            np.save(f"{scratch}/{key}.npy", array)
            command += ["--input", f"{key}={scratch}/{key}.npy"]
        subprocess.run(command, check=True, capture_output=True)
        names = [port.name for port in peer.get_outputs()]
        wanted = exact.run(names, feeds)
        sides = [np.load(f"{scratch}/{name}.npy") for name in names], peer.run(names, feeds)
    return [max(float(np.linalg.norm(one - right) / max(np.linalg.norm(right), 1e-30)) for one, right in zip(side, wanted)) for side in sides]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--seeds", type=numbers, default=range(0))
    parser.add_argument("--families", default="", help="of the seeds, comma-separated; all of them where nothing is said")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--exact", action="store_true")
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
    for source, path in ((source, made) for source in sources for made in convert(source, options.folder)):
        for threads in map(int, options.threads.split(",")):
            try:
                one = race(options.plimsoll, path, threads, options.repeat)
            except RuntimeError as error:
                print(f"{path.stem}: {error}", file=sys.stderr)
                break
            peer = one["peer"]
            ours, theirs = (side["resident_above_base_bytes"] / 2**20 for side in (one, peer))
            asks = options.exact and path.stem.endswith("_io")
            far = ", ".join(f"{far:.1e}" for far in from_exact(options.plimsoll, source, path)) if asks else ""
            print(f"| {path.stem} | {threads} | {one['latency_ms']['p50']:.1f} | {peer['latency_ms']['p50']:.1f} | {peer['ratio']:.2f} | {ours:.1f} | {theirs:.1f} | "
                  f"{ours / theirs:.2f} | {one['planned_peak_bytes'] / 2**20:.1f} | {peer['output_distance']:.1e} | {far} |", flush=True)
            ratios.append(peer["ratio"])
            memories.append(ours / theirs)
    if ratios:
        print(f"\n{len(ratios)} rows: time {math.exp(statistics.fmean(map(math.log, ratios))):.2f} (geometric mean), largest {max(ratios):.2f}; "
              f"memory {statistics.fmean(memories):.2f} in the mean")


if __name__ == "__main__":
    main()
