#include "kernels/catalogue.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels {
namespace catalogue_test {

using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::Shape;
using graph::ValueId;
using graph::ValueType;

// The inputs that the only node's output may overwrite.
std::vector<int> Overwritable(const std::string& op, const std::vector<ValueType>& inputs,
                              const ValueType& output) {
  GraphBuilder builder;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ids.push_back(builder.Input(StrCat("x", i), inputs[i]));
  }
  const ValueId made = builder.Node(op, ids);
  Graph graph = builder.Build();
  graph[made].type = output;
  std::vector<int> found;
  for (const InPlacePair& pair : InPlacePairs(graph, NodeId(0))) found.push_back(pair.input);
  return found;
}

const ValueType kWide = ValueType::Tensor(DataType::kFloat32, Shape{4, 8});
const ValueType kRow = ValueType::Tensor(DataType::kFloat32, Shape{8});
const ValueType kWideInt = ValueType::Tensor(DataType::kInt32, Shape{4, 8});
const ValueType kWideBool = ValueType::Tensor(DataType::kBool, Shape{4, 8});

TEST(CatalogueTest, ElementwiseKernelsOverwriteInputsAsLargeAsTheOutput) {
  EXPECT_EQ(Overwritable("Relu", {kWide}, kWide), std::vector<int>{0});
  EXPECT_EQ(Overwritable("Add", {kWide, kWide}, kWide), (std::vector<int>{0, 1}));
  EXPECT_EQ(Overwritable("Add", {kRow, kWide}, kWide), std::vector<int>{1});
  EXPECT_EQ(Overwritable("Where", {kWideBool, kWide, kRow}, kWide), std::vector<int>{1});
  EXPECT_EQ(Overwritable("Cast", {kWide}, kWideInt), std::vector<int>{0});
}

TEST(CatalogueTest, ElementsOfAnotherWidthAreNotOverwritten) {
  EXPECT_TRUE(Overwritable("Greater", {kWide, kWide}, kWideBool).empty());
  EXPECT_TRUE(Overwritable("Cast", {kWideBool}, kWide).empty());
}

TEST(CatalogueTest, RowKernelsOverwriteTheirFirstInputOnly) {
  EXPECT_EQ(Overwritable("Softmax", {kWide}, kWide), std::vector<int>{0});
  EXPECT_EQ(Overwritable("ScatterElements", {kWide, kWideInt, kWide}, kWide), std::vector<int>{0});
}

TEST(CatalogueTest, AnInputThatTheKernelReadsAgainIsOverwrittenOnlyElementByElement) {
  const auto pairs = [](const char* op) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", kWide);
    const ValueId at = builder.Input("at", kWideInt);
    const bool scatter = std::string(op) == "ScatterElements";
    const ValueId made =
        builder.Node(op, scatter ? std::vector<ValueId>{x, at, x} : std::vector<ValueId>{x, x});
    Graph graph = builder.Build();
    graph[made].type = kWide;
    return InPlacePairs(graph, NodeId(0)).size();
  };
  EXPECT_EQ(pairs("ScatterElements"), 0u);
  EXPECT_EQ(pairs("Add"), 2u);
}

TEST(CatalogueTest, KernelsThatReadNeighboursOverwriteNothing) {
  for (const char* op : {"Conv", "MatMul", "MaxPool", "Transpose", "Concat", "LRN"}) {
    EXPECT_TRUE(Overwritable(op, {kWide, kWide}, kWide).empty()) << op;
  }
}

// The fourth input of a fused product is a residual that the product is added to.
TEST(CatalogueTest, AResidualIsOverwrittenUnlessTheProductReadsItOtherwise) {
  for (const char* op : {"FusedMatMul", "FusedConv", "FusedPool"}) {
    graph::GraphBuilder builder;
    std::vector<graph::ValueId> inputs;
    for (const char* name : {"a", "b", "bias", "residual"}) {
      inputs.push_back(builder.Input(name, kWide));
      builder.graph()[inputs.back()].type = kWide;
    }
    const auto pairs = [&](std::vector<graph::ValueId> given, const graph::ValueType& made) {
      const graph::ValueId output = builder.Nodes(op, std::move(given), 1, {}, "plimsoll")[0];
      builder.graph()[output].type = made;
      std::vector<int> overwritten;
      for (const InPlacePair& pair :
           InPlacePairs(builder.graph(), builder.graph()[output].producer)) {
        EXPECT_EQ(pair.output, 0);
        overwritten.push_back(pair.input);
      }
      return overwritten;
    };
    const bool adds = std::string(op) != "FusedPool";
    EXPECT_EQ(pairs(inputs, kWide), adds ? std::vector<int>{3} : std::vector<int>());
    EXPECT_TRUE(pairs({inputs[0], inputs[1], inputs[2]}, kWide).empty()) << "there is none";
    EXPECT_TRUE(pairs({inputs[0], inputs[1], inputs[2], graph::ValueId()}, kWide).empty());
    EXPECT_TRUE(pairs(inputs, kRow).empty()) << "of another size";
    for (size_t i = 0; i < 3; ++i) {
      std::vector<graph::ValueId> twice = inputs;
      twice[i] = inputs[3];
      EXPECT_TRUE(pairs(twice, kWide).empty()) << "read as input " << i << " too";
    }
  }
}

TEST(CatalogueTest, ADropoutIsWorkedOutAtLoadOnlyWhereItDropsNothing) {
  graph::Node node;
  node.op = "Dropout";
  node.version = 13;
  node.inputs.resize(2);
  node.outputs.resize(1);
  EXPECT_TRUE(IsDeterministic(node));
  node.outputs.resize(2);
  EXPECT_FALSE(IsDeterministic(node));
  node.outputs.resize(1);
  node.inputs.resize(3);
  EXPECT_FALSE(IsDeterministic(node));
  node.op = "Bernoulli";
  node.domain = "others";
  EXPECT_TRUE(IsDeterministic(node)) << "another domain's";
}

TEST(CatalogueTest, RandomOperatorsAreNotWorkedOutAtLoad) {
  graph::Node node;
  node.op = "RandomNormal";
  node.version = 13;
  EXPECT_FALSE(IsDeterministic(node));
  node.op = "Range";
  EXPECT_TRUE(IsDeterministic(node));
}

}  // namespace catalogue_test
}  // namespace plimsoll::kernels
