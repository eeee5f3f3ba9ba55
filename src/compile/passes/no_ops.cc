#include "compile/passes/no_ops.h"

#include <algorithm>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

constexpr int64_t kMostElements = 4096;

bool IsFilledWith(const Graph& graph, ValueId value, double number) {
  const std::vector<double> elements = ElementsOf(graph, value, kMostElements);
  return !elements.empty() && std::all_of(elements.begin(), elements.end(),
                                          [&](double element) { return element == number; });
}

bool IsIdentityPermutation(const Node& node) {
  const std::vector<int64_t>* perm = node.attributes.Ints("perm");
  if (perm == nullptr) return false;
  for (size_t i = 0; i < perm->size(); ++i) {
    if ((*perm)[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The mask, if anybody reads it, is all true, which nobody here makes.
bool IsInferenceDropout(const Graph& graph, const Rewriter& rewriter, const Node& node) {
  if (!Is(node, "Dropout")) return false;
  if (node.outputs.size() > 1 && node.outputs[1].valid() &&
      (rewriter.ReaderCount(node.outputs[1]) > 0 || rewriter.IsOutput(node.outputs[1]))) {
    return false;
  }
  const bool may_train = node.inputs.size() > 2 && node.inputs[2].valid();
  return !may_train || IsFilledWith(graph, node.inputs[2], 0);
}

// The operand that arithmetic with a neutral element gives back; not valid where there is none.
ValueId UntouchedOperand(const Graph& graph, const Node& node) {
  struct Neutral {
    std::string_view op;
    double element;
    bool either_side;
  };
  constexpr Neutral kNeutral[] = {
      {"Add", 0, true},  {"Sub", 0, false}, {"Mul", 1, true},
      {"Div", 1, false}, {"And", 1, true},  {"Or", 0, true},
  };
  for (const Neutral& neutral : kNeutral) {
    if (!Is(node, neutral.op) || node.inputs.size() != 2) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (side == 1 && !neutral.either_side) continue;
      if (SameType(graph, node.inputs[side], node.outputs[0]) &&
          IsFilledWith(graph, node.inputs[1 - side], neutral.element)) {
        return node.inputs[side];
      }
    }
  }
  return {};
}

// One element after the other, as many as there are.
bool IsWholeSlice(const Graph& graph, const Node& node) {
  if (!Is(node, "Slice") || !SameType(graph, node.inputs[0], node.outputs[0])) return false;
  return node.inputs.size() < 5 || !node.inputs[4].valid() ||
         IsFilledWith(graph, node.inputs[4], 1);
}

// The value that the node's first output always equals; not valid where there is none.
ValueId Original(const Graph& graph, const Rewriter& rewriter, const Node& node, bool steady) {
  if (node.inputs.empty() || !node.inputs[0].valid()) return {};
  if (node.outputs.empty() || !node.outputs[0].valid()) return {};
  const ValueId input = node.inputs[0];
  const ValueId output = node.outputs[0];
  if (Is(node, "Identity") || IsInferenceDropout(graph, rewriter, node)) return input;
  if (!steady || !graph[input].type.is_tensor()) return {};
  if (Is(node, "Transpose") && IsIdentityPermutation(node)) return input;
  if (IsWholeSlice(graph, node)) return input;
  const graph::View view = graph::FactsOf(node).view;
  const bool keeps_when_same =
      view == graph::View::kWhole ||
      (view == graph::View::kWholeIfUnchanged && kernels::IsDeterministic(node));
  if (keeps_when_same && SameType(graph, input, output)) return input;
  return UntouchedOperand(graph, node);
}

bool BroadcastsItself(const Node& node) {
  constexpr std::string_view kOperators[] = {
      "Add", "Sub",   "Mul",  "Div",     "Pow", "And", "Or",   "Xor",
      "Max", "Equal", "Less", "Greater", "Min", "Sum", "Mean", "Where",
  };
  return std::ranges::any_of(kOperators, [&](std::string_view op) { return Is(node, op); });
}

// Whether what an Expand was given serves the node as its input `i`: it broadcasts that to the same
// result by itself, or reads one image for all grids.
bool ServesWithout(const Graph& graph, NodeId expand, NodeId id, size_t i) {
  const Node& node = graph[id];
  const graph::Shape* const given = ShapeOf(graph, graph[expand].inputs[0]);
  const graph::Shape* const expanded = ShapeOf(graph, node.inputs[i]);
  const graph::Shape* const made = ShapeOf(graph, node.outputs[0]);
  if (given == nullptr || expanded == nullptr || made == nullptr) return false;
  if (Is(node, "GridSample")) {
    return i == 0 && given->size() == expanded->size() && given->front() == graph::Dim(1) &&
           std::equal(given->begin() + 1, given->end(), expanded->begin() + 1);
  }
  if (!BroadcastsItself(node)) return false;
  std::vector<const graph::Shape*> shapes;
  for (size_t other = 0; other < node.inputs.size(); ++other) {
    shapes.push_back(other == i ? given : ShapeOf(graph, node.inputs[other]));
  }
  return std::ranges::find(shapes, nullptr) == shapes.end() && graph::Broadcast(shapes) == *made;
}

// Reads what an Expand was given where that serves as well. Gives how often that was so.
int SkipExpands(Rewriter& rewriter, NodeId id) {
  Graph& graph = rewriter.graph();
  int skipped = 0;
  for (size_t i = 0; i < graph[id].inputs.size(); ++i) {
    const NodeId expand = MadeBy(graph, graph[id].inputs[i], "Expand", graph[id].home);
    if (!expand.valid() || !ServesWithout(graph, expand, id, i)) continue;
    if (rewriter.IsOverwritten(graph[expand].inputs[0])) continue;
    rewriter.SetInput(id, i, graph[expand].inputs[0]);
    rewriter.DropUnused(expand);
    ++skipped;
  }
  return skipped;
}

void CleanBody(Rewriter& rewriter, SubgraphId body, bool steady, FusionCounts& counts) {
  Graph& graph = rewriter.graph();
  for (const NodeId id : rewriter.NodesOf(body)) {
    for (const SubgraphId inner : SubgraphsOf(graph[id])) {
      CleanBody(rewriter, inner, steady && Is(graph[id], "If"), counts);
    }
    if (rewriter.IsDropped(id) || !MayRewrite(graph[id])) continue;
    if (steady) counts.Took(FusionPattern::kNoOpRemove, SkipExpands(rewriter, id));
    const ValueId original = Original(graph, rewriter, graph[id], steady);
    if (!original.valid()) continue;
    const ValueId output = graph[id].outputs[0];
    if (rewriter.IsOverwritten(original) || rewriter.IsOverwritten(output) ||
        !rewriter.StandIn(output, original)) {
      counts.Declined(FusionPattern::kNoOpRemove);
      continue;
    }
    rewriter.Drop(id);
    counts.Took(FusionPattern::kNoOpRemove);
  }
}

}  // namespace

FusionCounts RemoveNoOps(Graph& graph, const FusionSwitches& /*switches*/) {
  Rewriter rewriter(graph);
  FusionCounts counts;
  CleanBody(rewriter, Graph::kRoot, /*steady=*/true, counts);
  return counts;
}

}  // namespace plimsoll::compile
