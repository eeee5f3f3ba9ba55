#!/usr/bin/env python3
"""Every command's --json is one object of tests/json_schema.json, where it succeeds and where it fails: check_json.py PROGRAM"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SCHEMA = jsonschema.Draft202012Validator(json.loads((TOP / "tests" / "json_schema.json").read_text()))

# command line (without --json), exit code, code of the error or None. {cnn} and others are files of `files` below.
ANSWERS = [
    ("inspect {cnn}", 0, None),
    ("inspect {cnn} --graph", 0, None),
    ("inspect {cnn} --compiled --shape batch=2", 0, None),
    ("inspect {cnn} --compiled", 2, "inspect.open_sizes"),
    ("inspect {collecting} --compiled", 4, "inspect.compiled"),
    ("inspect {cnn} --weights", 0, None),
    ("inspect {cnn} --weights --graph", 2, "cli.one_way"),
    ("inspect {missing}", 6, "file.missing"),
    ("plan {cnn} --shape batch=2", 0, None),
    ("plan {cnn} {cleared} --shape batch=2 --policy 2 --limit 1GiB", 0, None),
    ("plan {cnn} --shape batch=2 --plain", 0, None),
    ("plan {cnn} --shape batch=2 --limit 1KiB", 3, "plan.limit"),
    ("plan {cnn} --shape batch=2 --policy all", 0, None),
    ("plan {cnn} --shape batch=2 --policy all --set graph_max_parallel_model_num=2", 0, None),
    ("plan {cnn}", 0, None),
    ("plan {cnn} --shape batch=1,2", 0, None),
    ("plan {cnn} --limit 1MiB", 0, None),
    ("plan {cnn} --limit 1KiB", 3, "plan.limit"),
    ("plan {cnn} --plain", 2, "plan.open_sizes"),
    ("plan {collecting}", 0, None),
    ("plan {collecting} --limit 1GiB", 4, "plan.limit_unknown"),
    ("plan {cnn} --shape batch=zz", 2, "shapes.argument"),
    ("run {cnn} --shape batch=2 --repeat 3", 0, None),
    ("run {cnn} {cleared} --shape batch=2 --limit 1GiB", 0, None),
    ("run {cnn} --shape batch=2 --by-operator --profile {folder}/profile", 0, None),
    ("run {collecting}", 0, None),
    ("run {labelled} --batch nowhere", 2, "run.batch"),
    ("run {cnn} --shape batch=2 --limit 1KiB", 3, "plan.limit"),
    ("train {step} --steps 4 --save {folder}/state.plv", 0, None),
    ("train {step} --steps 4 --restore {missing}", 6, "variables.file"),
    ("bench {cnn} {cleared} --shape batch=2 --repeat 3", 0, None),
    ("bench {cnn} {missing} --shape batch=2 --repeat 3", 6, "file.missing"),
    ("pack {table}", 0, None),
    ("pack {table} --capacity 1", 3, "pack.capacity"),
    ("pack {table} -o {folder}/placed.csv", 0, None),
    ("pack --check {folder}/placed.csv", 0, None),
    ("replay {trace}", 0, None),
    ("replay {table}", 6, "replay.bad_trace"),
    ("plimsoll-replay {trace}", 0, None),
    ("plimsoll-replay {table}", 6, "replay.bad_trace"),
    ("plimsoll-replay {trace} --allocator zzz", 2, "replay.usage"),
    ("plimsoll-replay {trace} --colour red", 2, "replay.usage"),
    ("report {folder}/profile --top 2", 0, None),
    ("report {table} --top 2", 6, "csv.heading"),
    ("conformance {folder}/cases", 0, None),
    ("conformance {folder}/cases --filter typo", 2, "conformance.none"),
    ("options", 0, None),
    ("options deterministic", 0, None),
    ("options --effective", 0, None),
    ("options --markdown", 0, None),
    ("options --completion bash", 0, None),
    ("options --policy 5", 2, "config.value"),
    ("doctor", 0, None),
    ("bench {cnn} --shape batch=2 --repeat 3 --threads 1,2 --callers 1,2 --save-baseline {folder}/base.json", 0, None),
    ("bench {cnn} --shape batch=2 --repeat 3 --threads 1 --compare {folder}/table.csv", 6, "bench.baseline"),
    ("compare {cnn} --shape batch=2 --engine plimsoll --against plain", 0, None),
    ("compare {cnn} --shape batch=2 --against plain --tolerance 0 --absolute 0 --engine plimsoll", 5, "compare.different"),
    ("compare {cnn} --shape batch=2 --save {folder}/values", 0, None),
    ("extract {cnn} --to logits -o {folder}/part.onnx", 0, None),
    ("extract {cnn} --to nothing -o {folder}/part.onnx", 2, "extract.name"),
    ("compile {cnn} --shape batch=2 -o {folder}/model.plm", 0, None),
    ("compile {missing} -o {folder}/model.plm", 6, "file.missing"),
    ("run {folder}/model.plm", 0, None),
    ("version", 0, None),
    ("help plan", 0, None),
    ("help plna", 2, "cli.command"),
    ("completion zsh", 0, None),
    ("man", 0, None),
    ("inspct {cnn}", 2, "cli.usage"),
    ("plan", 2, "cli.usage"),
    ("", 2, "cli.usage"),
]
AGAINST_ORT = [
    ("bench {cnn} --shape batch=2 --repeat 3 --against ort", 0, None),
    ("compare {cnn} --shape batch=2", 0, None),
    ("compare {cnn} --shape batch=2 --tolerance 0 --absolute 0", 5, "compare.different"),
]


def collecting_loop():
    """A loop of which only a run tells how many rows it collects."""
    body = helper.make_graph([helper.make_node("Identity", ["going"], ["goes_on"]), helper.make_node("Identity", ["state"], ["next"]),
                              helper.make_node("Identity", ["state"], ["row"])], "body",
                             [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("state", TensorProto.FLOAT, [4])],
                             [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [4]),
                              helper.make_tensor_value_info("row", TensorProto.FLOAT, [4])])
    graph = helper.make_graph([helper.make_node("Loop", ["times", "", "x"], ["last", "rows"], body=body)], "collecting",
                              [helper.make_tensor_value_info("times", TensorProto.INT64, []), helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def write_case(folder):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "case", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    data = folder / "relu" / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "relu" / "model.onnx")
    for name, values in (("input_0", [-1, 2]), ("output_0", [0, 2])):
        (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.array(values, np.float32)).SerializeToString())


def files(folder):
    onnx.save(collecting_loop(), folder / "collecting.onnx")
    write_case(folder / "cases")
    (folder / "table.csv").write_text("id,lower,upper,size\na,0,3,10\nb,3,9,20\nc,0,9,10\n")
    (folder / "trace.csv").write_text("event,id,bytes,stream,time_us\na,1,1000,0,0\nf,1,1000,0,5\nc,1,1000,0,5\n")
    return {"cnn": EXAMPLES / "tiny_cnn.onnx", "cleared": EXAMPLES / "needs_clearing.onnx", "step": EXAMPLES / "tiny_train.onnx",
            "labelled": EXAMPLES / "batch_label.onnx", "missing": folder / "no_such_file", "collecting": folder / "collecting.onnx",
            "table": folder / "table.csv", "trace": folder / "trace.csv", "folder": folder}


def wrong_with(line, expected, error):
    words = shlex.split(line)
    program = PROGRAM
    if words[:1] == ["plimsoll-replay"]:
        program, words[0] = PROGRAM.with_name(words[0]), "replay"
    done = subprocess.run([program, *words[program != PROGRAM:], "--json"], capture_output=True, text=True, timeout=300)
    if done.returncode != expected:
        return f"exit {done.returncode}, not {expected}: {done.stderr.strip()[:300]}"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return f"standard output is no JSON: {done.stdout[:200]!r}"
    if (fault := jsonschema.exceptions.best_match(SCHEMA.iter_errors(answer))) is not None:
        return f"{fault.json_path}: {fault.message[:300]}"
    if answer["command"] != (words[0] if words else ""):
        return f"command {answer['command']!r}"
    told = answer.get("error", {})
    if told.get("code") != error or told.get("exit_code", 0) != expected:
        return f"the error is {told}, expected {error}"
    if error and f"[{error}]" not in done.stderr:
        return f"standard error does not tell the same: {done.stderr[:200]!r}"
    return None


def main():
    cases = ANSWERS + (AGAINST_ORT if sys.argv[2:] != ["--without-ort"] else [])
    failures = []
    with tempfile.TemporaryDirectory(prefix="plimsoll_json_") as folder:
        places = {name: shlex.quote(str(path)) for name, path in files(pathlib.Path(folder)).items()}
        for line, code, error in cases:
            if wrong := wrong_with(line.format(**places), code, error):
                failures.append(f"{line}: {wrong}")
    print("\n".join(failures))
    print(f"{len(cases)} answers, {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
