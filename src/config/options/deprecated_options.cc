#include "config/options/option_rows.h"

// Options that later versions of the documents drop.
namespace plimsoll::config {
namespace {

bool PassedOver(const EffectiveConfig& in_force) { return in_force.Given("op_precision_mode"); }

Option OpDebugLevelRow() {
  return {
      .name = "op_debug_level",
      .type = OptionType::kNumber,
      .legal = {.numbers = {0, 1, 2, 3, 4}},
      .advice = {{.holds =
                      [](const EffectiveConfig& in_force) {
                        return in_force.Value("op_debug_level") == "2" &&
                               AsksForDynamicShapes(in_force);
                      },
                  .text = "2 with dynamic shapes makes kernels that may grow too large to link"}},
      .standing = NoEffect(kPrecompiled),
      .deprecated = "use op_debug_config instead",
      .meaning =
          "What is kept of the compilation of operators, in kernel_meta below debug_dir. 0: "
          "nothing. 1: .cce, _loc.json, .o and .json. 2: the same, compiled with -O0 -g. 3: "
          ".o and .json. 4: these, .cce and _compute.json. 0 or 3 is advised for training, 1 "
          "or 2 to find errors. Not set: off."};
}

std::vector<Option> ImplModeRows() {
  const Advice passed_over = {
      .holds = PassedOver, .text = "op_precision_mode is given and rules", .without_effect = true};
  const Standing one_implementation = NoEffect("each operator has one implementation here");
  return {
      {
          .name = "op_select_implmode",
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .legal = {.words = {"high_precision", "high_performance"}},
          .advice = {passed_over},
          .standing = one_implementation,
          .deprecated = "use op_precision_mode instead",
          .meaning =
              "The implementation of the operators of optypelist_for_implmode. Not set: nothing "
              "is forced, which equals high_performance.",
      },
      {
          .name = "optypelist_for_implmode",
          .level = OptionLevel::kGraph,
          .type = OptionType::kNameList,
          .legal = {.words = {"Pooling", "SoftmaxV2", "LRN", "ROIAlign"}},
          .advice = {passed_over,
                     {.holds =
                          [](const EffectiveConfig& in_force) {
                            return !in_force.Given("op_select_implmode");
                          },
                      .text = "it acts only together with op_select_implmode",
                      .without_effect = true}},
          .standing = one_implementation,
          .deprecated = "use op_precision_mode instead",
          .meaning = "Operator types that op_select_implmode speaks of.",
      },
  };
}

// Ranges of inputs: they act.
std::vector<Option> DynamicInputRows() {
  return {
      {
          .name = "dynamic_input",
          .level = OptionLevel::kGraph,
          .default_value = "False",
          .deprecated = kNoReplacement,
          .meaning = "True: inputs change their shape within dynamic_inputs_shape_range.",
      },
      {
          .name = "dynamic_graph_execute_mode",
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .default_value = "dynamic_execute",
          .legal = {.words = {"dynamic_execute"}},
          .condition = Condition{.other = "dynamic_input", .value = "True"},
          .deprecated = kNoReplacement,
          .meaning = "How a graph with dynamic inputs is compiled: dynamic_execute, the only way, "
                     "compiles it for dynamic_inputs_shape_range.",
      },
      {
          .name = "dynamic_inputs_shape_range",
          .level = OptionLevel::kGraph,
          .type = OptionType::kShapeRanges,
          .advice = {{.holds =
                          [](const EffectiveConfig& in_force) {
                            return in_force.Given("dynamic_dims");
                          },
                      .text = "dynamic_dims is given and rules",
                      .without_effect = true}},
          .condition = Condition{.other = "dynamic_input", .value = "True"},
          .deprecated = kNoReplacement,
          .meaning =
              "The shapes that inputs may have: getnext: lists dataset inputs in the order "
              "of the model, data: lists placeholders in the alphabetical order of their names, "
              "which "
              "all have; a semicolon splits the two; a shape is a list in brackets, where 4 is "
              "a fixed size, 3~5 a range with both ends, -1 any size, and [] a scalar. It holds "
              "for one "
              "graph; with several, give each its own on the level of the graph, as "
              "set_graph_exec_config does.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.dynamic_inputs_shape_range = std::get<ShapeRanges>(value);
              },
      },
  };
}

std::vector<Option> MemorySizeRows() {
  const Standing by_use = NoEffect("memory is taken by actual use");
  return {
      {
          .name = "graph_memory_max_size",
          .type = OptionType::kSize,
          .standing = by_use,
          .deprecated = kNoReplacement,
          .meaning = "Bytes for a network's static memory and its largest dynamic memory, in older "
                     "versions.",
      },
      {
          .name = "variable_memory_max_size",
          .type = OptionType::kSize,
          .standing = by_use,
          .deprecated = kNoReplacement,
          .meaning = "Bytes for variables, in older versions.",
      },
  };
}

}  // namespace

std::vector<Option> DeprecatedOptions() {
  std::vector<Option> rows = {
      {
          .name = "enable_data_pre_proc",
          .default_value = "True",
          .standing = NoEffect("inputs come from the caller; there is no dataset to read"),
          .deprecated = kNoReplacement,
          .meaning =
              "True: data is read on the device, where it comes as a dataset; the condition for "
              "several steps in one call.",
      },
      {
          .name = "variable_format_optimize",
          .standing = NoEffect("weights are packed for the processor when they are loaded"),
          .deprecated = kNoReplacement,
          .meaning = "True: variables are kept in a format that suits the device. Not set: off.",
      },
      OpDebugLevelRow(),
  };
  for (const auto& part : {ImplModeRows(), DynamicInputRows(), MemorySizeRows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace plimsoll::config
