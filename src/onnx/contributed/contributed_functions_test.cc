#include "onnx/contributed/contributed_functions.h"

#include <gtest/gtest.h>

#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace contributed_functions_test {

using Named = std::vector<std::pair<std::string, graph::Attribute>>;

NodeRecord NodeOf(std::string_view op, std::vector<std::string_view> inputs,
                  std::vector<std::string_view> outputs,
                  std::string_view domain = "com.microsoft") {
  NodeRecord node;
  node.domain = domain;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

// "Add(in0,in1)->t0; Gelu(t0)->out0", or the error's reason.
std::string BodyOf(const NodeRecord& node, const Named& given = {}) {
  graph::Attributes attributes;
  for (const auto& [name, value] : given) attributes.Set(name, value);
  const auto function = ContributedFunction(node, attributes);
  if (!function.ok()) return function.error().why;
  if (!function->has_value()) return "no composition";
  std::vector<std::string> texts;
  for (const NodeRecord& inner : (*function)->nodes) {
    const std::vector<std::string> inputs(inner.inputs.begin(), inner.inputs.end());
    const std::vector<std::string> outputs(inner.outputs.begin(), inner.outputs.end());
    texts.push_back(StrCat(inner.op, "(", Join(inputs, ","), ")->", Join(outputs, ",")));
  }
  return Join(texts, "; ");
}

TEST(ContributedFunctionsTest, ANodeBecomesWhatItsInputsAsk) {
  EXPECT_EQ(BodyOf(NodeOf("FastGelu", {"x"}, {"y"})), "Gelu(in0)->out0");
  EXPECT_EQ(BodyOf(NodeOf("FastGelu", {"x", "b"}, {"y"})), "Add(in0,in1)->t0; Gelu(t0)->out0");
  EXPECT_EQ(BodyOf(NodeOf("SkipLayerNormalization", {"x", "s", "g"}, {"y"})),
            "Add(in0,in1)->t0; LayerNormalization(t0,in2)->out0");
  EXPECT_EQ(BodyOf(NodeOf("SkipLayerNormalization", {"x", "s", "g", "", "b"}, {"y", "", "", "z"})),
            "Add(in0,in1)->t0; Add(t0,in4)->out3; LayerNormalization(out3,in2)->out0");
  EXPECT_EQ(BodyOf(NodeOf("SimplifiedLayerNormalization", {"x", "g"}, {"y"}, "")),
            "RMSNormalization(in0,in1)->out0");
  EXPECT_EQ(BodyOf(NodeOf("Unique", {"x"}, {"y", "i", "c"})), "Unique(in0)->out0,,out1,out2");
}

TEST(ContributedFunctionsTest, AnActivationFollowsItsProduct) {
  const NodeRecord node = NodeOf("FusedGemm", {"a", "b", "c"}, {"y"});
  EXPECT_EQ(BodyOf(node, {{"activation", std::string("Relu")}}),
            "Gemm(in0,in1,in2)->t0; Relu(t0)->out0");
  EXPECT_EQ(BodyOf(node, {{"activation", std::string("Softmax")}}), "its activation is not known");
}

TEST(ContributedFunctionsTest, ALayerNormalizationIsTheStandardsWhereThatHasIt) {
  const NodeRecord node = NodeOf("LayerNormalization", {"x", "g"}, {"y"}, "");
  EXPECT_TRUE(IsContributedFunction(node, 16));
  EXPECT_FALSE(IsContributedFunction(node, 17));
  EXPECT_EQ(BodyOf(node), "LayerNormalization(in0,in1)->out0");
}

TEST(ContributedFunctionsTest, ExperimentalOperatorsAreThoseOfTheFirstOperatorSets) {
  const NodeRecord node = NodeOf("Crop", {"x"}, {"y"}, "");
  EXPECT_TRUE(IsContributedFunction(node, 9));
  EXPECT_FALSE(IsContributedFunction(node, 10));
  EXPECT_EQ(BodyOf(node), "its border is not 4 numbers");
  EXPECT_EQ(BodyOf(node, {{"border", std::vector<int64_t>{1, 2, 3, 4}}}),
            "Constant()->t0; Constant()->t1; Constant()->t2; Slice(in0,t0,t1,t2)->out0");
  EXPECT_EQ(BodyOf(NodeOf("ImageScaler", {"x"}, {"y"}, "")), "it has no bias");
}

TEST(ContributedFunctionsTest, AProductWhoseBatchesComeLaterIsNoComposition) {
  const NodeRecord node = NodeOf("FusedMatMul", {"a", "b"}, {"y"});
  EXPECT_EQ(BodyOf(node, {{"transB", int64_t{1}}}), "FusedMatMul(in0,in1)->out0");
  EXPECT_EQ(BodyOf(node, {{"transBatchA", int64_t{1}}}), "no composition");
  EXPECT_EQ(BodyOf(NodeOf("MatMulNBits", {"a", "b", "s"}, {"y"})), "no composition");
  EXPECT_EQ(BodyOf(NodeOf("Gelu", {"x"}, {"y"}, "elsewhere")), "no composition");
}

TEST(ContributedFunctionsTest, AMaskIsAddedToTheBiasOfTheScores) {
  const Named heads = {{"num_heads", int64_t{2}}};
  EXPECT_EQ(BodyOf(NodeOf("MultiHeadAttention", {"q", "k", "v", "", "m", "b"}, {"y"}), heads),
            "AttentionMask(in4,in0,in1)->t0; Add(t0,in5)->t1; Attention(in0,in1,in2,t1)->out0");
  EXPECT_EQ(BodyOf(NodeOf("MultiHeadAttention", {"q", "k", "v", "", "", "b"}, {"y"}), heads),
            "Attention(in0,in1,in2,in5)->out0");
  EXPECT_EQ(
      BodyOf(NodeOf("MultiHeadAttention", {"q", "k", "v", "", "", "", "p", "r"}, {"y", "s", "t"}),
             heads),
      "Attention(in0,in1,in2,,in6,in7)->out0,out1,out2");
}

TEST(ContributedFunctionsTest, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(BodyOf(NodeOf("Attention", {"x", "w"}, {"y"}), {{"do_rotary", int64_t{1}}}),
            "do_rotary is not known");
  EXPECT_EQ(BodyOf(NodeOf("MultiHeadAttention", {"q"}, {"y"}), {{"num_heads", int64_t{2}}}),
            "queries, keys and values that are packed into one input are not known");
  EXPECT_EQ(BodyOf(NodeOf("Gelu", {"x", "y"}, {"z"})),
            "it has 2 inputs and 1 outputs, not 1 to 1 and 1 to 1");
  EXPECT_EQ(BodyOf(NodeOf("Gelu", {}, {"z"})),
            "it has 0 inputs and 1 outputs, not 1 to 1 and 1 to 1");
  EXPECT_EQ(BodyOf(NodeOf("FusedConv", {"x", "w"}, {"y"}),
                   {{"activation_params", std::vector<double>{1, 2, 3}}}),
            "there are 3 parameters of an activation");
  const NodeRecord rotation = NodeOf("MRotaryEmbedding", {"x", "p", "c", "s"}, {"y"});
  EXPECT_EQ(BodyOf(rotation, {{"mrope_section", std::vector<int64_t>{1, -1, 1}}}),
            "mrope_section is not 3 sizes");
  EXPECT_EQ(BodyOf(NodeOf("LinearAttentionGate", {"a", "b", "c"}, {"y", "z"})),
            "there is nothing to make beta of");
}

// Every name that a body reads is an input or was made before.
TEST(ContributedFunctionsTest, BodiesReadWhatIsThere) {
  for (const char* op : {"EmbedLayerNormalization", "Attention", "QAttention"}) {
    const std::vector<std::string_view> inputs(op == std::string_view("Attention") ? 6 : 9, "x");
    const NodeRecord node = NodeOf(op, inputs, {"y", "z"});
    graph::Attributes attributes;
    attributes.Set("num_heads", int64_t{2});
    const auto function = ContributedFunction(node, attributes);
    ASSERT_TRUE(function.ok() && function->has_value()) << op;
    std::vector<std::string_view> known = (*function)->inputs;
    for (const NodeRecord& inner : (*function)->nodes) {
      for (const std::string_view input : inner.inputs) {
        if (input.empty()) continue;
        EXPECT_NE(std::find(known.begin(), known.end(), input), known.end()) << op << " " << input;
      }
      known.insert(known.end(), inner.outputs.begin(), inner.outputs.end());
    }
    for (const std::string_view output : (*function)->outputs) {
      EXPECT_NE(std::find(known.begin(), known.end(), output), known.end()) << op << " " << output;
    }
  }
}

}  // namespace contributed_functions_test
}  // namespace plimsoll::onnx
