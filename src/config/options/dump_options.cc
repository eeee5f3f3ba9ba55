#include "config/options/option_rows.h"
#include "plimsoll/base/text.h"

// DumpConfig and ProfilingConfig, by their fields.
namespace plimsoll::config {
namespace {

Option DumpField(std::string_view name, OptionType type, std::string_view default_value,
                 std::string_view meaning, void (*apply)(const OptionValue&, RunConfig&)) {
  return {.name = name,
          .group = OptionGroup::kDumpConfig,
          .type = type,
          .default_value = default_value,
          .meaning = meaning,
          .apply = apply};
}

Option DumpChoice(std::string_view name, std::vector<std::string_view> words,
                  std::string_view default_value, std::string_view meaning,
                  void (*apply)(const OptionValue&, RunConfig&)) {
  Option row = DumpField(name, OptionType::kChoice, default_value, meaning, apply);
  row.legal.words = std::move(words);
  return row;
}

}  // namespace

std::vector<Option> DumpConfigFields() {
  Option layers =
      DumpField("dump_layer", OptionType::kNameList, "",
                "Names of nodes whose tensors are written. Not set: all.",
                [](const OptionValue& value, RunConfig& config) {
                  config.dump.layers.clear();
                  for (const std::string& names : std::get<std::vector<std::string>>(value)) {
                    for (const std::string_view name : Split(names, ' ')) {
                      if (!name.empty()) config.dump.layers.emplace_back(name);
                    }
                  }
                });
  layers.legal_text = "names split by blanks or commas";
  return {
      DumpField("enable_dump", OptionType::kSwitch, "False", "True: runs write tensors.",
                [](const OptionValue& value, RunConfig& config) {
                  config.dump.enabled = std::get<bool>(value);
                }),
      DumpField("dump_path", OptionType::kText, "",
                "The folder that tensors go to. Not set: the current folder.",
                [](const OptionValue& value, RunConfig& config) {
                  config.dump.path = std::get<std::string>(value);
                }),
      DumpField("dump_step", OptionType::kSteps, "",
                "The runs that write tensors, counted from 0: 0|5-10. Not set: every run.",
                [](const OptionValue& value, RunConfig& config) {
                  config.dump.steps = std::get<std::vector<DumpSettings::Steps>>(value);
                }),
      DumpChoice("dump_mode", {"input", "output", "all"}, "output",
                 "Which tensors of an operator are written.",
                 [](const OptionValue& value, RunConfig& config) {
                   const auto& word = std::get<std::string>(value);
                   config.dump.mode = word == "input"    ? DumpSettings::Mode::kInput
                                      : word == "output" ? DumpSettings::Mode::kOutput
                                                         : DumpSettings::Mode::kAll;
                 }),
      DumpField("enable_dump_debug", OptionType::kSwitch, "False",
                "True: the first operator of a run that makes NaN or infinity is told, and its "
                "tensors are written.",
                [](const OptionValue& value, RunConfig& config) {
                  config.dump.find_overflow = std::get<bool>(value);
                }),
      DumpChoice("dump_debug_mode", {"aicore_overflow", "atomic_overflow", "all"}, "all",
                 "Which overflows enable_dump_debug looks for: those of kernels, or all. No "
                 "operator here adds atomically, so atomic_overflow finds none.",
                 [](const OptionValue& value, RunConfig& config) {
                   if (std::get<std::string>(value) == "atomic_overflow") {
                     config.dump.find_overflow = false;
                   }
                 }),
      DumpChoice("dump_data", {"tensor", "stats"}, "tensor",
                 "What is written of a tensor: all of it, or its statistics.",
                 [](const OptionValue& value, RunConfig& config) {
                   config.dump.data = std::get<std::string>(value) == "stats"
                                          ? DumpSettings::Data::kStats
                                          : DumpSettings::Data::kTensor;
                 }),
      layers,
  };
}

std::vector<Option> ProfilingOptions() {
  return {{.name = "profiling_config",
           .type = OptionType::kObject,
           .legal_text = "a ProfilingConfig, given by its fields: "
                         "profiling_config.enable_profiling=True",
           .meaning = "What runs record: an object of the class ProfilingConfig.",
           .fields = OptionGroup::kProfilingConfig}};
}

std::vector<Option> ProfilingConfigFields() {
  return {
      {
          .name = "enable_profiling",
          .group = OptionGroup::kProfilingConfig,
          .default_value = "False",
          .meaning = "True: runs are recorded, and when the session ends it writes "
                     "operator_memory_<stamp>.csv, memory_record_<stamp>.csv, "
                     "static_op_mem_<stamp>.csv, a trace, a memory snapshot and a page "
                     "(docs/profiling.md).",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.profiling.enabled = std::get<bool>(value); },
      },
      {
          .name = "profiling_options",
          .group = OptionGroup::kProfilingConfig,
          .type = OptionType::kText,
          .meaning = "A JSON object: output (the folder for the files; not given: the current "
                     "one), device (the word in the column Device: NPU; not given: CPU or GPU), "
                     "memory_limit (of what is recorded; not given: 64MiB), events (off: memory is "
                     "only counted, and nothing is written). Further names that "
                     "the documents' recorder knows have no effect.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.profiling.options = std::get<std::string>(value);
              },
      },
  };
}

}  // namespace plimsoll::config
