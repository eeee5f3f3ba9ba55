#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace sequence_test {

TEST(SequenceTest, ElementsThatDifferLeaveUnknownSizes) {
  CheckAll({
      {"SequenceConstruct", 11, {"float32[n,2]", "float32[n,3]"}, {}, {"seq(float32[n,?])"}},
      {"SequenceConstruct", 11, {"float32[2]", "int64[2]"}, {}, {"fails: cannot hold both"}},
      {"SequenceEmpty", 11, {}, {{"dtype", int64_t{7}}}, {"seq(int64[...])"}},
      {"SequenceInsert", 11, {"seq(float32[2])", "float32[2]"}, {}, {"seq(float32[2])"}},
      {"SequenceInsert", 11, {"seq(float32[2])", "float32[2,2]"}, {}, {"seq(float32[...])"}},
      {"SequenceErase", 11, {"seq(float32[2])", "int64[]"}, {}, {"seq(float32[2])"}},
      {"SequenceAt", 11, {"seq(float32[2])", "int64[]"}, {}, {"float32[2]"}},
      {"SequenceAt", 11, {"float32[2]", "int64[]"}, {}, {"fails: must be a sequence"}},
      {"SequenceLength", 11, {"seq(float32[2])"}, {}, {"int64[]"}},
      {"ConcatFromSequence", 11, {"seq(float32[2,n])"}, {{"axis", int64_t{1}}}, {"float32[2,?]"}},
      {"ConcatFromSequence",
       11,
       {"seq(float32[2])"},
       {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}},
       {"float32[2,?]"}},
      {"ConcatFromSequence", 11, {"seq(float32[2])"}, {{"axis", int64_t{1}}}, {"fails: axis 1"}},
  });
}

TEST(SequenceTest, SplitsIntoPieces) {
  CheckAll({
      {"SplitToSequence", 11, {"float32[n,6]"}, {{"axis", int64_t{1}}}, {"seq(float32[n,1])"}},
      {"SplitToSequence",
       24,
       {"float32[n,6]"},
       {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}},
       {"seq(float32[n])"}},
      {"SplitToSequence", 11, {"float32[6]", "int64[]{2}"}, {}, {"seq(float32[2])"}},
      {"SplitToSequence", 11, {"float32[6]", "int64[]{4}"}, {}, {"seq(float32[?])"}},
      {"SplitToSequence", 11, {"float32[6]", "int64[2]{3,3}"}, {}, {"seq(float32[3])"}},
      {"SplitToSequence", 11, {"float32[6]", "int64[2]{2,4}"}, {}, {"seq(float32[?])"}},
      {"SplitToSequence", 11, {"float32[6]", "int64[]{0}"}, {}, {"seq(float32[?])"}},
      {"SplitToSequence", 11, {"float32[6]"}, {{"axis", int64_t{1}}}, {"fails: axis 1"}},
  });
}

TEST(SequenceTest, MapsABodyOverElements) {
  GraphBuilder builder(17);
  const ValueId sequence = builder.Input("s", ParseType("seq(float32[n,2])"));
  const ValueId matrix = builder.Input("m", ParseType("float32[2,5]"));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId element = builder.BodyInput("e", {});
  const ValueId factor = builder.BodyInput("f", {});
  builder.EndBody({builder.Node("MatMul", {element, factor})});
  Attributes attributes;
  attributes.Set("body", body);
  const ValueId out = builder.Node("SequenceMap", {sequence, matrix}, attributes);
  Graph graph = builder.Build();
  ASSERT_TRUE(InferAll(graph).ok());
  EXPECT_EQ(TextOf(graph[out]), "seq(float32[n,5])");
}

TEST(OptionalTest, HoldsAndGivesBack) {
  CheckAll({
      {"Optional", 15, {"float32[n]"}, {}, {"optional(float32[n])"}},
      {"Optional", 15, {}, {{"type", ParseType("seq(float32[2])")}}, {"optional(seq(float32[2]))"}},
      {"Optional", 15, {}, {}, {"fails: neither an input"}},
      {"OptionalGetElement", 15, {"optional(float32[n])"}, {}, {"float32[n]"}},
      {"OptionalGetElement", 18, {"float32[n]"}, {}, {"float32[n]"}},
      {"OptionalHasElement", 15, {"optional(float32[n])"}, {}, {"bool[]"}},
      {"OptionalHasElement", 18, {""}, {}, {"bool[]{0}"}},
      {"OptionalHasElement", 18, {"float32[n]"}, {}, {"bool[]{1}"}},
  });
}

}  // namespace sequence_test
}  // namespace plimsoll::graph::operators
