"""NPURunConfig and its objects: the documents' names, order and defaults; the library's own checks; the command line's answer."""
import inspect
import json
import subprocess
import sys

import plimsoll
import pytest
import seed_names


def signature(cls):
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def in_order(given, wanted):
    return [name for name in given if name in wanted] == [name for name in wanted if name in given]


def test_the_table_has_every_option_in_the_documents_order():
    names = list(signature(plimsoll.NPURunConfig))
    assert [name for name in seed_names.NPU_RUN_CONFIG if name not in names] == []
    assert in_order(names, seed_names.NPU_RUN_CONFIG)


def test_defaults_are_the_documents():
    given = signature(plimsoll.NPURunConfig)
    assert {name: given[name] for name in seed_names.DEFAULTS} == seed_names.DEFAULTS


@pytest.mark.parametrize("name", ["MEMORY_CONFIG", "DUMP_CONFIG", "PROFILING_CONFIG"])
def test_the_objects_of_a_configuration(name):
    cls = {"MEMORY_CONFIG": plimsoll.MemoryConfig, "DUMP_CONFIG": plimsoll.DumpConfig, "PROFILING_CONFIG": plimsoll.ProfilingConfig}[name]
    assert list(signature(cls).items()) == list(getattr(seed_names, name).items())


def test_arguments_by_place_and_by_name():
    assert plimsoll.MemoryConfig(1, 2) == plimsoll.MemoryConfig(atomic_clean_policy=1, static_memory_policy=2)
    assert plimsoll.MemoryConfig(1, 2) != plimsoll.MemoryConfig(1)
    config = plimsoll.MemoryConfig(static_memory_policy=4)
    assert (config.static_memory_policy, config.atomic_clean_policy) == (4, 0)
    assert repr(config) == "MemoryConfig(static_memory_policy=4)"
    with pytest.raises(AttributeError):
        config.nothing
    with pytest.raises(plimsoll.UsageError, match="by its place and by its name"):
        plimsoll.MemoryConfig(1, atomic_clean_policy=1)
    with pytest.raises(plimsoll.UsageError, match="arguments"):
        plimsoll.MemoryConfig(1, 2, None, 0, 5)


@pytest.mark.parametrize("make, words", [
    (lambda: plimsoll.MemoryConfig(static_memory_policy=7), ["static_memory_policy", "7", "0, 2, 3, 4", "program"]),
    (lambda: plimsoll.NPURunConfig(static_memory_polcy=2), ["static_memory_polcy"]),
    (lambda: plimsoll.NPURunConfig(graph_run_mod=2), ["did you mean graph_run_mode?"]),
    (lambda: plimsoll.NPURunConfig(input_fusion_size=33554433), ["input_fusion_size", "33554432"]),
    (lambda: plimsoll.NPURunConfig(external_weight="maybe"), ["external_weight", "maybe"]),
    (lambda: plimsoll.NPURunConfig(graph_max_parallel_model_num=0), ["graph_max_parallel_model_num", "2147483647"]),
    (lambda: plimsoll.NPURunConfig(memory_config=plimsoll.MemoryConfig(static_memory_policy=2), graph_max_parallel_model_num=2),
     ["static_memory_policy", "graph_max_parallel_model_num"])])
def test_mistakes_are_refused_when_the_object_is_made(make, words):
    with pytest.raises(plimsoll.UsageError) as refused:
        make()
    assert refused.value.code.startswith("config.")
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_what_a_session_refuses_is_refused(tiny, tmp_path):
    with pytest.raises(plimsoll.UsageError, match="no_such_option"):
        plimsoll.InferenceSession(tiny, config={"no_such_option": 1})
    (tmp_path / "run.toml").write_text("static_memory_policy = \n")
    with pytest.raises(plimsoll.BadFileError, match="run.toml:1"):
        plimsoll.InferenceSession(tiny, config=tmp_path / "run.toml")
    with pytest.raises(plimsoll.UsageError, match="NPURunConfig"):
        plimsoll.InferenceSession(tiny, config=5)


def command_line(*arguments):
    answer = subprocess.run([sys.executable, "-m", "plimsoll", "options", "--json", *arguments], capture_output=True, text=True, check=True)
    return {row["name"]: row["in_force"] for row in json.loads(answer.stdout)["options"]}


def values(effective):
    return {name: None if row is None else row["value"] for name, row in effective.items()}


def test_python_and_the_command_line_have_the_same_effective_configuration(tiny, tmp_path):
    (tmp_path / "run.json").write_text('{"NPURunConfig": {"memory_config": {"static_memory_policy": 4}, "graph_run_mode": 0}}')
    explicit = plimsoll.NPURunConfig(memory_config=plimsoll.MemoryConfig(static_memory_policy=4), graph_run_mode=0)
    from_file = values(command_line("--config", str(tmp_path / "run.json")))
    assert values(explicit.effective()) == from_file
    assert values(plimsoll.InferenceSession(tiny, config=tmp_path / "run.json").effective_config()) == from_file
    assert values(plimsoll.InferenceSession(tiny).effective_config()) == values(command_line())
    assert values(plimsoll.InferenceSession(tiny, config={"deterministic": 1}).effective_config()) == values(
        command_line("--set", "deterministic=1"))


def test_each_value_knows_where_it_comes_from(monkeypatch):
    monkeypatch.setenv("ASCEND_DEVICE_ID", "0")
    effective = plimsoll.NPURunConfig(deterministic=1).effective()
    assert effective["deterministic"]["origin"] == "program"
    assert effective["session_device_id"]["origin"] == "environment"
    assert effective["graph_run_mode"]["origin"] == "default" and effective["graph_run_mode"]["value"] == "1"


def test_what_has_no_effect_says_so_once(tiny):
    program = f"""
import warnings, plimsoll
for _ in range(2):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        config = plimsoll.NPURunConfig(buffer_optimize="off_optimize", graph_run_mode=0)
        plimsoll.InferenceSession({tiny!r}, config=config)
    print([(warning.category.__name__, warning.filename) for warning in said if "buffer_optimize" in str(warning.message)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[('NoEffectWarning', '<string>')]", "[]"], done.stdout
    assert "buffer_optimize" not in done.stderr


def test_every_option_is_documented():
    for cls in (plimsoll.NPURunConfig, plimsoll.MemoryConfig):
        assert all(f"\n{name}: " in cls.__doc__ for name in signature(cls))
