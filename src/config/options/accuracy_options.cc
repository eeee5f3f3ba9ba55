#include <array>

#include "config/files/map_files.h"
#include "config/files/operator_files.h"
#include "config/options/option_rows.h"

// Precision of operators, dumps to compare by, and fusion.
namespace plimsoll::config {
namespace {

struct PrecisionWord {
  std::string_view word;
  PrecisionMode mode;
};

constexpr std::array kPrecisionWords = {
    PrecisionWord{"allow_fp32_to_fp16", PrecisionMode::kAllowFp32ToFp16},
    PrecisionWord{"force_fp16", PrecisionMode::kForceFp16},
    PrecisionWord{"cube_fp16in_fp32out", PrecisionMode::kCubeFp16InFp32Out},
    PrecisionWord{"force_fp32", PrecisionMode::kCubeFp16InFp32Out},
    PrecisionWord{"must_keep_origin_dtype", PrecisionMode::kMustKeepOriginDtype},
    PrecisionWord{"allow_mix_precision_fp16", PrecisionMode::kAllowMixPrecision},
    PrecisionWord{"allow_mix_precision", PrecisionMode::kAllowMixPrecision},
    PrecisionWord{"fp16", PrecisionMode::kForceFp16},
    PrecisionWord{"origin", PrecisionMode::kMustKeepOriginDtype},
    PrecisionWord{"mixed_float16", PrecisionMode::kAllowMixPrecision}};

void ApplyPrecision(const OptionValue& value, RunConfig& config) {
  const auto* found =
      std::ranges::find(kPrecisionWords, std::get<std::string>(value), &PrecisionWord::word);
  config.precision.mode = found->mode;
}

bool IsNotMixed(const EffectiveConfig& in_force) {
  return in_force.config.precision.mode != PrecisionMode::kAllowMixPrecision;
}

Option PrecisionModeRow() {
  return {
      .name = "precision_mode",
      .level = OptionLevel::kGraph,
      .type = OptionType::kChoice,
      .default_value = "allow_fp32_to_fp16",
      .legal = {.words = {"allow_fp32_to_fp16", "force_fp16", "cube_fp16in_fp32out", "force_fp32",
                          "must_keep_origin_dtype", "allow_mix_precision_fp16",
                          "allow_mix_precision"}},
      .conflicts = {{.other = "precision_mode_v2",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return in_force.Given("precision_mode") &&
                                  in_force.Given("precision_mode_v2");
                         },
                     .why = "both set the same thing",
                     .remedy = "keep precision_mode_v2, which is recommended"},
                    {.other = "graph_run_mode",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return in_force.Value("precision_mode") == "force_fp16" &&
                                  in_force.config.training;
                         },
                     .why = "force_fp16 is for online inference only",
                     .remedy = "use graph_run_mode=0, or another precision_mode"}},
      .standing = NoEffect(kNo16BitProducts),
      .meaning =
          "The precision of all operators. force_fp32 and cube_fp16in_fp32out mean the same, "
          "allow_mix_precision and allow_mix_precision_fp16 too; with these loss scaling is "
          "recommended. Single operators keep theirs in a keep_dtype_scope. precision_mode_v2 "
          "is recommended instead.",
      .apply = ApplyPrecision,
  };
}

Option ModifyMixlistRow() {
  return {
      .name = "modify_mixlist",
      .level = OptionLevel::kGraph,
      .type = OptionType::kFile,
      .legal_text =
          "the path of a JSON file with black-list and white-list, each a map of to-remove "
          "and to-add, lists of operator types",
      .advice = {{.holds = IsNotMixed, .text = "mixed precision is off", .without_effect = true}},
      .standing = NoEffect(kNo16BitProducts),
      .meaning =
          "A file that moves operator types between the lists of mixed precision: the trustlist "
          "(white-list) may be reduced, the blocklist (black-list) may not, the graylist "
          "follows the operator before it. What is removed goes to the graylist.",
      .read = [](std::string_view text, const std::string& name,
                 Mistakes& mistakes) -> OptionValue { return ReadMixList(text, name, mistakes); },
      .apply = [](const OptionValue& value,
                  RunConfig& config) { config.precision.mix_list = std::get<MixList>(value); },
  };
}

Option CustomizeDtypesRow() {
  return {
      .name = "customize_dtypes",
      .level = OptionLevel::kGraph,
      .type = OptionType::kFile,
      .legal_text =
          "the path of a file with lines NAME::InputDtype:TYPES,OutputDtype:TYPES and "
          "OpType::TYPE:InputDtype:TYPES,OutputDtype:TYPES",
      .advice = {{.holds =
                      [](const EffectiveConfig& in_force) {
                        return in_force.config.precision.mode ==
                               PrecisionMode::kMustKeepOriginDtype;
                      },
                  .text = "the precision mode keeps every type as it is",
                  .without_effect = true}},
      .standing = NoEffect(kNo16BitProducts),
      .meaning =
          "A file with the types of single operators, by name or by type; a line by name rules. "
          "The other operators keep the precision mode.",
      .read = [](std::string_view text, const std::string& name, Mistakes& mistakes)
          -> OptionValue { return ReadCustomDtypes(text, name, mistakes); },
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            config.precision.custom_dtypes = std::get<CustomDtypes>(value);
          },
  };
}

Option FusionSwitchFileRow() {
  return {
      .name = "fusion_switch_file",
      .level = OptionLevel::kGraph,
      .type = OptionType::kFile,
      .legal = {.plain_path = true},
      .legal_text =
          "the path, of letters, digits, _, -, . and /, of a JSON file with Switch, a map of "
          "GraphFusion and UBFusion, each a map of pattern names and ALL to on or off",
      .meaning =
          "A file that switches fusion patterns off. ALL stands for the patterns of its group "
          "that are not named. Some patterns cannot be switched off; runs tell which.",
      .read = [](std::string_view text, const std::string& name, Mistakes& mistakes)
          -> OptionValue { return ReadFusionSwitches(text, name, mistakes); },
      .apply = [](const OptionValue& value,
                  RunConfig& config) { config.fusion_switches = std::get<FusionSwitches>(value); },
  };
}

}  // namespace

std::vector<Option> AccuracyTuningOptions() {
  return {
      PrecisionModeRow(),
      {
          .name = "precision_mode_v2",
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .legal = {.words = {"fp16", "origin", "cube_fp16in_fp32out", "mixed_float16"}},
          .standing = NoEffect(kNo16BitProducts),
          .meaning =
              "The precision of all operators: fp16 as force_fp16 of precision_mode, in training "
              "too; origin as must_keep_origin_dtype; mixed_float16 as allow_mix_precision. Not "
              "set: precision_mode rules.",
          .apply = ApplyPrecision,
      },
      ModifyMixlistRow(),
      {
          .name = "enable_reduce_precision",
          .standing = NotSupported("the documents know its name alone"),
          .meaning = "Nothing: the documents name it as not supported.",
      },
      CustomizeDtypesRow(),
  };
}

std::vector<Option> AccuracyComparisonOptions() {
  return {
      {
          .name = "dump_config",
          .type = OptionType::kObject,
          .legal_text = "a DumpConfig, given by its fields: dump_config.enable_dump=True",
          .meaning = "Which tensors runs write: an object of the class DumpConfig.",
          .fields = OptionGroup::kDumpConfig,
      },
      {
          .name = "quant_dumpable",
          .type = OptionType::kNumber,
          .default_value = "0",
          .legal = {.numbers = {0, 1}},
          .conflicts = {{.other = "graph_run_mode",
                         .holds =
                             [](const EffectiveConfig& in_force) {
                               return in_force.Value("quant_dumpable") == "1" &&
                                      in_force.config.training;
                             },
                         .why = "it is for inference only",
                         .remedy = "use graph_run_mode=0, or quant_dumpable=0"}},
          .standing =
              NoEffect("no pass fuses quantisation, so what it reads can be dumped either way"),
          .meaning = "1: tensors before quantisation can be dumped. 0: they may be optimised away.",
      },
      FusionSwitchFileRow(),
      {
          .name = "buffer_optimize",
          .level = OptionLevel::kGraph,
          .type = OptionType::kChoice,
          .default_value = "l2_optimize",
          .legal = {.words = {"l2_optimize", "off_optimize"}},
          .standing = NoEffect("this processor manages its caches by itself"),
          .meaning = "Whether data is placed in the device's L2 buffer.",
      },
  };
}

}  // namespace plimsoll::config
