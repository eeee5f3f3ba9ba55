#include "compile/passes/precision/widen_halves.h"

#include <algorithm>
#include <utility>

#include "compile/passes/constants.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

int StandardVersion(const Graph& graph) {
  constexpr int kWithAllHalves = 13;  // Cast knows bfloat16 from here on
  for (const auto& [domain, version] : graph.opsets) {
    if (domain.empty()) return version;
  }
  return kWithAllHalves;
}

// Every half value has a twin of float32: a node that works on float32 makes the twin, and the
// value is cast from it; else it is the twin that is cast from the value.
class HalfWidening {
 public:
  explicit HalfWidening(Graph& graph)
      : graph_(graph),
        version_(StandardVersion(graph)),
        folded_(FindConstantValues(graph)),
        returned_(graph.values.size()),
        rounded_(graph.values.size()) {
    for (const graph::Subgraph& body : graph.subgraphs) {
      for (const ValueId output : body.outputs) {
        if (output.valid()) returned_[output.index()] = true;
      }
    }
  }

  FusionCounts Run() {
    const bool any = std::ranges::any_of(
        graph_.values, [](const graph::Value& value) { return IsHalf(value.type); });
    if (!any) return counts_;
    twins_.resize(graph_.values.size());
    made_wide_.resize(graph_.values.size());
    first_casts_.resize(graph_.subgraphs.size());
    WalkBody(Graph::kRoot);
    for (size_t i = 0; i < first_casts_.size(); ++i) {
      std::vector<NodeId>& nodes = graph_[SubgraphId(i)].nodes;
      nodes.insert(nodes.begin(), first_casts_[i].begin(), first_casts_[i].end());
    }
    return counts_;
  }

 private:
  void WalkBody(SubgraphId body) {
    const std::vector<NodeId> nodes = graph_[body].nodes;
    std::vector<NodeId> walked;
    for (const NodeId id : nodes) {
      for (const SubgraphId inner : SubgraphsOf(graph_[id])) WalkBody(inner);
      if (RoundsToHalf(id)) {
        walked.push_back(id);
        KeepUnrounded(graph_[id].inputs[0], graph_[id].outputs[0], walked);
        continue;
      }
      const std::vector<ValueId> halves = HalvesAmong(graph_[id].outputs);
      const bool wide = MayWiden(id) && Widen(id);
      walked.push_back(id);
      for (const ValueId half : halves) {
        const ValueId twin = TwinOf(half);
        walked.push_back(wide ? AddCast(twin, half) : AddCast(half, twin));
      }
    }
    graph_[body].nodes = std::move(walked);
  }

  std::vector<ValueId> HalvesAmong(const std::vector<ValueId>& values) const {
    std::vector<ValueId> halves;
    for (const ValueId value : values) {
      if (value.valid() && IsHalf(graph_[value].type)) halves.push_back(value);
    }
    return halves;
  }

  // A Cast of the file from a wider float that runs tell.
  bool RoundsToHalf(NodeId id) const {
    const Node& node = graph_[id];
    if (node.op != "Cast" || !node.domain.empty() || !MayRewrite(node)) return false;
    const graph::ValueType& from = graph_[node.inputs[0]].type;
    return !folded_[node.inputs[0].index()] &&
           graph_[node.outputs[0]].type.data_type == DataType::kFloat16 &&
           (from.data_type == DataType::kFloat32 || from.data_type == DataType::kFloat64);
  }

  // Nodes that work on float32 read what the Cast was given, as in ONNX Runtime.
  void KeepUnrounded(ValueId wide, ValueId half, std::vector<NodeId>& walked) {
    rounded_[half.index()] = true;
    if (graph_[wide].type.data_type == DataType::kFloat32) {
      twins_[half.index()] = wide;
    } else {
      walked.push_back(AddCast(wide, TwinOf(half)));
    }
  }

  bool MayWiden(NodeId id) const {
    const Node& node = graph_[id];
    const graph::OperatorFacts& facts = FactsOf(node);
    const bool ours = node.domain.empty() || node.domain == graph::kContributedDomain;
    if (!ours || !MayRewrite(node) || !SubgraphsOf(node).empty()) return false;
    if (!kernels::IsDeterministic(node) || facts.in_place_caches[0].output != 0) return false;
    const std::vector<ValueId> halves = HalvesAmong(node.inputs);
    if (halves.empty()) return false;
    // Two Casts in a row are there for the rounding.
    if (node.op == "Cast" && rounded_[halves[0].index()]) return false;
    const bool moves =
        facts.view != graph::View::kNone && facts.view != graph::View::kWholeIfUnchanged;
    if (!moves) return true;
    const auto is_returned = [&](ValueId value) { return returned_[value.index()]; };
    return std::ranges::any_of(halves, [&](ValueId value) { return made_wide_[value.index()]; }) &&
           std::ranges::none_of(HalvesAmong(node.outputs), is_returned);
  }

  // Gives the node twins to read and to make. False, with the node as it was, where its rule makes
  // something else of them than twins of what it made.
  bool Widen(NodeId id) {
    const Node before = graph_[id];
    std::vector<graph::Value> made;
    for (const ValueId output : before.outputs) {
      made.push_back(output.valid() ? graph_[output] : graph::Value());
    }
    const std::vector<ValueId> inputs = WithTwins(before.inputs);
    const std::vector<ValueId> outputs = WithTwins(before.outputs);
    graph_[id].inputs = inputs;
    graph_[id].outputs = outputs;
    bool alike = InferNode(graph_, id).ok();
    for (size_t i = 0; alike && i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      graph::ValueType expected = made[i].type;
      if (IsHalf(expected)) expected.data_type = DataType::kFloat32;
      const graph::ValueType& type = graph_[outputs[i]].type;
      alike = type.is_tensor() == expected.is_tensor() && type.data_type == expected.data_type;
    }
    if (!alike) {
      graph_[id] = before;
      for (size_t i = 0; i < made.size(); ++i) {
        if (!before.outputs[i].valid()) continue;
        graph_[before.outputs[i]] = made[i];
        if (IsHalf(made[i].type)) SetTwinType(before.outputs[i]);
      }
      return false;
    }
    for (const ValueId half : HalvesAmong(before.outputs)) {
      graph_[twins_[half.index()]].producer = id;
      made_wide_[half.index()] = true;
    }
    counts_.Took(FusionPattern::kHalfWiden);
    return true;
  }

  std::vector<ValueId> WithTwins(std::vector<ValueId> values) {
    for (ValueId& value : values) {
      if (value.valid() && IsHalf(graph_[value].type)) value = TwinOf(value);
    }
    return values;
  }

  // The twin of a value that no node makes is cast where its body begins.
  ValueId TwinOf(ValueId half) {
    if (twins_[half.index()].valid()) return twins_[half.index()];
    const ValueId twin = AddValue(StrCat(graph_[half].name, "/float32"), graph_[half].home);
    twins_[half.index()] = twin;
    SetTwinType(half);
    if (!graph_[half].producer.valid()) {
      first_casts_[graph_[half].home.index()].push_back(AddCast(half, twin));
    }
    return twin;
  }

  void SetTwinType(ValueId half) {
    graph::Value& twin = graph_[twins_[half.index()]];
    twin.type = graph_[half].type;
    twin.type.data_type = DataType::kFloat32;
  }

  ValueId AddValue(std::string name, SubgraphId home) {
    graph::Value value;
    value.name = std::move(name);
    value.home = home;
    graph_.values.push_back(std::move(value));
    twins_.emplace_back();
    made_wide_.push_back(false);
    return ValueId(graph_.values.size() - 1);
  }

  NodeId AddCast(ValueId from, ValueId to) {
    const NodeId id(graph_.nodes.size());
    Node cast;
    cast.name = graph_[to].name;
    cast.op = "Cast";
    cast.version = version_;
    cast.inputs = {from};
    cast.outputs = {to};
    cast.attributes.Set("to", static_cast<int64_t>(graph_[to].type.data_type));
    cast.home = graph_[to].home;
    graph_.nodes.push_back(std::move(cast));
    graph_[to].producer = id;
    return id;
  }

  Graph& graph_;
  const int version_;
  const std::vector<bool> folded_;                // by value of the file: constants tell it
  std::vector<bool> returned_;                    // likewise: a body returns it
  std::vector<bool> rounded_;                     // likewise: a Cast of the file makes it
  std::vector<ValueId> twins_;                    // by value
  std::vector<bool> made_wide_;                   // by value: its twin is what a node makes
  std::vector<std::vector<NodeId>> first_casts_;  // by body
  FusionCounts counts_;
};

}  // namespace

FusionCounts WidenHalves(Graph& graph, const FusionSwitches& /*switches*/) {
  return HalfWidening(graph).Run();
}

}  // namespace plimsoll::compile
