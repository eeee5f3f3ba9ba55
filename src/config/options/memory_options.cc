#include "config/options/option_rows.h"

// How memory is taken and given back: MemoryConfig and its four fields, weights, inputs.
namespace plimsoll::config {
namespace {

bool SharesOneArena(const RunConfig& config) {
  const StaticMemoryPolicy policy = config.memory_config.static_memory_policy;
  return policy == StaticMemoryPolicy::kSharedStatic ||
         policy == StaticMemoryPolicy::kSharedAndExpandable;
}

Option StaticMemoryPolicyRow() {
  return {
      .name = "static_memory_policy",
      .other_keys = {"ge.exec.staticMemoryPolicy"},
      .group = OptionGroup::kMemoryConfig,
      .type = OptionType::kNumber,
      .default_value = "0",
      .legal = {.numbers = {0, 2, 3, 4}, .older_forms = {{1, 2}}},
      .environment =
          EnvironmentVariable{
              .name = "GE_USE_STATIC_MEMORY",
              .excludes_option = true,
              .deprecation = "GE_USE_STATIC_MEMORY will go; use static_memory_policy instead"},
      .conflicts = {{.other = "graph_max_parallel_model_num",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return SharesOneArena(in_force.config) &&
                                  in_force.config.graph_max_parallel_model_num > 1;
                         },
                     .why = "under policies 2 and 4 graphs share memory and run one at a time",
                     .remedy = "use policy 0 or 3, or graph_max_parallel_model_num=1"}},
      .meaning =
          "How the graphs of a session take their memory. 0: each graph takes what it needs. "
          "2: static-shape graphs share one area as large as the largest of them. 3: "
          "dynamic-shape graphs take from a range that grows, so that sizes leave no gaps. "
          "4: both. 1 means 2. Under 2 and 4 graphs run one at a time; 3 and 4 save memory "
          "and may cost time.",
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            config.memory_config.static_memory_policy =
                static_cast<StaticMemoryPolicy>(std::get<int64_t>(value));
          },
  };
}

Option VariableUse1gHugePageRow() {
  return {
      .name = "variable_use_1g_huge_page",
      .group = OptionGroup::kMemoryConfig,
      .type = OptionType::kNumber,
      .default_value = "0",
      .legal = {.numbers = {0, 1, 2}},
      .meaning =
          "Pages under variables and constants. 0: the system's usual size. 1: pages of "
          "1 GiB, or the run ends. 2: pages of 1 GiB, else of 2 MiB, else the run ends. "
          "Fewer pages make scattered reads of large tables faster.",
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            config.memory_config.variable_use_1g_huge_page =
                static_cast<HugePages>(std::get<int64_t>(value));
          },
  };
}

}  // namespace

std::vector<Option> MemoryConfigFields() {
  return {
      {
          .name = "atomic_clean_policy",
          .group = OptionGroup::kMemoryConfig,
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .meaning =
              "How memory that an operator needs zeroed is cleared. 0: all of it lies in one "
              "area that is cleared once. 1: each operator clears its own just before it "
              "runs, which takes less memory and may take longer.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.memory_config.clear_separately = std::get<int64_t>(value) == 1;
              },
      },
      StaticMemoryPolicyRow(),
      {
          .name = "memory_optimization_policy",
          .group = OptionGroup::kMemoryConfig,
          .type = OptionType::kChoice,
          .default_value = "None",
          .legal = {.words = {"None", "MemoryPriority"}},
          .meaning = "MemoryPriority: planning searches longer for an order and a placement with a "
                     "low peak, and weights are kept packed or plain, whichever is smaller; what "
                     "that takes of the device is never above what None takes.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.memory_config.memory_optimization_policy =
                    std::get<std::string>(value) == "MemoryPriority"
                        ? MemoryOptimizationPolicy::kMemoryPriority
                        : MemoryOptimizationPolicy::kNone;
              },
      },
      VariableUse1gHugePageRow(),
  };
}

std::vector<Option> MemoryOptions() {
  return {
      {
          .name = "memory_config",
          .type = OptionType::kObject,
          .legal_text = "a MemoryConfig, given by its fields: memory_config.static_memory_policy=2",
          .meaning = "How the session takes memory: an object of the class MemoryConfig.",
          .fields = OptionGroup::kMemoryConfig,
      },
      {
          .name = "external_weight",
          .default_value = "False",
          .meaning = "True: constants are written as files below the work folder and mapped from "
                     "there, each once for all graphs that hold it. False: weights stay in the "
                     "graph.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.external_weight = std::get<bool>(value); },
      },
      {
          .name = "input_fusion_size",
          .level = OptionLevel::kGraph,
          .type = OptionType::kNumber,
          .default_value = "131072",
          .legal = {.least = 0, .most = 33554432},
          .meaning =
              "Bytes. Inputs that a run copies come together in one transfer where each is at "
              "most this size; larger ones come alone. 0: every input alone. Inputs that are "
              "used where the caller has them need no transfer. run --json counts the "
              "transfers.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.input_fusion_size = std::get<int64_t>(value); },
      },
  };
}

}  // namespace plimsoll::config
