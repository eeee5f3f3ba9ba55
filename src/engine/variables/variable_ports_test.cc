#include "engine/variables/variable_ports.h"

#include <gtest/gtest.h>

#include "engine/variables/training_for_tests.h"
#include "graph/builder.h"
#include "graph/operator_row.h"

namespace plimsoll::engine {
namespace variable_ports_test {

using graph::Graph;

// Inputs w m x, outputs loss next_w next_m, and metadata `state` of this text.
Graph WithState(const std::string& state) {
  Graph graph = MomentumStep();
  graph.metadata = {{"author", "somebody"}, {"state", state}};
  return graph;
}

std::string PairsOf(const Result<std::vector<VariableName>>& names) {
  if (!names.ok()) return names.error().code;
  std::vector<std::string> texts;
  for (const VariableName& name : *names) {
    texts.push_back(
        StrCat(name.input, "=", name.output, name.group.empty() ? "" : " ", name.group));
  }
  return Join(texts, ", ");
}

TEST(VariablePortsTest, SizesStandBehindTheOutput) {
  const auto names = ParseVariables("past=present@1x2x512x64, w=next_w,table");
  ASSERT_TRUE(names.ok()) << names.error().Text();
  EXPECT_EQ((*names)[0].output, "present");
  EXPECT_EQ((*names)[0].dims, (std::vector<int64_t>{1, 2, 512, 64}));
  EXPECT_TRUE((*names)[1].dims.empty());
  for (const char* wrong : {"past=present@", "past=present@1x", "past=present@axb", "past=@1x2"}) {
    EXPECT_EQ(PairsOf(ParseVariables(wrong)), "variables.argument") << wrong;
  }
}

// One step of a decoder: a token's query, key and value, and a cache whose length is open.
Graph OpenCache() {
  using graph::DataType;
  using graph::Dim;
  using graph::Shape;
  using graph::ValueType;
  graph::GraphBuilder b;
  const auto floats = [](Shape shape) {
    return ValueType::Tensor(DataType::kFloat32, std::move(shape));
  };
  const auto query = b.Input("query", floats({1, 1, 32}));
  const auto key = b.Input("key", floats({1, 1, 16}));
  const auto value = b.Input("value", floats({1, 1, 16}));
  const auto past_key = b.Input("past_key", floats({1, 2, Dim::Symbol("past"), 8}));
  const auto past_value = b.Input("past_value", floats({1, 2, Dim::Symbol("past"), 8}));
  const auto lengths = b.Input("lengths", ValueType::Tensor(DataType::kInt32, Shape{1}));
  const auto total = b.Input("total", ValueType::Tensor(DataType::kInt32, Shape{}));
  graph::Attributes attributes;
  attributes.Set("num_heads", int64_t{4});
  attributes.Set("kv_num_heads", int64_t{2});
  const auto made =
      b.Nodes("GroupQueryAttention", {query, key, value, past_key, past_value, lengths, total}, 3,
              attributes, std::string(graph::kContributedDomain));
  for (const auto output : made) b.Output(output);
  Graph graph = b.Build();
  graph.nodes[0].version = 1;
  return graph;
}

TEST(VariablePortsTest, ACacheTakesTheSizesThatItIsGiven) {
  Graph graph = OpenCache();
  const auto& outputs = graph.root().outputs;
  const VariableName cache{
      .input = "past_key", .output = graph[outputs[1]].name, .dims = {1, 2, 512, 8}};
  const auto ports = BindVariables(graph, {cache});
  ASSERT_TRUE(ports.ok()) << ports.error().Text();
  EXPECT_EQ(Text(graph[graph.root().inputs[3]].type), "float32[1,2,512,8]");
  EXPECT_EQ(graph.nodes[0].attributes.Int("past_present_share_buffer", 0), 1);
}

// present = Concat(past, new) along `axis`, behind an Identity.
Graph AppendedCache(graph::Dim length, int64_t axis) {
  graph::GraphBuilder b;
  const auto past = b.Input("past", compile::FloatTensor({2, 3, length, 4}));
  const auto added = b.Input("added", compile::FloatTensor({2, 3, 1, 4}));
  const auto present = b.Node("Concat", {past, added}, compile::With("axis", axis));
  b.Output(b.Node("Identity", {present}));
  return b.Build();
}

TEST(VariablePortsTest, WhatAConcatAppendsToGrowsAlongItsAxisWhereThatIsOpen) {
  struct Case {
    graph::Dim length;
    std::vector<int64_t> dims;
    std::optional<size_t> axis;
  };
  const graph::Dim open = graph::Dim::Symbol("past");
  for (const Case& c :
       {Case{open, {2, 3, 16, 4}, 2}, Case{open, {}, {}}, Case{8, {2, 3, 8, 4}, {}}}) {
    for (const int64_t axis : {2, -2}) {
      Graph graph = AppendedCache(c.length, axis);
      const std::string output = graph[graph.root().outputs[0]].name;
      const auto ports =
          BindVariables(graph, {{.input = "past", .output = output, .dims = c.dims}});
      ASSERT_TRUE(ports.ok()) << ports.error().Text();
      EXPECT_EQ((*ports)[0].growth_axis, c.axis);
      EXPECT_EQ((*ports)[0].most, c.axis ? c.dims : std::vector<int64_t>());
      EXPECT_EQ((*graph[graph.root().inputs[0]].type.shape)[2], c.length) << "rows come later";
    }
  }
}

TEST(VariablePortsTest, SizesThatContradictTheModelAreRefusedAndChangeNothing) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{1, 3, 512, 8}, std::vector<int64_t>{1, 2, 512}}) {
    Graph graph = OpenCache();
    const auto ports = BindVariables(graph, {{.input = "past_key", .output = "", .dims = dims}});
    ASSERT_FALSE(ports.ok());
    EXPECT_EQ(ports.error().code, "variables.shape");
    EXPECT_EQ(Text(graph[graph.root().inputs[3]].type), "float32[1,2,past,8]");
  }
}

TEST(VariablePortsTest, ReadsEveryFormOfMetadata) {
  struct Case {
    const char* state;
    const char* expected;
  };
  for (const Case& c : {
           Case{R"({"w": "next_w", "m": "next_m"})", "w=next_w, m=next_m"},
           Case{R"({"parameters": 1, "moments": 1, "note": "in order"})",
                "w=next_w parameters, m=next_m moments"},
           Case{R"({"parameters": 2})", "w=next_w parameters, m=next_m parameters"},
           Case{R"({"parameters": 0})", ""},
           Case{"{}", ""},
           Case{"w=next_w , m = next_m", "w=next_w, m=next_m"},
           Case{"w", "w="},
           Case{R"({"parameters": 4})", "variables.metadata"},
           Case{R"({"parameters": 2, "moments": 2})", "variables.metadata"},
           Case{R"({"parameters": -1})", "variables.metadata"},
           Case{R"({"parameters": 1.5})", "variables.metadata"},
           Case{R"({"parameters": 18446744073709551615, "moments": 1})", "variables.metadata"},
           Case{R"({"w": ["next_w"]})", "variables.metadata"},
           Case{"[1, 2]", "variables.metadata"},
           Case{"7", "variables.metadata"},
           Case{"w=", "variables.metadata"},
           Case{"=next_w", "variables.metadata"},
           Case{"", "variables.metadata"},
       }) {
    EXPECT_EQ(PairsOf(VariablesInMetadata(WithState(c.state))), c.expected) << c.state;
  }
  EXPECT_EQ(PairsOf(VariablesInMetadata(AddOne({1}))), "");
}

TEST(VariablePortsTest, NumbersCountNoMoreThanTheFewerOfInputsAndOutputs) {
  graph::GraphBuilder builder;
  const graph::ValueId a = builder.Input("a", compile::FloatTensor({2}));
  const graph::ValueId b = builder.Input("b", compile::FloatTensor({2}));
  builder.Output(builder.Node("Add", {a, b}));
  Graph graph = builder.Build();
  graph.metadata = {{"state", R"({"parameters": 2})"}};
  EXPECT_EQ(PairsOf(VariablesInMetadata(graph)), "variables.metadata");
  graph.metadata = {{"state", R"({"parameters": 1})"}};
  EXPECT_EQ(PairsOf(VariablesInMetadata(graph)),
            StrCat("a=", graph[graph.root().outputs[0]].name, " parameters"));
}

TEST(VariablePortsTest, AnArgumentIsAListOfPairsOrNames) {
  EXPECT_EQ(PairsOf(ParseVariables("a=b,c")), "a=b, c=");
  const auto bad = ParseVariables("a=b,,c");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(
      bad.error().Text(),
      "cannot tell the model's variables: 'a=b,,c': '' is neither INPUT=OUTPUT nor INPUT; "
      "write input=output,input=output, or input=output@1x2x512x64 for sizes [variables.argument]");
}

TEST(VariablePortsTest, WhatDoesNotFitTheModelIsRefusedAndNothingIsAdded) {
  struct Case {
    const char* variables;
    const char* code;
    const char* text;
  };
  const auto session = MakeSession();
  for (const Case& c : {
           Case{"v=next_w", "variables.name", "variable 'v': the model has no such input"},
           Case{"w=next_u", "variables.name", "did you mean 'next_w'?"},
           Case{"w=next_w,w=next_m", "variables.twice", "variable 'w': it is named twice"},
           Case{"w=next_w,m=next_w", "variables.twice", "'next_w' replaces another variable too"},
           Case{"w=loss_of_it", "variables.name", "the model has no such output"},
       }) {
    const auto added = session->Add(MomentumStep(), *ParseVariables(c.variables));
    ASSERT_FALSE(added.ok()) << c.variables;
    EXPECT_EQ(added.error().code, c.code) << c.variables;
    EXPECT_NE(added.error().Text().find(c.text), std::string::npos) << added.error().Text();
  }
  EXPECT_TRUE(session->variables().List().empty());
}

TEST(VariablePortsTest, TypesAndShapesMustAgree) {
  using graph::DataType;
  using graph::Dim;
  using graph::ValueType;
  const ValueType floats = compile::FloatTensor({2, 3});
  const auto code = [&](const ValueType& input, const ValueType& output) {
    return CodeOf(CheckVariableTypes("w", input, &output));
  };
  EXPECT_EQ(code(floats, floats), "");
  EXPECT_EQ(code(floats, compile::FloatTensor({2, Dim::Symbol("n")})), "");
  EXPECT_EQ(code(floats, ValueType::Tensor(DataType::kFloat32)), "");
  EXPECT_EQ(code(floats, compile::FloatTensor({3, 2})), "variables.type");
  EXPECT_EQ(code(floats, compile::FloatTensor({2})), "variables.type");
  EXPECT_EQ(code(floats, ValueType::Tensor(DataType::kFloat64, floats.shape)), "variables.type");
  EXPECT_EQ(code(compile::FloatTensor({Dim::Symbol("n")}), floats), "variables.shape");
  EXPECT_EQ(code(ValueType::Sequence(floats), floats), "variables.shape");
  EXPECT_EQ(code(ValueType::Tensor(DataType::kString, floats.shape), floats), "variables.shape");
  EXPECT_EQ(CodeOf(CheckVariableTypes("w", floats, nullptr)), "");
}

TEST(VariablePortsTest, ReadingAndWritingNeedsTheRightTensor) {
  const auto session = MakeSession(Training());
  MustAdd(*session, MomentumStep());
  Variables& variables = session->variables();
  const kernels::HostTensor four = Random({4}, 1);
  const kernels::HostTensor five = Random({5}, 1);
  const kernels::HostTensor whole = Random({4}, 1, graph::DataType::kInt64);
  TensorView strided = View(four);
  strided.strides = Ints{1};
  TensorView nowhere = View(four);
  nowhere.data = nullptr;
  EXPECT_EQ(CodeOf(variables.Set("w", View(four))), "");
  EXPECT_EQ(CodeOf(variables.Set("w", View(five))), "variables.differs");
  EXPECT_EQ(CodeOf(variables.Get("w", View(whole))), "variables.differs");
  EXPECT_EQ(CodeOf(variables.Set("w", strided)), "variables.strides");
  EXPECT_EQ(CodeOf(variables.Get("w", nowhere)), "variables.memory");
  EXPECT_EQ(CodeOf(variables.Set("x", View(four))), "variables.name");
  EXPECT_EQ(VariableOf(*session, "w"), ElementsOf(four));
}

}  // namespace variable_ports_test
}  // namespace plimsoll::engine
