#include <gtest/gtest.h>

#include "onnx/wire/wire_writer_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace function_expansion_test {

using graph::Graph;

Message FunctionOf(std::string_view name, Names inputs, Names outputs,
                   const std::vector<Message>& nodes) {
  Message function;
  function.Text(schema::function::kName, name).Text(schema::function::kDomain, "local");
  for (const std::string_view input : inputs) function.Text(schema::function::kInput, input);
  for (const std::string_view output : outputs) function.Text(schema::function::kOutput, output);
  for (const Message& node : nodes) function.Put(schema::function::kNode, node);
  return function.Put(schema::function::kOpsetImport, Opset("", 18));
}

Message Call(std::string_view function, Names inputs, Names outputs, std::string_view name = "") {
  return NodeMessage(function, inputs, outputs, name, "local");
}

Result<Graph> Read(const std::vector<Message>& nodes, const std::vector<Message>& functions) {
  Message model = ModelOf(GraphOf(nodes));
  for (const Message& function : functions) model.Put(schema::model::kFunctions, function);
  return ReadMessage(model);
}

// "Neg(x)->f/h; Exp(f/h)->y", the root's nodes in order.
std::string Summary(const Graph& graph) {
  std::string text;
  const auto names = [&](const std::vector<graph::ValueId>& ids) {
    std::string list;
    for (const graph::ValueId id : ids) {
      list += (list.empty() ? "" : ",") + (id.valid() ? graph[id].name : "-");
    }
    return list;
  };
  for (const graph::NodeId id : graph.root().nodes) {
    const graph::Node& node = graph[id];
    text += (text.empty() ? "" : "; ") + node.op + "(" + names(node.inputs) + ")->" +
            names(node.outputs);
  }
  return text;
}

std::string CodeOf(const Result<Graph>& graph) { return graph.ok() ? "" : graph.error().code; }

TEST(FunctionExpansionTest, ACallBecomesTheFunctionsNodes) {
  const auto model = Read({Call("f", {"x"}, {"y"}, "call")},
                          {FunctionOf("f", {"a"}, {"b"},
                                      {NodeMessage("Neg", {"a"}, {"h"}, "first"),
                                       NodeMessage("Exp", {"h"}, {"b"}, "second")})});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Summary(*model), "Neg(x)->call/h; Exp(call/h)->y");
  EXPECT_EQ(model->nodes[0].name, "call/first");
  EXPECT_EQ(model->nodes[0].version, 18);
}

TEST(FunctionExpansionTest, TwoCallsGetNamesOfTheirOwnAlsoAgainstTheFile) {
  const Message f = FunctionOf(
      "f", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"h"}), NodeMessage("Exp", {"h"}, {"b"})});
  const auto model =
      Read({Call("f", {"x"}, {"m"}), Call("f", {"m"}, {"f/h"}), NodeMessage("Abs", {"f/h"}, {"y"})},
           {f});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Summary(*model),
            "Neg(x)->f/h_2; Exp(f/h_2)->m; Neg(m)->f_2/h; Exp(f_2/h)->f/h; Abs(f/h)->y");
}

TEST(FunctionExpansionTest, CallsInsideFunctionsAreExpandedToo) {
  const auto model =
      Read({Call("outer", {"x"}, {"y"}, "o")},
           {FunctionOf("outer", {"a"}, {"b"},
                       {Call("inner", {"a"}, {"m"}, "i"), Call("inner", {"m"}, {"b"}, "j")}),
            FunctionOf("inner", {"p"}, {"q"}, {NodeMessage("Neg", {"p"}, {"q"})})});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Summary(*model), "Neg(x)->o/m; Neg(o/m)->y");
}

TEST(FunctionExpansionTest, AttributeReferencesTakeTheCallsValueOrTheDefault) {
  Message node = NodeMessage("Softmax", {"a"}, {"b"});
  node.Put(schema::node::kAttribute, ReferenceAttribute("axis", "which"));
  node.Put(schema::node::kAttribute, ReferenceAttribute("other", "never_given"));
  Message f = FunctionOf("f", {"a"}, {"b"}, {node});
  f.Put(schema::function::kAttributeDefault, IntAttribute("which", 7));
  Message with = Call("f", {"x"}, {"m"});
  with.Put(schema::node::kAttribute, IntAttribute("which", 1));

  const auto model = Read({with, Call("f", {"m"}, {"y"})}, {f});

  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->nodes[0].attributes.Int("axis", -9), 1);
  EXPECT_EQ(model->nodes[1].attributes.Int("axis", -9), 7);
  EXPECT_EQ(model->nodes[0].attributes.Find("other"), nullptr);
}

TEST(FunctionExpansionTest, AGraphGivenAsAttributeSeesTheCallersNames) {
  Message choose = NodeMessage("If", {"a"}, {"b"});
  choose.Put(schema::node::kAttribute, ReferenceAttribute("then_branch", "body"));
  Message call = Call("f", {"x"}, {"y"}, "call");
  call.Put(schema::node::kAttribute,
           GraphAttribute("body", Message()
                                      .Put(schema::graph::kNode, NodeMessage("Neg", {"k"}, {"t"}))
                                      .Put(schema::graph::kOutput, ValueInfo("t"))));
  const auto model =
      Read({NodeMessage("Abs", {"x"}, {"k"}), call}, {FunctionOf("f", {"a"}, {"b"}, {choose})});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  const graph::SubgraphId body =
      (*model)[model->root().nodes[1]].attributes.Subgraph("then_branch");
  const graph::Node& neg = (*model)[(*model)[body].nodes[0]];
  EXPECT_EQ((*model)[neg.inputs[0]].name, "k");
  EXPECT_EQ((*model)[neg.outputs[0]].name, "call/t");
}

TEST(FunctionExpansionTest, LeftOutInputsStayLeftOutAndUnusedOutputsAreDropped) {
  const auto model = Read({Call("f", {"x"}, {"y"}, "call")},
                          {FunctionOf("f", {"a", "min"}, {"b", "unused"},
                                      {NodeMessage("Clip", {"a", "min"}, {"b"}),
                                       NodeMessage("Neg", {"a"}, {"unused"})})});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Summary(*model), "Clip(x,-)->y; Neg(x)->call/unused");
}

TEST(FunctionExpansionTest, AnInputHandedThroughIsCopied) {
  const auto model = Read({Call("f", {"x"}, {"y"})}, {FunctionOf("f", {"a"}, {"a"}, {})});
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(Summary(*model), "Identity(x)->y");
}

TEST(FunctionExpansionTest, StreamAndBatchOfACallGoToItsNodes) {
  Message call = Call("f", {"x"}, {"y"});
  call.Put(schema::node::kMetadata, Entry("plimsoll.stream", "3"));
  const Message f = FunctionOf("f", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"b"})});
  EXPECT_EQ(Text(Read({call}, {f})->nodes[0].memory), "stream=3");
  call.Put(schema::node::kMetadata, Entry("plimsoll.needs_clearing", "0"));
  EXPECT_EQ(CodeOf(Read({call}, {f})), "onnx.metadata");
}

TEST(FunctionExpansionTest, RefusesWhatCannotBeExpanded) {
  const Message f = FunctionOf("f", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"b"})});
  EXPECT_EQ(CodeOf(Read({Call("f", {"x", "x"}, {"y"})}, {f})), "onnx.call");
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"y", "z"})}, {f})), "onnx.call");
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"y"})}, {f, f})), "onnx.duplicate");
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"x"})}, {f})), "onnx.duplicate");
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"y"})}, {FunctionOf("f", {"a"}, {"b"}, {})})),
            "onnx.missing_output");
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"y"})},
                        {FunctionOf("f", {"a"}, {"b"}, {NodeMessage("Neg", {"x"}, {"b"})})})),
            "onnx.missing_input");
}

TEST(FunctionExpansionTest, RefusesFunctionsThatCallThemselves) {
  EXPECT_EQ(CodeOf(Read({Call("f", {"x"}, {"y"})},
                        {FunctionOf("f", {"a"}, {"b"}, {Call("g", {"a"}, {"b"})}),
                         FunctionOf("g", {"a"}, {"b"}, {Call("f", {"a"}, {"b"})})})),
            "onnx.function_cycle");
}

TEST(FunctionExpansionTest, RefusesExpansionsThatExplode) {
  std::vector<Message> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = StrCat("f", i + 1);
    functions.push_back(FunctionOf(StrCat("f", i), {"a"}, {"b"},
                                   {Call(next, {"a"}, {"m"}), Call(next, {"m"}, {"b"})}));
  }
  functions.push_back(FunctionOf("f40", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"b"})}));
  EXPECT_EQ(CodeOf(Read({Call("f0", {"x"}, {"y"})}, functions)), "onnx.limit");
}

}  // namespace function_expansion_test
}  // namespace plimsoll::onnx
