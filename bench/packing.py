#!/usr/bin/env python3
"""What packed weights cost and what they buy: packing.py PLIMSOLL MODELS [--rounds N] [--repeat N] [--only NAME...]

Each model runs with its weights packed, in the smaller form of each (what MemoryPriority keeps), and plain. Forms take turns, round by
round; times are medians over rounds of each round's median run in one thread, ratios medians of the ratios within a round. MODELS holds
the models with their weights (tests/data/materialize.py)."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

FORMS = ("packed", "smaller", "plain")
SHAPES = {"bert_base_dynamic": ["batch=1", "seq=128"], "decode_step_dynamic": ["batch=1", "past=64"], "mobilenet_v2_dynamic": ["batch=1"],
          "resnet50_dynamic": ["batch=1"]}


def answer(*command):
    done = subprocess.run([*map(str, command), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def measure(program, model, rounds, repeat):
    sizes = [word for size in SHAPES.get(model.stem, []) for word in ("--shape", size)]
    plan = answer(program, "plan", model, *sizes)["models"][0]
    if not plan["planned"]:
        return
    times, reports = {form: [] for form in FORMS}, {}
    for _ in range(rounds):
        for form in FORMS:
            reports[form] = answer(program, "run", model, *sizes, "--weights", form, "--repeat", repeat)
            times[form].append(reports[form]["models"][0]["latency_ms"]["p50"])
    packed = plan["packed_weights"]
    ratios = {form: statistics.median(t / p for t, p in zip(times[form], times["packed"])) for form in FORMS}
    print(f"| {model.stem} | {packed['constants']} | {packed['more_bytes']:,} | "
          + " | ".join(f"{reports[form]['memory']['measured']['device_bytes']:,}" for form in FORMS) + f" | {statistics.median(times['packed']):.2f} | "
          + " | ".join(f"{ratios[form]:.2f}" for form in FORMS[1:]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="only models of these names")
    arguments = parser.parse_args()
    print("| model | packed weights | bytes more than plain | device bytes: packed | smaller | plain | ms, packed | smaller / packed | "
          "plain / packed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in sorted(arguments.models.glob("*.onnx")):
        if not arguments.only or model.stem in arguments.only:
            measure(arguments.plimsoll, model, arguments.rounds, arguments.repeat)


if __name__ == "__main__":
    main()
