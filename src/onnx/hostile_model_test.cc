#include <gtest/gtest.h>

#include "onnx/wire/temporary_folder_for_tests.h"
#include "onnx/wire/wire_writer_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace hostile_model_test {

using graph::DataType;

Message With(Message message, uint32_t field, const Message& part) {
  message.Put(field, part);
  return message;
}

Message Relu() { return NodeMessage("Relu", {"x"}, {"y"}, "relu"); }

Message NestedGraphs(int depth) {
  Message graph = Message().Put(schema::graph::kOutput, ValueInfo("x"));
  for (int i = 0; i < depth; ++i) {
    Message node = NodeMessage("If", {"x"}, {});
    node.Put(schema::node::kAttribute, GraphAttribute("then_branch", graph));
    graph = Message().Put(schema::graph::kNode, node);
  }
  return graph;
}

Message NestedTypes(int depth) {
  Message type = TensorType(DataType::kFloat32, {});
  for (int i = 0; i < depth; ++i) {
    type =
        Message().Put(schema::type::kSequence, Message().Put(schema::element_type::kElement, type));
  }
  return type;
}

Message ReluWith(const Message& metadata) {
  return ModelOf(GraphOf({With(Relu(), schema::node::kMetadata, metadata)}));
}

struct HostileCase {
  friend void PrintTo(const HostileCase& hostile, std::ostream* out) { *out << hostile.name; }

  std::string name;
  Message model;
  ErrorKind kind;
  std::string code;
  std::string says;  // somewhere in the text
};

std::vector<HostileCase> Cases() {
  const auto bad = ErrorKind::kBadFile;
  const auto unsupported = ErrorKind::kUnsupported;
  const Message graph = GraphOf({Relu()});
  const Message deep =
      With(Relu(), schema::node::kAttribute, GraphAttribute("body", NestedGraphs(kMaxNesting)));
  Message many_attributes = Relu();
  for (size_t i = 0; i <= kMaxAttributes; ++i) {
    many_attributes.Put(schema::node::kAttribute, IntAttribute(StrCat("a", i), 1));
  }
  Message twice = Relu();
  twice.Put(schema::node::kAttribute, IntAttribute("a", 1));
  twice.Put(schema::node::kAttribute, IntAttribute("a", 2));
  Message shadow = NodeMessage("If", {"x"}, {"y"});
  shadow.Put(
      schema::node::kAttribute,
      GraphAttribute("then_branch", Message()
                                        .Put(schema::graph::kNode, NodeMessage("Neg", {"x"}, {"t"}))
                                        .Put(schema::graph::kNode, NodeMessage("Exp", {"t"}, {"x"}))
                                        .Put(schema::graph::kOutput, ValueInfo("x"))));
  return {
      {"Empty", Message(), bad, "onnx.empty", "it is empty"},
      {"GitLfsPointer", Message().Raw("version https://git-lfs.github.com/spec/v1\n"), bad,
       "onnx.not_a_model", "git lfs pull"},
      {"ZipArchive", Message().Raw("PK\x03\x04rest"), bad, "onnx.not_a_model", "zip archive"},
      {"Text", Message().Raw("hello, this is no model"), bad, "onnx.wire", "unknown wire type"},
      {"Truncated",
       Message().Raw(ModelOf(graph).bytes().substr(0, ModelOf(graph).bytes().size() / 2)), bad,
       "onnx.truncated", "bytes, but"},
      {"AbsurdLength", Message().Raw("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), bad,
       "onnx.truncated", "field 7"},
      {"NoGraph", Message().Int(schema::model::kIrVersion, 8), bad, "onnx.not_a_model", "no graph"},
      {"NoVersion", Message().Put(schema::model::kGraph, graph), bad, "onnx.not_a_model",
       "IR version"},
      {"TwoGraphs", With(ModelOf(graph), schema::model::kGraph, graph), bad, "onnx.duplicate",
       "second graph"},
      {"OldIrVersion", ModelOf(graph, 2), unsupported, "onnx.ir_version", "3 to 14"},
      {"NewIrVersion", ModelOf(graph, 15), unsupported, "onnx.ir_version", "3 to 14"},
      {"OldOpset", ModelOf(graph, 8, 6), unsupported, "onnx.opset", "7 to 28"},
      {"NewOpset", ModelOf(graph, 8, 29), unsupported, "onnx.opset", "7 to 28"},
      {"NegativeOpset", ModelOf(graph, 8, -1), bad, "onnx.opset", "operator set -1"},
      {"TwoOpsets", With(ModelOf(graph), schema::model::kOpsetImport, Opset("ai.onnx", 18)), bad,
       "onnx.duplicate", "17 and 18"},
      {"DomainNotImported",
       ModelOf(GraphOf({NodeMessage("Scaler", {"x"}, {"y"}, "", "ai.onnx.ml")})), bad, "onnx.opset",
       "ai.onnx.ml"},
      {"Cycle",
       ModelOf(GraphOf({NodeMessage("Add", {"x", "b"}, {"a"}, "first"),
                        NodeMessage("Neg", {"a"}, {"b"}, "second"),
                        NodeMessage("Abs", {"b"}, {"y"}, "third")})),
       bad, "onnx.cycle", "graph.node[0] 'first' (Add) waits for graph.node[1] 'second' (Neg)"},
      {"ReadsItself", ModelOf(GraphOf({NodeMessage("Neg", {"y"}, {"y"}, "self")})), bad,
       "onnx.cycle", "'self'"},
      {"NameMadeTwice", ModelOf(GraphOf({Relu(), Relu()})), bad, "onnx.duplicate",
       "graph.node[1] 'relu' (Relu)"},
      {"NameMadeTwiceByOneNode", ModelOf(GraphOf({NodeMessage("Split", {"x"}, {"y", "y"})})), bad,
       "onnx.duplicate", "'y'"},
      {"InputMadeAgain", ModelOf(GraphOf({Relu(), NodeMessage("Neg", {"y"}, {"x"})})), bad,
       "onnx.duplicate", "input or a constant"},
      {"ConstantMadeAgain",
       ModelOf(With(GraphOf({Relu(), NodeMessage("Neg", {"x"}, {"w"})}),
                    schema::graph::kInitializer, FloatTensor("w", {1}))),
       bad, "onnx.duplicate", "'w'"},
      {"TwoInputsOfOneName", ModelOf(With(graph, schema::graph::kInput, ValueInfo("x"))), bad,
       "onnx.duplicate", "two inputs are called 'x'"},
      {"TwoInitializersOfOneName",
       ModelOf(With(With(graph, schema::graph::kInitializer, FloatTensor("w", {1})),
                    schema::graph::kInitializer, FloatTensor("w", {1}))),
       bad, "onnx.duplicate", "two initializers are called 'w'"},
      {"InputWithoutName", ModelOf(With(graph, schema::graph::kInput, ValueInfo(""))), bad,
       "onnx.duplicate", "no name"},
      {"MissingInput", ModelOf(GraphOf({NodeMessage("Relu", {"xx"}, {"y"}, "relu")})), bad,
       "onnx.missing_input", "reads 'xx', which nobody makes; did you mean 'x'?"},
      {"MissingOutput", ModelOf(With(graph, schema::graph::kOutput, ValueInfo("yy"))), bad,
       "onnx.missing_output", "did you mean 'y'?"},
      {"AmbiguousShadow", ModelOf(GraphOf({shadow})), bad, "onnx.shadow",
       "graph.node[0] '' (If).then_branch.node[0]"},
      {"NodeWithoutOperator", ModelOf(GraphOf({NodeMessage("", {"x"}, {"y"}, "blank")})), bad,
       "onnx.node", "'blank'"},
      {"NodeNameIsNoText", ModelOf(GraphOf({NodeMessage("Relu", {"x"}, {"y"}, "\xff\x1b[31m")})),
       bad, "onnx.text", "\\xff\\x1b[31m"},
      {"UnknownElementType",
       ModelOf(With(graph, schema::graph::kInput,
                    ValueInfo("z", TensorType(static_cast<DataType>(77), {})))),
       bad, "onnx.element_type", "77"},
      {"OverflowingDims",
       ModelOf(With(graph, schema::graph::kInitializer,
                    Message()
                        .Text(schema::tensor::kName, "w")
                        .Packed(schema::tensor::kDims, {1LL << 62, 1LL << 62})
                        .Int(schema::tensor::kDataType, 1))),
       bad, "onnx.dims", "'w'"},
      {"DataTooShort",
       ModelOf(With(graph, schema::graph::kInitializer,
                    Message()
                        .Text(schema::tensor::kName, "w")
                        .Int(schema::tensor::kDims, 1'000'000'000'000)
                        .Int(schema::tensor::kDataType, 1)
                        .Text(schema::tensor::kRawData, "1234"))),
       bad, "onnx.tensor", "4 bytes of data"},
      {"ExternalOutside",
       ModelOf(
           With(graph, schema::graph::kInitializer,
                Message()
                    .Text(schema::tensor::kName, "w")
                    .Int(schema::tensor::kDataType, 1)
                    .Int(schema::tensor::kDataLocation, 1)
                    .Put(schema::tensor::kExternalData, Entry("location", "../../etc/passwd")))),
       bad, "onnx.external_path", "'..'"},
      {"SparseInitializer", ModelOf(With(graph, schema::graph::kSparseInitializer, Message())),
       unsupported, "onnx.sparse", "sparse"},
      {"AttributeOfUnknownKind",
       ModelOf(GraphOf({With(
           Relu(), schema::node::kAttribute,
           Message().Text(schema::attribute::kName, "a").Int(schema::attribute::kKind, 99))})),
       bad, "onnx.attribute", "99"},
      {"AttributeWithoutValue",
       ModelOf(GraphOf({With(Relu(), schema::node::kAttribute,
                             Message().Text(schema::attribute::kName, "a"))})),
       bad, "onnx.attribute", "neither"},
      {"AttributeTwice", ModelOf(GraphOf({twice})), bad, "onnx.duplicate", "two attributes 'a'"},
      {"TooManyAttributes", ModelOf(GraphOf({many_attributes})), bad, "onnx.limit", "attributes"},
      {"GraphsTooDeep", ModelOf(GraphOf({deep})), bad, "onnx.limit", "nested"},
      {"TypesTooDeep", ModelOf(With(graph, schema::graph::kInput, ValueInfo("z", NestedTypes(40)))),
       bad, "onnx.limit", "nested"},
      {"UnknownMemoryAttribute", ReluWith(Entry("plimsoll.steam", "1")), bad, "onnx.metadata",
       "graph.node[0] 'relu' (Relu), metadata 'plimsoll.steam'"},
      {"BadMemoryAttribute", ReluWith(Entry("plimsoll.stream", "fast")), bad, "onnx.metadata",
       "plimsoll.stream"},
      {"ReferenceToNoInput", ReluWith(Entry("plimsoll.reference_output", "0:4")), bad,
       "onnx.metadata", "input 4"},
      {"ClearsNoOutput", ReluWith(Entry("plimsoll.needs_clearing", "1")), bad, "onnx.metadata",
       "number 1"},
  };
}

class HostileModelTest : public testing::TestWithParam<HostileCase> {};

TEST_P(HostileModelTest, IsRefusedWithPlaceAndReason) {
  const auto model = ReadMessage(GetParam().model);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, GetParam().code) << model.error().Text();
  EXPECT_EQ(model.error().kind, GetParam().kind);
  EXPECT_FALSE(model.error().where.empty());
  EXPECT_NE(model.error().Text().find(GetParam().says), std::string::npos) << model.error().Text();
}

INSTANTIATE_TEST_SUITE_P(All, HostileModelTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// Every prefix of a good model is either refused or, where the cut falls between fields, a model.
TEST(TruncatedModelTest, NoPrefixCrashes) {
  Message node = Relu();
  node.Put(schema::node::kAttribute, GraphAttribute("body", NestedGraphs(2)));
  Message graph = GraphOf({node});
  graph.Put(schema::graph::kInitializer, FloatTensor("w", {1, 2, 3}));
  const std::string bytes = ModelOf(graph).bytes();
  size_t refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A copy of exactly this size, so that the sanitizer sees every read beyond the end.
    const std::vector<char> prefix(bytes.begin(), bytes.begin() + static_cast<long>(length));
    const auto model = ReadModelBytes(std::as_bytes(std::span(prefix)), nullptr, "");
    refused += model.ok() ? 0 : 1;
  }
  EXPECT_GE(refused + 1, bytes.size());
}

TEST(FileErrorsTest, NameTheFile) {
  const TemporaryFolder folder;
  const auto file = folder.Write("broken.onnx", "\x3a\x7f");
  const auto model = ReadModel(file);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().where, file.string() + ": byte 0");
  EXPECT_EQ(ReadModel(folder.path() / "none.onnx").error().code, "file.missing");
  EXPECT_EQ(ReadModel(folder.path()).error().code, "file.kind");
}

}  // namespace hostile_model_test
}  // namespace plimsoll::onnx
