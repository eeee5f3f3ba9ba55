#!/usr/bin/env python3
"""Compares operators of com.microsoft with ONNX Runtime: check_contrib_operators.py PROGRAM [--cases N] [--seed S] [--operator NAME] [--keep FOLDER]

Every case is one node with attributes, shapes, types, optional inputs and constants that are drawn. ONNX Runtime, without its own
optimisations, says what comes out; `plimsoll conformance` runs the node inside a plan, over poisoned memory and node by node. What ONNX
Runtime refuses is drawn again. A case that differs is named and stays in FOLDER. Needs the `onnxruntime` package."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

from contrib_operators import attention_operators, decoder_operators, early_operators, float_operators, quantized_operators, text_operators
from random_graphs.reference import REFUSALS, Reference

FAMILIES = [float_operators, quantized_operators, attention_operators, decoder_operators, early_operators, text_operators]
OPERATORS = {name: draw for family in FAMILIES for name, draw in family.OPERATORS.items()}
REDRAWS = 20  # of one case
ROUNDED = 5e-3  # scores near -10000 have steps of 1e-3, see without_empty_rows; 2e-4 is the largest seen of an output


def check_equivalents(name, seed, drawn, model, expected):
    """Other inputs may stand in for the drawn ones only where ONNX Runtime gives the same with both, but for what it rounds."""
    given = Reference(model).run(drawn.feeds)
    for output, array in expected.items():
        if given is None or not np.allclose(given[output], array, rtol=ROUNDED, atol=ROUNDED * max(1.0, np.abs(array).max(initial=0))):
            sys.exit(f"{name}, seed {seed}: '{output}' of the equivalent inputs is not that of the drawn ones")


def draw(name, seed):
    """The drawn node, its model, and what ONNX Runtime gives; the number of refusals on the way."""
    for attempt in range(REDRAWS):
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed, attempt])
        drawn = OPERATORS[name](rng)
        model = drawn.model(rng)
        try:
            reference, feeds = drawn.for_reference(model)
            expected = Reference(reference).run(feeds)
            if expected is not None and drawn.equivalents:
                check_equivalents(name, seed, drawn, model, expected)
        except REFUSALS as error:
            refusal = str(error)
            continue
        if expected is not None:
            return drawn, model, expected, attempt
    sys.exit(f"{name}, seed {seed}: ONNX Runtime refuses whatever is drawn: {refusal}")


def write(folder, drawn, model, expected):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    for kind, arrays in (("input", drawn.feeds.values()), ("output", expected.values())):
        for place, array in enumerate(arrays):
            (data / f"{kind}_{place}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    (folder / "tolerance.json").write_text(json.dumps(drawn.tolerance))
    onnx.save(model, folder / "model.onnx")


def check(program, names, cases, first_seed, keep):
    """Lines about what went wrong, and the counts of each operator."""
    wrong, counts = [], {}
    with tempfile.TemporaryDirectory(prefix="plimsoll_contrib_") as folder:
        folder = pathlib.Path(folder)
        for name in names:
            redrawn = 0
            for seed in range(first_seed, first_seed + cases):
                *case, refused = draw(name, seed)
                redrawn += refused
                write(folder / f"{name}_{seed}", *case)
            counts[name] = {"passed": 0, "wrong": 0, "redrawn": redrawn}
        run = subprocess.run([program, "conformance", folder, "--json"], capture_output=True, text=True)
        if run.returncode not in (0, 4, 5):
            sys.exit(f"the run ended with {run.returncode}: {run.stderr[-2000:]}")
        for case in json.loads(run.stdout)["cases"]:
            name = case["name"].rsplit("_", 1)[0]
            if case["outcome"] == "passed":
                counts[name]["passed"] += 1
                continue
            counts[name]["wrong"] += 1
            wrong.append(f"{case['name']}: {case['outcome']}: {case.get('reason', '')}")
            if keep:
                shutil.copytree(folder / case["name"], keep / case["name"], dirs_exist_ok=True)
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=200, help="of each operator")
    parser.add_argument("--seed", type=int, default=1, help="of the first case of each")
    parser.add_argument("--operator", choices=sorted(OPERATORS), action="append", help="draw these alone; repeatable")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for cases that differ")
    arguments = parser.parse_args()
    wrong, counts = check(arguments.program.resolve(), arguments.operator or sorted(OPERATORS), arguments.cases, arguments.seed, arguments.keep)
    print("\n".join(wrong))
    for name, count in counts.items():
        print(f"{name:34} {count['passed']:4} passed, {count['wrong']} wrong, {count['redrawn']} redrawn")
    print(f"{sum(count['passed'] for count in counts.values())} passed, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
