#include "config/options/option_rows.h"

// The session as a whole: what it is for, where it runs, whether it repeats itself to the byte.
namespace plimsoll::config {

std::vector<Option> BasicOptions() {
  return {
      {
          .name = "graph_run_mode",
          .type = OptionType::kNumber,
          .default_value = "0",
          .npu_run_config_default = "1",
          .legal = {.numbers = {0, 1}},
          .meaning =
              "What the session is for: 0 inference, 1 training. Training keeps variables in "
              "the session and updates them in place. A session that is given nothing means "
              "inference; inside an explicit NPURunConfig the default is training.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.training = std::get<int64_t>(value) == 1; },
      },
      {
          .name = "session_device_id",
          .type = OptionType::kNumber,
          .legal = {.least = 0, .most = std::numeric_limits<int>::max()},
          .environment = EnvironmentVariable{.name = "ASCEND_DEVICE_ID"},
          .meaning = "The device on which the session runs, counted from 0. It wins over "
                     "ASCEND_DEVICE_ID; sessions of one process may each name another device. Not "
                     "set: the first device.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.session_device_id = static_cast<int>(std::get<int64_t>(value));
              },
      },
      {
          .name = "distribute",
          .level = OptionLevel::kGlobal,
          .type = OptionType::kChoice,
          .legal = {.words = {"ParameterServerStrategy"}},
          .legal_text = "a ParameterServerStrategy object, or the name of that class",
          .standing = NoEffect(kOneDevice),
          .meaning = "The strategy of distributed training with parameter servers and workers.",
      },
      {
          .name = "deterministic",
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .meaning = "1: the same input gives the same bytes in every run on the same hardware, "
                     "with any number of threads; it may run slower. Operators that draw random "
                     "numbers are not fixed by it: give them a seed too.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.deterministic = std::get<int64_t>(value) == 1; },
      },
  };
}

}  // namespace plimsoll::config
