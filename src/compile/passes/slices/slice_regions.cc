#include "compile/passes/slices/slice_regions.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <span>

#include "compile/passes/bodies.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/passes/slices/slice_rules.h"
#include "compile/shapes/shapes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::ConstantTensor;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMostNodes = 16;  // of a region

// Nodes that run once per slice, in the order of the body.
struct Region {
  std::map<NodeId, SliceRule> nodes;
  int64_t axis = 0;
  int64_t length = 0;
};

// Steps [begin, end) along the axis.
struct Steps {
  int64_t begin = 0;
  int64_t end = 0;
};

class Slicing {
 public:
  explicit Slicing(Graph& graph) : graph_(graph), rewriter_(graph), sliced_(graph.values.size()) {
    for (const NodeId id : graph.root().nodes) place_[id] = static_cast<int64_t>(place_.size());
  }

  void Slice(ValueId seed, const SliceSizes& sizes) {
    if (IsSliced(seed)) return;
    const std::optional<Region> region = Grow(seed);
    if (!region) return;
    const SliceRule& rule = region->nodes.begin()->second;
    const bool rows = rule.channels_a_step == 0;
    const int64_t step = std::max<int64_t>(rows ? rule.rows_a_step : rule.channels_a_step, 1);
    const int64_t least = ((rows ? sizes.least_rows : sizes.least_channels) + step - 1) / step;
    const int64_t count = std::min(sizes.slices, region->length / least);
    if (count < 2) {
      ++made_.declined;
      return;
    }
    Cut(*region, count);
    ++made_.regions;
  }

  const Sliced& made() const { return made_; }

 private:
  bool IsSliced(ValueId value) const {
    return value.index() < sliced_.size() && sliced_[value.index()];
  }

  Bytes SizeOf(ValueId value) const { return PlannedSize(graph_[value].type); }

  // From the node that makes the seed to nodes whose results are at most half as large, and to
  // those that make other large operands of these.
  std::optional<Region> Grow(ValueId seed) const {
    const NodeId maker = graph_[seed].producer;
    Region region;
    if (!maker.valid() || !Add(maker, region)) return std::nullopt;
    const Bytes large = Bytes(SizeOf(seed).value() / 2 + 1);
    for (bool grown = true; grown;) {
      grown = false;
      std::vector<NodeId> wanted;
      for (const auto& [id, rule] : region.nodes) {
        const ValueId made = graph_[id].outputs[0];
        if (SizeOf(made) >= large) {
          for (const NodeId reader : rewriter_.readers(made)) wanted.push_back(reader);
        }
        for (size_t i = 0; i < rule.operands.size(); ++i) {
          const ValueId operand = graph_[id].inputs[i];
          if (rule.operands[i] != SliceOperand::kSlice || SizeOf(operand) < large) continue;
          const NodeId producer = graph_[operand].producer;
          if (producer.valid() && rewriter_.HasOneReader(operand)) wanted.push_back(producer);
        }
      }
      for (const NodeId id : wanted) {
        if (region.nodes.contains(id)) continue;
        const bool reads_large = std::ranges::any_of(graph_[id].inputs, [&](ValueId input) {
          return input.valid() && graph_[input].producer.valid() &&
                 region.nodes.contains(graph_[input].producer);
        });
        if (Add(id, region)) {
          grown = true;
        } else if (reads_large) {
          return std::nullopt;
        }
      }
    }
    return IsWorthwhile(region, large) ? std::optional(std::move(region)) : std::nullopt;
  }

  bool Add(NodeId id, Region& region) const {
    const Node& node = graph_[id];
    if (region.nodes.size() == kMostNodes || !place_.contains(id) || !MayRewrite(node))
      return false;
    const std::optional<SliceRule> rule = SliceRuleOf(graph_, id);
    if (!rule || IsSliced(node.outputs[0])) return false;
    if (region.nodes.empty()) {
      region.axis = rule->axis;
      region.length = rule->length;
    }
    if (rule->axis != region.axis || rule->length != region.length) return false;
    // What is read whole cannot be made slice by slice.
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool inside = input.valid() && graph_[input].producer.valid() &&
                          region.nodes.contains(graph_[input].producer);
      if (inside && rule->operands[i] != SliceOperand::kSlice) return false;
    }
    for (const NodeId reader : rewriter_.readers(node.outputs[0])) {
      const auto known = region.nodes.find(reader);
      if (known == region.nodes.end()) continue;
      for (size_t i = 0; i < graph_[reader].inputs.size(); ++i) {
        const bool whole = known->second.operands[i] != SliceOperand::kSlice;
        if (graph_[reader].inputs[i] == node.outputs[0] && whole) return false;
      }
    }
    region.nodes.emplace(id, *rule);
    return true;
  }

  bool LeavesRegion(ValueId made, const Region& region) const {
    const std::vector<NodeId>& readers = rewriter_.readers(made);
    return std::any_of(readers.begin(), readers.end(),
                       [&](NodeId reader) { return !region.nodes.contains(reader); });
  }

  // What leaves the region is small, is no output of the model, and is needed only behind its last
  // node, where the slices will stand.
  bool IsWorthwhile(const Region& region, Bytes large) const {
    if (region.nodes.size() < 2) return false;
    int64_t last = 0;
    for (const auto& [id, rule] : region.nodes) last = std::max(last, place_.at(id));
    for (const auto& [id, rule] : region.nodes) {
      const ValueId made = graph_[id].outputs[0];
      if (rewriter_.IsOutput(made)) return false;
      if (!LeavesRegion(made, region)) continue;
      if (SizeOf(made) >= large) return false;
      for (const NodeId reader : rewriter_.readers(made)) {
        if (region.nodes.contains(reader)) continue;
        const auto place = place_.find(reader);
        if (place == place_.end() || place->second < last) return false;
      }
    }
    return true;
  }

  void Cut(const Region& region, int64_t count) {
    std::vector<NodeId> nodes;
    for (const auto& [id, rule] : region.nodes) nodes.push_back(id);
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return place_.at(a) < place_.at(b); });
    const NodeId last = nodes.back();
    std::map<ValueId, std::vector<ValueId>> made;  // slices of what the region makes
    for (int64_t i = 0; i < count; ++i) {
      const Steps slice{region.length * i / count, region.length * (i + 1) / count};
      for (const NodeId id : nodes) MakeSlice(id, region, slice, i, last, made);
    }
    for (const NodeId id : nodes) {
      const ValueId whole = graph_[id].outputs[0];
      if (LeavesRegion(whole, region)) PutTogether(whole, made[whole], region, last);
    }
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) rewriter_.Drop(*id);
  }

  void MakeSlice(NodeId id, const Region& region, const Steps& slice, int64_t number, NodeId place,
                 std::map<ValueId, std::vector<ValueId>>& made) {
    const SliceRule& rule = region.nodes.at(id);
    Node node = graph_[id];
    const ValueId whole = node.outputs[0];
    node.outputs.clear();
    node.name = StrCat(node.name, "/slice", number);
    const int64_t channels = std::min(slice.end * rule.channels_a_step, rule.channels) -
                             slice.begin * rule.channels_a_step;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId& input = node.inputs[i];
      if (rule.operands[i] == SliceOperand::kWhole) continue;
      if (rule.operands[i] == SliceOperand::kConstant) {
        input = RowsOf(input, slice.begin * rule.channels_a_step, channels, number, place);
      } else if (const auto inside = made.find(input); inside != made.end()) {
        input = inside->second[static_cast<size_t>(number)];
      } else {
        input = WindowInto(input, region.axis, slice, number, place);
      }
    }
    if (rule.channels_a_step > 0) {
      const bool sliced_input = rule.operands[0] == SliceOperand::kSlice;
      if (sliced_input && node.attributes.Int("group", 1) > 1) {
        node.attributes.Set("group", channels);
      }
      if (sliced_input && node.attributes.Int("channels", 0) > 0) {
        node.attributes.Set("channels", channels);
      }
    }
    const ValueId value = Insert(place, std::move(node));
    graph_[value].name = StrCat(graph_[whole].name, "/slice", number);
    made[whole].push_back(value);
    sliced_.resize(graph_.values.size());
    sliced_[value.index()] = true;
    sliced_[whole.index()] = true;
  }

  ValueId Insert(NodeId place, Node node) {
    const ValueId made = rewriter_.InsertBefore(place, std::move(node));
    [[maybe_unused]] const Status inferred = InferNode(graph_, graph_[made].producer);
    assert(inferred.ok());
    return made;
  }

  // Rows of a constant's first dimension, where they lie.
  ValueId RowsOf(ValueId value, int64_t begin, int64_t rows, int64_t number, NodeId place) {
    ConstantTensor part = graph_[graph_[value].constant];
    const auto row = static_cast<size_t>(part.Size().value() / std::max<int64_t>(part.dims[0], 1));
    if (!part.bytes.empty()) {
      part.bytes =
          part.bytes.subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(rows) * row);
    }
    part.dims[0] = rows;
    made_.constants += part.Size();
    part.name = StrCat(part.name, "/slice", number);
    std::string name = part.name;
    return rewriter_.AddConstant(place, std::move(name), std::move(part));
  }

  // A run of a tensor's bytes, which takes no copy.
  ValueId WindowInto(ValueId value, int64_t axis, const Steps& slice, int64_t number,
                     NodeId place) {
    Node node;
    node.name = StrCat(graph_[value].name, "/window", number);
    node.op = "Slice";
    node.version = 1;
    node.inputs = {value};
    node.attributes.Set("axes", std::vector<int64_t>{axis});
    node.attributes.Set("starts", std::vector<int64_t>{slice.begin});
    node.attributes.Set("ends", std::vector<int64_t>{slice.end});
    return Insert(place, std::move(node));
  }

  void PutTogether(ValueId whole, std::vector<ValueId> parts, const Region& region, NodeId place) {
    Node node;
    node.name = StrCat(graph_[whole].name, "/slices");
    node.op = "Concat";
    node.version = 13;
    node.inputs = std::move(parts);
    node.attributes.Set("axis", region.axis);
    const ValueId joined = Insert(place, std::move(node));
    graph_[joined].name = graph_[whole].name;
    for (const NodeId reader : std::vector<NodeId>(rewriter_.readers(whole))) {
      if (region.nodes.contains(reader)) continue;
      for (size_t i = 0; i < graph_[reader].inputs.size(); ++i) {
        if (graph_[reader].inputs[i] == whole) rewriter_.SetInput(reader, i, joined);
      }
    }
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::map<NodeId, int64_t> place_;  // of the root's nodes as they were
  std::vector<bool> sliced_;         // by value: is a slice, or was cut into slices
  Sliced made_;
};

}  // namespace

Sliced SliceRegions(Graph& graph, const std::vector<ValueId>& seeds, const SliceSizes& sizes) {
  Slicing slicing(graph);
  for (const ValueId seed : seeds) slicing.Slice(seed, sizes);
  return slicing.made();
}

}  // namespace plimsoll::compile
