#!/usr/bin/env python3
"""Counts the standard's cases that ONNX Runtime passes: conformance_ort.py CASES_FOLDER [--names]

Needs the `onnxruntime` package in addition to tests/requirements.txt. Cases run in child processes; a case that kills its child counts as
crashed and the rest go on. The comparison is that of `plimsoll conformance`: type and shape equal, floats within the case's rtol and
atol, all else equal; cases whose outputs are drawn at random are held to type and shape alone."""
import argparse
import collections
import importlib.metadata
import json
import multiprocessing
import pathlib
import sys

RANDOM_OPERATORS = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
SECONDS_FOR_A_CASE = 60


def stored_value(path, kind):
    import onnx
    from onnx import numpy_helper

    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def agree(ours, stored, rtol, atol, random):
    import numpy as np

    if stored is None or ours is None:
        return ours is stored
    if isinstance(stored, list):
        return isinstance(ours, list) and len(ours) == len(stored) and all(agree(a, b, rtol, atol, random) for a, b in zip(ours, stored))
    ours, stored = np.asarray(ours), np.asarray(stored)
    if ours.shape != stored.shape:
        return False
    if stored.dtype.kind in "OUS":
        return ours.astype(str).tolist() == stored.astype(str).tolist()
    if ours.dtype != stored.dtype:
        return False
    if random:
        return True
    if stored.dtype.kind in "biu":
        return bool((ours == stored).all())
    wide = np.complex128 if stored.dtype.kind == "c" else np.float64
    return bool(np.allclose(ours.astype(wide), stored.astype(wide), rtol=rtol, atol=atol, equal_nan=True))


def draws_at_random(graph):
    for node in graph.node:
        if node.op_type in RANDOM_OPERATORS or (node.op_type == "Dropout" and len(node.input) > 2):
            return True
        if any(draws_at_random(attribute.g) for attribute in node.attribute if attribute.HasField("g")):
            return True
    return False


def is_foreign(kind):
    """Whether numpy lacks the type: bfloat16 and the floats and integers of eight bits and fewer."""
    import onnx

    element = kind.tensor_type.elem_type
    return element != 0 and onnx.helper.tensor_dtype_to_np_dtype(element).isbuiltin != 1


def fed(array):
    """The array as a value of ONNX Runtime: elements that numpy lacks lie in front of a buffer of bytes, packed."""
    import numpy as np
    import onnx
    import onnxruntime

    stored = onnx.numpy_helper.from_array(array)
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array), array
    buffer = np.zeros(array.shape, f"u{array.itemsize}")
    buffer.reshape(-1).view("u1")[: len(stored.raw_data)] = np.frombuffer(stored.raw_data, "u1")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(buffer, stored.data_type), buffer


def fetched(value):
    import ctypes

    import onnx

    if onnx.helper.tensor_dtype_to_np_dtype(value.element_type()).isbuiltin == 1:
        return value.numpy()
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return onnx.numpy_helper.to_array(onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=data))


def outputs_of(session, model, feeds):
    if not any(is_foreign(port.type) for port in [*model.graph.input, *model.graph.output]):
        return session.run(None, feeds)
    kept = {name: fed(array) for name, array in feeds.items()}
    return [fetched(value) for value in session.run_with_ort_values(None, {name: value for name, (value, _) in kept.items()})]


def run_case(case):
    import onnx
    import onnxruntime

    model = onnx.load(case / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(case / "model.onnx"), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return "unsupported", str(error).splitlines()[0]
    tolerance = json.loads((case / "tolerance.json").read_text())
    random = draws_at_random(model.graph)
    for data in sorted(case.glob("test_data_set_*")):
        try:
            feeds = {port.name: stored_value(data / f"input_{i}.pb", port.type) for i, port in enumerate(model.graph.input) if (data / f"input_{i}.pb").exists()}
            outputs = outputs_of(session, model, feeds)
        except Exception as error:
            return "failed", str(error).splitlines()[0]
        for i, port in enumerate(model.graph.output):
            file = data / f"output_{i}.pb"
            if file.exists() and not agree(outputs[i], stored_value(file, port.type), tolerance["rtol"], tolerance["atol"], random):
                return "failed", f"output {port.name} differs"
    return "random" if random else "passed", ""


def run_cases(answers, cases):
    for case in cases:
        answers.send(run_case(case))


def verdicts_of(cases):
    """(outcome, reason) of each case, in order; a new child takes over after one that died or hangs."""
    verdicts = []
    while len(verdicts) < len(cases):
        receiving, sending = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=run_cases, args=(sending, cases[len(verdicts):]))
        child.start()
        sending.close()
        try:
            while len(verdicts) < len(cases) and receiving.poll(SECONDS_FOR_A_CASE):
                verdicts.append(receiving.recv())
        except EOFError:
            pass
        child.kill()
        child.join()
        if len(verdicts) < len(cases):
            verdicts.append(("crashed", "its process died or hung"))
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--names", action="store_true", help="name each case that does not pass")
    arguments = parser.parse_args()
    cases = sorted(path.parent for path in arguments.folder.rglob("model.onnx"))
    verdicts = verdicts_of(cases)
    if arguments.names:
        for case, (outcome, reason) in zip(cases, verdicts):
            if outcome not in ("passed", "random"):
                print(f"{outcome}  {case.name}  {reason}")
    counts = collections.Counter(outcome for outcome, _ in verdicts)
    print(f"onnxruntime {importlib.metadata.version('onnxruntime')}:", ", ".join(f"{counts[key]} {key}" for key in ("passed", "random", "failed", "unsupported", "crashed")), f"of {len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
