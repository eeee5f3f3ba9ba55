#!/usr/bin/env python3
"""Races ONNX Runtime over the test models and writes a table: engine.py PLIMSOLL MODELS [--repeat N] [--only TEXT]

Each model is given its weights (tests/data/materialize.py) in a temporary folder, raced with `plimsoll bench --against ort`
(one thread, turns interleaved), loaded once more by itself for the load peak (what is resident at most before the first run, above
the empty process), and removed again. Models whose inputs are open
take the sizes below. Needs onnx, numpy and onnxruntime in addition to the Python that runs this."""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SIZES = ["batch=1", "seq=128", "past=64", "N=1", "height=224", "width=224"]


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    environment = dict(os.environ, PLIMSOLL_PYTHON=sys.executable)
    rows = []
    print("| model | ours ms | ORT ms | ratio | spread | ours MiB | ORT MiB | memory | load peak / weights | distance |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for model in sorted(options.models.glob("*.onnx")):
        if model.name.endswith(".plan.onnx") or options.only not in model.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, TOP / "tests/data/materialize.py", model, "-o", folder], check=True, stdout=subprocess.DEVNULL)
            full = pathlib.Path(folder) / model.name
            known = run([options.plimsoll, "inspect", full, "--json"], environment)["models"][0]["dynamic_dimensions"]
            shapes = [word for size in SIZES if size.split("=")[0] in known for word in ("--shape", size)]
            one = run([options.plimsoll, "bench", full, "--against", "ort", "--repeat", options.repeat.__str__(), "--json", *shapes],
                      environment)["models"][0]
            weights = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
            alone = run([options.plimsoll, "run", full, "--json", *shapes], environment)
            one["load"] = alone["load_peak_above_base_bytes"] / weights
        peer = one["peer"]
        one["memory"] = one["resident_above_base_bytes"] / peer["resident_above_base_bytes"]
        one["name"] = model.stem
        rows.append(one)
        print(f"| {model.stem} | {one['latency_ms']['p50']:.1f} | {peer['latency_ms']['p50']:.1f} | {peer['ratio']:.3f} | {peer['ratio_spread'][0]:.3f} to "
              f"{peer['ratio_spread'][1]:.3f} | {one['resident_above_base_bytes'] / 2**20:.1f} | {peer['resident_above_base_bytes'] / 2**20:.1f} | "
              f"{one['memory']:.3f} | {one['load']:.3f} | {peer['output_distance']:.1e} |", flush=True)
    static = [row for row in rows if "train" not in row["name"] and "dynamic" not in row["name"]]
    print(f"\nstatic inference models: {len(static)}; latency ratio, geometric mean {geomean(r['peer']['ratio'] for r in static):.3f}, "
          f"largest {max(r['peer']['ratio'] for r in static):.3f}; memory ratio, geometric mean {geomean(r['memory'] for r in static):.3f}")


main()
