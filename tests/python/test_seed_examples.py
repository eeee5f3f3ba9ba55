"""The code examples of the documents, written for this package."""
import os

import numpy
import plimsoll
import pytest
from plimsoll import DumpConfig, ExperimentalConfig, InferenceSession, MemoryConfig, NPURunConfig, ProfilingConfig

pytestmark = pytest.mark.filterwarnings("ignore::plimsoll.NoEffectWarning")


class ParameterServerStrategy:
    """What `distribute` takes: a strategy by the name of its type."""


# Keywords as the documents' examples have them; paths are written where the test runs.
EXAMPLES = [
    {"graph_run_mode": 1}, {"deterministic": 1}, {"external_weight": True}, {"input_fusion_size": 25600}, {"ac_parallel_enable": "1"},
    {"compile_dynamic_mode": True}, {"mix_compile_mode": True}, {"enable_exception_dump": 1}, {"debug_dir": "test"},
    {"export_compile_stat": 1}, {"precision_mode": "allow_mix_precision"}, {"precision_mode_v2": "origin"},
    {"quant_dumpable": "1", "graph_run_mode": 0}, {"buffer_optimize": "l2_optimize"}, {"iterations_per_loop": 1000},
    {"hcom_parallel": True}, {"enable_scope_fusion_passes": "ScopeLayerNormPass,ScopeClipBoxesPass"},
    {"stream_max_parallel_num": "DNN_VM_AICPU:10,AIcoreEngine:1"}, {"is_tailing_optimization": True}, {"enable_small_channel": 0},
    {"variable_placement": "Device"}, {"graph_max_parallel_model_num": 4}, {"aoe_mode": "2"}, {"work_path": "output"},
    {"op_compiler_cache_mode": "enable"}, {"op_compiler_cache_dir": "kernel_cache"}, {"local_rank_id": 0, "local_device_list": "0,1"},
    {"hccl_timeout": 1800}, {"op_wait_timeout": 120}, {"op_execute_timeout": 90}, {"stream_sync_timeout": 60000},
    {"event_sync_timeout": 60000}, {"jit_compile": "auto"}, {"enable_data_pre_proc": True}, {"variable_format_optimize": True},
    {"op_debug_level": 1}, {"op_select_implmode": "high_precision"},
    {"op_select_implmode": "high_precision", "optypelist_for_implmode": "Pooling,SoftmaxV2"}, {"dynamic_input": True},
    {"dynamic_graph_execute_mode": "dynamic_execute"}, {"distribute": ParameterServerStrategy()},
    {"dynamic_inputs_shape_range": "getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]"},
]

FILES = {
    "op_debug_config": ("test0.cfg", "op_debug_config = ccec_g,oom\nop_debug_list=GatherV2,opType::ReduceSum\n"),
    "modify_mixlist": ("ops_info.json", '{"black-list": {"to-remove": ["Xlog1py"], "to-add": ["Matmul", "Cast"]},\n'
                       ' "white-list": {"to-remove": ["Conv2D"], "to-add": ["Bias"]}}\n'),
    "customize_dtypes": ("customize_dtypes.cfg", "# By operator type\nOpType::Relu:InputDtype:float16,int8,OutputDtype:float16,int8\n"),
    "fusion_switch_file": ("fusion_switch.cfg", '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}\n'),
    "op_precision_mode": ("op_precision.ini", "[ByOpType]\noptype1=high_precision\n[ByNodeName]\nnodename1=high_performance\n"),
    "aoe_config_file": ("tuning_config.cfg", '{"tune_ops_name": ["loss/MatMul"], "tune_ops_type": ["Add", "Mul"]}\n'),
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "output").mkdir()


@pytest.mark.parametrize("keywords", EXAMPLES, ids=lambda keywords: ",".join(keywords))
def test_an_example_makes_a_configuration_of_which_a_session_can_be_made(keywords, tiny):
    InferenceSession(tiny, config=NPURunConfig(**keywords))


@pytest.mark.parametrize("name", FILES)
def test_an_example_with_a_file(name, tiny):
    file, text = FILES[name]
    with open(file, "w") as out:
        out.write(text)
    InferenceSession(tiny, config=NPURunConfig(**{name: os.path.abspath(file)}))


def test_the_memory_config_of_the_documents(tiny, image):
    mem_config = MemoryConfig(atomic_clean_policy=0, static_memory_policy=0)
    config = NPURunConfig(memory_config=mem_config, session_config=object())
    assert InferenceSession(tiny, config=config).run(None, {"image": image})[0].shape == (2, 10)


def test_two_sessions_on_two_devices(tiny):
    for device in (0,):
        InferenceSession(tiny, config=NPURunConfig(session_device_id=device, graph_run_mode=0))


def test_the_other_objects(tiny, image):
    config = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path=os.getcwd(), dump_mode="all"),
                          profiling_config=ProfilingConfig(enable_profiling=False), experimental_config=ExperimentalConfig(anything=1),
                          graph_run_mode=0)
    InferenceSession(tiny, config=config).run(None, {"image": image})


def test_the_example_of_the_issue(tiny, image):
    config = NPURunConfig(memory_config=MemoryConfig(static_memory_policy=4), graph_run_mode=0)
    session = InferenceSession(tiny, config=config)
    output, = session.run(None, {"image": image})
    assert numpy.isfinite(output).all() and session.plan.peak_bytes > 0 and session.trim() > 0
    assert plimsoll.plan(tiny, shapes={"batch": 2}, limit="512MiB").peak_bytes == session.plan.peak_bytes
