#include "config/files/operator_files.h"
#include "config/options/option_rows.h"

// What is looked at and written when something goes wrong.
namespace plimsoll::config {
namespace {

bool ChecksOverwrites(const EffectiveConfig& in_force) { return in_force.config.oom_check.enabled; }

bool CompilesForDebugging(const EffectiveConfig& in_force) {
  const auto& file = in_force.config.op_debug_config;
  return file && (file->ccec_O0 || file->ccec_g);
}

bool AsksForKernelFiles(const EffectiveConfig& in_force) {
  const auto& file = in_force.config.op_debug_config;
  return file && (file->dump_bin || file->dump_cce || file->dump_loc || file->check_flag ||
                  CompilesForDebugging(in_force));
}

Option OpDebugConfigRow() {
  return {
      .name = "op_debug_config",
      .type = OptionType::kFile,
      .legal_text =
          "the path of a .cfg file, not the list itself, with a line op_debug_config = "
          "some of oom, dump_bin, dump_cce, dump_loc, ccec_O0, ccec_g and check_flag split "
          "by commas, oom not with ccec_O0, and perhaps a line op_debug_list = "
          "NAME,OpType::TYPE",
      .conflicts = {{.other = "NPU_COLLECT_PATH",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return ChecksOverwrites(in_force) && in_force.Given("NPU_COLLECT_PATH");
                         },
                     .why = "oom does not work while NPU_COLLECT_PATH is set",
                     .remedy = "unset NPU_COLLECT_PATH, or take oom out of the file"},
                    {.other = "op_debug_level",
                     .holds =
                         [](const EffectiveConfig& in_force) {
                           return ChecksOverwrites(in_force) &&
                                  in_force.Value("op_debug_level") == "2";
                         },
                     .why = "oom does not go with op_debug_level 2",
                     .remedy = "use another op_debug_level, or take oom out of the file"}},
      .advice = {{.holds =
                      [](const EffectiveConfig& in_force) {
                        return CompilesForDebugging(in_force) && AsksForDynamicShapes(in_force);
                      },
                  .text = "ccec_O0 and ccec_g with dynamic shapes make kernels that may grow too "
                          "large to link"},
                 {.holds = AsksForKernelFiles,
                  .text = "dump_bin, dump_cce, dump_loc, ccec_O0, ccec_g and check_flag have no "
                          "effect: kernels are precompiled here"}},
      .meaning =
          "A file that switches on checks of operators, all or those it lists. oom: writes "
          "outside of a tensor are caught. The others concern files of kernels that are "
          "compiled, which go below debug_dir.",
      .read = [](std::string_view text, const std::string& name, Mistakes& mistakes)
          -> OptionValue { return ReadOpDebugConfig(text, name, mistakes); },
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            const auto& file = std::get<OpDebugConfig>(value);
            config.op_debug_config = file;
            config.oom_check = {file.oom, file.oom ? file.operators : std::nullopt};
            config.cache.always_compiled = file.operators;
          },
  };
}

}  // namespace

std::vector<Option> DebuggingOptions() {
  return {
      {
          .name = "enable_exception_dump",
          .type = OptionType::kNumber,
          .default_value = "0",
          .npu_run_config_default = "2",
          .legal = {.numbers = {0, 1, 2}},
          .advice = {{.holds =
                          [](const EffectiveConfig& in_force) {
                            return in_force.Given("NPU_COLLECT_PATH");
                          },
                      .text = "NPU_COLLECT_PATH is set: 1 holds, and files go to that folder",
                      .without_effect = true}},
          .meaning =
              "What is written of an operator that fails. 0: nothing. 1: inputs, outputs, their "
              "descriptions and workspace, in the current folder. 2: inputs, outputs, workspace "
              "and tiling data, in extra-info/data-dump/<device_id> below ASCEND_WORK_PATH or "
              "the current folder.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.exception_dump.mode =
                    static_cast<ExceptionDump::Mode>(std::get<int64_t>(value));
              },
      },
      OpDebugConfigRow(),
      {
          .name = "debug_dir",
          .type = OptionType::kText,
          .standing = NoEffect("kernels are precompiled here, so there are no files of theirs"),
          .meaning =
              "The folder for files for debugging. Not set: ASCEND_WORK_PATH, else the current "
              "folder. Kernels are precompiled here, so it holds no .o, .json and .cce files.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.debug_dir = std::get<std::string>(value); },
      },
      {
          .name = "export_compile_stat",
          .type = OptionType::kNumber,
          .default_value = "0",
          .npu_run_config_default = "1",
          .legal = {.numbers = {0, 1, 2}},
          .meaning =
              "When fusion_result.json is written, in the current folder or as "
              "FE/<pid>fusion_result.json below ASCEND_WORK_PATH. 0: never. 1: when the program "
              "ends normally. 2: as soon as a graph is compiled.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.export_compile_stat = static_cast<CompileStat>(std::get<int64_t>(value));
              },
      },
  };
}

}  // namespace plimsoll::config
