#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace deprecated_options_test {

using testing::HasSubstr;
using testing::Not;

std::string Accepted(const std::vector<std::string>& texts) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  return Outcome(ResolveTexts(texts));
}

TEST(DeprecatedOptionsTest, R100_EachSaysThatItWillGoAndWhatReplacesIt) {
  int deprecated = 0;
  for (const Option& option : OptionTable()) {
    EXPECT_EQ(option.section == "Deprecated options", !option.deprecated.empty()) << option.name;
    deprecated += option.deprecated.empty() ? 0 : 1;
  }
  EXPECT_EQ(deprecated, 10);
  EXPECT_THAT(NotesOf({"op_select_implmode=high_precision"}),
              HasSubstr("op_select_implmode is deprecated: use op_precision_mode instead"));
  EXPECT_THAT(NotesOf({"op_debug_level=1"}),
              HasSubstr("op_debug_level is deprecated: use op_debug_config instead"));
  EXPECT_THAT(NotesOf({"dynamic_input=True"}),
              HasSubstr("dynamic_input is deprecated: the option will go, nothing replaces it"));
}

TEST(DeprecatedOptionsTest, R286_R287_WhatPreparesDataAndVariablesAnswersThatItHasNoEffect) {
  EXPECT_EQ(FindOption("enable_data_pre_proc")->default_value, "True");
  EXPECT_THAT(NotesOf({"enable_data_pre_proc=True"}), HasSubstr("there is no dataset to read"));
  EXPECT_EQ(FindOption("variable_format_optimize")->default_value, "");
  EXPECT_THAT(NotesOf({"variable_format_optimize=True"}),
              HasSubstr("weights are packed for the processor when they are loaded"));
  EXPECT_THAT(Outcome(ResolveTexts({"variable_format_optimize=on"})), HasSubstr("True, False"));
}

TEST(DeprecatedOptionsTest, R288_TheDebugLevelGoesFromZeroToFourAndIsUnset) {
  EXPECT_EQ(FindOption("op_debug_level")->default_value, "");
  for (const char* level : {"0", "1", "2", "3", "4"}) {
    EXPECT_EQ(Accepted({StrCat("op_debug_level=", level)}), "accepted");
  }
  EXPECT_THAT(Accepted({"op_debug_level=5"}), HasSubstr("legal: 0, 1, 2, 3, 4"));
}

TEST(DeprecatedOptionsTest,
     R289_R290_R291_R292_R293_R296_R297_R298_DebugLevelsAnswerThatKernelsArePrecompiled) {
  for (const char* level : {"0", "1", "2", "3", "4"}) {
    EXPECT_THAT(NotesOf({StrCat("op_debug_level=", level)}, {{"NPU_COLLECT_PATH", "/c"}}),
                HasSubstr("op_debug_level has no effect: kernels are precompiled here, so none is "
                          "compiled, kept or written"));
  }
}

TEST(DeprecatedOptionsTest, R294_HelpAdvisesLevels) {
  EXPECT_THAT(std::string(FindOption("op_debug_level")->meaning),
              HasSubstr("0 or 3 is advised for training, 1 or 2 to find errors"));
}

TEST(DeprecatedOptionsTest, R295_LevelTwoWithDynamicShapesIsWarnedOf) {
  EXPECT_THAT(NotesOf({"op_debug_level=2", "compile_dynamic_mode=True"}),
              HasSubstr("kernels that may grow too large to link"));
  EXPECT_THAT(NotesOf({"op_debug_level=2"}), Not(HasSubstr("too large")));
  EXPECT_THAT(NotesOf({"op_debug_level=1", "compile_dynamic_mode=True"}),
              Not(HasSubstr("too large")));
}

TEST(DeprecatedOptionsTest, R299_TheImplementationIsOneOfTwoAndUnset) {
  EXPECT_EQ(FindOption("op_select_implmode")->default_value, "");
  EXPECT_EQ(Accepted({"op_select_implmode=high_performance"}), "accepted");
  EXPECT_THAT(Accepted({"op_select_implmode=high"}),
              HasSubstr("legal: high_precision, high_performance"));
  const LogCapture quiet([](LogLevel, std::string_view) {});
  EXPECT_FALSE(ResolveTexts({})->config.precision.op_precision) << "nothing is forced";
}

TEST(DeprecatedOptionsTest, R301_TheListTakesFourTypes) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts({"op_select_implmode=high_precision",
                                      "optypelist_for_implmode=Pooling,SoftmaxV2,LRN,ROIAlign"});
  ASSERT_TRUE(resolved.ok()) << Outcome(resolved);
  EXPECT_EQ(resolved->config.precision.op_precision->Find("x", "SoftmaxV2"),
            ImplMode::kHighPrecision);
  EXPECT_EQ(Outcome(ResolveTexts(
                {"op_select_implmode=high_precision", "optypelist_for_implmode=Pooling,Conv"})),
            "option refused: optypelist_for_implmode (--set): 'Conv' is not legal; legal: Pooling, "
            "SoftmaxV2, LRN, ROIAlign, split by commas [config.value]");
}

TEST(DeprecatedOptionsTest, R302_TheListAloneSaysThatItHasNoEffect) {
  EXPECT_THAT(NotesOf({"optypelist_for_implmode=LRN"}),
              HasSubstr("optypelist_for_implmode has no effect: it acts only together with "
                        "op_select_implmode"));
  EXPECT_THAT(NotesOf({"optypelist_for_implmode=LRN", "op_select_implmode=high_precision"}),
              Not(HasSubstr("acts only together")));
}

TEST(DeprecatedOptionsTest, R219_TheFileOfModesRulesAndTheOthersSaySo) {
  const FolderForTests folder;
  const std::string file =
      "op_precision_mode=" + folder.Write("op_precision.ini", "[ByOpType]\nLRN=keep_fp16\n");
  const std::vector<std::string> all = {file, "op_select_implmode=high_precision",
                                        "optypelist_for_implmode=LRN"};
  EXPECT_THAT(NotesOf(all),
              HasSubstr("op_select_implmode has no effect: op_precision_mode is given and rules"));
  EXPECT_THAT(NotesOf(all),
              HasSubstr("optypelist_for_implmode has no effect: op_precision_mode is given and "
                        "rules"));
  const LogCapture quiet([](LogLevel, std::string_view) {});
  EXPECT_EQ(ResolveTexts(all)->config.precision.op_precision->Find("x", "LRN"),
            ImplMode::kKeepFp16);
}

TEST(DeprecatedOptionsTest, R303_DynamicInputIsASwitchThatIsOff) {
  EXPECT_EQ(FindOption("dynamic_input")->default_value, "False");
  EXPECT_EQ(Accepted({"dynamic_input=True"}), "accepted");
  EXPECT_THAT(Accepted({"dynamic_input=1"}), HasSubstr("legal: True, False"));
}

TEST(DeprecatedOptionsTest, R304_TheExecuteModeHasOneWordAndNeedsDynamicInput) {
  EXPECT_THAT(Accepted({"dynamic_graph_execute_mode=lazy"}), HasSubstr("legal: dynamic_execute"));
  EXPECT_THAT(NotesOf({"dynamic_graph_execute_mode=dynamic_execute"}),
              HasSubstr("dynamic_graph_execute_mode has no effect: dynamic_input is not True"));
  EXPECT_THAT(NotesOf({"dynamic_graph_execute_mode=dynamic_execute", "dynamic_input=True"}),
              Not(HasSubstr("no effect")));
}

// Inputs of ONNX models always have names, so no order but the alphabetical one is needed.
TEST(DeprecatedOptionsTest, R310_R312_EveryInputOfAModelHasAName) {
  EXPECT_THAT(LegalText(*FindOption("dynamic_inputs_shape_range")), HasSubstr("data:"));
  EXPECT_THAT(std::string(FindOption("dynamic_inputs_shape_range")->meaning),
              HasSubstr("placeholders in the alphabetical order of their names, which all have"));
}

TEST(DeprecatedOptionsTest, R314_WithGearsRangesSayThatTheyHaveNoEffect) {
  const std::vector<std::string> both = {"dynamic_input=True", "dynamic_dims=1;4",
                                         "dynamic_inputs_shape_range=data:[1~8]"};
  EXPECT_THAT(
      NotesOf(both),
      HasSubstr("dynamic_inputs_shape_range has no effect: dynamic_dims is given and rules"));
}

TEST(DeprecatedOptionsTest, R315_SizesOfOldConfigurationsAreReadAndHaveNoEffect) {
  for (const char* name : {"graph_memory_max_size", "variable_memory_max_size"}) {
    const std::string given = StrCat(name, "=26*1024*1024*1024");
    EXPECT_THAT(NotesOf({given}),
                HasSubstr(StrCat(name, " has no effect: memory is taken by actual use")));
    const LogCapture quiet([](LogLevel, std::string_view) {});
    EXPECT_EQ(ResolveTexts({given})->Value(name), "27917287424");
    EXPECT_EQ(Outcome(ResolveTexts({StrCat(name, "=26GB")})),
              StrCat("option refused: ", name,
                     " (--set): '26GB', a factor is no whole number; legal: bytes, a whole number "
                     "or a product such as 26*1024*1024*1024 [config.value]"));
    EXPECT_FALSE(ResolveTexts({StrCat(name, "=-1")}).ok());
  }
}

}  // namespace deprecated_options_test
}  // namespace plimsoll::config
