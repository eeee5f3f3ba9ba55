#include "config/derived_settings.h"
#include "config/files/map_files.h"
#include "config/options/option_rows.h"

// Tuning by measurement (AOE), the cache of what was compiled, and how operators are compiled.
namespace plimsoll::config {
namespace {

Option AoeConfigFileRow() {
  return {
      .name = "aoe_config_file",
      .type = OptionType::kFile,
      .legal_text =
          "the path of a JSON file with some of tune_ops_name and tune_ops_type, lists, "
          "tune_optimization_level, O1 or O2, and feature, a list of deeper_opat and "
          "nonhomo_split",
      .conflicts = {{.other = "aoe_mode",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return in_force.config.aoe.deeper_opat &&
                                  in_force.config.aoe.mode != AoeSettings::Mode::kOperator;
                         },
                     .why = "the feature deeper_opat needs aoe_mode=2",
                     .remedy = "set aoe_mode=2, or take the feature out of the file"},
                    {.other = "aoe_mode",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return in_force.config.aoe.nonhomo_split &&
                                  in_force.config.aoe.mode != AoeSettings::Mode::kSubgraph;
                         },
                     .why = "the feature nonhomo_split needs aoe_mode=1",
                     .remedy = "set aoe_mode=1, or take the feature out of the file"}},
      .meaning =
          "A file that says which operators are tuned: those named and those of the types "
          "listed, whole words, with the names after compilation; a fused operator with one of "
          "the types too. O1 is for high performance, O2, where nothing is said, normal.",
      .read = [](std::string_view text, const std::string& name,
                 Mistakes& mistakes) -> OptionValue { return ReadAoeTuning(text, name, mistakes); },
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            AoeSettings tuning = std::get<AoeSettings>(value);
            tuning.mode = config.aoe.mode;
            tuning.work_path = config.aoe.work_path;
            config.aoe = std::move(tuning);
          },
  };
}

Option CacheModeRow() {
  return {
      .name = "op_compiler_cache_mode",
      .type = OptionType::kChoice,
      .default_value = "enable",
      .legal = {.words = {"enable", "force", "disable"}},
      .advice = {{.holds =
                      [](const EffectiveConfig& in_force) {
                        return in_force.Value("op_compiler_cache_mode") == "force";
                      },
                  .text = "force empties the cache at every start; other programs that share the "
                          "folder may lose what they use"},
                 {.holds = DebugsOperators,
                  .text = "op_debug_level is not 0, so everything is compiled again",
                  .without_effect = true},
                 {.holds =
                      [](const EffectiveConfig& in_force) {
                        const auto& file = in_force.config.op_debug_config;
                        return file && !file->operators;
                      },
                  .text =
                      "op_debug_config is given without op_debug_list, so everything is compiled "
                      "again",
                  .without_effect = true},
                 {.holds =
                      [](const EffectiveConfig& in_force) {
                        return in_force.config.cache.always_compiled.has_value();
                      },
                  .text = "operators of op_debug_list are compiled again, the others cached"}},
      .meaning =
          "Whether compiled graphs and packed weights are kept on disk and used again. force "
          "empties the cache first. disable neither reads nor writes. disable or force is "
          "recommended for a model that is to be published. Outside of an explicit "
          "NPURunConfig there is no cache until this option or a folder is given.",
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            const auto& word = std::get<std::string>(value);
            config.cache.mode = word == "enable"  ? CacheSettings::Mode::kEnable
                                : word == "force" ? CacheSettings::Mode::kForce
                                                  : CacheSettings::Mode::kDisable;
          },
  };
}

}  // namespace

std::vector<Option> AoeOptions() {
  return {
      {
          .name = "aoe_mode",
          .type = OptionType::kNumber,
          .legal = {.numbers = {1, 2, 4}},
          .environment = EnvironmentVariable{.name = "AOE_MODE"},
          .advice = {{.holds =
                          [](const EffectiveConfig& in_force) {
                            return in_force.config.aoe.mode == AoeSettings::Mode::kGradientSplit;
                          },
                      .text =
                          "there are no gradients to split in one process; by hand they are split "
                          "by set_split_strategy_by_idx or set_split_strategy_by_size",
                      .without_effect = true}},
          .meaning =
              "What is tuned by measurement: 1 subgraphs, 2 operators, 4 the split of gradients "
              "for set_split_strategy_by_idx. It wins over AOE_MODE. Not set: nothing.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.aoe.mode = static_cast<AoeSettings::Mode>(std::get<int64_t>(value));
              },
      },
      {
          .name = "work_path",
          .type = OptionType::kFolder,
          .meaning =
              "The folder for files of tuning; it is not made. Without / in front it lies below "
              "the current folder. Not set: the current folder.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.aoe.work_path = std::get<std::string>(value); },
      },
      AoeConfigFileRow(),
  };
}

std::vector<Option> CompilationOptions() {
  return {
      CacheModeRow(),
      {
          .name = "op_compiler_cache_dir",
          .type = OptionType::kPath,
          .meaning =
              "The folder in which kernel_cache holds the cache; both are made where they are "
              "missing. Its file op_cache.ini, which holds for everybody who uses the folder, "
              "gives max_op_cache_size in MB and remain_cache_size_ratio in percent, 500 and 50 "
              "without it. Not set: kernel_cache_<host id> below ASCEND_CACHE_PATH, else "
              "$HOME/atc_data.",
      },
  };
}

std::vector<Option> ExperimentOptions() {
  return {
      {
          .name = "experimental_config",
          .type = OptionType::kObject,
          .legal_text = "an ExperimentalConfig with any fields: experimental_config.name=value",
          .standing = NoEffect("no field of it has a meaning here"),
          .meaning = "Extensions for debugging: an object of the class ExperimentalConfig. Not "
                     "recommended.",
      },
      {
          .name = "jit_compile",
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .default_value = "auto",
          .legal = {.words = {"auto", "true", "false"}},
          .standing = NoEffect(kPrecompiled),
          .meaning =
              "Whether operators are compiled when a graph is, or ready ones are looked for "
              "first: auto compiles for static shapes and looks first for dynamic ones, true "
              "compiles, false looks first. Meant for large recommendation models only.",
      },
  };
}

}  // namespace plimsoll::config
