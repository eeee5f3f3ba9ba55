#!/usr/bin/env python3
"""Eight static and two dynamic models in one session under each static_memory_policy: policies.py PLIMSOLL MODELS

For the static ones: what `plimsoll plan MODEL... --policy N` predicts and what `plimsoll run` reserved, which must agree to the byte;
under 2 and 4 that is the largest feature map rounded up to 64 KiB, under 0 and 3 the sum. Under 4 the dynamic ones come on top of them,
and what was reserved at most is at most 1.05 times the largest feature map that ran. Exit code 1 when a figure is not as it must be.
MODELS holds the models with their weights (tests/data/materialize.py)."""
import argparse
import json
import pathlib
import subprocess
import sys

STATIC = ["fcn_resnet50", "googlenet", "mobilenet_v3_large", "randwire", "resnet50", "shufflenet_v2_x1_0", "squeezenet1_1", "wide_branches"]
DYNAMIC = ["decode_step_dynamic", "mobilenet_v2_dynamic"]
SHAPES = ["--shape", "batch=2", "--shape", "past=64"]
GRANULARITY = 64 << 10
LARGEST_RESERVE = 1.05


def answer(command):
    done = subprocess.run([*map(str, command), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    arguments = parser.parse_args()
    files = [arguments.models / f"{name}.onnx" for name in STATIC]
    good = True
    print("| policy | predicted | reserved | largest feature map | sum | resident above base |")
    print("|---|---|---|---|---|---|")
    for policy in (0, 2, 3, 4):
        planned = answer([arguments.plimsoll, "plan", *files, "--policy", policy])
        run = answer([arguments.plimsoll, "run", *files, "--policy", policy])
        sizes = [model["feature_map_bytes"] for model in run["models"]]
        expected = sum(sizes) if policy in (0, 3) else -(-max(sizes) // GRANULARITY) * GRANULARITY
        good &= planned["memory"]["predicted"]["device_bytes"] == run["memory"]["measured"]["device_bytes"]
        good &= planned["peak_reserved_bytes"] == run["reserved_bytes"] == run["peak_reserved_bytes"] == expected
        print(f"| {policy} | {planned['peak_reserved_bytes']:,} | {run['reserved_bytes']:,} | {max(sizes):,} | {sum(sizes):,} | "
              f"{run['resident_above_base_bytes']:,} |", flush=True)
    files += [arguments.models / f"{name}.onnx" for name in DYNAMIC]
    for policy in (0, 4):
        run = answer([arguments.plimsoll, "run", *files, "--policy", policy, "--repeat", 3, *SHAPES])
        largest = max(model["feature_map_bytes"] for model in run["models"])
        ratio = run["peak_reserved_bytes"] / largest
        good &= policy == 0 or ratio <= LARGEST_RESERVE
        print(f"\nwith {len(DYNAMIC)} dynamic models under {policy}: reserved at most {run['peak_reserved_bytes']:,}, {ratio:.4f} of the "
              f"largest in use ({largest:,})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
