#!/usr/bin/env python3
"""Many shapes through one session: dynamic_shapes.py PROGRAM_OF_BENCH MODELS [--pairs N] [--steps N] [--sample N]

bert_base_dynamic gets N random (batch 1 to 4, length 1 to 128) pairs, decode_step_dynamic N growing steps. The list goes through three
times. Prints seconds, memory reserved against the largest plan, the growth of memory after the first pass, and the largest relative L2
error of a sample of runs against ONNX Runtime. Exit code 1 when a result is wrong or memory is not bounded. MODELS holds the models
with their weights (tests/data/materialize.py); needs the `onnxruntime` package."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

LARGEST_ERROR = 1e-4
LARGEST_RESERVE = 1.10
LARGEST_GROWTH = 1 << 20  # bytes of residence between the second and the third pass


def worst_error(model, folder):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    worst, compared = 0.0, 0
    for run in sorted(folder.iterdir()):
        feeds = {name: np.load(run / f"in_{i}.npy") for i, name in enumerate(names)}
        for i, expected in enumerate(session.run(None, feeds)):
            got = np.load(run / f"out_{i}.npy").astype(np.float64)
            if got.shape != expected.shape or not np.isfinite(got).all():
                return float("inf"), compared
            worst = max(worst, float(np.linalg.norm(got - expected) / np.linalg.norm(expected)))
        compared += 1
    return worst, compared


def measure(program, model, runs, sample):
    """Prints what one model showed; true when it is as it must be."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        sizes = folder / "sizes"
        sizes.write_text("".join(" ".join(f"{name}={size}" for name, size in run.items()) + "\n" for run in runs))
        outputs = folder / "runs"
        outputs.mkdir()
        every = max(1, len(runs) // sample)
        done = subprocess.run([program, model, sizes, outputs, str(every)], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{model.stem}: {done.stderr.strip()}")
            return False
        passes = [json.loads(line) for line in done.stdout.splitlines()]
        worst, compared = worst_error(model, outputs)
    first, second, third = passes
    reserve = third["reserved_bytes"] / third["largest_plan_bytes"]
    growth = third["resident_bytes"] - second["resident_bytes"]
    distinct = len({tuple(run.values()) for run in runs})
    print(f"{model.stem}: {len(runs)} runs of {distinct} shapes; passes of {first['seconds']:.1f}, {second['seconds']:.1f} and {third['seconds']:.1f} s")
    print(f"  largest plan {third['largest_plan_bytes']:,} bytes, reserved {third['reserved_bytes']:,} ({reserve:.3f} of it), kept plans {third['kept_plans']}")
    print(f"  reserved grew by {third['reserved_bytes'] - first['reserved_bytes']:,} bytes after the first pass, residence by "
          f"{second['resident_bytes'] - first['resident_bytes']:,} in the second and {growth:,} in the third")
    print(f"  largest error against ONNX Runtime {worst:.2g} over {compared} runs", flush=True)
    bounded = reserve <= LARGEST_RESERVE and third["reserved_bytes"] == first["reserved_bytes"] and growth <= LARGEST_GROWTH
    return worst <= LARGEST_ERROR and bounded


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--sample", type=int, default=20, help="runs that are compared")
    arguments = parser.parse_args()
    draw = random.Random(5)
    pairs = [{"batch": draw.randint(1, 4), "seq": draw.randint(1, 128)} for _ in range(arguments.pairs)]
    steps = [{"batch": 1, "past": past} for past in range(1, arguments.steps + 1)]
    good = measure(arguments.program, arguments.models / "decode_step_dynamic.onnx", steps, arguments.sample) if steps else True
    return 0 if (measure(arguments.program, arguments.models / "bert_base_dynamic.onnx", pairs, arguments.sample) if pairs else True) and good else 1


if __name__ == "__main__":
    sys.exit(main())
