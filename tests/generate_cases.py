#!/usr/bin/env python3
"""Writes the ONNX standard's node and simple cases: generate_cases.py DIR

Each case is a folder with model.onnx, test_data_set_0/{input,output}_N.pb and tolerance.json, as the pinned `onnx` package
generates them. Cases that need a download (real models) are left out. Does nothing when DIR already holds this release's."""
import argparse
import json
import pathlib
import random
import sys

import numpy as np
import onnx
import onnx.backend.test.case.model as model_cases
import onnx.backend.test.case.node as node_cases
from onnx import numpy_helper


def stored(value, name, kind):
    if isinstance(value, onnx.TensorProto):
        return value
    if kind.HasField("sequence_type"):
        return numpy_helper.from_list(value, name)
    if kind.HasField("optional_type"):
        return numpy_helper.from_optional(value, name)
    if kind.HasField("map_type"):
        return numpy_helper.from_dict(value, name)
    return numpy_helper.from_array(value, name)


def write_case(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "tolerance.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{i}"
        data.mkdir(exist_ok=True)
        for word, values, ports in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for j, value in enumerate(values):
                (data / f"{word}_{j}.pb").write_bytes(stored(value, ports[j].name, ports[j].type).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    stamp = folder / "release"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        print(f"{folder} holds the cases of onnx {onnx.__version__}")
        return
    random.seed(0)
    np.random.seed(0)
    written = 0
    for case in node_cases.collect_testcases(None) + model_cases.collect_testcases():
        if case.kind in ("node", "simple"):
            write_case(case, folder / case.kind / case.name)
            written += 1
    stamp.write_text(onnx.__version__)
    print(f"{written} cases of onnx {onnx.__version__}")


if __name__ == "__main__":
    sys.exit(main())
