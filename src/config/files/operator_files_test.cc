#include "config/files/operator_files.h"

#include <gtest/gtest.h>

#include "config/files/reading_for_tests.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace operator_files_test {

using Words = std::vector<std::string>;

TEST(OperatorFilesTest, R138_ALineOfOptionsSplitByCommasWithBlanksAndComments) {
  const OpDebugConfig config =
      MustRead(ReadOpDebugConfig, "# checks\n\n  op_debug_config =  ccec_g , oom \r\n");
  EXPECT_TRUE(config.ccec_g && config.oom);
  EXPECT_FALSE(config.dump_cce || config.dump_loc || config.ccec_O0 || config.check_flag);
  EXPECT_EQ(
      WrongWith(ReadOpDebugConfig, "\nop_debug_config=oom,ccec_h,dump\nx=1\nnonsense\n"),
      "f:4:1: 'nonsense' is no line key = value\n"
      "f:2:1: 'ccec_h' is none of oom, dump_bin, dump_cce, dump_loc, ccec_O0, ccec_g, "
      "check_flag, did you mean ccec_g?\n"
      "f:2:1: 'dump' is none of oom, dump_bin, dump_cce, dump_loc, ccec_O0, ccec_g, check_flag\n"
      "f:3:1: 'x' is none of op_debug_config, op_debug_list");
  EXPECT_EQ(WrongWith(ReadOpDebugConfig, "op_debug_list=a\n"),
            "f: it has no line op_debug_config = ...");
  EXPECT_EQ(WrongWith(ReadOpDebugConfig, "op_debug_config=oom\nop_debug_config=oom\n"),
            "f:2:1: op_debug_config comes a second time");
  EXPECT_EQ(WrongWith(ReadOpDebugConfig, "op_debug_config=oom,\n"),
            "f:1:1: an item of 'oom,' is empty");
}

TEST(OperatorFilesTest, R139_SevenOptionsAreKnown) {
  const OpDebugConfig config = MustRead(
      ReadOpDebugConfig, "op_debug_config=dump_bin,dump_cce,dump_loc,ccec_O0,ccec_g,check_flag");
  EXPECT_TRUE(config.dump_bin && config.dump_cce && config.dump_loc && config.ccec_O0 &&
              config.ccec_g && config.check_flag);
  EXPECT_TRUE(MustRead(ReadOpDebugConfig, "op_debug_config=oom").oom);
}

TEST(OperatorFilesTest, R147_TheFirstSampleOfTheDocumentsIsRefused) {
  EXPECT_EQ(WrongWith(ReadOpDebugConfig, "op_debug_config = ccec_O0,ccec_g,oom\n"),
            "f:1:1: ccec_O0 and oom do not go together");
}

TEST(OperatorFilesTest, R153_R154_R155_R156_AListOfNamesAndTypesHoldsNoOther) {
  const OpDebugConfig config = MustRead(
      ReadOpDebugConfig, "op_debug_config= ccec_g,oom\nop_debug_list=GatherV2,opType::ReduceSum\n");
  ASSERT_TRUE(config.operators);
  EXPECT_EQ(config.operators->names, Words{"GatherV2"});
  EXPECT_EQ(config.operators->types, Words{"ReduceSum"});
  EXPECT_TRUE(config.operators->Holds("GatherV2", "Gather"));
  EXPECT_TRUE(config.operators->Holds("sum_1", "ReduceSum"));
  EXPECT_FALSE(config.operators->Holds("ReduceSum", "Add"));
  EXPECT_FALSE(config.operators->Holds("a", "GatherV2"));
  EXPECT_EQ(MustRead(ReadOpDebugConfig, "op_debug_config=oom\nop_debug_list=OpType::A,b,OpType::C")
                .operators->types,
            (Words{"A", "C"}));
  EXPECT_FALSE(MustRead(ReadOpDebugConfig, "op_debug_config=oom").operators);
  EXPECT_EQ(WrongWith(ReadOpDebugConfig, "op_debug_config=oom\nop_debug_list=OpType::"),
            "f:2:1: OpType:: names no type");
}

TEST(OperatorFilesTest, R191_R192_R193_TypesOfOperatorsByNameAndByType) {
  const CustomDtypes dtypes = MustRead(
      ReadCustomDtypes,
      "# By operator name\n"
      "resnet_v1_50/block1/unit_3/bottleneck_v1/Relu::InputDtype:float16,int8,OutputDtype:float16,"
      "int8\n"
      "# By operator type\n"
      "OpType::Relu:InputDtype:float32,int8OutputDtype:float32\n");
  const OperatorDtypes by_name{{"float16", "int8"}, {"float16", "int8"}};
  const OperatorDtypes by_type{{"float32", "int8"}, {"float32"}};
  const char* name = "resnet_v1_50/block1/unit_3/bottleneck_v1/Relu";
  ASSERT_NE(dtypes.Find(name, "Relu"), nullptr);
  EXPECT_EQ(*dtypes.Find(name, "Relu"), by_name) << "the name rules";
  ASSERT_NE(dtypes.Find("other", "Relu"), nullptr);
  EXPECT_EQ(*dtypes.Find("other", "Relu"), by_type);
  EXPECT_EQ(dtypes.Find("other", "Add"), nullptr);
}

TEST(OperatorFilesTest, CustomizedTypesTellEveryBadLine) {
  EXPECT_EQ(
      WrongWith(ReadCustomDtypes,
                "Relu:InputDtype:float16,OutputDtype:float16\n"
                "OpType::InputDtype:float16\n"
                "a::InputDtype:float17,OutputDtype:float16\n"
                "a::InputDtype:float16\n"
                "b::InputDtype:float16,OutputDtype:\n"),
      "f:1:1: no line NAME::InputDtype:...,OutputDtype:...\n"
      "f:2:1: no line OpType::TYPE:InputDtype:...,OutputDtype:...\n"
      "f:3:1: 'float17' is none of float16, float32, float, bfloat16, double, bool, int4, int8, "
      "int16, int32, int64, uint8, uint16, uint32, uint64, string, did you mean float16?\n"
      "f:4:1: OutputDtype: is missing\n"
      "f:4:1: a comes a second time\n"
      "f:5:1: an item of '' is empty");
}

TEST(OperatorFilesTest, R214_R215_ModesByTypeAndByNodeWhichRules) {
  const OpPrecision precision = MustRead(ReadOpPrecision,
                                         "[ByOpType]\noptype1=high_precision\n"
                                         "optype2=high_performance\n"
                                         "optype4=support_out_of_bound_index\n"
                                         "[ByNodeName]\nnodename1=high_precision\n"
                                         "nodename2=keep_fp16\nnodename4=super_performance\n");
  EXPECT_EQ(precision.Find("nodename2", "optype2"), ImplMode::kKeepFp16) << "the node rules";
  EXPECT_EQ(precision.Find("other", "optype4"), ImplMode::kSupportOutOfBoundIndex);
  EXPECT_EQ(precision.Find("nodename4", "x"), ImplMode::kSuperPerformance);
  EXPECT_EQ(precision.Find("other", "x"), std::nullopt);
  EXPECT_EQ(
      WrongWith(ReadOpPrecision,
                "a=high_precision\n[ByOpTypes]\nb=high_precision\n[ByOpType]\n"
                "c=high_precison\nd=keep_fp16\nd=keep_fp16\n[ByNodeName\n"),
      "f:8:1: the section has no ]\n"
      "f:1:1: section '' is none of ByOpType, ByNodeName\n"
      "f:3:1: section 'ByOpTypes' is none of ByOpType, ByNodeName, did you mean ByOpType?\n"
      "f:5:1: 'high_precison' is none of high_precision, high_performance, "
      "support_out_of_bound_index, keep_fp16, super_performance, did you mean high_precision?\n"
      "f:7:1: d comes a second time");
}

TEST(OperatorFilesTest, R258_R259_TheCacheFileCountsOnlyWhenBothValuesAreValid) {
  const CacheLimits limits =
      MustRead(ReadOpCacheIni,
               "# head\n[op_compiler_cache]\nmax_op_cache_size=600\nremain_cache_size_ratio=80\n");
  EXPECT_EQ(limits, (CacheLimits{600, 80, false}));
  const auto with = [](std::string_view size, std::string_view ratio) {
    return WrongWith(ReadOpCacheIni, StrCat("[op_compiler_cache]\nmax_op_cache_size=", size,
                                            "\nremain_cache_size_ratio=", ratio, "\n"));
  };
  for (const char* ratio : {"1", "100"}) EXPECT_EQ(with("500", ratio), "");
  EXPECT_EQ(with("500", "0"), "f:3:1: remain_cache_size_ratio=0 is not from 1 to 100");
  EXPECT_EQ(with("500", "101"), "f:3:1: remain_cache_size_ratio=101 is not from 1 to 100");
  EXPECT_EQ(with("-2", "50"), "f:2:1: max_op_cache_size=-2 is not a number from -1");
  EXPECT_EQ(with("many", "50"), "f:2:1: max_op_cache_size=many is not a number from -1");
  EXPECT_EQ(WrongWith(ReadOpCacheIni, "[op_compiler_cache]\nmax_op_cache_size=5\n"),
            "f: remain_cache_size_ratio is missing");
  EXPECT_NE(WrongWith(ReadOpCacheIni, "max_op_cache_size=5\n"), "");
  EXPECT_NE(WrongWith(ReadOpCacheIni, ""), "");
}

TEST(OperatorFilesTest, R263_MinusOneMeansThatNothingAges) {
  EXPECT_TRUE(CacheLimits().ages());
  EXPECT_FALSE(MustRead(ReadOpCacheIni,
                        "[op_compiler_cache]\nmax_op_cache_size=-1\nremain_cache_size_ratio=50\n")
                   .ages());
}

TEST(OperatorFilesTest, TheCacheFileIsReadAsItIsWritten) {
  for (const CacheLimits& limits : {CacheLimits(), CacheLimits{-1, 1, false}}) {
    EXPECT_EQ(MustRead(ReadOpCacheIni, OpCacheIniText(limits)), limits);
  }
}

TEST(OperatorFilesTest, AnyTextIsSurvived) {
  const std::string hostile = std::string(20000, '[') + "\n" + std::string(20000, '=') +
                              "\n::" + std::string(1000, ',') + "\nOpType::\n\x00\xff";
  EXPECT_NE(WrongWith(ReadOpDebugConfig, hostile), "");
  EXPECT_NE(WrongWith(ReadCustomDtypes, hostile), "");
  EXPECT_NE(WrongWith(ReadOpPrecision, hostile), "");
  EXPECT_NE(WrongWith(ReadOpCacheIni, hostile), "");
}

}  // namespace operator_files_test
}  // namespace plimsoll::config
