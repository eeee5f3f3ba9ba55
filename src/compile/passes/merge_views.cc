#include "compile/passes/merge_views.h"

#include <algorithm>
#include <numeric>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

using Permutation = std::vector<int64_t>;

// What an Identity passes on may be no tensor.
bool IsView(const Node& node) {
  return graph::FactsOf(node).view == graph::View::kWhole && !Is(node, "Identity");
}

bool IsOne(const Dim& dim) { return dim.is_number() && dim.number() == 1; }

// The permutation of a Transpose over a tensor of that rank; reversed where none is given.
Permutation PermutationOf(const Node& node, size_t rank) {
  if (const std::vector<int64_t>* given = node.attributes.Ints("perm")) return *given;
  Permutation reversed(rank);
  for (size_t i = 0; i < rank; ++i) reversed[i] = static_cast<int64_t>(rank - 1 - i);
  return reversed;
}

// With every dimension of 1 in front, which changes no byte.
Permutation OnesFirst(const Permutation& perm, const Shape& from) {
  Permutation ones;
  Permutation others;
  for (const int64_t axis : perm) {
    (IsOne(from[static_cast<size_t>(axis)]) ? ones : others).push_back(axis);
  }
  std::sort(ones.begin(), ones.end());
  ones.insert(ones.end(), others.begin(), others.end());
  return ones;
}

class Merging {
 public:
  explicit Merging(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        blocked_ = false;
        if (Visit(id)) {
          counts_.Took(FusionPattern::kViewMerge);
        } else if (blocked_) {
          counts_.Declined(FusionPattern::kViewMerge);
        }
      }
    }
    return counts_;
  }

 private:
  bool Visit(NodeId id) {
    const Node& node = graph_[id];
    const bool transpose = Is(node, "Transpose");
    if (!transpose && !IsView(node)) return false;
    if (ShapeOf(graph_, node.inputs[0]) == nullptr || ShapeOf(graph_, node.outputs[0]) == nullptr) {
      return false;
    }
    if (transpose) return MergeTransposes(id) || TransposeAsView(id);
    return MergeWithView(id) || FixTarget(id) || ViewBeforeTranspose(id) || OrderOnes(id);
  }

  const Shape& InputShape(NodeId id) const { return *ShapeOf(graph_, graph_[id].inputs[0]); }
  const Shape& OutputShape(NodeId id) const { return *ShapeOf(graph_, graph_[id].outputs[0]); }

  bool MergeTransposes(NodeId id) {
    const NodeId before = MadeBy(graph_, graph_[id].inputs[0], "Transpose", graph_[id].home);
    if (!before.valid() || ShapeOf(graph_, graph_[before].inputs[0]) == nullptr) return false;
    const size_t rank = InputShape(id).size();
    const Permutation first = PermutationOf(graph_[before], rank);
    Permutation both = PermutationOf(graph_[id], rank);
    for (int64_t& axis : both) axis = first[static_cast<size_t>(axis)];
    SetPermutation(id, std::move(both));
    rewriter_.SetInput(id, 0, graph_[before].inputs[0]);
    rewriter_.DropUnused(before);
    return true;
  }

  bool TransposeAsView(NodeId id) {
    const Shape& from = InputShape(id);
    const Permutation perm = PermutationOf(graph_[id], from.size());
    int64_t last = -1;
    for (const int64_t axis : perm) {
      if (IsOne(from[static_cast<size_t>(axis)])) continue;
      if (axis < last) return false;
      last = axis;
    }
    return MakeReshape(id, graph_[id].inputs[0]);
  }

  bool MergeWithView(NodeId id) {
    const ValueId input = graph_[id].inputs[0];
    const NodeId before = graph_[input].producer;
    if (!before.valid() || !IsView(graph_[before]) || !MayRewrite(graph_[before]) ||
        graph_[before].home != graph_[id].home) {
      return false;
    }
    const ValueId source = graph_[before].inputs[0];
    if (ShapeOf(graph_, source) == nullptr || !MakeReshape(id, source)) return false;
    rewriter_.DropUnused(before);
    return true;
  }

  bool FixTarget(NodeId id) {
    const Node& node = graph_[id];
    if (!Is(node, "Reshape") || graph_[node.inputs[1]].constant.valid()) return false;
    const NodeId maker = graph_[node.inputs[1]].producer;
    if (!MakeReshape(id, node.inputs[0])) return false;
    rewriter_.DropUnused(maker);
    return true;
  }

  // A pattern is there and cannot be changed: the sizes are open, or others read what would vanish.
  bool Block() {
    blocked_ = true;
    return false;
  }

  // Reshape(Transpose(x)) as Transpose(Reshape(x)).
  bool ViewBeforeTranspose(NodeId id) {
    const ValueId transposed = graph_[id].inputs[0];
    const NodeId before = MadeBy(graph_, transposed, "Transpose", graph_[id].home);
    if (!before.valid() || !rewriter_.HasOneReader(transposed)) return false;
    const ValueId source = graph_[before].inputs[0];
    if (ShapeOf(graph_, source) == nullptr) return false;
    const Shape& from = InputShape(before);
    const Shape& to = OutputShape(id);
    const Permutation perm = PermutationOf(graph_[before], from.size());
    Shape viewed;
    Permutation moved;
    if (AddsLeadingOnes(OutputShape(before), to)) {
      const size_t added = to.size() - from.size();
      viewed.assign(added, Dim(1));
      viewed.insert(viewed.end(), from.begin(), from.end());
      for (size_t i = 0; i < added; ++i) moved.push_back(static_cast<int64_t>(i));
      for (const int64_t axis : perm) moved.push_back(axis + static_cast<int64_t>(added));
    } else if (SwapsLastTwo(perm) && to.size() >= 2 && HasEnd(to, OutputShape(before))) {
      viewed = to;
      std::swap(viewed[viewed.size() - 1], viewed[viewed.size() - 2]);
      moved.resize(to.size());
      std::iota(moved.begin(), moved.end(), 0);
      std::swap(moved[moved.size() - 1], moved[moved.size() - 2]);
    } else {
      return false;
    }
    const ValueId view = SeenAs(source, std::move(viewed), id);
    if (!view.valid()) return Block();
    graph_[id].op = "Transpose";
    SetPermutation(id, std::move(moved));
    rewriter_.SetInputs(id, {view});
    rewriter_.DropUnused(before);
    return true;
  }

  // A view of the value with that shape for use by `place`: what the value is itself a view of, or
  // a new Reshape. Not valid where there is none.
  ValueId SeenAs(ValueId value, Shape shape, NodeId place) {
    const NodeId maker = graph_[value].producer;
    if (maker.valid() && IsView(graph_[maker]) && graph_[maker].home == graph_[place].home) {
      const Shape* original = ShapeOf(graph_, graph_[maker].inputs[0]);
      if (original != nullptr && *original == shape) return graph_[maker].inputs[0];
    }
    const std::optional<std::vector<int64_t>> target =
        ReshapeTarget(*ShapeOf(graph_, value), shape);
    if (!target) return {};
    const ValueId sizes = rewriter_.AddInt64s(place, StrCat(graph_[value].name, "/shape"), *target);
    const ValueId view =
        rewriter_.InsertBefore(place, NewNode(graph_[place], "Reshape", {value, sizes}));
    graph_[view].type = graph::ValueType::Tensor(graph_[value].type.data_type, std::move(shape));
    return view;
  }

  static bool AddsLeadingOnes(const Shape& from, const Shape& to) {
    if (to.size() <= from.size()) return false;
    const auto added = static_cast<std::ptrdiff_t>(to.size() - from.size());
    return std::all_of(to.begin(), to.begin() + added, IsOne) &&
           std::equal(from.begin(), from.end(), to.begin() + added);
  }

  static bool SwapsLastTwo(const Permutation& perm) {
    const size_t rank = perm.size();
    if (rank < 2) return false;
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (perm[i] != static_cast<int64_t>(i)) return false;
    }
    return perm[rank - 1] == static_cast<int64_t>(rank - 2);
  }

  static bool HasEnd(const Shape& shape, const Shape& of) {
    return std::equal(shape.end() - 2, shape.end(), of.end() - 2);
  }

  // A view after a Transpose does not see where the Transpose put dimensions of 1.
  bool OrderOnes(NodeId id) {
    const ValueId transposed = graph_[id].inputs[0];
    const NodeId before = MadeBy(graph_, transposed, "Transpose", graph_[id].home);
    if (!before.valid() || !rewriter_.HasOneReader(transposed)) return false;
    if (ShapeOf(graph_, graph_[before].inputs[0]) == nullptr) return false;
    const Shape& from = InputShape(before);
    const Permutation perm = PermutationOf(graph_[before], from.size());
    Permutation ordered = OnesFirst(perm, from);
    if (ordered == perm) return false;
    Shape shape;
    for (const int64_t axis : ordered) shape.push_back(from[static_cast<size_t>(axis)]);
    if (!ReshapeTarget(shape, OutputShape(id))) return false;
    SetPermutation(before, std::move(ordered));
    graph_[transposed].type.shape = std::move(shape);
    return MakeReshape(id, transposed);
  }

  // The node becomes a Reshape of `source` with a constant target and the same result.
  bool MakeReshape(NodeId id, ValueId source) {
    const std::optional<std::vector<int64_t>> target =
        ReshapeTarget(*ShapeOf(graph_, source), OutputShape(id));
    if (!target) return Block();
    Node& node = graph_[id];
    const ValueId shape =
        rewriter_.AddInt64s(id, StrCat(graph_[node.outputs[0]].name, "/shape"), *target);
    node.op = "Reshape";
    node.attributes = Attributes();
    rewriter_.SetInputs(id, {source, shape});
    return true;
  }

  void SetPermutation(NodeId id, Permutation perm) {
    graph_[id].attributes = Attributes();
    graph_[id].attributes.Set("perm", std::move(perm));
  }

  Graph& graph_;
  Rewriter rewriter_;
  bool blocked_ = false;  // the node looked at is one that was found and left
  FusionCounts counts_;
};

}  // namespace

std::optional<std::vector<int64_t>> ReshapeTarget(const Shape& from, const Shape& to) {
  std::vector<int64_t> target;
  bool guessed = false;
  bool copied = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_number()) {
      if (to[i].number() <= 0) return std::nullopt;
      target.push_back(to[i].number());
    } else if (i < from.size() && from[i] == to[i]) {
      copied = true;
      target.push_back(0);
    } else if (!guessed) {
      guessed = true;
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  // A copied dimension may turn out to be 0, and then there is nothing to guess from.
  if (guessed && copied) return std::nullopt;
  return target;
}

FusionCounts MergeViews(Graph& graph, const FusionSwitches& /*switches*/) {
  return Merging(graph).Run();
}

}  // namespace plimsoll::compile
