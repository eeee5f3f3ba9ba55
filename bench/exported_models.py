#!/usr/bin/env python3
"""Exports models with drawn weights and measures them beside ONNX Runtime: exported_models.py export FOLDER | measure PROGRAM FOLDER

`export` writes NAME.KIND.onnx and its inputs, NAME.KIND.npz: networks of torchvision, timm and transformers by both exporters of PyTorch
(kinds script and dynamo), estimators of scikit-learn and boosted trees (kind classical), and files that ONNX Runtime, its quantisers and two
simplifiers make of some of them (bench/exported/rewritten.py). It needs what the chosen kinds need (torch, torchvision, timm, transformers,
onnxscript, scikit-learn, skl2onnx, lightgbm, xgboost, catboost, onnxmltools, onnxslim, onnxsim); what a package cannot export is told
and left out. `measure` needs numpy, onnx and onnxruntime alone, and prints a line for each file: how far outputs are from ONNX Runtime's (and, where
that is above 1e-4, how far its own levels of optimisation are apart), the planned peak beside plain lives in the file's order, and by
number of threads the ratios of time (least of interleaved runs), of resident memory and of loading time."""
import argparse
import dataclasses
import fnmatch
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
LEVELS = ["ORT_ENABLE_ALL", "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED"]
ENOUGH = 1e-4


def export_torch(folder, kind, pattern):
    import torch

    from exported import torch_dense, torch_sound, torch_text, torch_vision

    torch.backends.mha.set_fastpath_enabled(False)  # it has no form in ONNX
    for name, make in {**torch_vision.MODELS, **torch_text.MODELS, **torch_sound.MODELS, **torch_dense.MODELS}.items():
        path = folder / f"{name}.{kind}.onnx"
        if not fnmatch.fnmatch(name, pattern) or path.exists():
            continue
        try:
            torch.manual_seed(0)
            module, arguments, names, open_sizes = make()
            module.eval()
            settings = dict(dynamo=False, opset_version=17, dynamic_axes=open_sizes) if kind == "script" else dict(dynamo=True, external_data=False)
            with torch.no_grad():
                torch.onnx.export(module, arguments, str(path), input_names=names, **settings)
            np.savez(path.with_suffix(".npz"), **{port: argument.numpy() for port, argument in zip(names, arguments)})
            print(f"{path.stem}: {path.stat().st_size / 1e6:.1f} MB", flush=True)
        except Exception as error:
            path.unlink(missing_ok=True)
            print(f"{path.stem}: not exported: {type(error).__name__} {' '.join(str(error).split())[:120]}", flush=True)


def export(settings):
    settings.folder.mkdir(parents=True, exist_ok=True)
    for kind in settings.kinds:
        if kind in ("script", "dynamo"):
            export_torch(settings.folder, kind, settings.only)
        elif kind == "classical":
            from exported import classical

            classical.export(settings.folder, settings.only)
        else:
            from exported import rewritten

            rewritten.export(settings.folder, settings.only)
    return 0


def open_peer(path, level="ORT_ENABLE_ALL"):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_peer(session, feeds):
    names = [port.name for port in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def error_between(got, expected):
    from check_models import distance

    if not isinstance(expected, np.ndarray):
        return 0.0
    if got.shape != expected.shape:
        return float("inf")
    if expected.dtype.kind in "OUSb":
        return float((got.astype(str) != expected.astype(str)).any())
    return distance(got, expected)


def spread(path, feeds, names):
    """How far ONNX Runtime's own levels are apart."""
    answers = []
    for level in LEVELS:
        try:
            answers.append(run_peer(open_peer(path, level), feeds))
        except Exception as error:
            print(f"{path.stem}: {level}: {error}", file=sys.stderr)
    return max((error_between(one[name], other[name]) for one, other in itertools.combinations(answers, 2) for name in names), default=0.0)


@dataclasses.dataclass
class Row:
    name: str
    fails: str = ""
    error: float | None = None
    spread: float | None = None
    planned: bool | None = None
    planned_peak_bytes: int | None = None
    actual_peak_bytes: int | None = None
    plain_peak_bytes: int | None = None
    peer_load_seconds: float | None = None
    times: list = dataclasses.field(default_factory=list)


def ask(program, *arguments, **more):
    from answers import flat

    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(" ".join(done.stderr.split())[-300:])
    return flat(done.stdout), json.loads(done.stdout)


def compare(row, program, path, feeds, folder):
    from check_models import file_name

    start = time.perf_counter()
    session = open_peer(path)
    row.peer_load_seconds = time.perf_counter() - start
    expected = run_peer(session, feeds)
    inputs = []
    for number, (name, array) in enumerate(feeds.items()):
        np.save(folder / f"in_{number}.npy", array)
        inputs += ["--input", f"{name}={folder / f'in_{number}.npy'}"]
    report, _ = ask(program, "run", path, "--threads", 1, *inputs, "--output", folder / "out")
    row.planned, row.planned_peak_bytes, row.actual_peak_bytes = report["planned"], report.get("planned_peak_bytes"), report.get("actual_peak_bytes")
    arrays = [name for name, output in expected.items() if isinstance(output, np.ndarray)]
    row.error = max((error_between(np.load(folder / "out" / file_name(name)), expected[name]) for name in arrays), default=0.0)
    if not row.error <= ENOUGH:
        row.spread = spread(path, feeds, arrays)


def check(program, path, settings):
    row = Row(path.stem)
    feeds = dict(np.load(path.with_suffix(".npz")))
    if settings.batch > 1:
        feeds = {name: np.concatenate([array] * settings.batch) for name, array in feeds.items()}
    shapes = [word for name, array in feeds.items() for word in ("--shape", f"{name}={'x'.join(map(str, array.shape))}")]
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare(row, program, path, feeds, pathlib.Path(folder))
        row.plain_peak_bytes = ask(program, "plan", path, *shapes)[0].get("plain_peak_bytes")
        drawn = all(array.dtype.kind in "fiub" for array in feeds.values())  # `bench` draws its inputs, but no texts
        if settings.seconds > 0 and drawn:
            timed = ["--threads", settings.threads, "--duration", settings.seconds, *shapes]
            _, answer = ask(program, "bench", path, "--against", "ort", *timed, env=dict(os.environ, PLIMSOLL_PYTHON=sys.executable))
            row.times = answer["models"]
    except Exception as error:
        row.fails = " ".join(str(error).split())[:300]
    return row


def ratio_text(row, timed):
    peer = timed["peer"]
    text = f"{timed['threads']} threads: time {timed['latency_ms']['least'] / peer['latency_ms']['least']:.2f} ({timed['latency_ms']['least']:.2f} ms)"
    if timed["resident_above_base_bytes"] and peer["resident_above_base_bytes"]:
        text += f" memory {timed['resident_above_base_bytes'] / peer['resident_above_base_bytes']:.2f}"
    return text + f" load {timed['load_ms'] / 1e3 / row.peer_load_seconds:.2f}"


def line(row):
    if row.fails:
        return f"{row.name:40} fails: {row.fails}"
    agreement = f"{row.error:.1e}" + ("" if row.spread is None else f" (levels {row.spread:.1e})")
    plan = "outside of a plan" if not row.planned else "" if not row.plain_peak_bytes else f"plan / plain {row.planned_peak_bytes / row.plain_peak_bytes:.2f}"
    if row.planned and row.actual_peak_bytes != row.planned_peak_bytes:
        plan += f", used {row.actual_peak_bytes} of {row.planned_peak_bytes}"
    return f"{row.name:40} {agreement:26} {plan:20} {'; '.join(ratio_text(row, timed) for timed in row.times)}"


def measure(settings):
    files = sorted(path for path in settings.folder.glob("*.onnx") if fnmatch.fnmatch(path.name, settings.only))
    rows = []
    for path in files:
        rows.append(check(settings.program.resolve(), path, settings))
        print(line(rows[-1]), flush=True)
    return 1 if not rows or any(row.fails for row in rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    exporting = commands.add_parser("export")
    exporting.add_argument("folder", type=pathlib.Path)
    exporting.add_argument("--kinds", nargs="+", default=["script", "dynamo", "classical", "rewritten"], choices=["script", "dynamo", "classical", "rewritten"])
    exporting.add_argument("--only", default="*", help="names of models, as a pattern")
    exporting.set_defaults(run=export)
    measuring = commands.add_parser("measure")
    measuring.add_argument("program", type=pathlib.Path)
    measuring.add_argument("folder", type=pathlib.Path)
    measuring.add_argument("--only", default="*", help="names of files, as a pattern")
    measuring.add_argument("--threads", default="1,2")
    measuring.add_argument("--seconds", type=float, default=0.5, help="of each engine and number of threads; 0 measures no time")
    measuring.add_argument("--batch", type=int, default=1, help="how often inputs are repeated along their first axis")
    measuring.set_defaults(run=measure)
    settings = parser.parse_args()
    return settings.run(settings)


if __name__ == "__main__":
    sys.exit(main())
