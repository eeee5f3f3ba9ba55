#!/usr/bin/env python3
"""Compares our shapes with those that the exporter declared: check_model_shapes.py PROGRAM MODELS_FOLDER

Every model, and every `_dynamic` one again with concrete inputs, where no dimension may stay symbolic."""
import pathlib
import sys

from inspecting import in_parallel, inspect

CONCRETE = {
    "bert_base_dynamic": ["batch=2", "seq=37"],
    "decode_step_dynamic": ["batch=3", "past=17"],
    "mobilenet_v2_dynamic": ["batch=5"],
    "resnet50_dynamic": ["batch=4"],
}


def main(program, folder):
    runs = []
    for model in sorted(pathlib.Path(folder).glob("*.onnx")):
        runs.append((model, []))
        if model.stem in CONCRETE:
            runs.append((model, CONCRETE[model.stem]))
        elif model.stem.endswith("_dynamic"):
            sys.exit(f"{model.name}: no concrete shape is listed for it here")
    if not runs:
        sys.exit(f"no models in {folder}")
    wrong, checked = [], 0

    def one(run):
        model, shapes = run
        return inspect(program, model, *[word for shape in shapes for word in ("--shape", shape)])

    for (model, shapes), (report, error) in zip(runs, in_parallel(one, runs)):
        label = " ".join([model.name, *shapes])
        if error:
            wrong.append(f"{label}: {error}")
            continue
        checked += report["values_checked"]
        if report["values_mismatched"] or report["values_undetermined"]:
            wrong.append(f"{label}: {report['values_mismatched']} differ, {report['values_undetermined']} unknown: {report['mismatches'][:3]}")
        symbolic = report["dynamic_dimensions"] + report["unnamed_dimensions"]
        symbolic += ["a size that data tells"] * report["sizes_known_from_data"]
        if symbolic and (shapes or not model.stem.endswith("_dynamic")):
            wrong.append(f"{label}: still symbolic: {symbolic[:5]}")
        planning_only = model.name.endswith(".plan.onnx")
        if not planning_only and (report["values_checked"] == 0 or report["unsupported_operators"]):
            wrong.append(f"{label}: {report['values_checked']} values checked, unsupported {report['unsupported_operators'][:3]}")
    print("\n".join(wrong))
    print(f"{checked} declared values compared over {len(runs)} runs, {len(wrong)} runs wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
