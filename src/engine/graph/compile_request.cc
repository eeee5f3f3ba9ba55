#include "engine/graph/compile_request.h"

#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

Status CheckIndexes(const char* option, const char* what, const std::vector<int>& indexes,
                    size_t count) {
  for (const int index : indexes) {
    if (index >= 0 && static_cast<size_t>(index) < count) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .code = "config.index",
                 .what = "option not accepted",
                 .where = option,
                 .why = StrCat("it names ", what, " ", index, ", and the model has ", count),
                 .remedy = count == 0 ? StrCat("leave ", option, " out")
                                      : StrCat("use numbers from 0 to ", count - 1)};
  }
  return {};
}

template <typename Item>
void Append(const std::vector<Item>& from, std::vector<Item>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

plan::BlockReuseKnobs KnobsOf(const config::BlockReuse& asked) {
  plan::BlockReuseKnobs knobs;
  knobs.use_range = asked.use_range.value_or(knobs.use_range);
  knobs.ascending_sort = asked.ascending_sort.value_or(knobs.ascending_sort);
  knobs.reuse_first_release = asked.reuse_first_release.value_or(knobs.reuse_first_release);
  knobs.memory_priority_mode = asked.memory_priority_mode.value_or(knobs.memory_priority_mode);
  return knobs;
}

// A knob of block reuse without an assigner means that one.
void Choose(const config::RunConfig& config, compile::AssignerChoice& assigner) {
  const bool knobs = config.block_reuse != config::BlockReuse();
  if (knobs) assigner.block_reuse = KnobsOf(config.block_reuse);
  if (!config.memory_assigner.empty()) {
    assigner.name = config.memory_assigner;
  } else if (knobs) {
    assigner.name = "block";
  }
  assigner.batches.merge_continuous &= config.merge_continuous_batches;
  assigner.batches.no_reuse |= !config.batches_share_memory;
  for (const auto& [label, strategy] : config.batch_strategies) {
    assigner.batch_strategies[label] =
        strategy ? plan::BatchStrategy(KnobsOf(*strategy)) : std::nullopt;
  }
}

}  // namespace

compile::PlanOptions PlanOptionsFor(const config::RunConfig& config, compile::PlanOptions base) {
  const config::MemoryConfig& memory = config.memory_config;
  base.memory_priority |=
      memory.memory_optimization_policy == config::MemoryOptimizationPolicy::kMemoryPriority;
  if (config.topo_sorting_mode) {
    base.search_order = false;
    base.order_mode = static_cast<compile::OrderMode>(*config.topo_sorting_mode);
  }
  Choose(config, base.assigner);
  base.input_fusion_size = Bytes(config.input_fusion_size);
  base.lifetimes.clear_together &= !memory.clear_separately;
  base.lifetimes.feature_base_refreshable |= config.feature_base_refreshable;
  compile::ReuseOptions& reuse = base.lifetimes.reuse;
  reuse.disabled |= config.disable_reuse_memory;
  base.in_place &= !reuse.disabled;
  Append(config.no_reuse_nodes, reuse.not_of);
  Append(config.input_reuse_mem_indexes, reuse.inputs);
  Append(config.output_reuse_mem_indexes, reuse.outputs);
  return base;
}

Status CheckReuseIndexes(const graph::Graph& graph, const compile::ReuseOptions& reuse) {
  PLIMSOLL_TRY(CheckIndexes("ge.exec.inputReuseMemIndexes", "input", reuse.inputs,
                            graph.root().inputs.size()));
  return CheckIndexes("ge.exec.outputReuseMemIndexes", "output", reuse.outputs,
                      graph.root().outputs.size());
}

}  // namespace plimsoll::engine
