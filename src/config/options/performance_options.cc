#include "config/options/option_rows.h"

// Steps per call, where variables live, graphs at once.
namespace plimsoll::config {

std::vector<Option> PerformanceOptions() {
  return {
      {
          .name = "iterations_per_loop",
          .type = OptionType::kNumber,
          .default_value = "1",
          .legal = {.least = 1},
          .meaning = "Training steps that run on the device before the host gets the result, for "
                     "graphs that update variables. The number of steps asked for must be a "
                     "multiple of it; 1 with mix_compile_mode.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.iterations_per_loop = std::get<int64_t>(value); },
      },
      {
          .name = "variable_placement",
          .type = OptionType::kChoice,
          .default_value = "Device",
          .legal = {.words = {"Device", "Host"}},
          .conflicts = {{.other = "mix_compile_mode",
                         .holds =
                             [](const RunConfig& config) {
                               return config.variable_placement == VariablePlacement::kHost &&
                                      !config.mix_compile_mode;
                             },
                         .why = "variables can stay on the host only where operators may",
                         .remedy = "set mix_compile_mode=True, or variable_placement=Device"}},
          .meaning =
              "Where variables live. Host leaves the device's memory to other things; it needs "
              "mix_compile_mode=True.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.variable_placement = std::get<std::string>(value) == "Host"
                                                ? VariablePlacement::kHost
                                                : VariablePlacement::kDevice;
              },
      },
      {
          .name = "graph_max_parallel_model_num",
          .type = OptionType::kNumber,
          .default_value = "1",
          .legal = {.least = 1, .most = std::numeric_limits<int32_t>::max()},
          .meaning =
              "Graphs of a session that may run at the same time, each in a thread of its own. "
              "Above 1 it does not go with static_memory_policy 2 or 4.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.graph_max_parallel_model_num =
                    static_cast<int32_t>(std::get<int64_t>(value));
              },
      },
  };
}

}  // namespace plimsoll::config
