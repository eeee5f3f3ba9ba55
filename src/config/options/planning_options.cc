#include "config/options/option_rows.h"

// Who places buffers, and how. Keys of our own, in the manner of the graph engine's.
namespace plimsoll::config {
namespace {

constexpr std::string_view kAssigner = "ge.plimsoll.memoryAssigner";

// Whether an assigner is named that takes no knobs of block reuse.
bool NamesNoBlockReuse(const EffectiveConfig& in_force) {
  const std::string& assigner = in_force.config.memory_assigner;
  return !assigner.empty() && assigner != "block";
}

// Whether an assigner is named that does not place batches one by one.
bool NamesNoBatches(const EffectiveConfig& in_force) {
  return NamesNoBlockReuse(in_force) && in_force.config.memory_assigner != "dynamic_batch";
}

Option Knob(std::string_view name, std::string_view meaning,
            bool (*conflict)(const EffectiveConfig&),
            void (*apply)(const OptionValue&, RunConfig&)) {
  return {.name = name,
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .legal = {.numbers = {0, 1}},
          .conflicts = {{.other = kAssigner,
                         .holds = conflict,
                         .why = "only the assigner block has this knob",
                         .remedy = "use ge.plimsoll.memoryAssigner=block, or leave one out"}},
          .meaning = meaning,
          .apply = apply};
}

bool IsOn(const OptionValue& value) { return std::get<int64_t>(value) == 1; }

std::vector<Option> Knobs() {
  return {
      Knob(
          "ge.plimsoll.useRange",
          "Block reuse: 1: a free block serves only buffers of its own size range (the same "
          "power of two). 0, where nothing is set: any that fits in it.",
          [](const EffectiveConfig& in_force) {
            return in_force.config.block_reuse.use_range && NamesNoBlockReuse(in_force);
          },
          [](const OptionValue& value, RunConfig& config) {
            config.block_reuse.use_range = IsOn(value);
          }),
      Knob(
          "ge.plimsoll.ascendingSort",
          "Block reuse: 1: buffers that one node allocates are placed smallest first. 0, where "
          "nothing is set: largest first.",
          [](const EffectiveConfig& in_force) {
            return in_force.config.block_reuse.ascending_sort && NamesNoBlockReuse(in_force);
          },
          [](const OptionValue& value, RunConfig& config) {
            config.block_reuse.ascending_sort = IsOn(value);
          }),
      Knob(
          "ge.plimsoll.reuseFirstRelease",
          "Block reuse: 1: of the free blocks that are large enough, the one released first. 0, "
          "where nothing is set: the smallest.",
          [](const EffectiveConfig& in_force) {
            return in_force.config.block_reuse.reuse_first_release && NamesNoBlockReuse(in_force);
          },
          [](const OptionValue& value, RunConfig& config) {
            config.block_reuse.reuse_first_release = IsOn(value);
          }),
      Knob(
          "ge.plimsoll.memoryPriorityMode",
          "Block reuse: 1, where nothing is set: free blocks may grow, and blocks overlay each "
          "other where their lives allow. 0: blocks keep their size and lie one behind the other.",
          [](const EffectiveConfig& in_force) {
            return in_force.config.block_reuse.memory_priority_mode && NamesNoBlockReuse(in_force);
          },
          [](const OptionValue& value, RunConfig& config) {
            config.block_reuse.memory_priority_mode = IsOn(value);
          }),
  };
}

Option MemoryAssigner() {
  return {.name = kAssigner,
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .legal = {.words = {"hybrid", "exact", "block", "dynamic_batch", "greedy_by_size",
                              "greedy_by_breadth", "greedy_by_area", "greedy_by_length",
                              "greedy_by_start", "greedy_by_end"}},
          .meaning =
              "Who places buffers in memory. Not set: hybrid, which runs several and keeps "
              "the lowest peak; or block, where one of its knobs is set.",
          .apply = [](const OptionValue& value, RunConfig& config) {
            config.memory_assigner = std::get<std::string>(value);
          }};
}

std::vector<Option> Batches() {
  return {
      {
          .name = "ge.plimsoll.batchStrategies",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kBatchStrategies,
          .conflicts = {{.other = kAssigner,
                         .holds =
                             [](const EffectiveConfig& in_force) {
                               return !in_force.config.batch_strategies.empty() &&
                                      NamesNoBatches(in_force);
                             },
                         .why = "this assigner does not place batches one by one",
                         .remedy = "use ge.plimsoll.memoryAssigner=dynamic_batch or block, or "
                                   "leave one out"}},
          .meaning = "How the buffers of single batches are placed, by label: search, block, or "
                     "block reuse with knobs. A gear's label lists its sizes: "
                     "batch=4,rows=128:search. Batches that are not named are placed as all else.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.batch_strategies = std::get<BatchStrategies>(value);
              },
      },
      {
          .name = "ge.plimsoll.mergeContinuousBatches",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .default_value = "1",
          .legal = {.numbers = {0, 1}},
          .meaning = "1: continuous inputs of different batches or gears form large blocks that "
                     "nobody else uses, each batch's aligned to the start; plans tell what that "
                     "costs. 0: each batch's lie where they fit.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.merge_continuous_batches = IsOn(value); },
      },
      {
          .name = "ge.plimsoll.batchesShareMemory",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .default_value = "1",
          .legal = {.numbers = {0, 1}},
          .meaning = "1: batches and gears use the same memory, since one runs at a time. 0: what "
                     "belongs to a batch shares memory with nothing, in its own batch or another.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.batches_share_memory = IsOn(value); },
      },
  };
}

}  // namespace

std::vector<Option> PlanningOptions() {
  std::vector<Option> rows = {MemoryAssigner()};
  for (const auto& part : {Knobs(), Batches()}) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace plimsoll::config
