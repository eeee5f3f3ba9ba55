#include "onnx/model_reader.h"

#include <gtest/gtest.h>

#include "base/mapped_pages.h"
#include "graph/text_form.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "onnx/wire/wire_writer_for_tests.h"

namespace plimsoll::onnx {
namespace model_reader_test {

using graph::DataType;
using graph::Graph;
using graph::Shape;
using graph::Value;

const Value* FindValue(const Graph& graph, std::string_view name) {
  for (const Value& value : graph.values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Operators(const Graph& graph, graph::SubgraphId body) {
  std::vector<std::string> names;
  for (const graph::NodeId id : graph[body].nodes) names.push_back(graph[id].op);
  return names;
}

TEST(ReadModelTest, ReadsInputsConstantsNodesAndOutputs) {
  Message graph = GraphOf({NodeMessage("Add", {"x", "w"}, {"sum"}, "add"),
                           NodeMessage("Relu", {"sum"}, {"y"}, "relu")});
  graph.Put(schema::graph::kInitializer, FloatTensor("w", {1, 2, 3}));
  graph.Put(schema::graph::kValueInfo,
            ValueInfo("sum", TensorType(DataType::kFloat32, {"n", "3"})));
  const Message message = ModelOf(graph)
                              .Text(schema::model::kProducerName, "maker")
                              .Text(schema::model::kProducerVersion, "1.0")
                              .Put(schema::model::kMetadata, Entry("key", "value"));

  const auto model = ReadMessage(message);

  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->producer, "maker 1.0");
  EXPECT_EQ(model->ir_version, 8);
  EXPECT_EQ(model->metadata, (std::vector<std::pair<std::string, std::string>>{{"key", "value"}}));
  ASSERT_EQ(model->root().inputs.size(), 1u);
  const Value& x = (*model)[model->root().inputs[0]];
  EXPECT_EQ(x.type,
            graph::ValueType::Tensor(DataType::kFloat32, Shape{graph::Dim::Symbol("n"), 3}));
  const Value& w = *FindValue(*model, "w");
  ASSERT_TRUE(w.constant.valid());
  EXPECT_EQ((*model)[w.constant].Doubles(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Text(w.type), "float32[3]");
  EXPECT_EQ(Operators(*model, Graph::kRoot), (std::vector<std::string>{"Add", "Relu"}));
  const graph::Node& add = (*model)[model->root().nodes[0]];
  EXPECT_EQ(add.version, 17);
  EXPECT_EQ((*model)[add.outputs[0]].producer, model->root().nodes[0]);
  EXPECT_EQ(Text(FindValue(*model, "sum")->declared), "float32[n,3]");
  EXPECT_EQ((*model)[model->root().outputs[0]].name, "y");
}

TEST(ReadModelTest, ANameThatIsNoSizeStandsForAny) {
  for (const std::string name : {"n - n", "0 - 1"}) {
    Message graph = GraphOf({NodeMessage("Relu", {"x"}, {"r"}), NodeMessage("Relu", {"r"}, {"y"})});
    graph.Put(schema::graph::kValueInfo,
              ValueInfo("r", TensorType(DataType::kFloat32, {name, "3"})));
    const auto model = ReadMessage(ModelOf(graph));
    ASSERT_TRUE(model.ok()) << model.error().Text();
    EXPECT_EQ(Text(FindValue(*model, "r")->declared), "float32[?,3]");
  }
}

TEST(ReadModelTest, OperatorsOfOnnxRuntimeNeedNoImport) {
  const Message graph = GraphOf({NodeMessage("Gelu", {"x"}, {"y"}, "", "com.microsoft")});
  const auto model = ReadMessage(ModelOf(graph));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Operators(*model, Graph::kRoot), std::vector<std::string>{"Gelu"});
}

TEST(ReadModelTest, LargeConstantsAreViewsThatKeepTheFileMappedAndSmallOnesAreCopies) {
  const TemporaryFolder folder;
  for (const size_t count : {size_t{2}, size_t{5000}}) {
    Message graph = GraphOf({NodeMessage("Mul", {"x", "w"}, {"y"})});
    graph.Put(schema::graph::kInitializer, FloatTensor("w", std::vector<float>(count, 4)));
    auto model = ReadModel(folder.Write("model.onnx", ModelOf(graph).bytes()));
    ASSERT_TRUE(model.ok()) << model.error().Text();
    EXPECT_NE(model->constants[0].storage, nullptr);
    EXPECT_EQ(LieInFile(model->constants[0].bytes), count > 2);
    std::filesystem::remove(folder.path() / "model.onnx");
    EXPECT_EQ(model->constants[0].Doubles(), std::vector<double>(count, 4));
  }
}

TEST(ReadModelTest, ExternalDataIsFoundNextToTheModel) {
  const TemporaryFolder folder;
  folder.Write("w.bin", std::string(16, '\0'));
  const Message tensor = Message()
                             .Text(schema::tensor::kName, "w")
                             .Int(schema::tensor::kDims, 3)
                             .Int(schema::tensor::kDataType, 1)
                             .Int(schema::tensor::kDataLocation, 1)
                             .Put(schema::tensor::kExternalData, Entry("location", "w.bin"))
                             .Put(schema::tensor::kExternalData, Entry("offset", "4"));
  Message graph = GraphOf({NodeMessage("Mul", {"x", "w"}, {"y"})});
  graph.Put(schema::graph::kInitializer, tensor);
  const auto file = folder.Write("model.onnx", ModelOf(graph).bytes());

  EXPECT_EQ(ReadModel(file)->constants[0].Doubles(), (std::vector<double>{0, 0, 0}));
  std::filesystem::remove(folder.path() / "w.bin");
  const auto without = ReadModel(file);
  ASSERT_TRUE(without.ok()) << without.error().Text();
  EXPECT_TRUE(without->constants[0].missing);
}

TEST(ReadModelTest, InitializersThatAreAlsoInputsAreConstants) {
  Message graph = GraphOf({NodeMessage("Add", {"x", "w"}, {"y"})});
  graph.Put(schema::graph::kInput, ValueInfo("w", TensorType(DataType::kFloat32, {"2"})));
  graph.Put(schema::graph::kInitializer, FloatTensor("w", {1, 2}));
  const auto model = ReadMessage(ModelOf(graph, 3, 7));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->root().inputs.size(), 1u);
  EXPECT_TRUE(FindValue(*model, "w")->constant.valid());
  EXPECT_EQ(Text(FindValue(*model, "w")->declared), "float32[2]");
}

TEST(ReadModelTest, NodesOutOfOrderAreSortedAndOthersStayAsTheyAre) {
  const auto model = ReadMessage(
      ModelOf(GraphOf({NodeMessage("Neg", {"b"}, {"y"}), NodeMessage("Abs", {"x"}, {"c"}),
                       NodeMessage("Exp", {"x"}, {"b"})})));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Operators(*model, Graph::kRoot), (std::vector<std::string>{"Abs", "Exp", "Neg"}));
}

TEST(ReadModelTest, BodiesSeeTheValuesAroundThem) {
  const auto branch = [](std::string_view op) {
    return Message()
        .Put(schema::graph::kNode, NodeMessage(op, {"a"}, {"y"}))
        .Put(schema::graph::kOutput, ValueInfo("y"));
  };
  Message choose = NodeMessage("If", {"x"}, {"y"}, "choose");
  choose.Put(schema::node::kAttribute, GraphAttribute("then_branch", branch("Neg")));
  choose.Put(schema::node::kAttribute, GraphAttribute("else_branch", branch("Exp")));
  // `a` is made after the node that captures it, so the order must come from the capture.
  const auto model = ReadMessage(ModelOf(GraphOf({choose, NodeMessage("Abs", {"x"}, {"a"})})));

  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Operators(*model, Graph::kRoot), (std::vector<std::string>{"Abs", "If"}));
  const graph::NodeId owner = model->root().nodes[1];
  const graph::SubgraphId body = (*model)[owner].attributes.Subgraph("else_branch");
  ASSERT_TRUE(body.valid());
  EXPECT_EQ((*model)[body].owner, owner);
  const graph::Node& inner = (*model)[(*model)[body].nodes[0]];
  EXPECT_EQ(inner.op, "Exp");
  EXPECT_EQ((*model)[inner.inputs[0]].home, Graph::kRoot);
  EXPECT_EQ((*model)[inner.outputs[0]].home, body);
}

TEST(ReadModelTest, ForeignOperatorsStayAsTheyAre) {
  Message node = NodeMessage("mul.Tensor", {"x", "", "x"}, {"y", ""}, "", "aten");
  node.Put(schema::node::kAttribute, IntAttribute("view", 1));
  const auto model = ReadMessage(ModelOf(GraphOf({node})));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  const graph::Node& mul = model->nodes[0];
  EXPECT_EQ(OperatorName(mul), "aten::mul.Tensor");
  EXPECT_EQ(mul.attributes.Int("view", 0), 1);
  EXPECT_FALSE(mul.inputs[1].valid());
  EXPECT_FALSE(mul.outputs[1].valid());
}

TEST(ReadModelTest, TheLongNameOfTheStandardIsTheEmptyOne) {
  const auto model = ReadMessage(
      Message()
          .Int(schema::model::kIrVersion, 8)
          .Put(schema::model::kOpsetImport, Opset("ai.onnx", 17))
          .Put(schema::model::kGraph, GraphOf({NodeMessage("Relu", {"x"}, {"y"}, "", "ai.onnx")})));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->nodes[0].domain, "");
  EXPECT_EQ(model->nodes[0].version, 17);
}

TEST(ReadModelTest, MemoryComesFromTheRowAndMetadataOverridesIt) {
  Message node = NodeMessage("Relu", {"x"}, {"y"}, "relu");
  node.Put(schema::node::kMetadata, Entry("plimsoll.stream", "2"));
  node.Put(schema::node::kMetadata, Entry("plimsoll.reference_output", "0:0"));
  node.Put(schema::node::kMetadata, Entry("namespace", "left alone"));
  const auto model = ReadMessage(ModelOf(GraphOf({node})));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Text(model->nodes[0].memory), "reference_output=0:0 stream=2");
}

TEST(ReadModelTest, UnnamedDimensionsOfInputsAreDistinguished) {
  Message graph = GraphOf({NodeMessage("Relu", {"x"}, {"y"})});
  graph.Put(schema::graph::kInput, ValueInfo("z", TensorType(DataType::kFloat32, {"?", "?"})));
  const auto model = ReadMessage(ModelOf(graph));
  ASSERT_TRUE(model.ok()) << model.error().Text();
  const Shape& shape = *FindValue(*model, "z")->type.shape;
  EXPECT_TRUE(shape[0].is_anonymous());
  EXPECT_FALSE(shape[0] == shape[1]);
}

TEST(ReadModelTest, TheSameFileGivesTheSameGraph) {
  Message graph = GraphOf({NodeMessage("Neg", {"b"}, {"y"}), NodeMessage("Exp", {"x"}, {"b"})});
  const Message message = ModelOf(graph);
  EXPECT_EQ(TextForm(*ReadMessage(message)), TextForm(*ReadMessage(message)));
}

}  // namespace model_reader_test
}  // namespace plimsoll::onnx
