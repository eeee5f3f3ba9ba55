#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace performance_options_test {

using testing::HasSubstr;

std::string Accepted(const std::vector<std::string>& texts) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  return Outcome(ResolveTexts(texts));
}

TEST(PerformanceOptionsTest, R128_MixedComputingAnswersThatNoOtherFrameworkIsHere) {
  EXPECT_EQ(FindOption("mix_compile_mode")->default_value, "False");
  EXPECT_THAT(std::string(FindOption("mix_compile_mode")->meaning),
              HasSubstr("There is no other framework here that could run operators"));
}

TEST(PerformanceOptionsTest, R129_MixedComputingForcesOneIterationPerLoop) {
  EXPECT_THAT(Accepted({"mix_compile_mode=True", "iterations_per_loop=1000"}),
              HasSubstr("use iterations_per_loop=1"));
  EXPECT_EQ(Accepted({"mix_compile_mode=True"}), "accepted");
}

TEST(PerformanceOptionsTest, R130_VariablesOnTheHostDemandMixedComputing) {
  EXPECT_THAT(Accepted({"variable_placement=Host"}), HasSubstr("set mix_compile_mode=True"));
  EXPECT_EQ(Accepted({"variable_placement=Host", "mix_compile_mode=True"}), "accepted");
}

TEST(PerformanceOptionsTest, R214_TheFileOfModesIsNamedByItsPath) {
  const FolderForTests folder;
  const std::string file =
      folder.Write("op_precision.ini", "[ByOpType]\nGather=support_out_of_bound_index\n");
  EXPECT_EQ(Accepted({"op_precision_mode=" + file}), "accepted");
  const std::string bad = folder.Write("bad.ini", "[ByOpType]\nGather=fast\n");
  EXPECT_THAT(Accepted({"op_precision_mode=" + bad}),
              HasSubstr(StrCat("op_precision_mode (--set), ", bad, ":2:1: 'fast' is none of")));
}

TEST(PerformanceOptionsTest, R216_R217_R218_R300_OneImplementationOfEachOperatorIsAnsweredFor) {
  const FolderForTests folder;
  for (const char* mode : {"support_out_of_bound_index", "keep_fp16", "high_precision"}) {
    const std::string file = folder.Write("op_precision.ini", StrCat("[ByOpType]\nA=", mode));
    EXPECT_THAT(NotesOf({"op_precision_mode=" + file}),
                HasSubstr("op_precision_mode has no effect: each operator has one implementation "
                          "here, which computes in float32 and checks indices"));
  }
}

TEST(PerformanceOptionsTest, R220_OnlyRegisteredScopePatternsAreTaken) {
  EXPECT_EQ(Accepted({"enable_scope_fusion_passes=ScopeLayerNormPass,ScopeClipBoxesPass"}),
            "accepted");
  EXPECT_EQ(Accepted({"enable_scope_fusion_passes=ScopeLayerNormPass,ScopePass"}),
            "option refused: enable_scope_fusion_passes (--set): 'ScopePass' is not legal; legal: "
            "ScopeLayerNormPass, ScopeClipBoxesPass, split by commas [config.value]");
}

TEST(PerformanceOptionsTest, R221_R222_ModelsHaveNoScopesAndTheOptionSaysSo) {
  EXPECT_THAT(NotesOf({"enable_scope_fusion_passes=ScopeLayerNormPass"}),
              HasSubstr("enable_scope_fusion_passes has no effect: ONNX graphs have no scopes"));
  EXPECT_THAT(std::string(FindOption("enable_scope_fusion_passes")->meaning),
              HasSubstr("the general ones, which are always on"));
}

TEST(PerformanceOptionsTest, R223_R224_NumbersOfEnginesAreChecked) {
  EXPECT_EQ(Accepted({"stream_max_parallel_num=DNN_VM_AICPU:10,AIcoreEngine:1"}), "accepted");
  EXPECT_THAT(Accepted({"stream_max_parallel_num=Cube:1"}),
              HasSubstr("stream_max_parallel_num (--set): 'Cube:1', 'Cube' is no engine; legal: "
                        "ENGINE:NUMBER split by commas, engines DNN_VM_AICPU and AIcoreEngine"));
  EXPECT_THAT(Accepted({"stream_max_parallel_num=AIcoreEngine:1000000"}),
              HasSubstr(" cores; legal"));
}

TEST(PerformanceOptionsTest, R225_HelpNamesTheNetworksItIsMeantFor) {
  EXPECT_THAT(std::string(FindOption("stream_max_parallel_num")->meaning),
              HasSubstr("Meant for NMT networks only"));
}

TEST(PerformanceOptionsTest, R228_R229_SmallChannelsAreZeroInTrainingAndOneInInference) {
  EXPECT_EQ(Accepted({"enable_small_channel=1"}), "accepted");
  EXPECT_EQ(Accepted({"enable_small_channel=0", "graph_run_mode=1"}), "accepted");
  EXPECT_EQ(Accepted({"enable_small_channel=1", "graph_run_mode=1"}), "accepted");
  EXPECT_EQ(Accepted({"enable_small_channel=0"}),
            "options conflict: enable_small_channel=0 (--set) and graph_run_mode=0 (default): in "
            "inference it is always 1; leave enable_small_channel out, or use graph_run_mode=1 "
            "[config.conflict]");
  EXPECT_THAT(std::string(FindOption("enable_small_channel")->meaning),
              HasSubstr("convolutions with at most 4 channels"));
}

// Branches and loops of ONNX are bodies of their nodes, the new form that the remedy asks for.
TEST(PerformanceOptionsTest, R232_ModelsHaveNoOldStyleControlFlow) {
  EXPECT_THAT(
      std::string(FindOption("variable_placement")->meaning),
      HasSubstr("Branches and loops are no obstacle: ONNX has them in their new form only"));
  EXPECT_EQ(Accepted({"variable_placement=Host", "mix_compile_mode=True"}), "accepted");
}

}  // namespace performance_options_test
}  // namespace plimsoll::config
