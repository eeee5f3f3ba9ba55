#include "config/options/option_rows.h"

// Shapes that change between runs, and operators that run on the host.
namespace plimsoll::config {

std::vector<Option> DynamicShapeOptions() {
  return {
      {
          .name = "ac_parallel_enable",
          .level = OptionLevel::kGraph,
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
          .level = OptionLevel::kGraph,
          .default_value = "False",
          .meaning =
              "True: every dimension of every input counts as unknown (-1), so a static-shape "
              "graph takes inputs of any size. False: shapes stay as the model gives them.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.compile_dynamic_mode = std::get<bool>(value); },
      },
  };
}

std::vector<Option> MixedComputingOptions() {
  return {
      {
          .name = "mix_compile_mode",
          .default_value = "False",
          .conflicts = {{.other = "iterations_per_loop",
                         .holds =
                             [](const EffectiveConfig& in_force) {
                               return in_force.config.mix_compile_mode &&
                                      in_force.config.iterations_per_loop != 1;
                             },
                         .why = "with operators on the host each step returns to it",
                         .remedy = "use iterations_per_loop=1, or mix_compile_mode=False"}},
          .meaning = "True: what belongs to the graph may stay on the host, which "
                     "variable_placement=Host needs. There is no other framework here that could "
                     "run operators, so they run as ever. False: everything is on the device.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.mix_compile_mode = std::get<bool>(value); },
      },
  };
}

// Arguments that the documents name in passing.
std::vector<Option> FurtherOptions() {
  return {
      {
          .name = "dynamic_dims",
          .other_keys = {"ge.dynamicDims"},
          .level = OptionLevel::kGraph,
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
          .name = "session_config",
          .type = OptionType::kText,
          .legal_text = "any object, or any text without control characters",
          .standing = NoEffect("it belongs to another framework"),
          .meaning = "The session object of a framework, as examples of the documents give it.",
      },
  };
}

bool AsksForDynamicShapes(const EffectiveConfig& in_force) {
  return in_force.config.compile_dynamic_mode || in_force.Value("dynamic_input") == "True" ||
         in_force.Given("dynamic_dims");
}

}  // namespace plimsoll::config
