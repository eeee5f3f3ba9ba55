#!/usr/bin/env python3
"""Two graphs over the same weights in one session: external_weight.py PROGRAM_OF_BENCH MODELS

gpt2 is loaded twice, then beside itself with sequences half as long (a different graph over the same weights), each with
external_weight and without. Prints what the second adds to the session's weights and to resident memory, the second without its own
feature map. Exit code 1 when, with external_weight, the second adds 5 % of the weights or more, when a result differs between on and
off, or when a file is left behind. MODELS holds gpt2.onnx with its weights (tests/data/materialize.py); needs the `onnx` package."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

LARGEST_SHARE = 0.05


def shorten(source, target, old, new):
    """The model for sequences of another length, over a copy of its weights."""
    model = onnx.load(source, load_external_data=False)
    locations = set()
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            locations.add(next(entry.value for entry in tensor.external_data if entry.key == "location"))
            continue
        values = numpy_helper.to_array(tensor)
        for axis, size in enumerate(values.shape):
            if size == old:
                values = np.take(values, range(new), axis=axis)
        if values.dtype == np.int64:
            values = np.where(values == old, new, values)
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), tensor.name))
    for port in [*model.graph.input, *model.graph.output]:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_value == old:
                dim.dim_value = new
    del model.graph.value_info[:]
    onnx.save(model, target)
    for location in locations:
        shutil.copyfile(source.parent / location, target.parent / location)


def measure(program, external, models):
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([program, external, work, *models], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        left = list(pathlib.Path(work).iterdir())
    return [json.loads(line) for line in done.stdout.splitlines()], left


def compare(program, title, models):
    print(title)
    good, outputs = True, {}
    for external in ["true", "false"]:
        (first, second), left = measure(program, external, models)
        weights = first["weights_bytes"]
        added = second["weights_bytes"] - weights
        maps = second["reserved_bytes"] - first["reserved_bytes"]
        resident = second["resident_bytes"] - first["resident_bytes"] - maps
        outputs[external] = [first["outputs"], second["outputs"]]
        print(f"  external_weight={external}: weights {weights:,} bytes; the second adds {added:,} ({added / weights:.2%}), "
              f"resident {resident:,} ({resident / weights:.2%}) beside its feature map of {maps:,}; "
              f"resident in all {second['resident_bytes']:,}; load and run {first['seconds']:.2f} and {second['seconds']:.2f} s", flush=True)
        if external == "true":
            good = max(added, resident) < LARGEST_SHARE * weights and not left
    if outputs["true"] != outputs["false"]:
        print("  the results differ")
        good = False
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    arguments = parser.parse_args()
    model = arguments.models / "gpt2.onnx"
    with tempfile.TemporaryDirectory() as temporary:
        short = pathlib.Path(temporary) / "gpt2_64.onnx"
        shorten(model, short, 128, 64)
        twice = compare(arguments.program, "gpt2 twice", [model, model])
        both = compare(arguments.program, "gpt2 with sequences of 128, then of 64", [model, short])
    return 0 if twice and both else 1


if __name__ == "__main__":
    sys.exit(main())
