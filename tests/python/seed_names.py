"""The options of the documents, in their order."""
NPU_RUN_CONFIG = """graph_run_mode session_device_id distribute deterministic memory_config external_weight input_fusion_size
    ac_parallel_enable compile_dynamic_mode mix_compile_mode enable_exception_dump op_debug_config debug_dir export_compile_stat
    precision_mode precision_mode_v2 modify_mixlist enable_reduce_precision customize_dtypes dump_config quant_dumpable
    fusion_switch_file buffer_optimize iterations_per_loop hcom_parallel op_precision_mode enable_scope_fusion_passes
    stream_max_parallel_num is_tailing_optimization enable_small_channel variable_placement graph_max_parallel_model_num
    profiling_config aoe_mode work_path aoe_config_file op_compiler_cache_mode op_compiler_cache_dir local_rank_id
    local_device_list hccl_timeout op_wait_timeout op_execute_timeout stream_sync_timeout event_sync_timeout experimental_config
    jit_compile enable_data_pre_proc variable_format_optimize op_debug_level op_select_implmode optypelist_for_implmode
    dynamic_input dynamic_graph_execute_mode dynamic_inputs_shape_range graph_memory_max_size variable_memory_max_size""".split()
MEMORY_CONFIG = {"atomic_clean_policy": 0, "static_memory_policy": 0, "memory_optimization_policy": None,
                 "variable_use_1g_huge_page": 0}
DUMP_CONFIG = {"enable_dump": False, "dump_path": None, "dump_step": None, "dump_mode": "output", "enable_dump_debug": False,
               "dump_debug_mode": "all", "dump_data": "tensor", "dump_layer": None}
PROFILING_CONFIG = {"enable_profiling": False, "profiling_options": None}
# Defaults that the documents state.
DEFAULTS = {"graph_run_mode": 1, "deterministic": 0, "external_weight": False, "input_fusion_size": 131072, "ac_parallel_enable": 0,
            "compile_dynamic_mode": False, "mix_compile_mode": False, "enable_exception_dump": 2, "export_compile_stat": 1,
            "quant_dumpable": 0, "buffer_optimize": "l2_optimize", "iterations_per_loop": 1, "is_tailing_optimization": False,
            "variable_placement": "Device", "graph_max_parallel_model_num": 1, "op_compiler_cache_mode": "enable",
            "hccl_timeout": 1836, "op_wait_timeout": 120, "stream_sync_timeout": -1, "event_sync_timeout": -1, "jit_compile": "auto",
            "enable_data_pre_proc": True, "dynamic_input": False}
