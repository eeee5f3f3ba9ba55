#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/plan_model.h"
#include "config/run_config.h"
#include "engine/debug/run_monitor.h"

namespace plimsoll::engine {

struct LoadOptions {
  bool optimise = true;  // off: the graph as the file has it, node by node
  // The graph is compiled to be looked at: its memory can be taken (Reserve), but it does not run.
  // Constants are neither packed nor copied, only counted, and their data may be missing.
  bool only_plan = false;
  // The form of constants that kernels can pack; none: as memory_optimization_policy says.
  std::optional<compile::WeightForms> weight_forms;
  bool trades_memory = true;  // compile::CompileOptions::trades_memory
  size_t kept_plans = 64;     // sets of shapes that stay compiled; the last one always does
  compile::PlanOptions plan;  // how hard to plan, and what to obey
  bool open_shapes = false;   // compile_dynamic_mode: the sizes of inputs are the caller's choice
  std::optional<config::ShapeRanges> shape_ranges;  // dynamic_inputs_shape_range
  std::string dynamic_dims;                         // gears (gears.h), which rule over ranges
  // ac_parallel_enable: host operators of graphs with open sizes run in parallel with the others,
  // on streams of the session's device.
  bool separate_host_operators = false;
  int threads = 1;             // of each kernel, where it is prepared and where it runs
  bool pin_threads = false;    // kernels::PinScope, of runs
  bool deterministic = false;  // kernels::KernelSite::deterministic
  int64_t steps = 1;           // iterations_per_loop: of one run of a graph that updates variables
  std::shared_ptr<SessionDebug> debug;  // what looks at runs; null: nothing does
  ProfiledGraph profiled;               // what a recorder calls the graph
  std::vector<bool> variables;  // by input: keeps its size whatever is opened; empty: none is one
  compile::TuningOptions tuning;
  compile::FusionSwitches switches;                             // patterns that passes look for
  std::function<void(const compile::FusionCounts&)> on_passes;  // told after load and each compile
};

}  // namespace plimsoll::engine
