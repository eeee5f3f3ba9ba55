#include <gtest/gtest.h>

#include "onnx/wire/wire_writer_for_tests.h"

namespace plimsoll::onnx {
namespace attribute_kinds_test {

using graph::DataType;
namespace field = schema::attribute;

Message Named(std::string_view name, int64_t kind) {
  return Message().Text(field::kName, name).Int(field::kKind, kind);
}

// A model of one node with these attributes.
Result<graph::Graph> ReadNode(const std::vector<Message>& attributes) {
  Message node = NodeMessage("Custom", {"x"}, {"y"}, "node", "somebody.else");
  for (const Message& attribute : attributes) node.Put(schema::node::kAttribute, attribute);
  return ReadMessage(
      ModelOf(GraphOf({node})).Put(schema::model::kOpsetImport, Opset("somebody.else", 1)));
}

TEST(AttributeKindsTest, EveryKindIsReadWithAllItsElements) {
  const Message body = Message()
                           .Put(schema::graph::kNode, NodeMessage("Relu", {"x"}, {"inner"}))
                           .Put(schema::graph::kOutput, ValueInfo("inner"));
  const auto read = ReadNode({
      Named("i", field::kIntKind).Int(field::kInt, -7),
      Named("f", field::kFloatKind).Float(field::kFloat, 0.25F),
      Named("s", field::kStringKind).Text(field::kString, "text"),
      Named("is", field::kIntsKind).Int(field::kInts, 3).Packed(field::kInts, {4, -5}),
      Named("fs", field::kFloatsKind)
          .Float(field::kFloats, 1)
          .PackedRaw<float>(field::kFloats, {2, 3}),
      Named("ss", field::kStringsKind).Text(field::kStrings, "a").Text(field::kStrings, "b"),
      Named("t", field::kTensorKind).Put(field::kTensor, FloatTensor("t", {1, 2})),
      Named("ts", field::kTensorsKind)
          .Put(field::kTensors, FloatTensor("t", {1}))
          .Put(field::kTensors, FloatTensor("u", {2, 3})),
      Named("g", field::kGraphKind).Put(field::kGraph, body),
      Named("gs", field::kGraphsKind).Put(field::kGraphs, body).Put(field::kGraphs, body),
      Named("type", field::kTypeKind).Put(field::kType, TensorType(DataType::kInt8, {"2"})),
  });
  ASSERT_TRUE(read.ok()) << read.error().Text();
  const graph::Attributes& got = (*read)[read->root().nodes[0]].attributes;
  EXPECT_EQ(got.size(), 11u);
  EXPECT_EQ(got.Int("i", 0), -7);
  EXPECT_EQ(got.Float("f", 0), 0.25);
  EXPECT_EQ(got.String("s", ""), "text");
  ASSERT_NE(got.Ints("is"), nullptr);
  EXPECT_EQ(*got.Ints("is"), (std::vector<int64_t>{3, 4, -5}));
  ASSERT_NE(got.Floats("fs"), nullptr);
  EXPECT_EQ(*got.Floats("fs"), (std::vector<double>{1, 2, 3}));
  ASSERT_NE(got.Strings("ss"), nullptr);
  EXPECT_EQ(*got.Strings("ss"), (std::vector<std::string>{"a", "b"}));
  ASSERT_NE(got.Tensor("t"), nullptr);
  EXPECT_EQ(got.Tensor("t")->Doubles(), (std::vector<double>{1, 2}));
  const auto* tensors = std::get_if<std::vector<graph::ConstantTensor>>(got.Find("ts"));
  ASSERT_NE(tensors, nullptr);
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ((*tensors)[1].Doubles(), (std::vector<double>{2, 3}));
  ASSERT_TRUE(got.Subgraph("g").valid());
  const auto* graphs = std::get_if<std::vector<graph::SubgraphId>>(got.Find("gs"));
  ASSERT_NE(graphs, nullptr);
  ASSERT_EQ(graphs->size(), 2u);
  EXPECT_NE((*graphs)[0], (*graphs)[1]);
  EXPECT_EQ(SubgraphsOf((*read)[read->root().nodes[0]]).size(), 3u);
  const auto* type = std::get_if<graph::ValueType>(got.Find("type"));
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(Text(*type), "int8[2]");
}

TEST(AttributeKindsTest, AnEmptyListIsAList) {
  const auto read = ReadNode({Named("is", field::kIntsKind), Named("fs", field::kFloatsKind),
                              Named("ss", field::kStringsKind)});
  ASSERT_TRUE(read.ok()) << read.error().Text();
  const graph::Attributes& got = (*read)[read->root().nodes[0]].attributes;
  ASSERT_NE(got.Ints("is"), nullptr);
  EXPECT_TRUE(got.Ints("is")->empty());
  ASSERT_NE(got.Floats("fs"), nullptr);
  ASSERT_NE(got.Strings("ss"), nullptr);
}

TEST(AttributeKindsTest, WhatCannotBeHeldIsRefusedByName) {
  const auto refusal = [](const Message& attribute) {
    const auto read = ReadNode({attribute});
    return read.ok() ? "" : read.error().code;
  };
  EXPECT_EQ(refusal(Named("", field::kIntKind).Int(field::kInt, 1)), "onnx.attribute");
  EXPECT_EQ(refusal(Named("sparse", field::kSparseTensorKind).Put(field::kSparseTensor, Message())),
            "onnx.sparse");
  EXPECT_EQ(
      refusal(Named("sparse", field::kSparseTensorsKind).Put(field::kSparseTensors, Message())),
      "onnx.sparse");
  EXPECT_EQ(refusal(Named("types", field::kTypesKind).Put(field::kTypes, Message())),
            "onnx.attribute");
}

}  // namespace attribute_kinds_test
}  // namespace plimsoll::onnx
