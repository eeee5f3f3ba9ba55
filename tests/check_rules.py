#!/usr/bin/env python3
"""The seeds' rules as a person meets them at the command line: check_rules.py PROGRAM

Each function r29_... shows the rules of its name (docs/seed-map.md) and raises AssertionError where one does not hold."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from answers import flat

TOP = pathlib.Path(__file__).resolve().parent.parent
CNN = (TOP / "examples" / "tiny_cnn.onnx", "--shape", "batch=1")
CLEARED = (TOP / "examples" / "needs_clearing.onnx",)
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
VARIABLE = "GE_USE_STATIC_MEMORY"


def ask(*arguments, code=0, cwd=None, **variables):
    """Standard output and standard error of a command that ends with this code."""
    plain = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=cwd,
                          env={**plain, **variables})
    assert done.returncode == code, f"{arguments} {variables}: exit {done.returncode}, not {code}: {done.stderr.strip()[:400]}"
    return done.stdout, done.stderr


def refused(*arguments, names=(), **variables):
    """The one line that says why a command did not run."""
    out, error = ask(*arguments, code=2, **variables)
    assert out == "" and len(error.strip().splitlines()) == 1, f"{arguments}: {out!r} {error!r}"
    for name in names:
        assert name in error, f"{arguments} {variables}: {error!r} does not name {name!r}"
    return error


def report(*arguments, **variables):
    return flat(ask(*arguments, "--json", **variables)[0])


def in_force(option, *arguments, **variables):
    rows = json.loads(ask("options", *arguments, "--json", **variables)[0])["options"]
    return next(row["in_force"] for row in rows if row["name"] == option)


def r4_an_explicit_zero_counts_as_set():
    assert report("run", *CNN, GE_USE_STATIC_MEMORY="2")["static_memory_policy"] == 2
    refused("run", *CNN, "--policy", 0, GE_USE_STATIC_MEMORY="2", names=("static_memory_policy=0", f"{VARIABLE}=2"))


def r7_the_report_shows_what_both_policies_take():
    for policy in (0, 1):
        asked = ("plan", *CLEARED, "--set", f"atomic_clean_policy={policy}")
        told = report(*asked)["clearing"]
        assert told["atomic_clean_policy"] == policy and told["cleared_bytes"] == told["area_bytes"] == 4096, told
        assert 0 < told["peak_bytes_policy_1"] <= told["peak_bytes_policy_0"], told
        text = ask(*asked)[0]
        assert "policy 0 takes" in text and "policy 1 takes" in text, text


def r8_atomic_clean_policy_is_zero_or_one():
    for value in ("2", "-1", "yes", "1.5"):
        refused("run", *CNN, "--set", f"atomic_clean_policy={value}", names=("atomic_clean_policy", f"'{value}'", "0, 1"))
    for value in (0, 1):
        ask("run", *CNN, "--set", f"atomic_clean_policy={value}")


def r17_shared_memory_and_parallel_graphs_are_refused_before_any_run():
    for policy in (2, 4, 1):
        refused("run", *CNN, "--policy", policy, "--set", "graph_max_parallel_model_num=2",
                names=("static_memory_policy", "graph_max_parallel_model_num=2"))
    for policy in (0, 3):
        ask("run", *CNN, "--policy", policy, "--set", "graph_max_parallel_model_num=2")


def r18_one_behaves_as_two_and_both_are_shown():
    one, two = (report("run", CNN[0], *CNN, "--policy", policy) for policy in (1, 2))
    assert one["static_memory_policy"] == two["static_memory_policy"] == 2, one
    assert one["peak_reserved_bytes"] == two["peak_reserved_bytes"], (one, two)
    value = in_force("static_memory_policy", "--policy", 1)
    assert (value["value"], value["given"]) == ("2", "1"), value


def r19_help_says_what_policies_3_and_4_cost():
    assert "3 and 4 save memory and may cost time" in " ".join(ask("options", "static_memory_policy")[0].split())


def r20_values_beyond_the_set_are_refused_and_the_set_is_listed():
    for value in ("5", "-1", "two", "2.0", "17179869184"):
        refused("run", *CNN, "--policy", value, names=("static_memory_policy", f"'{value}'", "0, 2, 3, 4 (and 1, the older form of 2)"))


def r21_r22_memory_priority_is_never_above_none():
    for model in (CNN, CLEARED):
        usual = report("plan", *model)["planned_peak_bytes"]
        none = report("plan", *model, "--memory-optimization-policy", "None")["planned_peak_bytes"]
        best = report("plan", *model, "--memory-optimization-policy", "MemoryPriority")["planned_peak_bytes"]
        assert best <= none == usual, (best, none, usual)
    refused("run", *CNN, "--set", "memory_optimization_policy=Speed", names=("memory_optimization_policy", "'Speed'", "MemoryPriority"))


def r29_the_variable_has_the_values_of_the_option():
    for given, policy in (("0", 0), ("2", 2), ("3", 3), ("4", 4), ("1", 2)):
        by_variable = report("run", *CNN, GE_USE_STATIC_MEMORY=given)
        by_option = report("run", *CNN, "--policy", given)
        assert by_variable["static_memory_policy"] == by_option["static_memory_policy"] == policy, by_variable
        assert by_variable["peak_reserved_bytes"] == by_option["peak_reserved_bytes"], (by_variable, by_option)


def r30_unset_and_empty_are_the_default_and_count_as_not_set():
    assert in_force("static_memory_policy")["origin"] == "default"
    assert in_force("static_memory_policy", GE_USE_STATIC_MEMORY="")["origin"] == "default"
    assert report("run", *CNN, "--policy", 2, GE_USE_STATIC_MEMORY="")["static_memory_policy"] == 2


def r31_a_wrong_value_is_refused_with_variable_value_and_set():
    for value in ("5", "-1", "on"):
        refused("run", *CNN, GE_USE_STATIC_MEMORY=value, names=(VARIABLE, f"'{value}'", "0, 2, 3, 4"))


def r32_its_deprecation_is_said_once_whatever_the_number_of_graphs():
    error = ask("run", CNN[0], CNN[0], CNN[0], *CNN[1:], GE_USE_STATIC_MEMORY="3")[1]
    notes = [line for line in error.splitlines() if VARIABLE in line]
    assert len(notes) == 1 and "static_memory_policy" in notes[0], error
    assert VARIABLE not in ask("run", *CNN)[1]


def r33_its_policies_2_and_4_refuse_concurrent_graphs():
    for value in ("2", "4"):
        refused("run", *CNN, "--set", "graph_max_parallel_model_num=2", GE_USE_STATIC_MEMORY=value,
                names=(VARIABLE, "graph_max_parallel_model_num=2"))


def r34_r35_r36_variable_and_option_conflict_and_neither_wins():
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "run.toml"
        for key in ("static_memory_policy", "ge.exec.staticMemoryPolicy"):
            settings.write_text(f"{key} = 3\n" if "." not in key else f'"{key}" = 3\n')
            for value in ("3", "2"):  # agreeing or not
                for way in (("--set", f"{key}=3"), ("--config", settings)):
                    refused("run", *CNN, *way, GE_USE_STATIC_MEMORY=value, names=(f"{key}=3", f"{VARIABLE}={value}", "neither wins"))


def r37_two_names_are_one_option():
    names = [row["name"] for row in json.loads(ask("options", "--json")[0])["options"]]
    assert "static_memory_policy" in names and "ge.exec.staticMemoryPolicy" not in names, names
    assert report("run", *CNN, "--set", "ge.exec.staticMemoryPolicy=3")["static_memory_policy"] == 3
    refused("run", *CNN, "--set", "ge.exec.staticMemoryPolicy=3", "--set", "static_memory_policy=2", names=("one option has two values",))


def r62_only_the_text_one_switches_a_refreshable_base_on():
    for value in ("true", "True", "2", "on", ""):
        refused("run", *CNN, "--set", f"ge.featureBaseRefreshable={value}", names=("ge.featureBaseRefreshable",))
    for value in ("0", "1"):
        ask("run", *CNN, "--set", f"ge.featureBaseRefreshable={value}")
    assert in_force("ge.featureBaseRefreshable")["value"] == "0"


def copied_inputs(folder, sizes):
    """A model that joins bytes of these sizes at a node that cannot take new addresses."""
    inputs = [onnx.helper.make_tensor_value_info(f"x{i}", onnx.TensorProto.UINT8, [size]) for i, size in enumerate(sizes)]
    joined = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, [sum(sizes)])
    node = onnx.helper.make_node("Concat", [value.name for value in inputs], ["y"], axis=0)
    node.metadata_props.add(key="plimsoll.no_address_refresh", value="1")
    graph = onnx.helper.make_graph([node], "joined", inputs, [joined])
    path = pathlib.Path(folder) / "joined.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]), path)
    return path


def r120_input_fusion_size_has_both_its_ends():
    for value in ("-1", "33554433", "much"):
        refused("run", *CNN, "--set", f"input_fusion_size={value}", names=("input_fusion_size", f"'{value}'", "33554432"))
    for value in ("0", "33554432"):
        ask("run", *CNN, "--set", f"input_fusion_size={value}")
    assert in_force("input_fusion_size")["value"] == "131072"


def r121_r122_r123_small_inputs_come_in_one_transfer():
    sizes = [size * 1024 for size in (100, 101, 50, 200, 100, 300, 50, 150, 110, 120)]
    with tempfile.TemporaryDirectory() as folder:
        model = copied_inputs(folder, sizes)
        given = []
        for i, size in enumerate(sizes):
            np.save(pathlib.Path(folder) / f"x{i}.npy", np.full(size, i, np.uint8))
            given += ["--input", f"x{i}={folder}/x{i}.npy"]
        for threshold, transfers, fused in ((100 * 1024, 7, 4), (100 * 1024 - 1, 9, 2), (0, 10, 0)):
            told = report("run", model, *given, "--output", folder, "--set", f"input_fusion_size={threshold}")
            counts = (told["input_transfers"], told["inputs_fused"], told["input_transfer_bytes"])
            assert counts == (transfers, fused, sum(sizes)), (threshold, counts)
            expected = np.concatenate([np.full(size, i, np.uint8) for i, size in enumerate(sizes)])
            assert np.array_equal(np.load(f"{folder}/y.npy"), expected), threshold
        assert "10 inputs of 1.25 MiB in 7 transfers, 4 fused" in ask("run", model, "--set", "input_fusion_size=102400")[0]
    told = report("run", *CNN)
    assert told["input_transfers"] == 0, "what is used in place needs no transfer"


def picked_row(folder, row):
    """A run of a model that picks a row of four, and fails where there is none of that number."""
    folder = pathlib.Path(folder)
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 2]),
              onnx.helper.make_tensor_value_info("row", onnx.TensorProto.INT64, [])]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
    nodes = [onnx.helper.make_node("Neg", ["x"], ["n"], "first"), onnx.helper.make_node("Gather", ["n", "row"], ["y"], "pick", axis=0)]
    graph = onnx.helper.make_graph(nodes, "picked", inputs, [output])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]), folder / "picked.onnx")
    np.save(folder / "x.npy", np.arange(8, dtype=np.float32).reshape(4, 2))
    np.save(folder / "row.npy", np.int64(row))
    return "run", folder / "picked.onnx", "--plain", "--input", f"x={folder}/x.npy", "--input", f"row={folder}/row.npy"


def failed_operator(folder, extra):
    """What a failing run left in a folder: its files, and the array of its first input."""
    made = list(pathlib.Path(folder).glob("exception_info.Gather.pick.*"))
    assert len(made) == 1, made
    files = sorted(path.name for path in made[0].iterdir())
    assert files == sorted([extra, "input.0.npy", "input.1.npy", "output.0.npy"]), files
    assert np.array_equal(np.load(made[0] / "input.0.npy"), -np.arange(8, dtype=np.float32).reshape(4, 2))
    assert np.load(made[0] / "input.1.npy") == 1000
    return made[0]


def r131_r132_r133_a_failing_operator_leaves_its_tensors_in_the_current_folder():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as here:
        ask(*picked_row(folder, 1000), "--set", "enable_exception_dump=0", code=1, cwd=here)
        assert not os.listdir(here)
        error = ask(*picked_row(folder, 1000), "--set", "enable_exception_dump=1", code=1, cwd=here)[1]
        made = failed_operator(here, "description.json")
        assert made.name in error and "Gather" in error, error
        tensors = json.loads((made / "description.json").read_text())["tensors"]
        assert [(one["shape"], one["type"], one["format"]) for one in tensors] == [
            ([4, 2], "float32", "ND"), ([], "int64", "ND"), ([2], "float32", "ND")], tensors


def r134_r135_the_lite_dump_lies_below_the_device():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as work:
        asked = (*picked_row(folder, 1000), "--set", "enable_exception_dump=2")
        ask(*asked, code=1, cwd=here)
        tiling = json.loads((failed_operator(f"{here}/extra-info/data-dump/0", "tiling.json") / "tiling.json").read_text())
        assert tiling["attributes"] == {"axis": 0} and tiling["implementation"], tiling
        ask(*asked, code=1, cwd=here, ASCEND_WORK_PATH=work)
        failed_operator(f"{work}/extra-info/data-dump/0", "tiling.json")


def r136_the_variable_rules_over_the_option():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as collected:
        for mode in (0, 2):
            into = f"{collected}/{mode}"
            ask(*picked_row(folder, 1000), "--set", f"enable_exception_dump={mode}", code=1, cwd=here, NPU_COLLECT_PATH=into)
            failed_operator(into, "description.json")
        assert not os.listdir(here)


def r140_r153_a_run_under_oom_gives_the_same():
    with tempfile.TemporaryDirectory() as folder:
        for line in ("", "op_debug_list = OpType::Gather,first\n"):
            (pathlib.Path(folder) / "oom.cfg").write_text("op_debug_config = oom\n" + line)
            ask(*picked_row(folder, 2), "--set", f"op_debug_config={folder}/oom.cfg", "--output", folder)
            assert np.array_equal(np.load(f"{folder}/y.npy"), [-4, -5])


def r199_runs_write_their_tensors():
    with tempfile.TemporaryDirectory() as folder:
        fields = {"enable_dump": "True", "dump_path": f"{folder}/dump", "dump_mode": "all", "dump_layer": "first other"}
        given = [word for name, value in fields.items() for word in ("--set", f"dump_config.{name}={value}")]
        error = ask(*picked_row(folder, 2), *given)[1]
        assert "'other'" in error, error
        files = {path.name: np.load(path) for path in pathlib.Path(folder, "dump").glob("*/*/0/*.npy")}
        x = np.arange(8, dtype=np.float32).reshape(4, 2)
        assert files.keys() == {"Neg.first.input.0.npy", "Neg.first.output.0.npy"}, files.keys()
        assert np.array_equal(files["Neg.first.input.0.npy"], x) and np.array_equal(files["Neg.first.output.0.npy"], -x)


def r212_steps_asked_for_and_steps_done_are_both_reported():
    for loop in (1, 5):
        told = report("train", TOP / "examples" / "tiny_train.onnx", "--steps", 20, "--set", f"iterations_per_loop={loop}")
        assert told["steps"] == told["steps_done"] == 20, f"loops of {loop}: {told}"


def r280_a_limit_that_is_kept_changes_nothing():
    with tempfile.TemporaryDirectory() as folder:
        limits = [word for name in ("op_execute_timeout=3600", "op_wait_timeout=3600", "stream_sync_timeout=3600000",
                                    "event_sync_timeout=3600000") for word in ("--set", name)]
        ask(*picked_row(folder, 2), *limits, "--output", folder)
        assert np.array_equal(np.load(f"{folder}/y.npy"), [-4, -5])


def main():
    failed = 0
    checks = [value for name, value in globals().items() if re.match(r"r\d+_", name)]
    for one in checks:
        try:
            one()
        except AssertionError as error:
            failed += 1
            print(f"{one.__name__}: {error}")
    print(f"{len(checks)} checks of rules, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
