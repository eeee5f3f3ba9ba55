#!/usr/bin/env python3
"""Two graphs over the same weights in one session: external_weight.py PLIMSOLL MODELS

gpt2 is loaded twice, then together with itself with sequences half as long (a different graph over the same weights), each with
external_weight and without. Prints what the second adds to the session's weights and to resident memory, the second without its own
feature map and outputs. Exit code 1 when, with external_weight, the second adds 5 % of the weights or more, when a result differs between on
and off, or when a file is left behind. MODELS holds gpt2.onnx with its weights (tests/data/materialize.py); needs the `onnx` package."""
import argparse
import json
import os
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
    """What a session with these models holds, its outputs, and what it left in the work path."""
    with tempfile.TemporaryDirectory() as temporary:
        work, out = pathlib.Path(temporary) / "work", pathlib.Path(temporary) / "out"
        work.mkdir()
        command = [program, "run", *models, "--json", "--set", f"external_weight={external}", "--output", out]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASCEND_WORK_PATH": str(work)})
        if done.returncode != 0:
            sys.exit(done.stderr)
        outputs = {str(file.relative_to(out)): np.load(file) for file in sorted(out.rglob("*.npy"))}
        return json.loads(done.stdout), outputs, list(work.iterdir())


def second_output(outputs, models):
    """Bytes that the second model gave: alone in its folder, or where the first wrote the same."""
    return sum(values.nbytes for name, values in outputs.items() if pathlib.Path(name).parent.name == models[1].stem)


def compare(program, title, models):
    """Prints what the second model adds; true when it is as it must be."""
    print(title)
    good, expected = True, None
    for external in ["false", "true"]:
        one, of_one, left_by_one = measure(program, external, models[:1])
        two, of_two, left_by_two = measure(program, external, models)
        weights = one["memory"]["measured"]["weights_bytes"]
        added = two["memory"]["measured"]["weights_bytes"] - weights
        # Besides weights the second brings its feature map and its outputs, which the program holds.
        others = two["reserved_bytes"] - one["reserved_bytes"] + second_output(of_two, models)
        resident = two["resident_above_base_bytes"] - one["resident_above_base_bytes"] - others
        print(f"  external_weight={external}: weights {weights:,} bytes; the second adds {added:,} ({added / weights:.2%}), resident "
              f"{resident:,} ({resident / weights:.2%}) next to {others:,} of feature map and outputs; resident in all "
              f"{two['resident_above_base_bytes']:,}, at most {two['load_peak_above_base_bytes']:,} while loading", flush=True)
        if external == "false":
            expected = of_two
            continue
        same = expected.keys() == of_two.keys() and all(np.array_equal(expected[name], of_two[name]) for name in expected)
        good = same and max(added, resident) < LARGEST_SHARE * weights and not left_by_one and not left_by_two
        print(f"  results {'are the same' if same else 'DIFFER'}; {len(left_by_one) + len(left_by_two)} files left behind")
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
