#!/usr/bin/env python3
"""Runs real models and compares with ONNX Runtime: check_models.py PROGRAM MODELS_FOLDER [--below MB] [--only NAME...]

Each model gets its weights (tests/data/materialize.py) in a temporary folder that goes again before the next one comes. A model with
open sizes runs with three sets of them. Every run is made twice by `plimsoll run`, the second time over memory full of NaN patterns,
and the outputs of that one are compared: relative L2 error at most 1e-4 for each output, no byte beyond the planned peak, none outside
of the plan. Needs the `onnxruntime` package."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

from answers import flat

MATERIALIZE = pathlib.Path(__file__).resolve().parent / "data" / "materialize.py"
LARGEST_ERROR = 1e-4
SHAPES = {
    "bert_base_dynamic": [{"batch": 1, "seq": 1}, {"batch": 2, "seq": 37}, {"batch": 1, "seq": 128}],
    "decode_step_dynamic": [{"batch": 1, "past": 1}, {"batch": 3, "past": 17}, {"batch": 2, "past": 200}],
    "mobilenet_v2_dynamic": [{"batch": 1}, {"batch": 3}, {"batch": 4}],
    "resnet50_dynamic": [{"batch": 1}, {"batch": 2}, {"batch": 5}],
}
NUMPY = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.INT64: np.int64, onnx.TensorProto.INT32: np.int32, onnx.TensorProto.BOOL: np.bool_}


def stored_elsewhere(model):
    """Bytes of weights that the file leaves out."""
    outside = [t for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    return sum(int(np.prod(t.dims, dtype=np.int64)) * 4 for t in outside)


def draw(model, sizes, training):
    """Inputs: the first one of integers holds indices up to 9, all others 0 and 1. A training step gets small positive numbers, for
    some of its inputs are running means of squares."""
    random = np.random.default_rng(7)
    feeds, indices = {}, 9
    for port in model.graph.input:
        tensor = port.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        kind = NUMPY[tensor.elem_type]
        if kind == np.float32:
            feeds[port.name] = (0.05 * random.random(shape) if training else random.uniform(-1, 1, shape)).astype(kind)
        else:
            feeds[port.name] = random.integers(0, indices + 1, shape).astype(kind)
            indices = 1
    return feeds


def file_name(port):
    return re.sub(r"[^A-Za-z0-9._-]", "_", port) + ".npy"


def distance(got, expected):
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return float("inf")
    got, expected = got.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if same.all():
        return 0.0
    if not (np.isfinite(got[~same]).all() and np.isfinite(expected[~same]).all()):
        return float("inf")
    return float(np.linalg.norm((got - expected)[~same]) / max(np.linalg.norm(expected[np.isfinite(expected)]), 1e-30))


def compare(program, session, feeds, path, folder):
    """What is wrong with one run, and the largest error of an output."""
    arguments = []
    for number, (name, array) in enumerate(feeds.items()):
        np.save(folder / f"in_{number}.npy", array)
        arguments += ["--input", f"{name}={folder / f'in_{number}.npy'}"]
    done = subprocess.run([program, "run", path, "--json", "--output", folder / "out", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"exit {done.returncode}: {done.stderr.strip()[-500:]}"], float("inf")
    report = flat(done.stdout)
    wrong, largest = [], 0.0
    if not report["planned"]:
        wrong.append(f"it was not planned: {report['reason']}")
    elif report["actual_peak_bytes"] > report["planned_peak_bytes"]:
        wrong.append(f"{report['actual_peak_bytes']} bytes were used, {report['planned_peak_bytes']} planned")
    if report.get("wrote_outside_plan", True):
        wrong.append("something was written outside of the plan")
    names = [port.name for port in session.get_outputs()]
    for name, expected in zip(names, session.run(names, feeds)):
        error = distance(np.load(folder / "out" / file_name(name)), expected)
        largest = max(largest, error)
        if not np.isfinite(expected).all():
            wrong.append(f"'{name}' is not finite, so nothing can be said of it")
        if not error <= LARGEST_ERROR:
            wrong.append(f"'{name}' differs by {error:.3g}")
    return wrong, largest


def check(program, source, folder):
    """Gives what is wrong, one line each."""
    subprocess.run([sys.executable, MATERIALIZE, source, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    path = folder / source.name
    model = onnx.load(path, load_external_data=False)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # spinning threads of its own would slow everything down on a busy machine
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    lines = []
    for sizes in SHAPES.get(source.stem, [{}]):
        label = " ".join([source.stem, *(f"{name}={size}" for name, size in sizes.items())])
        start = time.monotonic()
        wrong, largest = compare(program, session, draw(model, sizes, source.stem.endswith("_train")), path, folder)
        print(f"{label}: error {largest:.2g} ({time.monotonic() - start:.1f}s)", flush=True)
        lines += [f"{label}: {what}" for what in wrong]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--below", type=float, default=float("inf"), help="only models with fewer MB of weights")
    parser.add_argument("--only", nargs="+", help="only models of these names")
    arguments = parser.parse_args()
    checked, wrong = 0, []
    for source in sorted(arguments.models.glob("*.onnx")):
        chosen = not arguments.only or source.stem in arguments.only
        if source.name.endswith(".plan.onnx") or not chosen:  # .plan.onnx: without constants, for planning alone
            continue
        if stored_elsewhere(onnx.load(source, load_external_data=False)) >= arguments.below * 1e6:
            continue
        checked += 1
        with tempfile.TemporaryDirectory() as temporary:
            wrong += check(arguments.program.resolve(), source, pathlib.Path(temporary))
    print("\n".join(wrong))
    print(f"{checked} models compared with ONNX Runtime {onnxruntime.__version__}, {len(wrong)} disagreements")
    return 1 if wrong or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
