#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/run_settings.h"

namespace plimsoll::config {

enum class StaticMemoryPolicy {
  kByGraph = 0,              // each graph takes its own
  kSharedStatic = 2,         // static graphs share one arena as large as the largest
  kExpandableDynamic = 3,    // dynamic graphs take from a range that grows by mapping
  kSharedAndExpandable = 4,  // both, over the same physical memory
};

enum class MemoryOptimizationPolicy { kNone, kMemoryPriority };
enum class HugePages { kSystem = 0, kOnly1G = 1, k1GThen2M = 2 };  // variable_use_1g_huge_page
enum class VariablePlacement { kDevice, kHost };

struct MemoryConfig {
  bool clear_separately = false;  // atomic_clean_policy 1
  StaticMemoryPolicy static_memory_policy = StaticMemoryPolicy::kByGraph;
  MemoryOptimizationPolicy memory_optimization_policy = MemoryOptimizationPolicy::kNone;
  HugePages variable_use_1g_huge_page = HugePages::kSystem;
  bool operator==(const MemoryConfig&) const = default;
};

// The choices of block reuse in the planner; none: its own default.
struct BlockReuse {
  std::optional<bool> use_range;
  std::optional<bool> ascending_sort;
  std::optional<bool> reuse_first_release;
  std::optional<bool> memory_priority_mode;
  bool operator==(const BlockReuse&) const = default;
};

// How the buffers of one batch are placed, by its label; none: by search.
using BatchStrategies = std::map<std::string, std::optional<BlockReuse>>;

// One dimension of dynamic_inputs_shape_range: "4" is [4, 4], "3~5" is [3, 5], "-1" is [0, none].
struct DimRange {
  int64_t least = 0;
  std::optional<int64_t> most;
  bool operator==(const DimRange&) const = default;
};

struct ShapeRanges {
  std::vector<std::vector<DimRange>> getnext;  // dataset inputs, in order
  std::vector<std::vector<DimRange>> data;     // placeholder inputs
  bool operator==(const ShapeRanges&) const = default;
};

// What a session obeys, checked and without conflicts. Made by config::Resolve (settings.h); the
// defaults here are those of a session that was given nothing: inference, no file written.
struct RunConfig {
  bool training = false;  // graph_run_mode 1
  std::optional<int> session_device_id;
  bool deterministic = false;
  MemoryConfig memory_config;
  bool external_weight = false;
  std::string work_path;  // ASCEND_WORK_PATH; empty: the current folder
  int64_t input_fusion_size = 131072;
  bool ac_parallel_enable = false;
  bool compile_dynamic_mode = false;
  bool mix_compile_mode = false;
  int64_t iterations_per_loop = 1;
  VariablePlacement variable_placement = VariablePlacement::kDevice;
  int32_t graph_max_parallel_model_num = 1;
  bool feature_base_refreshable = false;
  std::vector<int> input_reuse_mem_indexes;   // ge.exec.inputReuseMemIndexes
  std::vector<int> output_reuse_mem_indexes;  // ge.exec.outputReuseMemIndexes
  bool disable_reuse_memory = false;          // ge.exec.disableReuseMemory
  std::vector<std::string> no_reuse_nodes;    // OP_NO_REUSE_MEM: node names and operator types
  std::optional<int> topo_sorting_mode;       // ge.topoSortingMode; none: search
  std::optional<ShapeRanges> dynamic_inputs_shape_range;  // none: the model's own shapes rule
  std::string memory_assigner;  // ge.plimsoll.memoryAssigner; empty: block with knobs, else hybrid
  BlockReuse block_reuse;       // ge.plimsoll.useRange and the other knobs
  BatchStrategies batch_strategies;      // ge.plimsoll.batchStrategies
  bool merge_continuous_batches = true;  // contiguous groups of different batches form one block
  bool batches_share_memory = true;      // ge.plimsoll.batchesShareMemory
  std::string dynamic_dims;      // gears, "1,128;4,128"; empty: those that the model lists, or none
  ExceptionDump exception_dump;  // enable_exception_dump, NPU_COLLECT_PATH
  std::optional<OpDebugConfig> op_debug_config;  // the file that the option names
  OomCheck oom_check;                            // oom in the file of op_debug_config
  std::string debug_dir;                         // files for debugging; empty: the current folder
  CompileStat export_compile_stat = CompileStat::kNever;
  std::optional<FusionSwitches> fusion_switches;  // fusion_switch_file; none: every pattern is on
  PrecisionSettings precision;
  DumpSettings dump;            // dump_config
  ProfilingSettings profiling;  // profiling_config
  AoeSettings aoe;
  CacheSettings cache;  // op_compiler_cache_mode and _dir
  Timeouts timeouts;
  bool operator==(const RunConfig&) const = default;
};

}  // namespace plimsoll::config
