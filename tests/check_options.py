#!/usr/bin/env python3
"""What is made from the option table, as people and programs meet it: check_options.py PROGRAM

docs/options.md, the list for programs, what is in force, the completion of shells, mistakes told together. Functions r210_... show the
rules of their names (docs/seed-map.md)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
VARIABLES = ("GE_USE_STATIC_MEMORY", "ASCEND_DEVICE_ID", "ASCEND_WORK_PATH", "NPU_COLLECT_PATH", "AOE_MODE", "HCCL_EXEC_TIMEOUT")


def ask(*arguments, code=0, **variables):
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**plain, **variables})
    assert done.returncode == code, f"{arguments} {variables}: exit {done.returncode}, not {code}: {done.stderr.strip()[:400]}"
    return done.stdout, done.stderr


def the_page_is_the_table():
    page = (TOP / "docs" / "options.md").read_text()
    assert page == ask("options", "--markdown")[0], "docs/options.md is old: plimsoll options --markdown > docs/options.md"
    for row in json.loads(ask("options", "--json")[0])["options"]:
        assert f"`{row['name']}`" in page, row["name"]


def programs_read_rows():
    rows = json.loads(ask("options", "--json")[0])["options"]
    fields = ("name", "type", "default", "legal", "standing", "meaning", "level", "key", "group", "env", "deprecated", "seed_index", "seed_default")
    for row in rows:
        assert all(field in row for field in fields), row
        assert row["level"] in ("global", "session", "graph"), row
        assert row["standing"].split(":")[0] in ("acts", "no effect on this device", "deprecated", "not supported"), row
    places = {group: [row["seed_index"] for row in rows if row["group"] == group and row["seed_index"] is not None]
              for group in ("NPURunConfig", "MemoryConfig", "DumpConfig", "ProfilingConfig")}
    counts = {group: len(found) for group, found in places.items()}
    assert counts == {"NPURunConfig": 57, "MemoryConfig": 4, "DumpConfig": 8, "ProfilingConfig": 2}, counts
    assert all(found == list(range(len(found))) for found in places.values()), places
    by_name = {row["name"]: row for row in rows}
    assert by_name["static_memory_policy"]["key"] == "ge.exec.staticMemoryPolicy"
    assert by_name["export_compile_stat"]["default"] == "0" and by_name["export_compile_stat"]["seed_default"] == "1"
    assert by_name["hccl_timeout"]["env"] == "HCCL_EXEC_TIMEOUT"
    assert json.loads(ask("options", "deterministic", "--json")[0])["options"][0]["name"] == "deterministic"


def values_tell_where_they_come_from():
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "run.toml"
        settings.write_text("deterministic = 1\n[graph]\ninput_fusion_size = 7\n")
        asked = ("options", "--effective", "--config", settings, "--set", "external_weight=True")
        told = json.loads(ask(*asked, "--json", ASCEND_DEVICE_ID="0")[0])["effective"]
        assert told["deterministic"]["origin"] == f"{settings}:1:1", told["deterministic"]
        assert told["input_fusion_size"]["level"] == "graph", told["input_fusion_size"]
        assert told["external_weight"]["origin"] == "--set" and told["session_device_id"]["origin"] == "environment"
        text = ask(*asked)[0]
        assert f"{settings}:3:1, graph" in text and "default" in text, text


def ten_mistakes_are_ten_lines():
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "run.json"
        settings.write_text('{"graph_run_mode": 7, "determinstic": 1, "external_weight": "yes",\n "input_fusion_size": -1,'
                            '"memory_config": {"static_memory_policy": 5}, "hccl_timeout": 0, "aoe_mode": 3}')
        bad = ("--set", "op_debug_config=oom", "--set", "variable_placement=Host", "--set", "nonsense")
        for command in (("options", "--effective"), ("plan", TOP / "examples" / "tiny_cnn.onnx", "--shape", "batch=1")):
            lines = ask(*command, "--config", settings, *bad, code=2)[1].strip().splitlines()
            assert "10 mistakes in the configuration" in lines[0] and len(lines) == 11, lines
        assert any("did you mean deterministic?" in line for line in lines), lines
        settings.write_text('{"graph_run_mode": 1,\n "deterministic" 1}')
        assert f"{settings}:2:" in ask("options", "--config", settings, code=6)[1]


def shells_complete_names_and_values():
    script = ask("options", "--completion", "bash")[0]

    def completed(*words):
        line = "COMP_WORDS=(" + " ".join(f"'{word}'" for word in words) + f"); COMP_CWORD={len(words) - 1}; _plimsoll; echo ${{COMPREPLY[@]}}"
        return subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert completed("plimsoll", "opt") == ["options"]
    assert completed("plimsoll", "run", "m.onnx", "--set", "determ") == ["deterministic="]
    assert completed("plimsoll", "run", "m.onnx", "--set", "variable_placement", "=") == ["Device", "Host"]
    assert completed("plimsoll", "run", "m.onnx", "--set", "variable_placement", "=", "H") == ["Host"]
    assert completed("plimsoll", "options", "op_exec") == ["op_execute_timeout"]
    names = {row["name"] for row in json.loads(ask("options", "--json")[0])["options"] if row["type"] != "object"}
    assert names <= set(completed("plimsoll", "options", ""))
    assert ask("options", "--completion", "zsh")[0] == ask("completion", "zsh")[0]


def r210_steps_are_a_multiple_of_the_loop():
    error = ask("train", TOP / "examples" / "tiny_train.onnx", "--steps", 50, "--set", "iterations_per_loop=20", code=2)[1]
    assert "50: it is not a multiple of iterations_per_loop=20" in error, error


def r168_r201_r229_training_is_judged_as_training():
    step = TOP / "examples" / "tiny_train.onnx"
    for given in ("precision_mode=force_fp16", "quant_dumpable=1"):
        assert "graph_run_mode=1 (this command trains)" in ask("train", step, "--set", given, code=2)[1]
    ask("train", step, "--steps", 2, "--set", "enable_small_channel=0")
    ask("train", step, "--steps", 2, "--set", "enable_small_channel=0", "--set", "graph_run_mode=1")
    assert "in inference it is always 1" in ask("plan", step, "--set", "enable_small_channel=0", code=2)[1]


def main():
    for check in (the_page_is_the_table, programs_read_rows, values_tell_where_they_come_from, ten_mistakes_are_ten_lines,
                  shells_complete_names_and_values, r210_steps_are_a_multiple_of_the_loop, r168_r201_r229_training_is_judged_as_training):
        check()
    print("the option table and what is made from it agree")


if __name__ == "__main__":
    main()
