#include "compile/passes/slices/sum_regions.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <optional>

#include "compile/passes/bodies.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/passes/slices/slice_rules.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::ValueId;

constexpr size_t kMostSummed = 24;  // of a region
constexpr int64_t kTogether = 16;   // columns of weights that are packed together
constexpr size_t kBias = 2;
constexpr size_t kResidual = 3;

// Where a value's channels lie: along this axis, and these many.
struct Channels {
  size_t axis = 0;
  int64_t count = 0;
};

// Nodes whose results are cut, and the product that sums over their channels.
struct SumRegion {
  std::map<ValueId, Channels> values;
  std::vector<NodeId> nodes;
  NodeId sum;
  int64_t units = 0;   // that all channels fall into, the same in every value
  int64_t slices = 0;  // that these are cut into
};

class SumSlicing {
 public:
  SumSlicing(Graph& graph, const SumSlices& sizes)
      : graph_(graph), rewriter_(graph), sizes_(sizes), taken_(graph.nodes.size()) {
    for (const NodeId id : graph.root().nodes) place_[id] = place_.size();
  }

  bool Slice(ValueId seed) {
    std::optional<SumRegion> region = Grow(seed);
    if (!region || !CountUnits(*region)) return false;
    Cut(*region);
    return true;
  }

 private:
  bool IsFree(NodeId id) const {
    return id.valid() && place_.contains(id) && !taken_[id.index()] && !rewriter_.IsDropped(id) &&
           MayRewrite(graph_[id]) && graph_[id].outputs.size() == 1;
  }

  // By one constant matrix, rows of A times it.
  bool IsProduct(const Node& node) const {
    const bool plain = Is(node, "MatMul");
    if ((!plain && !IsOurs(node, "FusedMatMul")) || node.attributes.Int("transA", 0) != 0) {
      return false;
    }
    const Shape* const made = ShapeOf(graph_, node.outputs[0]);
    const Shape* const right = ShapeOf(graph_, node.inputs[1]);
    const Shape* const left = ShapeOf(graph_, node.inputs[0]);
    return right != nullptr && right->size() == 2 && graph_[node.inputs[1]].constant.valid() &&
           made != nullptr && left != nullptr && left->size() >= 2 && IsStatic(*left) &&
           IsFloat32(graph_, node.inputs[0]);
  }

  bool HasInput(const Node& node, size_t input) const {
    return node.inputs.size() > input && node.inputs[input].valid();
  }

  // The product's results have channels of their own: no residual, and a bias that can be cut.
  bool MakesChannels(const Node& node) const {
    if (!IsProduct(node) || HasInput(node, kResidual)) return false;
    if (!HasInput(node, kBias)) return true;
    const Shape* const bias = ShapeOf(graph_, node.inputs[kBias]);
    return graph_[node.inputs[kBias]].constant.valid() && bias != nullptr && bias->size() == 1;
  }

  std::optional<SumRegion> Grow(ValueId seed) const {
    SumRegion region;
    std::vector<ValueId> open = {seed};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (region.values.contains(value)) continue;
      const NodeId maker = graph_[value].producer;
      const Shape* const shape = ShapeOf(graph_, value);
      if (!IsFree(maker) || shape == nullptr || !IsStatic(*shape) || rewriter_.IsOutput(value) ||
          region.nodes.size() == kMostSummed) {
        return std::nullopt;
      }
      region.values[value] = {};
      region.nodes.push_back(maker);
      if (!MakesChannels(graph_[maker])) {
        const auto operands = OperandsOf(graph_[maker]);
        if (!operands) return std::nullopt;
        open.insert(open.end(), operands->begin(), operands->end());
      }
      for (const NodeId reader : rewriter_.readers(value)) {
        if (!IsFree(reader)) return std::nullopt;
        const Node& node = graph_[reader];
        if (IsProduct(node) && node.inputs[0] == value) {
          // Whose sums are broken at other places.
          if (node.attributes.Int("sum_steps", 0) != 0) return std::nullopt;
          if (region.sum.valid() && region.sum != reader) return std::nullopt;
          region.sum = reader;
        } else {
          open.push_back(node.outputs[0]);
        }
      }
    }
    if (!region.sum.valid()) return std::nullopt;
    std::ranges::sort(region.nodes,
                      [&](NodeId a, NodeId b) { return place_.at(a) < place_.at(b); });
    for (const NodeId id : region.nodes) {
      if (id == region.sum || !FindChannels(id, region)) return std::nullopt;
    }
    const Node& sum = graph_[region.sum];
    const Channels& summed = region.values.at(sum.inputs[0]);
    const bool last = summed.axis + 1 == ShapeOf(graph_, sum.inputs[0])->size();
    const bool elsewhere =
        region.values.contains(sum.outputs[0]) ||
        (HasInput(sum, kResidual) && region.values.contains(sum.inputs[kResidual]));
    return last && !elsewhere ? std::optional(std::move(region)) : std::nullopt;
  }

  // What has channels of those that the node reads; nothing where it mixes them.
  std::optional<std::vector<ValueId>> OperandsOf(const Node& node) const {
    if (Is(node, "Reshape")) return std::vector{node.inputs[0]};
    if (Is(node, "Transpose")) return std::vector{node.inputs[0]};
    if (IsOurs(node, "FusedAttention")) {
      return std::vector{node.inputs[0], node.inputs[1], node.inputs[2]};
    }
    if (!graph::FactsOf(node).elementwise) return std::nullopt;
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      if (input.valid() && SameShape(graph_, input, node.outputs[0]) &&
          graph_[input].producer.valid()) {
        operands.push_back(input);
      }
    }
    return operands;
  }

  // Where the channels of the node's result lie, those of its operands being known.
  bool FindChannels(NodeId id, SumRegion& region) const {
    const Node& node = graph_[id];
    const Shape& shape = *ShapeOf(graph_, node.outputs[0]);
    Channels& channels = region.values.at(node.outputs[0]);
    const auto of = [&](size_t input) { return region.values.find(node.inputs[input]); };
    if (MakesChannels(node)) {
      channels = {shape.size() - 1, shape.back().number()};
      return true;
    }
    if (IsOurs(node, "FusedAttention")) return FindHeads(node, region, channels);
    if (Is(node, "Transpose")) {
      const std::vector<int64_t>* const perm = node.attributes.Ints("perm");
      if (perm == nullptr) return false;
      const auto at = std::ranges::find(*perm, static_cast<int64_t>(of(0)->second.axis));
      channels = {static_cast<size_t>(at - perm->begin()), of(0)->second.count};
      return true;
    }
    if (Is(node, "Reshape")) {
      const auto axis =
          AxisBehind(Before(*ShapeOf(graph_, node.inputs[0]), of(0)->second.axis), shape);
      const bool whole =
          axis && From(shape, *axis) == From(*ShapeOf(graph_, node.inputs[0]), of(0)->second.axis);
      if (whole) channels = {*axis, shape[*axis].number()};
      return whole;
    }
    bool known = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const auto operand = of(i);
      if (operand == region.values.end()) continue;
      if (known && operand->second.axis != channels.axis) return false;
      channels = operand->second;
      known = true;
    }
    return known && OthersAreTheSameForAll(node, region, shape, channels);
  }

  // Operands without channels are the same for each of them.
  bool OthersAreTheSameForAll(const Node& node, const SumRegion& region, const Shape& shape,
                              const Channels& channels) const {
    for (const ValueId input : node.inputs) {
      if (!input.valid() || region.values.contains(input)) continue;
      const Shape* const other = ShapeOf(graph_, input);
      if (other == nullptr || other->size() > shape.size()) return false;
      const size_t missing = shape.size() - other->size();
      if (channels.axis >= missing && (*other)[channels.axis - missing] != Dim(1)) return false;
    }
    return true;
  }

  bool FindHeads(const Node& node, const SumRegion& region, Channels& channels) const {
    const std::string layout = node.attributes.String("q_layout", "bhsd");
    if (layout != "bshd" || node.attributes.String("kv_layout", layout) != layout ||
        node.attributes.String("y_layout", layout) != layout ||
        node.attributes.Int("k_transposed", 0) != 0 || node.attributes.Int("num_heads", 0) < 1) {
      return false;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (region.values.at(node.inputs[i]).axis != 2) return false;
    }
    if (HasInput(node, kResidual)) {
      const Shape* const mask = ShapeOf(graph_, node.inputs[kResidual]);
      const bool by_head =
          mask == nullptr || (mask->size() > 2 && (*mask)[mask->size() - 3] != Dim(1));
      if (by_head || region.values.contains(node.inputs[kResidual])) return false;
    }
    channels = {2, (*ShapeOf(graph_, node.outputs[0]))[2].number()};
    return true;
  }

  static int64_t Before(const Shape& shape, size_t axis) {
    int64_t product = 1;
    for (size_t i = 0; i < axis; ++i) product = SaturatingMultiply(product, shape[i].number());
    return product;
  }
  static int64_t From(const Shape& shape, size_t axis) {
    int64_t product = 1;
    for (size_t i = axis; i < shape.size(); ++i) {
      product = SaturatingMultiply(product, shape[i].number());
    }
    return product;
  }
  // The first axis that is not 1 behind axes of `before` elements.
  static std::optional<size_t> AxisBehind(int64_t before, const Shape& shape) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != Dim(1) && Before(shape, i) == before) return i;
    }
    return std::nullopt;
  }

  // Slices must not be too small, and weights can be cut only between columns packed together.
  bool CountUnits(SumRegion& region) const {
    int64_t units = 0;
    for (const auto& [value, channels] : region.values) units = std::gcd(units, channels.count);
    for (const NodeId id : region.nodes) {
      if (!IsOurs(graph_[id], "FusedAttention")) continue;
      const int64_t heads = graph_[id].attributes.Int("num_heads", 1);
      units = std::gcd(units, std::gcd(heads, graph_[id].attributes.Int("kv_num_heads", heads)));
    }
    for (int64_t several = 1; several <= kTogether; several *= 2) {
      if (units % several != 0) break;
      region.units = units / several;
      const bool thirds = region.units % 3 == 0 && region.units % 4 != 0;
      region.slices = sizes_.slices > 0 ? sizes_.slices : (thirds ? 3 : 2);
      if (Fits(region)) return true;
    }
    return false;
  }

  bool Fits(const SumRegion& region) const {
    if (region.units < region.slices) return false;
    const int64_t least = region.units / region.slices;
    const int64_t channels = sizes_.least_channels / (MostlyAttends(region) ? 2 : 1);
    for (const NodeId id : region.nodes) {
      if (!MakesChannels(graph_[id])) continue;
      const int64_t unit = region.values.at(graph_[id].outputs[0]).count / region.units;
      if (unit % kTogether != 0 || unit * least < channels) return false;
    }
    return true;
  }

  // Keys at least twice as many as the projections sum over.
  bool MostlyAttends(const SumRegion& region) const {
    const bool attends = std::ranges::any_of(
        region.nodes, [&](NodeId id) { return IsOurs(graph_[id], "FusedAttention"); });
    if (!attends) return false;
    return std::ranges::all_of(region.nodes, [&](NodeId id) {
      const Node& node = graph_[id];
      if (!MakesChannels(node)) return true;
      const Shape& rows = *ShapeOf(graph_, node.inputs[0]);
      return rows.size() > 1 && rows[rows.size() - 2].number() >= 2 * rows.back().number();
    });
  }

  void Cut(const SumRegion& region) {
    for (const NodeId id : region.nodes) taken_[id.index()] = true;
    taken_[region.sum.index()] = true;
    const Node whole = graph_[region.sum];
    ValueId sum;
    for (int64_t i = 0; i < region.slices; ++i) {
      const int64_t begin = region.units * i / region.slices;
      const int64_t end = region.units * (i + 1) / region.slices;
      std::map<ValueId, ValueId> made;
      for (const NodeId id : region.nodes) {
        made[graph_[id].outputs[0]] = MakeSlice(id, region, begin, end, i, made);
      }
      Node node = SumOf(whole, region, begin, i, made, sum);
      if (i + 1 < region.slices) {
        sum = Insert(region.sum, std::move(node), StrCat(whole.name, "/sum", i));
      } else {
        graph_[region.sum].domain = node.domain;
        graph_[region.sum].op = node.op;
        graph_[region.sum].version = node.version;
        graph_[region.sum].attributes = node.attributes;
        rewriter_.SetInputs(region.sum, node.inputs);
      }
    }
    for (auto id = region.nodes.rbegin(); id != region.nodes.rend(); ++id) rewriter_.Drop(*id);
  }

  // The bias goes into the first sum, the activation behind the last.
  Node SumOf(const Node& whole, const SumRegion& region, int64_t begin, int64_t number,
             const std::map<ValueId, ValueId>& made, ValueId before) {
    Node node = AsFused(whole);
    node.name = StrCat(whole.name, "/sum", number);
    const Channels& summed = region.values.at(whole.inputs[0]);
    node.attributes.Set("first_depth", whole.attributes.Int("first_depth", 0) +
                                           summed.count * begin / region.units);
    node.attributes.Set("columns", ShapeOf(graph_, whole.outputs[0])->back().number());
    node.inputs.resize(kResidual + 1);
    node.inputs[0] = made.at(whole.inputs[0]);
    if (number > 0) {
      node.inputs[kBias] = ValueId();
      node.inputs[kResidual] = before;
    }
    if (number + 1 < region.slices) node.attributes.Set("activation", std::string());
    while (!node.inputs.back().valid()) node.inputs.pop_back();
    return node;
  }

  static Node AsFused(const Node& product) {
    Node node = product;
    node.outputs.clear();
    node.domain = "plimsoll";
    node.op = "FusedMatMul";
    node.version = 1;
    return node;
  }

  ValueId MakeSlice(NodeId id, const SumRegion& region, int64_t begin, int64_t end, int64_t number,
                    const std::map<ValueId, ValueId>& made) {
    const Channels& channels = region.values.at(graph_[id].outputs[0]);
    const int64_t first = channels.count / region.units * begin;
    const int64_t count = channels.count / region.units * (end - begin);
    const bool source = MakesChannels(graph_[id]);
    Node node = source ? AsFused(graph_[id]) : graph_[id];
    node.outputs.clear();
    node.name = StrCat(graph_[id].name, "/slice", number);
    for (ValueId& input : node.inputs) {
      if (const auto slice = made.find(input); slice != made.end()) input = slice->second;
    }
    if (source) {
      node.attributes.Set("first_column", node.attributes.Int("first_column", 0) + first);
      node.attributes.Set("columns", count);
      if (HasInput(node, kBias)) {
        node.inputs[kBias] = ElementsOf(node.inputs[kBias], first, count, number, region.sum);
      }
    } else if (Is(node, "Reshape")) {
      std::vector<int64_t> target;
      for (const Dim& dim : *ShapeOf(graph_, graph_[id].outputs[0])) target.push_back(dim.number());
      target[channels.axis] = count;
      node.attributes = graph::Attributes();
      node.inputs[1] = rewriter_.AddInt64s(region.sum, StrCat(node.name, "/shape"), target);
    } else if (IsOurs(node, "FusedAttention")) {
      for (const std::string_view name : {"num_heads", "kv_num_heads"}) {
        const int64_t heads = node.attributes.Int(name, 0);
        if (heads > 0) {
          node.attributes.Set(std::string(name), heads / region.units * (end - begin));
        }
      }
    }
    const ValueId whole = graph_[id].outputs[0];
    return Insert(region.sum, std::move(node), StrCat(graph_[whole].name, "/slice", number));
  }

  ValueId Insert(NodeId place, Node node, std::string name) {
    const ValueId made = rewriter_.InsertBefore(place, std::move(node));
    [[maybe_unused]] const Status inferred = InferNode(graph_, graph_[made].producer);
    assert(inferred.ok());
    graph_[made].name = std::move(name);
    return made;
  }

  // Of a vector.
  ValueId ElementsOf(ValueId value, int64_t begin, int64_t count, int64_t number, NodeId place) {
    graph::ConstantTensor part = graph_[graph_[value].constant];
    if (!part.bytes.empty()) {
      part.bytes = part.bytes.subspan(static_cast<size_t>(begin) * sizeof(float),
                                      static_cast<size_t>(count) * sizeof(float));
    }
    part.dims = {count};
    part.name = StrCat(part.name, "/slice", number);
    std::string name = part.name;
    return rewriter_.AddConstant(place, std::move(name), std::move(part));
  }

  Graph& graph_;
  Rewriter rewriter_;
  const SumSlices& sizes_;
  std::vector<bool> taken_;         // by node: belongs to a region that was cut
  std::map<NodeId, size_t> place_;  // of the root's nodes as they were
};

}  // namespace

int SliceSums(Graph& graph, const std::vector<ValueId>& seeds, const SumSlices& sizes) {
  SumSlicing slicing(graph, sizes);
  int regions = 0;
  for (const ValueId seed : seeds) regions += slicing.Slice(seed) ? 1 : 0;
  return regions;
}

}  // namespace plimsoll::compile
