#include "config/files/operator_files.h"
#include "config/options/option_rows.h"

// Steps per call, implementations, where variables live, graphs at once.
namespace plimsoll::config {
namespace {

Option HcomParallelRow() {
  return {.name = "hcom_parallel",
          .standing = NoEffect(kOneDevice),
          .meaning =
              "True: gradients are exchanged while forward and backward passes go on. False is "
              "advised for small networks."};
}

Option OpPrecisionModeRow() {
  return {
      .name = "op_precision_mode",
      .level = OptionLevel::kGraph,
      .type = OptionType::kFile,
      .legal_text =
          "the path of a file with sections [ByOpType] and [ByNodeName] and lines "
          "operator = high_precision, high_performance, support_out_of_bound_index, "
          "keep_fp16 or super_performance",
      .standing = NoEffect("each operator has one implementation here, which computes in float32 "
                           "and checks indices"),
      .meaning =
          "The implementation of single operators, by node or by type; a node's entry "
          "rules. It rules over op_select_implmode and optypelist_for_implmode.",
      .read = [](std::string_view text, const std::string& name, Mistakes& mistakes)
          -> OptionValue { return ReadOpPrecision(text, name, mistakes); },
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            config.precision.op_precision = std::get<OpPrecision>(value);
          }};
}

Option EnableSmallChannelRow() {
  return {
      .name = "enable_small_channel",
      .level = OptionLevel::kGraph,
      .type = OptionType::kNumber,
      .legal = {.numbers = {0, 1}},
      .conflicts = {{.other = "graph_run_mode",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return in_force.Value("enable_small_channel") == "0" &&
                                  !in_force.config.training;
                         },
                     .why = "in inference it is always 1",
                     .remedy = "leave enable_small_channel out, or use graph_run_mode=1"}},
      .standing = NoEffect("convolutions with few channels have kernels of their own, chosen by "
                           "shape"),
      .meaning =
          "1: convolutions with at most 4 channels are made faster. Not set: 0 in training, "
          "where 1 is not advised, and 1 in inference, where it cannot be changed."};
}

}  // namespace

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
      HcomParallelRow(),
      OpPrecisionModeRow(),
      {
          .name = "enable_scope_fusion_passes",
          .level = OptionLevel::kGraph,
          .type = OptionType::kNameList,
          .legal = {.words = {"ScopeLayerNormPass", "ScopeClipBoxesPass"}},
          .standing =
              NoEffect("ONNX graphs have no scopes; what can be fused is found by its form"),
          .meaning =
              "Scope fusion patterns that are switched on beside the general ones, which are "
              "always on.",
      },
      {
          .name = "stream_max_parallel_num",
          .type = OptionType::kEngineCounts,
          .standing = NoEffect("one pool of threads runs all operators of a session"),
          .meaning =
              "Operators that the AI CPU and the AI Core engine run at once; an engine that is "
              "not named runs 1. Meant for NMT networks only.",
      },
      {
          .name = "is_tailing_optimization",
          .default_value = "False",
          .standing = NoEffect(kOneDevice),
          .meaning =
              "True: what does not need the last part of the gradients runs while that part is "
              "exchanged. It must equal the optimizer's flag of the same name. Meant for BERT "
              "networks only.",
      },
      EnableSmallChannelRow(),
      {
          .name = "variable_placement",
          .type = OptionType::kChoice,
          .default_value = "Device",
          .legal = {.words = {"Device", "Host"}},
          .conflicts = {{.other = "mix_compile_mode",
                         .holds =
                             [](const EffectiveConfig& in_force) {
                               const RunConfig& config = in_force.config;
                               return config.variable_placement == VariablePlacement::kHost &&
                                      !config.mix_compile_mode;
                             },
                         .why = "variables can stay on the host only where operators may",
                         .remedy = "set mix_compile_mode=True, or variable_placement=Device"}},
          .meaning =
              "Where variables live. Host leaves the device's memory to other things; it needs "
              "mix_compile_mode=True. Branches and loops are no obstacle: ONNX has them in their "
              "new "
              "form only.",
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
