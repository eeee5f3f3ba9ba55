#include "onnx/contributed/channel_blocks.h"

#include <gtest/gtest.h>

#include "onnx/wire/wire_writer_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace channel_blocks_test {

Message Blocked(std::string_view op, Names inputs, Names outputs,
                const std::vector<Message>& attributes = {}) {
  Message node = NodeMessage(op, inputs, outputs, outputs.begin()[0], kBlockedDomain);
  for (const Message& attribute : attributes) node.Put(schema::node::kAttribute, attribute);
  return node;
}

// Ones in the first `used` of a filter's outputs, written in blocks of `block`.
Message Filter(std::string_view name, int64_t outputs, int64_t inputs, int64_t used,
               int64_t block) {
  std::vector<float> elements(outputs * inputs, 0);
  for (int64_t o = 0; o < used; ++o) {
    for (int64_t i = 0; i < inputs; ++i) elements[(o / block * inputs + i) * block + o % block] = 1;
  }
  return Message()
      .Text(schema::tensor::kName, name)
      .Packed(schema::tensor::kDims, {outputs, inputs, 1, 1})
      .Int(schema::tensor::kDataType, static_cast<int>(graph::DataType::kFloat32))
      .PackedRaw(schema::tensor::kRawData, elements);
}

Message Int64Tensor(std::string_view name, std::initializer_list<int64_t> elements) {
  return Message()
      .Text(schema::tensor::kName, name)
      .Int(schema::tensor::kDims, static_cast<int64_t>(elements.size()))
      .Int(schema::tensor::kDataType, static_cast<int>(graph::DataType::kInt64))
      .PackedRaw(schema::tensor::kRawData, std::vector<int64_t>(elements));
}

Result<graph::Graph> Read(const std::vector<Message>& nodes, const std::vector<Message>& tensors) {
  Message graph = GraphOf(nodes);
  for (const Message& tensor : tensors) graph.Put(schema::graph::kInitializer, tensor);
  return ReadMessage(ModelOf(graph).Put(schema::model::kOpsetImport, Opset(kBlockedDomain, 1)));
}

// "Reshape 2,3,1,1,8; Slice 0..12 axis 1": nodes and the constants that they read.
std::string Summary(const Result<graph::Graph>& graph) {
  if (!graph.ok()) return StrCat(graph.error().code, ": ", graph.error().why);
  std::vector<std::string> texts;
  for (const graph::NodeId id : graph->root().nodes) {
    const graph::Node& node = (*graph)[id];
    if (node.op == "Constant") continue;
    std::string text = node.op;
    for (const graph::ValueId input : node.inputs) {
      if (!input.valid() || !(*graph)[input].producer.valid()) continue;
      const graph::Node& maker = (*graph)[(*graph)[input].producer];
      if (const std::vector<int64_t>* ints = maker.attributes.Ints("value_ints")) {
        std::vector<std::string> numbers;
        for (const int64_t number : *ints) numbers.push_back(StrCat(number));
        text += StrCat(" ", Join(numbers, ","));
      }
    }
    texts.push_back(text);
  }
  return Join(texts, "; ");
}

TEST(ChannelBlocksTest, AFilterOfPlainDataIsPutBackAndItsFillingLeftOut) {
  const auto graph = Read({Blocked("Conv", {"x", "w"}, {"a"}),
                           Blocked("ReorderOutput", {"a"}, {"y"}, {IntAttribute("channels", 12)})},
                          {Filter("w", 16, 3, 12, 8)});
  EXPECT_EQ(Summary(graph),
            "Reshape 2,3,1,1,8; Transpose; Reshape 16,3,1,1; Slice 0 12 0; Conv; "
            "Slice 0 12 1; Identity");
}

TEST(ChannelBlocksTest, AFilterOfBlocksHasBlocksOfInputs) {
  const auto graph =
      Read({Blocked("ReorderInput", {"x"}, {"a"}), Blocked("Conv", {"a", "w"}, {"b"}),
            Blocked("ReorderOutput", {"b"}, {"y"}, {IntAttribute("channels", 19)})},
           {Filter("w", 24, 8, 19, 8)});
  EXPECT_EQ(
      Summary(graph),
      "Slice 0 8 1; Identity; Reshape 3,1,1,1,8,8; Transpose; Reshape 24,8,1,1; Slice 0 19 0; "
      "Conv; Slice 0 19 1; Identity");
}

TEST(ChannelBlocksTest, AReshapeThatGivesBlocksAnAxisSaysTheirSizeAndDoesNothing) {
  const auto graph =
      Read({Blocked("Conv", {"x", "w"}, {"a"}), NodeMessage("Reshape", {"a", "five"}, {"b"}),
            NodeMessage("Relu", {"b"}, {"c"}), NodeMessage("Reshape", {"c", "four"}, {"d"}),
            Blocked("ReorderOutput", {"d"}, {"y"}, {IntAttribute("channels", 16)})},
           {Filter("w", 16, 3, 16, 8), Int64Tensor("five", {0, -1, 0, 0, 8}),
            Int64Tensor("four", {0, -1, 0, 0})});
  EXPECT_EQ(Summary(graph),
            "Reshape 2,3,1,1,8; Transpose; Reshape 16,3,1,1; Conv; Identity; Relu; Identity; "
            "Slice 0 16 1; Identity");
}

TEST(ChannelBlocksTest, WhatCannotBeIsRefused) {
  const Message convolution = Blocked("Conv", {"x", "w"}, {"a"});
  const Message out = Blocked("ReorderOutput", {"a"}, {"y"}, {IntAttribute("channels", 16)});
  const std::string code = "onnx.channel_blocks: ";
  EXPECT_EQ(Summary(Read({convolution, out}, {Filter("w", 6, 3, 6, 2)})),
            code + "its channels are in blocks of neither 4, 8 nor 16");
  EXPECT_EQ(Summary(Read({convolution, out}, {})), code + "its filter is no constant of four axes");
  EXPECT_EQ(Summary(Read({convolution, NodeMessage("ReduceMax", {"a"}, {"y"})},
                         {Filter("w", 16, 3, 16, 8)})),
            code + "it reads blocks of channels");
  EXPECT_EQ(Summary(Read({Blocked("Conv", {"x", "w"}, {"y"})}, {Filter("w", 16, 3, 16, 8)})),
            code + "its output 'y' lies in blocks");
  EXPECT_EQ(Summary(Read({Blocked("MaxPool", {"x"}, {"y"})}, {})),
            code + "what it reads does not lie in blocks");
  EXPECT_EQ(
      Summary(
          Read({Blocked("Conv", {"x", "w"}, {"a"}, {IntAttribute("group", int64_t{1} << 62)}), out},
               {Filter("w", 16, 3, 16, 8)})),
      code + "its groups are no number of its channels");
}

}  // namespace channel_blocks_test
}  // namespace plimsoll::onnx
