#include "compile/shapes/shapes.h"

#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Content;
using graph::Graph;
using graph::InferContext;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;

// One walk over the graph. Bodies are walked whenever their node's rule asks, which a loop does
// more than once; the number of visits is bounded.
class Inference {
 public:
  explicit Inference(Graph& graph)
      : graph_(graph), visits_left_(kVisitsPerNode * graph.nodes.size() + kVisitsPerNode) {}

  Status Body(SubgraphId id) {
    for (const NodeId node : graph_[id].nodes) PLIMSOLL_TRY(Visit(node));
    return {};
  }

  Status Visit(NodeId id) {
    InferContext context(graph_, id, [this](SubgraphId body, auto inputs, auto contents) {
      return RunBody(body, inputs, contents);
    });
    if (visits_left_-- == 0) return context.Fail("bodies are nested too deeply to be inferred");
    const graph::Node& node = graph_[id];
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      graph_[output].type = {};
      graph_[output].content.reset();
    }
    const graph::OperatorRow* row = graph::FindOperator(node.domain, node.op, node.version);
    if (row == nullptr) return TakeDeclared(node);
    PLIMSOLL_TRY(CheckCounts(*row, context));
    PLIMSOLL_TRY(row->infer(context));
    return CheckSizes(context);
  }

 private:
  static constexpr size_t kVisitsPerNode = 256;

  Status TakeDeclared(const graph::Node& node) {
    for (const ValueId output : node.outputs) {
      if (output.valid()) graph_[output].type = graph_[output].declared;
    }
    for (const SubgraphId body : SubgraphsOf(node)) {
      for (const ValueId input : graph_[body].inputs) graph_[input].type = graph_[input].declared;
      PLIMSOLL_TRY(Body(body));
    }
    return {};
  }

  static Status CheckCounts(const graph::OperatorRow& row, const InferContext& context) {
    const auto inputs = static_cast<int64_t>(context.input_count());
    const auto outputs = static_cast<int64_t>(context.output_count());
    if (inputs < row.min_inputs || inputs > row.max_inputs) {
      return context.Fail(
          StrCat("it has ", inputs, " inputs, but takes ", row.min_inputs, " to ",
                 row.max_inputs == graph::kAny ? "any number" : StrCat(row.max_inputs)));
    }
    if (outputs > row.max_outputs) {
      return context.Fail(
          StrCat("it has ", outputs, " outputs, but makes at most ", row.max_outputs));
    }
    for (int i = 0; i < row.min_inputs; ++i) {
      if (!context.has_input(static_cast<size_t>(i))) {
        return context.Fail(StrCat("its input ", i, " is left out, but is not optional"));
      }
    }
    return {};
  }

  Status CheckSizes(const InferContext& context) {
    for (const ValueId output : context.node().outputs) {
      if (!output.valid()) continue;
      graph::Value& value = graph_[output];
      if (value.type.shape) {
        for (const graph::Dim& dim : *value.type.shape) {
          if (dim.is_number() && dim.number() < 0) {
            return context.Fail(StrCat("'", value.name, "' would have the negative dimension ",
                                       dim.number(), " in ", Text(value.type)));
          }
        }
      }
      if (const auto bytes = SizeOf(value.type); bytes && bytes->saturated()) {
        return context.Fail(StrCat("'", value.name, "' would be ", Text(value.type),
                                   ", more bytes than can be counted"));
      }
    }
    return {};
  }

  Result<std::vector<ValueType>> RunBody(SubgraphId id, std::span<const ValueType> inputs,
                                         std::span<const std::optional<Content>> contents) {
    graph::Subgraph& body = graph_[id];
    if (body.dropped()) return *body.impossible;
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      graph::Value& value = graph_[body.inputs[i]];
      const bool known = i < inputs.size() && inputs[i].kind != ValueType::Kind::kUnknown;
      value.type = known ? inputs[i] : value.declared;
      value.content = i < contents.size() ? contents[i] : std::nullopt;
    }
    body.impossible.reset();
    if (Status inferred = Body(id); !inferred.ok()) {
      body.impossible = inferred.error();
      return inferred.error();
    }
    std::vector<ValueType> outputs;
    for (const ValueId output : body.outputs) outputs.push_back(graph_[output].type);
    return outputs;
  }

  Graph& graph_;
  size_t visits_left_;
};

void Empty(Graph& graph, SubgraphId id) {
  for (const NodeId node : graph[id].nodes) {
    for (const SubgraphId body : SubgraphsOf(graph[node])) Empty(graph, body);
  }
  graph[id].nodes.clear();
  graph[id].outputs.clear();
}

void DropImpossibleBranches(Graph& graph, SubgraphId id) {
  for (const NodeId node : graph[id].nodes) {
    for (const SubgraphId body : SubgraphsOf(graph[node])) {
      if (graph[body].impossible) Empty(graph, body);
      DropImpossibleBranches(graph, body);
    }
  }
}

}  // namespace

Status InferShapes(Graph& graph) {
  PLIMSOLL_TRY(Inference(graph).Body(Graph::kRoot));
  DropImpossibleBranches(graph, Graph::kRoot);
  return {};
}

Status InferNode(Graph& graph, NodeId node) { return Inference(graph).Visit(node); }

}  // namespace plimsoll::compile
