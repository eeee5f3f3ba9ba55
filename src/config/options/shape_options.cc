#include "config/options/option_rows.h"

// Shapes that change between runs, and operators that run on the host.
namespace plimsoll::config {
namespace {

constexpr std::string_view kNoReplacement = "the option will go, nothing replaces it";

}  // namespace

std::vector<Option> ShapeOptions() {
  return {
      {
          .name = "ac_parallel_enable",
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .meaning =
              "1: in a dynamic-shape graph, host operators that do not wait for device "
              "operators run in parallel with them on a stream of their own. 0: all run in turn.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.ac_parallel_enable = std::get<int64_t>(value) == 1;
              },
      },
      {
          .name = "compile_dynamic_mode",
          .default_value = "False",
          .meaning =
              "True: every dimension of every input counts as unknown (-1), so a static-shape "
              "graph takes inputs of any size. False: shapes stay as the model gives them.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.compile_dynamic_mode = std::get<bool>(value); },
      },
      {
          .name = "mix_compile_mode",
          .default_value = "False",
          .conflicts = {{.other = "iterations_per_loop",
                         .holds =
                             [](const RunConfig& config) {
                               return config.mix_compile_mode && config.iterations_per_loop != 1;
                             },
                         .why = "with operators on the host each step returns to it",
                         .remedy = "use iterations_per_loop=1, or mix_compile_mode=False"}},
          .meaning = "True: what belongs to the graph may stay on the host, which "
                     "variable_placement=Host needs. There is no other framework here that could "
                     "run operators, so they run as ever. False: everything is on the device.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.mix_compile_mode = std::get<bool>(value); },
      },
      {
          .name = "dynamic_dims",
          .other_keys = {"ge.dynamicDims"},
          .type = OptionType::kText,
          .meaning =
              "Gears: sets of sizes that a graph with open shapes is compiled for when it is "
              "loaded, in memory as large as the largest needs. 1,128;4,128 lists two, each "
              "with a number for every open size of the inputs, in the order in which they "
              "first occur. Then dynamic_inputs_shape_range has no effect.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.dynamic_dims = std::get<std::string>(value); },
      },
      {
          .name = "dynamic_input",
          .default_value = "False",
          .standing = Standing::kDeprecated,
          .standing_reason = kNoReplacement,
          .meaning = "True: inputs change their shape within dynamic_inputs_shape_range.",
      },
      {
          .name = "dynamic_graph_execute_mode",
          .type = OptionType::kChoice,
          .default_value = "dynamic_execute",
          .legal = {.words = {"dynamic_execute"}},
          .condition = Condition{.other = "dynamic_input", .value = "True"},
          .standing = Standing::kDeprecated,
          .standing_reason = kNoReplacement,
          .meaning = "How a graph with dynamic inputs is compiled: dynamic_execute, the only way, "
                     "compiles it for dynamic_inputs_shape_range.",
      },
      {
          .name = "dynamic_inputs_shape_range",
          .type = OptionType::kShapeRanges,
          .condition = Condition{.other = "dynamic_input", .value = "True"},
          .standing = Standing::kDeprecated,
          .standing_reason = kNoReplacement,
          .meaning =
              "The shapes that inputs may have: getnext: lists dataset inputs, data: lists "
              "placeholders, split by a semicolon; a shape is a list in brackets, where 4 is "
              "a fixed size, 3~5 a range with both ends, -1 any size, and [] a scalar.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.dynamic_inputs_shape_range = std::get<ShapeRanges>(value);
              },
      },
  };
}

}  // namespace plimsoll::config
