#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace accuracy_options_test {

using testing::HasSubstr;
using testing::Not;

RunConfig Accepted(const std::vector<std::string>& texts) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts(texts);
  EXPECT_TRUE(resolved.ok()) << Outcome(resolved);
  return resolved.ok() ? resolved->config : RunConfig();
}

PrecisionMode ModeOf(const std::string& text) { return Accepted({text}).precision.mode; }

TEST(AccuracyOptionsTest, R165_PrecisionModeTakesSevenWords) {
  EXPECT_EQ(Accepted({}).precision.mode, PrecisionMode::kAllowFp32ToFp16);
  for (const char* word :
       {"allow_fp32_to_fp16", "force_fp16", "cube_fp16in_fp32out", "force_fp32",
        "must_keep_origin_dtype", "allow_mix_precision_fp16", "allow_mix_precision"}) {
    Accepted({StrCat("precision_mode=", word)});
  }
  for (const char* word : {"fp16", "Force_fp16", "", "origin"}) {
    EXPECT_THAT(Outcome(ResolveTexts({StrCat("precision_mode=", word)})),
                HasSubstr(StrCat("precision_mode (--set): '", word,
                                 "' is not legal; legal: allow_fp32_to_fp16, force_fp16, "
                                 "cube_fp16in_fp32out, force_fp32, must_keep_origin_dtype, "
                                 "allow_mix_precision_fp16, allow_mix_precision")));
  }
}

TEST(AccuracyOptionsTest, R166_BothPrecisionModesAreRefusedEvenWhereTheyAgree) {
  EXPECT_EQ(
      Outcome(ResolveTexts({"precision_mode=must_keep_origin_dtype", "precision_mode_v2=origin"})),
      "options conflict: precision_mode=must_keep_origin_dtype (--set) and "
      "precision_mode_v2=origin (--set): both set the same thing; keep precision_mode_v2, "
      "which is recommended [config.conflict]");
  EXPECT_THAT(
      Outcome(ResolveTexts({"precision_mode=allow_fp32_to_fp16", "precision_mode_v2=origin"})),
      HasSubstr("config.conflict"));
}

TEST(AccuracyOptionsTest, R168_ForceFp16IsForInferenceOnly) {
  EXPECT_EQ(ModeOf("precision_mode=force_fp16"), PrecisionMode::kForceFp16);
  EXPECT_EQ(Outcome(ResolveTexts({"precision_mode=force_fp16", "graph_run_mode=1"})),
            "options conflict: precision_mode=force_fp16 (--set) and graph_run_mode=1 (--set): "
            "force_fp16 is for online inference only; use graph_run_mode=0, or another "
            "precision_mode [config.conflict]");
  Settings explicit_config = Settings::NpuRunConfig();
  explicit_config.Set("precision_mode", "force_fp16");
  EXPECT_FALSE(Resolve(explicit_config, EnvironmentOf({})).ok()) << "its default is training";
}

TEST(AccuracyOptionsTest, R169_R176_WordsOfOneModeMeanTheSame) {
  EXPECT_EQ(ModeOf("precision_mode=force_fp32"), ModeOf("precision_mode=cube_fp16in_fp32out"));
  EXPECT_EQ(ModeOf("precision_mode=allow_mix_precision"),
            ModeOf("precision_mode=allow_mix_precision_fp16"));
  EXPECT_THAT(std::string(FindOption("precision_mode")->meaning),
              HasSubstr("loss scaling is recommended"));
}

TEST(AccuracyOptionsTest, R178_V2TakesFourWordsAndHasNoDefault) {
  for (const char* word : {"fp16", "origin", "cube_fp16in_fp32out", "mixed_float16"}) {
    Accepted({StrCat("precision_mode_v2=", word)});
  }
  EXPECT_THAT(Outcome(ResolveTexts({"precision_mode_v2=force_fp16"})),
              HasSubstr("legal: fp16, origin, cube_fp16in_fp32out, mixed_float16"));
  EXPECT_EQ(FindOption("precision_mode_v2")->default_value, "");
}

TEST(AccuracyOptionsTest, R179_Fp16OfV2IsForTrainingToo) {
  EXPECT_EQ(Accepted({"precision_mode_v2=fp16", "graph_run_mode=1"}).precision.mode,
            PrecisionMode::kForceFp16);
}

TEST(AccuracyOptionsTest, R180_WordsOfV2MeanModesOfTheFirst) {
  EXPECT_EQ(ModeOf("precision_mode_v2=origin"), ModeOf("precision_mode=must_keep_origin_dtype"));
  EXPECT_EQ(ModeOf("precision_mode_v2=mixed_float16"),
            ModeOf("precision_mode=allow_mix_precision"));
  EXPECT_EQ(ModeOf("precision_mode_v2=cube_fp16in_fp32out"),
            ModeOf("precision_mode=cube_fp16in_fp32out"));
}

// On a processor without 16-bit products every mode leaves float32 as it is, and says so.
TEST(AccuracyOptionsTest,
     R101_R167_R170_R171_R172_R173_R174_R175_R177_PrecisionModesKeepFloat32AndSayWhy) {
  for (const char* text :
       {"precision_mode=allow_fp32_to_fp16", "precision_mode=force_fp16",
        "precision_mode=cube_fp16in_fp32out", "precision_mode=must_keep_origin_dtype",
        "precision_mode_v2=fp16", "precision_mode_v2=mixed_float16"}) {
    EXPECT_THAT(NotesOf({text}),
                HasSubstr("has no effect: no 16-bit products on this processor, float32 kept"))
        << text;
  }
}

constexpr const char* kMixList = R"({"black-list": {"to-add": ["Cast"]}} // lists)";

TEST(AccuracyOptionsTest, R181_TheMixListCountsOnlyInMixedPrecision) {
  const FolderForTests folder;
  const std::string list = "modify_mixlist=" + folder.Write("ops_info.json", kMixList);
  EXPECT_FALSE(Accepted({list}).precision.mix_list);
  EXPECT_THAT(NotesOf({list}), HasSubstr("modify_mixlist has no effect: mixed precision is off"));
  for (const char* mode :
       {"precision_mode=allow_mix_precision", "precision_mode_v2=mixed_float16"}) {
    ASSERT_TRUE(Accepted({list, mode}).precision.mix_list);
    EXPECT_EQ(Accepted({list, mode}).precision.mix_list->black_to_add,
              std::vector<std::string>{"Cast"});
    EXPECT_THAT(NotesOf({list, mode}), Not(HasSubstr("mixed precision is off")));
  }
}

TEST(AccuracyOptionsTest, R183_R184_R185_R186_R187_R188_ListsAreAnsweredForWithout16BitProducts) {
  const FolderForTests folder;
  const std::string list = "modify_mixlist=" + folder.Write("ops_info.json", kMixList);
  EXPECT_THAT(NotesOf({list, "precision_mode=allow_mix_precision"}),
              HasSubstr("modify_mixlist has no effect: no 16-bit products on this processor"));
}

TEST(AccuracyOptionsTest, R189_ReducedPrecisionIsKnownAndNotSupported) {
  EXPECT_THAT(NotesOf({"enable_reduce_precision=True"}),
              HasSubstr("enable_reduce_precision is not supported"));
  EXPECT_THAT(StandingText(*FindOption("enable_reduce_precision")), HasSubstr("not supported: "));
}

constexpr const char* kDtypes = "OpType::Relu:InputDtype:float16,int8,OutputDtype:float16,int8\n";

TEST(AccuracyOptionsTest, R190_TypesOfOperatorsComeFromAFile) {
  const FolderForTests folder;
  const std::string file = folder.Write("customize_dtypes.cfg", kDtypes);
  ASSERT_TRUE(Accepted({"customize_dtypes=" + file}).precision.custom_dtypes);
  EXPECT_THAT(Outcome(ResolveTexts({"customize_dtypes=" + folder.path()})),
              HasSubstr("it is a folder"));
  EXPECT_THAT(Outcome(ResolveTexts({"customize_dtypes=/dev/zero"})),
              HasSubstr("is no regular file"));
  EXPECT_THAT(
      Outcome(ResolveTexts({"customize_dtypes=/nowhere.cfg"})),
      HasSubstr("customize_dtypes (--set): '/nowhere.cfg': No such file or directory; legal: "
                "the path of a file with lines NAME::InputDtype"));
}

TEST(AccuracyOptionsTest, R194_R196_R197_R198_CustomizedTypesAreAnsweredForWithout16BitProducts) {
  const FolderForTests folder;
  const std::string file = "customize_dtypes=" + folder.Write("c.cfg", kDtypes);
  EXPECT_THAT(NotesOf({file}),
              HasSubstr("customize_dtypes has no effect: no 16-bit products on this processor"));
}

TEST(AccuracyOptionsTest, R195_CustomizedTypesHaveNoEffectWhereTypesAreKept) {
  const FolderForTests folder;
  const std::string file = "customize_dtypes=" + folder.Write("c.cfg", kDtypes);
  for (const char* keep : {"precision_mode=must_keep_origin_dtype", "precision_mode_v2=origin"}) {
    EXPECT_FALSE(Accepted({file, keep}).precision.custom_dtypes);
    EXPECT_THAT(NotesOf({file, keep}), HasSubstr("the precision mode keeps every type as it is"));
  }
  EXPECT_THAT(NotesOf({file}), Not(HasSubstr("keeps every type")));
}

TEST(AccuracyOptionsTest, R199_DumpConfigIsAnObjectGivenByItsFields) {
  const RunConfig config =
      Accepted({"dump_config.enable_dump=True", "dump_path=/d", "dump_step=0|5-10", "dump_mode=all",
                "dump_config.dump_data=stats", "dump_layer=conv1,fc"});
  EXPECT_EQ(config.dump, (DumpSettings{true,
                                       "/d",
                                       {{0, 0}, {5, 10}},
                                       DumpSettings::Mode::kAll,
                                       DumpSettings::Data::kStats,
                                       {"conv1", "fc"}}));
  EXPECT_EQ(Accepted({}).dump, DumpSettings());
  EXPECT_EQ(Accepted({"dump_layer=conv1 fc  last"}).dump.layers,
            (std::vector<std::string>{"conv1", "fc", "last"}));
  EXPECT_TRUE(Accepted({"enable_dump_debug=True"}).dump.find_overflow);
  EXPECT_TRUE(
      Accepted({"enable_dump_debug=True", "dump_debug_mode=aicore_overflow"}).dump.find_overflow);
  EXPECT_FALSE(
      Accepted({"enable_dump_debug=True", "dump_debug_mode=atomic_overflow"}).dump.find_overflow);
  EXPECT_THAT(Outcome(ResolveTexts({"dump_debug_mode=none"})),
              HasSubstr("legal: aicore_overflow, atomic_overflow, all"));
  EXPECT_THAT(Outcome(ResolveTexts({"dump_config=1"})),
              HasSubstr("dump_config (--set): '1' is no object; legal: a DumpConfig, given by its "
                        "fields"));
  EXPECT_THAT(Outcome(ResolveTexts({"dump_mode=outputs"})), HasSubstr("legal: input, output, all"));
  EXPECT_THAT(Outcome(ResolveTexts({"dump_config.deterministic=1"})), HasSubstr("unknown option"));
}

TEST(AccuracyOptionsTest, R200_R201_QuantDumpableIsForInferenceOnly) {
  EXPECT_THAT(Outcome(ResolveTexts({"quant_dumpable=2"})), HasSubstr("legal: 0, 1"));
  EXPECT_EQ(FindOption("quant_dumpable")->default_value, "0");
  Accepted({"quant_dumpable=1"});
  Accepted({"quant_dumpable=0", "graph_run_mode=1"});
  EXPECT_EQ(Outcome(ResolveTexts({"quant_dumpable=1", "graph_run_mode=1"})),
            "options conflict: quant_dumpable=1 (--set) and graph_run_mode=1 (--set): it is for "
            "inference only; use graph_run_mode=0, or quant_dumpable=0 [config.conflict]");
}

TEST(AccuracyOptionsTest, R202_TheFusionFileHasAPlainPathAndOtherCharactersAreNamed) {
  const FolderForTests folder;
  const std::string file = folder.Write(
      "fusion_switch.cfg", R"({"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"}}})");
  const auto switches = Accepted({"fusion_switch_file=" + file}).fusion_switches;
  ASSERT_TRUE(switches);
  EXPECT_TRUE(switches->graph_fusion.IsOn("SoftmaxFusionPass"));
  EXPECT_FALSE(switches->graph_fusion.IsOn("Other"));
  const std::string odd = folder.Write("fusion switch.cfg", "{}");
  EXPECT_THAT(Outcome(ResolveTexts({"fusion_switch_file=" + odd})),
              HasSubstr("holds ' '; legal: "));
  EXPECT_THAT(Outcome(ResolveTexts({"fusion_switch_file=/a:b"})), HasSubstr("holds ':'"));
  EXPECT_FALSE(Accepted({}).fusion_switches);
}

TEST(AccuracyOptionsTest, R208_BufferOptimizeTakesTwoWords) {
  EXPECT_EQ(FindOption("buffer_optimize")->default_value, "l2_optimize");
  Accepted({"buffer_optimize=off_optimize"});
  EXPECT_THAT(Outcome(ResolveTexts({"buffer_optimize=off"})),
              HasSubstr("legal: l2_optimize, off_optimize"));
}

}  // namespace accuracy_options_test
}  // namespace plimsoll::config
