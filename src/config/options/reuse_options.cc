#include "config/options/option_rows.h"

// What the plan may put at the same place, and in which order nodes run.
namespace plimsoll::config {
namespace {

std::vector<int> Indexes(const OptionValue& value) {
  const auto& numbers = std::get<std::vector<int64_t>>(value);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::vector<Option> ReuseOptions() {
  return {
      {
          .name = "ge.featureBaseRefreshable",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .meaning =
              "1: the base of the feature map may change between runs, so what needs a fixed "
              "address gets memory of its own. 0: it does not change.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.feature_base_refreshable = std::get<int64_t>(value) == 1;
              },
      },
      {
          .name = "ge.exec.inputReuseMemIndexes",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumberList,
          .meaning = "Inputs of the graph, counted from 0, whose memory the graph may write over "
                     "once they have been read.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.input_reuse_mem_indexes = Indexes(value); },
      },
      {
          .name = "ge.exec.outputReuseMemIndexes",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumberList,
          .meaning =
              "Outputs of the graph, counted from 0, whose memory the graph may use for other "
              "values until the output is written.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.output_reuse_mem_indexes = Indexes(value); },
      },
      {
          .name = "ge.exec.disableReuseMemory",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .meaning = "1: no two values share memory. The peak is the sum of all values; useful to "
                     "find out whether a wrong result comes from sharing.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.disable_reuse_memory = std::get<int64_t>(value) == 1;
              },
      },
      {
          .name = "ge.topoSortingMode",
          .group = OptionGroup::kGraphEngine,
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .legal = {.numbers = {0, 1, 2, 3}},
          .meaning = "The order in which nodes run: 0 breadth first, 1 depth first, 2 depth first "
                     "from the outputs, 3 as near to the model's own order as can be. Not set: an "
                     "order with a low peak is searched.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.topo_sorting_mode = static_cast<int>(std::get<int64_t>(value));
              },
      },
  };
}

}  // namespace plimsoll::config
