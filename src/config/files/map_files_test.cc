#include "config/files/map_files.h"

#include <gtest/gtest.h>

#include "config/files/reading_for_tests.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace map_files_test {

using Words = std::vector<std::string>;

TEST(MapFilesTest, R203_R204_PatternsAreOnUnlessSwitchedOff) {
  const FusionSwitches switches = MustRead(ReadFusionSwitches, R"({
    "Switch":{
        "GraphFusion":{
            "RequantFusionPass":"on",
            "ConvToFullyConnectionFusionPass":"off"
        },
        "UBFusion":{
            "TbePool2dQuantFusionPass":"on"
        }
    }
})");
  EXPECT_TRUE(FusionSwitches().graph_fusion.IsOn("Anything"));
  EXPECT_TRUE(FusionSwitches().ub_fusion.IsOn("Anything"));
  EXPECT_TRUE(switches.graph_fusion.IsOn("RequantFusionPass"));
  EXPECT_FALSE(switches.graph_fusion.IsOn("ConvToFullyConnectionFusionPass"));
  EXPECT_TRUE(switches.graph_fusion.IsOn("NotNamed"));
  EXPECT_TRUE(switches.ub_fusion.IsOn("ConvToFullyConnectionFusionPass")) << "of the other group";
  EXPECT_EQ(WrongWith(ReadFusionSwitches,
                      "{\"Switch\": {\"GraphFusion\": {\"A\": \"on\",\n \"B\": \"maybe\",\n \"C\": "
                      "true, \"D\": {}},\n \"UBFuson\": {}}, \"x\": 1}"),
            "f:2:2: B is 'maybe', neither on nor off\n"
            "f:3:2: C is true, neither on nor off\n"
            "f:3:13: D is a map, neither on nor off\n"
            "f:4:2: 'UBFuson' is none of GraphFusion, UBFusion, did you mean UBFusion?\n"
            "f:4:18: 'x' is none of Switch");
  EXPECT_EQ(WrongWith(ReadFusionSwitches, "{}"), "f: it has no map Switch");
  EXPECT_EQ(WrongWith(ReadFusionSwitches, R"({"Switch": "off"})"),
            "f:1:2: Switch is 'off', not a map");
}

TEST(MapFilesTest, R205_AllSwitchesOffItsOwnGroupOnly) {
  const FusionSwitches switches =
      MustRead(ReadFusionSwitches, R"({"Switch":{"GraphFusion":{"ALL":"off"}}})");
  EXPECT_FALSE(switches.graph_fusion.IsOn("SoftmaxFusionPass"));
  EXPECT_TRUE(switches.ub_fusion.IsOn("SoftmaxFusionPass"));
  EXPECT_TRUE(MustRead(ReadFusionSwitches, R"({"Switch":{"GraphFusion":{"ALL":"on"}}})")
                  .graph_fusion.IsOn("SoftmaxFusionPass"));
}

TEST(MapFilesTest, R206_WhatIsOnBesideAllStaysOnWhereverItStands) {
  for (const char* group :
       {R"("ALL":"off","SoftmaxFusionPass":"on")", R"("SoftmaxFusionPass":"on","ALL":"off")"}) {
    const FusionSwitches switches =
        MustRead(ReadFusionSwitches,
                 StrCat(R"({"Switch":{"GraphFusion":{)", group, R"(},"UBFusion":{"ALL":"off"}}})"));
    EXPECT_TRUE(switches.graph_fusion.IsOn("SoftmaxFusionPass")) << group;
    EXPECT_FALSE(switches.graph_fusion.IsOn("PoolingFusionPass")) << group;
    EXPECT_FALSE(switches.ub_fusion.IsOn("SoftmaxFusionPass")) << group;
  }
}

constexpr std::string_view kMixListSample = R"({
  "black-list": {                  // Blocklist
     "to-remove": [                // Move an operator from the blocklist to the graylist.
     "Xlog1py"
     ],
     "to-add": [                   // Move an operator from the trustlist or graylist to the blocklist.
     "Matmul",
     "Cast"
     ]
  },
  "white-list": {                  // Trustlist
     "to-remove": [                // Move an operator from the trustlist to the graylist.
     "Conv2D"
     ],
     "to-add": [                   // Move an operator from the blocklist or graylist to the trustlist.
     "Bias"
     ]
  }
})";

TEST(MapFilesTest, R182_ListsOfMixedPrecisionWithComments) {
  EXPECT_EQ(MustRead(ReadMixList, kMixListSample),
            (MixList{{"Xlog1py"}, {"Matmul", "Cast"}, {"Conv2D"}, {"Bias"}}));
  EXPECT_EQ(WrongWith(ReadMixList,
                      "{\"black-list\": {\"to-ad\": [\"A\"], \"to-remove\": \"B\"},\n"
                      " \"gray-list\": {\"to-add\": []}, \"white-list\": [\"C\"]}"),
            "f:1:17: 'to-ad' is none of to-remove, to-add, did you mean to-add?\n"
            "f:1:33: to-remove is no list of names\n"
            "f:2:2: 'gray-list' is none of black-list, white-list\n"
            "f:2:31: white-list is 'C', not a map");
  EXPECT_EQ(WrongWith(ReadMixList, R"({"black-list": {"to-add": ["A"]}, // x
                                       "white-list": {"to-add": ["A"]}})"),
            "f: A is to be added to both lists");
  EXPECT_EQ(WrongWith(ReadMixList, "{ // a\n  \"black-list\": {,}}").substr(0, 4), "f:2:");
}

TEST(MapFilesTest, R241_TheSampleOfTheDocumentsLacksACommaAndItsLineIsTold) {
  const std::string sample = R"({
       "tune_ops_name":["bert/embeddings/addbert/embeddings/add_1","loss/MatMul"],
       "tune_ops_type":["Add", "Mul"]
       "tune_optimization_level":"O1",
       "feature":["deeper_opat"]
})";
  EXPECT_EQ(WrongWith(ReadAoeTuning, sample), "f:3:38: a comma is missing here");
  std::string mended = sample;
  mended.insert(mended.find("\"Mul\"]") + 6, ",");
  const AoeSettings tuning = MustRead(ReadAoeTuning, mended);
  EXPECT_EQ(tuning.operators.names,
            (Words{"bert/embeddings/addbert/embeddings/add_1", "loss/MatMul"}));
  EXPECT_EQ(tuning.operators.types, (Words{"Add", "Mul"}));
  EXPECT_TRUE(tuning.high_performance && tuning.deeper_opat);
  EXPECT_FALSE(tuning.nonhomo_split);
  EXPECT_EQ(WrongWith(ReadAoeTuning,
                      "{\"tune_op_name\": [],\n\"tune_ops_type\": \"Add\",\n"
                      "\"tune_optimization_level\": \"O3\",\n\"feature\": [\"deep\", \"\"]}"),
            "f:1:2: 'tune_op_name' is none of tune_ops_name, tune_ops_type, "
            "tune_optimization_level, feature, did you mean tune_ops_name?\n"
            "f:2:1: tune_ops_type is no list of names\n"
            "f:3:1: tune_optimization_level is neither O1 nor O2\n"
            "f:4:1: feature is no list of names");
}

TEST(MapFilesTest, R242_R244_NamesAndTypesAreMetAsWholeWordsAndTogether) {
  const AoeSettings tuning =
      MustRead(ReadAoeTuning, R"({"tune_ops_name": ["loss/MatMul"], "tune_ops_type": ["Add"]})");
  EXPECT_TRUE(tuning.operators.Holds("loss/MatMul", "MatMul"));
  EXPECT_TRUE(tuning.operators.Holds("x", "Add"));
  EXPECT_FALSE(tuning.operators.Holds("loss/MatMul_1", "MatMul"));
  EXPECT_FALSE(tuning.operators.Holds("x", "AddN"));
}

TEST(MapFilesTest, R245_TheLevelIsO2UnlessO1IsGiven) {
  EXPECT_FALSE(MustRead(ReadAoeTuning, "{}").high_performance);
  EXPECT_FALSE(MustRead(ReadAoeTuning, R"({"tune_optimization_level": "O2"})").high_performance);
  EXPECT_TRUE(MustRead(ReadAoeTuning, R"({"tune_optimization_level": "O1"})").high_performance);
}

TEST(MapFilesTest, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_EQ(WrongWith(ReadFusionSwitches, "{\n  \"Switch\": [}").substr(0, 6), "f:2:14");
  EXPECT_EQ(WrongWith(ReadAoeTuning, "[\"a\" \"b\"]").substr(0, 6), "f:1:1:");
  EXPECT_EQ(WrongWith(ReadMixList, "{\"black-list\": {} \"white-list\": {}}"),
            "f:1:18: a comma is missing here");
  EXPECT_NE(WrongWith(ReadMixList, ""), "");
  EXPECT_NE(WrongWith(ReadMixList, std::string(100000, '{')), "");
}

}  // namespace map_files_test
}  // namespace plimsoll::config
