#!/usr/bin/env python3
"""Many shapes through one session: dynamic_shapes.py PROGRAM_OF_BENCH MODELS [--pairs N] [--steps N] [--policies 0 3] [--sample N]

bert_base_dynamic gets N random (batch 1 to 2, length 1 to 64) pairs, decode_step_dynamic N growing steps. The list goes through three
times, in a session for each static_memory_policy; sessions take turns at each run. Prints seconds, memory reserved against the largest
plan, the growth of memory after the first pass, and the largest relative L2 error of a sample of runs against ONNX Runtime, with the
memory that ONNX Runtime takes for the same list. Exit code 1 when a result is wrong or memory is not bounded. MODELS holds the models
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
LARGEST_RESERVE = {0: 1.10, 2: 1.10, 3: 1.05, 4: 1.05}  # by static_memory_policy
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


PEER_MEMORY = """
import sys, numpy, onnxruntime
def resident(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
loaded = resident("VmRSS:")
for line in open(sys.argv[2]):
    sizes = {name: int(size) for name, size in (word.split("=") for word in line.split())}
    feeds = {}
    for port in session.get_inputs():
        dims = [sizes.get(dim, 1) if isinstance(dim, str) else dim for dim in port.shape]
        kind = {"tensor(int64)": numpy.int64, "tensor(float)": numpy.float32, "tensor(bool)": bool}[port.type]
        feeds[port.name] = numpy.ones(dims, kind)
    session.run(None, feeds)
print(resident("VmHWM:") - loaded)
"""


def peer_memory(model, sizes):
    """What ONNX Runtime takes above the loaded model, at most, over the list."""
    done = subprocess.run([sys.executable, "-c", PEER_MEMORY, model, sizes], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else None


def tell(policy, passes, alone):
    """Prints what one policy showed; true when its memory is bounded. Residence tells only in a process of its own."""
    first, second, third = passes
    reserve = third["reserved_bytes"] / third["largest_plan_bytes"]
    print(f"  policy {policy}: passes of {first['seconds']:.1f}, {second['seconds']:.1f} and {third['seconds']:.1f} s; largest plan "
          f"{third['largest_plan_bytes']:,} bytes, reserved at most {third['reserved_bytes']:,} ({reserve:.4f} of it), kept plans {third['kept_plans']}")
    growth = third["resident_bytes"] - second["resident_bytes"]
    if alone:
        print(f"    residence grew by {second['resident_bytes'] - first['resident_bytes']:,} bytes in the second pass and {growth:,} in the third")
    still = third["reserved_bytes"] == first["reserved_bytes"] and (growth <= LARGEST_GROWTH or not alone)
    return reserve <= LARGEST_RESERVE[policy] and still


def measure(program, model, runs, options):
    """Prints what one model showed; true when it is as it must be."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        sizes = folder / "sizes"
        sizes.write_text("".join(" ".join(f"{name}={size}" for name, size in run.items()) + "\n" for run in runs))
        outputs = folder / "runs"
        outputs.mkdir()
        every = max(1, len(runs) // options.sample)
        done = subprocess.run([program, model, sizes, outputs, str(every), *map(str, options.policies)], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{model.stem}: {done.stderr.strip()}")
            return False
        passes = [json.loads(line) for line in done.stdout.splitlines()]
        worst, compared = worst_error(model, outputs)
        peer = peer_memory(model, sizes)
    distinct = len({tuple(run.values()) for run in runs})
    print(f"{model.stem}: {len(runs)} runs of {distinct} shapes")
    of = {policy: [one for one in passes if one["policy"] == policy] for policy in options.policies}
    good = [tell(policy, of[policy], len(options.policies) == 1) for policy in options.policies]
    for policy in options.policies[1:]:
        base = of[options.policies[0]]
        print(f"  time of policy {policy} over policy {options.policies[0]}, by pass: "
              + ", ".join(f"{mine['seconds'] / other['seconds']:.3f}" for mine, other in zip(of[policy], base)))
    print(f"  ONNX Runtime takes {peer:,} bytes above the loaded model" if peer else "  ONNX Runtime's memory could not be measured")
    print(f"  largest error against ONNX Runtime {worst:.2g} over {compared} runs", flush=True)
    return worst <= LARGEST_ERROR and all(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--sample", type=int, default=20, help="runs that are compared")
    parser.add_argument("--policies", type=int, nargs="+", default=[0], help="static_memory_policy of each session")
    arguments = parser.parse_args()
    draw = random.Random(5)
    pairs = [{"batch": draw.randint(1, 2), "seq": draw.randint(1, 64)} for _ in range(arguments.pairs)]
    steps = [{"batch": 1, "past": past} for past in range(1, arguments.steps + 1)]
    good = measure(arguments.program, arguments.models / "decode_step_dynamic.onnx", steps, arguments) if steps else True
    return 0 if (measure(arguments.program, arguments.models / "bert_base_dynamic.onnx", pairs, arguments) if pairs else True) and good else 1


if __name__ == "__main__":
    sys.exit(main())
