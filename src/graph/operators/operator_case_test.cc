#include "graph/operators/operator_case.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

Status InferBody(Graph& graph, SubgraphId id);

Status InferNode(Graph& graph, NodeId id) {
  InferContext context(
      graph, id,
      [&graph](SubgraphId body, std::span<const ValueType> inputs,
               std::span<const std::optional<Content>> contents) -> Result<std::vector<ValueType>> {
        for (size_t i = 0; i < inputs.size(); ++i) {
          Value& value = graph[graph[body].inputs[i]];
          value.type = inputs[i];
          value.content = i < contents.size() ? contents[i] : std::nullopt;
        }
        PLIMSOLL_TRY(InferBody(graph, body));
        std::vector<ValueType> outputs;
        for (const ValueId output : graph[body].outputs) outputs.push_back(graph[output].type);
        return outputs;
      });
  const Node& node = graph[id];
  const OperatorRow* row = FindOperator(node.domain, node.op, node.version);
  if (row == nullptr) return context.Fail("there is no row for this operator and version");
  const int inputs = static_cast<int>(node.inputs.size());
  if (inputs < row->min_inputs || inputs > row->max_inputs) return context.Fail("input count");
  if (static_cast<int>(node.outputs.size()) > row->max_outputs) {
    return context.Fail("output count");
  }
  return row->infer(context);
}

Status InferBody(Graph& graph, SubgraphId id) {
  for (const NodeId node : graph[id].nodes) PLIMSOLL_TRY(InferNode(graph, node));
  return {};
}

Content ParseContent(std::string_view elements, DataType type) {
  Content content;
  const std::vector<std::string_view> parts =
      elements.empty() ? std::vector<std::string_view>() : Split(elements, ',');
  if (IsFloating(type)) {
    std::vector<double>& list = content.elements.emplace<std::vector<double>>();
    for (std::string_view part : parts) list.push_back(ParseDouble(part).value());
  } else {
    std::vector<Dim>& list = content.elements.emplace<std::vector<Dim>>();
    for (std::string_view part : parts) list.push_back(Dim::Parse(part));
  }
  return content;
}

Value ParseValue(const std::string& text) {
  const size_t brace = text.find('{');
  Value value;
  value.type = ParseType(text.substr(0, brace));
  if (brace != std::string::npos) {
    value.content = ParseContent(std::string_view(text).substr(brace + 1, text.size() - brace - 2),
                                 value.type.data_type);
  }
  return value;
}

// The graph of a case: one node, its inputs and its outputs.
Graph MakeGraph(const OperatorCase& operator_case, size_t outputs) {
  Graph graph;
  graph.subgraphs.emplace_back();
  Node node;
  const size_t colon = operator_case.op.find(':');
  if (colon != std::string::npos) node.domain = operator_case.op.substr(0, colon);
  node.op = colon == std::string::npos ? operator_case.op : operator_case.op.substr(colon + 1);
  node.version = operator_case.version;
  for (const auto& [name, value] : operator_case.attributes) node.attributes.Set(name, value);
  for (const std::string& input : operator_case.inputs) {
    node.inputs.push_back(input.empty() ? ValueId() : ValueId(graph.values.size()));
    if (input.empty()) continue;
    graph.values.push_back(ParseValue(input));
  }
  for (size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(ValueId(graph.values.size()));
    graph.values.emplace_back().name = StrCat("out", i);
  }
  node.home = Graph::kRoot;
  graph.nodes.push_back(std::move(node));
  graph.subgraphs[0].nodes.push_back(NodeId(0));
  return graph;
}

}  // namespace

Status InferAll(Graph& graph) { return InferBody(graph, Graph::kRoot); }

ValueType ParseType(const std::string& text) {
  if (text == "?") return {};
  for (const std::string holder : {"seq(", "optional("}) {
    if (text.rfind(holder, 0) != 0) continue;
    ValueType element = ParseType(text.substr(holder.size(), text.size() - holder.size() - 1));
    return holder == "seq(" ? ValueType::Sequence(std::move(element))
                            : ValueType::Optional(std::move(element));
  }
  if (text.rfind("map(", 0) == 0) {
    const size_t comma = text.find(',');
    return ValueType::Map(*DataTypeFromName(text.substr(4, comma - 4)),
                          ParseType(text.substr(comma + 1, text.size() - comma - 2)));
  }
  const size_t bracket = text.find('[');
  const DataType type = DataTypeFromName(text.substr(0, bracket)).value();
  const std::string dims = text.substr(bracket + 1, text.size() - bracket - 2);
  if (dims == "...") return ValueType::Tensor(type);
  Shape shape;
  if (!dims.empty()) {
    for (std::string_view dim : Split(dims, ',')) shape.push_back(Dim::Parse(dim));
  }
  return ValueType::Tensor(type, std::move(shape));
}

std::string TextOf(const Value& value) {
  const auto hide = [](Dim& dim) {
    if (dim.is_anonymous()) dim = Dim::Symbol("?");
  };
  ValueType type = value.type;
  ForEachDim(type, hide);
  std::string text = Text(type);
  if (!value.content) return text;
  text += '{';
  if (const std::vector<Dim>* dims = value.content->dims()) {
    std::vector<std::string> parts;
    for (Dim dim : *dims) {
      hide(dim);
      parts.push_back(dim.Text());
    }
    text += Join(parts, ",");
  } else {
    text += Join(*value.content->doubles(), ",");
  }
  return text + '}';
}

void Check(const OperatorCase& operator_case) {
  SCOPED_TRACE(StrCat(operator_case.op, " version ", operator_case.version, " of ",
                      Join(operator_case.inputs, "; ")));
  constexpr std::string_view kFails = "fails: ";
  const std::vector<std::string>& expected = operator_case.outputs;
  const bool must_fail = !expected.empty() && expected[0].rfind(kFails, 0) == 0;
  Graph graph = MakeGraph(operator_case, expected.size());
  const Status status = InferAll(graph);
  if (must_fail) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().why.find(expected[0].substr(kFails.size())), std::string::npos)
        << status.error().why;
    return;
  }
  ASSERT_TRUE(status.ok()) << status.error().Text();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(TextOf(graph[graph.nodes[0].outputs[i]]), expected[i]) << "output " << i;
  }
}

void CheckAll(const std::vector<OperatorCase>& cases) {
  for (const OperatorCase& operator_case : cases) Check(operator_case);
}

TEST(OperatorCaseTest, TypesAreReadAsTheyPrint) {
  for (const std::string text : {"float32[1,3,h,2*w]", "int64[]", "uint4[...]", "seq(float32[2,n])",
                                 "optional(seq(string[]))", "map(int64,float32[])"}) {
    EXPECT_EQ(Text(ParseType(text)), text);
  }
}

TEST(OperatorCaseTest, FactsNameInputsThatTheOperatorHas) {
  for (const OperatorRow* row : AllOperators()) {
    const OperatorFacts& facts = row->facts;
    for (size_t i = static_cast<size_t>(std::min(row->max_inputs, 32)); i < 32; ++i) {
      EXPECT_FALSE(Contains(facts.host_inputs, i)) << row->name << " input " << i;
      EXPECT_TRUE(facts.in_place_inputs == kEveryInput || !Contains(facts.in_place_inputs, i))
          << row->name << " input " << i;
    }
    EXPECT_EQ(
        facts.host_inputs & (facts.in_place_inputs == kEveryInput ? 0 : facts.in_place_inputs), 0u)
        << row->name;
    EXPECT_TRUE(facts.elementwise || !facts.keeps_zero) << row->name;
    EXPECT_TRUE(facts.elementwise || !facts.activation.fusable) << row->name;
  }
}

TEST(OperatorCaseTest, OperandsThatTheHostMustKnowAreMarked) {
  const auto host = [](std::string_view op, int version) {
    return FindOperator("", op, version)->facts.host_inputs;
  };
  EXPECT_EQ(host("Reshape", 14), Inputs(1));
  EXPECT_EQ(host("ReduceSum", 12), InputSet{0});
  EXPECT_EQ(host("ReduceSum", 13), Inputs(1));
  EXPECT_EQ(host("Slice", 13), Inputs(1, 2, 3, 4));
  EXPECT_EQ(host("Resize", 13), Inputs(1, 2, 3));
  EXPECT_EQ(host("Loop", 13), Inputs(0, 1));
  EXPECT_EQ(host("Conv", 13), InputSet{0});
}

TEST(OperatorCaseTest, AnOperatorWithoutARowHasNoFacts) {
  Node node;
  node.domain = "nowhere";
  node.op = "Relu";
  EXPECT_FALSE(FactsOf(node).elementwise);
  node.domain = "";
  node.version = 14;
  EXPECT_TRUE(FactsOf(node).elementwise);
}

TEST(OperatorCaseTest, EveryOperatorHasOneRowForEachVersion) {
  for (const OperatorRow* row : AllOperators()) {
    EXPECT_LE(row->since, row->until) << row->name;
    EXPECT_NE(row->infer, nullptr) << row->name;
    EXPECT_EQ(FindOperator(row->domain, row->name, row->since), row) << row->name;
    if (row->since > 1) {
      const OperatorRow* before = FindOperator(row->domain, row->name, row->since - 1);
      EXPECT_NE(before, row) << row->name;
    }
  }
}

}  // namespace plimsoll::graph::operators
