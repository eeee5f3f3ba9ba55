#include "compile/passes/fuse/fuse_attention.h"

#include <algorithm>

#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

using Permutation = std::vector<int64_t>;

const Permutation kSwapHeadsAndRows = {0, 2, 1, 3};
const Permutation kSwapRowsAndWidth = {0, 1, 3, 2};
const Permutation kRowsFirstToWidthFirst = {0, 2, 3, 1};

// What one attention is made of. Q is [batch, heads, rows, width], K likewise or with its last two
// swapped, V [batch, heads, keys, width].
struct Attention {
  ValueId q;
  ValueId k;
  ValueId v;
  ValueId mask;
  double scale = 1;
};

// K and V in the layout that they share.
struct KeysAndValues {
  ValueId k;
  ValueId v;
  bool rows_first = false;
  bool k_transposed = false;
  double scale = 1;  // a factor that K had before it was transposed
};

class AttentionFusing {
 public:
  explicit AttentionFusing(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (!Is(graph_[id], "MatMul")) continue;
        home_ = body;
        if (const std::optional<Attention> found = Find(id)) {
          counts_.Took(FusionPattern::kAttention);
          Fuse(id, *found);
        }
      }
    }
    return counts_;
  }

 private:
  NodeId Maker(ValueId value, std::string_view op) const {
    return MadeBy(graph_, value, op, home_);
  }
  // Likewise, when nobody but its one reader needs the value.
  NodeId PrivateMaker(ValueId value, std::string_view op) const {
    return value.valid() && rewriter_.HasOneReader(value) ? Maker(value, op) : NodeId();
  }

  std::optional<Attention> Find(NodeId id) {
    const ValueId weights = graph_[id].inputs[0];
    if (!IsFloat32(graph_, weights) || Rank(weights) != 4) return std::nullopt;
    const NodeId softmax = FindSoftmax(weights);
    if (!softmax.valid()) {
      // Scores that somebody else reads too stay in memory.
      const bool shared = Maker(weights, "Softmax").valid() && !rewriter_.HasOneReader(weights);
      if (shared) counts_.Declined(FusionPattern::kAttention);
      return std::nullopt;
    }
    Attention found;
    found.v = graph_[id].inputs[1];
    ValueId scores = graph_[softmax].inputs[0];
    if (const NodeId add = PrivateMaker(scores, "Add"); add.valid()) {
      for (const size_t side : {size_t{0}, size_t{1}}) {
        double unused = 1;
        const ValueId product = WithoutScale(graph_[add].inputs[side], unused);
        if (!PrivateMaker(product, "MatMul").valid()) continue;
        found.mask = graph_[add].inputs[1 - side];
        scores = graph_[add].inputs[side];
        break;
      }
    }
    const NodeId product = PrivateMaker(WithoutScale(scores, found.scale), "MatMul");
    if (!product.valid()) return std::nullopt;
    found.q = WithoutInnerScale(graph_[product].inputs[0], found.scale);
    found.k = WithoutInnerScale(graph_[product].inputs[1], found.scale);
    if (Fits(found)) return found;
    counts_.Declined(FusionPattern::kAttention);
    return std::nullopt;
  }

  size_t Rank(ValueId value) const {
    const Shape* shape = ShapeOf(graph_, value);
    return shape == nullptr ? 0 : shape->size();
  }

  // Batch and heads must not broadcast, and the mask has an element for each key and must not widen
  // the scores.
  bool Fits(const Attention& found) const {
    for (const ValueId value : {found.q, found.k, found.v}) {
      if (!IsFloat32(graph_, value) || Rank(value) != 4) return false;
    }
    const Shape& q = *ShapeOf(graph_, found.q);
    const Shape& k = *ShapeOf(graph_, found.k);
    const Shape& v = *ShapeOf(graph_, found.v);
    const bool whole = q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] &&
                       q[3] == k[2] && k[3] == v[2];
    if (!whole || !q[1].is_number() || !q[3].is_number()) return false;
    if (!found.mask.valid()) return true;
    const Shape* mask = ShapeOf(graph_, found.mask);
    if (mask == nullptr || mask->size() < 2 || mask->size() > 4 || mask->back() != k[3] ||
        !IsFloat32(graph_, found.mask)) {
      return false;
    }
    const Shape scores = {q[0], q[1], q[2], k[3]};
    for (size_t i = 0; i < mask->size(); ++i) {
      const graph::Dim& dim = (*mask)[i];
      if (dim != graph::Dim(1) && dim != scores[i + 4 - mask->size()]) return false;
    }
    return true;
  }

  // The Softmax over the last dimension behind the weights, through Where(IsNaN(s), 0, s).
  NodeId FindSoftmax(ValueId weights) const {
    if (!rewriter_.HasOneReader(weights)) return {};
    ValueId softmax = weights;
    if (const NodeId guard = Maker(weights, "Where"); guard.valid()) {
      const std::vector<ValueId>& inputs = graph_[guard].inputs;
      softmax = inputs[2];
      const NodeId test = PrivateMaker(inputs[0], "IsNaN");
      if (!test.valid() || graph_[test].inputs[0] != softmax || !IsScalar(graph_, inputs[1], 0) ||
          rewriter_.ReaderCount(softmax) != 2 || rewriter_.IsOutput(softmax)) {
        return {};
      }
    }
    const NodeId id = Maker(softmax, "Softmax");
    if (!id.valid()) return {};
    const int64_t axis = graph_[id].attributes.Int("axis", graph_[id].version < 13 ? 1 : -1);
    return axis == -1 || axis == 3 ? id : NodeId();
  }

  // What is multiplied by constant scalars to make the value; `scale` takes these in.
  ValueId WithoutScale(ValueId value, double& scale) const {
    if (const NodeId div = Maker(value, "Div"); div.valid()) {
      const std::optional<double> divisor = ScalarOf(graph_, graph_[div].inputs[1]);
      if (!divisor || *divisor == 0 || !SameType(graph_, graph_[div].inputs[0], value))
        return value;
      scale /= *divisor;
      return graph_[div].inputs[0];
    }
    const NodeId mul = Maker(value, "Mul");
    if (!mul.valid()) return value;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const std::optional<double> factor = ScalarOf(graph_, graph_[mul].inputs[side]);
      const ValueId other = graph_[mul].inputs[1 - side];
      if (!factor || !SameType(graph_, other, value)) continue;
      scale *= *factor;
      return other;
    }
    return value;
  }

  // The same of an operand, but for a factor whose product is rounded before (float_steps).
  ValueId WithoutInnerScale(ValueId value, double& scale) const {
    const NodeId mul = Maker(value, "Mul");
    const bool stays = mul.valid() && graph_[mul].attributes.Int("float_steps", 0) != 0;
    return stays ? value : WithoutScale(value, scale);
  }

  // What the Transpose by `perm` behind the value takes; not valid where there is none.
  ValueId Before(ValueId value, const Permutation& perm) const {
    const NodeId id = Maker(value, "Transpose");
    if (!id.valid()) return {};
    const std::vector<int64_t>* given = graph_[id].attributes.Ints("perm");
    return given != nullptr && *given == perm ? graph_[id].inputs[0] : ValueId();
  }

  // The heads that are there before each is repeated: Reshape(Expand(view(x))) of
  // [batch, heads, rows, width], seen as [batch, heads, times, rows, width].
  ValueId WithoutRepetition(ValueId value) const {
    const NodeId merge = Maker(value, "Reshape");
    if (!merge.valid()) return value;
    const NodeId expand = Maker(graph_[merge].inputs[0], "Expand");
    if (!expand.valid()) return value;
    const ValueId seen = graph_[expand].inputs[0];
    NodeId view = Maker(seen, "Unsqueeze");
    if (!view.valid()) view = Maker(seen, "Reshape");
    if (!view.valid()) return value;
    const ValueId source = graph_[view].inputs[0];
    const Shape* from = ShapeOf(graph_, source);
    const Shape* one = ShapeOf(graph_, seen);
    const Shape* many = ShapeOf(graph_, graph_[expand].outputs[0]);
    const Shape& to = *ShapeOf(graph_, value);
    if (from == nullptr || one == nullptr || many == nullptr || from->size() != 4 ||
        many->size() != 5) {
      return value;
    }
    const Shape expected_one = {(*from)[0], (*from)[1], 1, (*from)[2], (*from)[3]};
    const Shape expected_many = {(*from)[0], (*from)[1], (*many)[2], (*from)[2], (*from)[3]};
    const Shape expected = {(*from)[0], (*from)[1] * (*many)[2], (*from)[2], (*from)[3]};
    return *one == expected_one && *many == expected_many && to == expected ? source : value;
  }

  KeysAndValues Arrange(const Attention& found) const {
    const ValueId v = WithoutRepetition(found.v);
    const ValueId v_rows = Before(v, kSwapHeadsAndRows);
    const ValueId k_rows = Before(found.k, kRowsFirstToWidthFirst);
    double scale = 1;
    if (v_rows.valid() && k_rows.valid() && v == found.v) {
      const ValueId k = WithoutInnerScale(k_rows, scale);
      return {k, v_rows, true, false, scale};
    }
    ValueId k_heads = Before(found.k, kSwapRowsAndWidth);
    if (!k_heads.valid()) return {found.k, found.v, false, true, 1};
    k_heads = WithoutInnerScale(k_heads, scale);
    const ValueId k = WithoutRepetition(k_heads);
    const bool repeated = k != k_heads && v != found.v;
    if (repeated && DimOf(graph_, k, 1) == DimOf(graph_, v, 1)) return {k, v, false, false, scale};
    return {k_heads, found.v, false, false, scale};
  }

  void Fuse(NodeId id, const Attention& found) {
    const KeysAndValues keys = Arrange(found);
    const ValueId q_rows = Before(found.q, kSwapHeadsAndRows);
    const NodeId out = RowsFirstReader(id);
    graph::Attributes attributes;
    attributes.Set("num_heads", *DimOf(graph_, found.q, 1));
    attributes.Set("scale", found.scale * keys.scale);
    attributes.Set("q_layout", std::string(q_rows.valid() ? "bshd" : "bhsd"));
    attributes.Set("kv_layout", std::string(keys.rows_first ? "bshd" : "bhsd"));
    attributes.Set("k_transposed", int64_t{keys.k_transposed});
    attributes.Set("kv_num_heads", *DimOf(graph_, keys.v, keys.rows_first ? 2 : 1));
    const bool y_rows = out.valid() && (q_rows.valid() || MakePacked(out, found));
    attributes.Set("y_layout", std::string(y_rows ? "bshd" : "bhsd"));
    const NodeId last = y_rows ? out : id;
    std::vector<ValueId> inputs = {q_rows.valid() ? q_rows : found.q, keys.k, keys.v};
    if (found.mask.valid()) inputs.push_back(found.mask);
    const std::vector<ValueId> old = graph_[last].inputs;
    Node& node = graph_[last];
    node.domain = "plimsoll";
    node.op = "FusedAttention";
    node.version = 1;
    node.attributes = std::move(attributes);
    rewriter_.SetInputs(last, std::move(inputs));
    for (const ValueId input : old) rewriter_.DropUnused(graph_[input].producer);
  }

  // The Transpose to [batch, rows, heads, width] that alone reads the result.
  NodeId RowsFirstReader(NodeId id) const {
    const NodeId reader = OnlyReader(rewriter_, graph_[id].outputs[0], home_);
    if (!reader.valid() || !Is(graph_[reader], "Transpose")) return {};
    return Before(graph_[reader].outputs[0], kSwapHeadsAndRows).valid() ? reader : NodeId();
  }

  // Gives the result of the Transpose `out` the shape [batch, rows, heads * width], which its only
  // reader, a Reshape, takes as well. False where that cannot be.
  bool MakePacked(NodeId out, const Attention& found) {
    const ValueId value = graph_[out].outputs[0];
    const NodeId view = OnlyReader(rewriter_, value, home_);
    if (!view.valid() || !Is(graph_[view], "Reshape")) return false;
    const Shape& q = *ShapeOf(graph_, found.q);
    const Shape packed = {q[0], q[2], q[1] * (*ShapeOf(graph_, found.v))[3]};
    const Shape* to = ShapeOf(graph_, graph_[view].outputs[0]);
    if (to == nullptr) return false;
    const std::optional<std::vector<int64_t>> target = ReshapeTarget(packed, *to);
    if (!target) return false;
    const ValueId shape = rewriter_.AddInt64s(view, StrCat(graph_[value].name, "/packed"), *target);
    graph_[view].attributes = graph::Attributes();
    rewriter_.SetInputs(view, {value, shape});
    graph_[value].type.shape = packed;
    return true;
  }

  Graph& graph_;
  Rewriter rewriter_;
  SubgraphId home_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseAttention(Graph& graph, const FusionSwitches& /*switches*/) {
  return AttentionFusing(graph).Run();
}

}  // namespace plimsoll::compile
