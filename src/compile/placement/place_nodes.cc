#include "compile/placement/place_nodes.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compile/bodies/loops.h"
#include "compile/passes/bodies.h"
#include "compile/placement/host_nodes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::MemoryAttributes;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

enum class Side { kDevice, kHost };

class TransferInserter {
 public:
  TransferInserter(Graph& graph, const Target& target) : graph_(graph), target_(target) {}

  void Run() { VisitBody(Graph::kRoot); }

 private:
  // Of a value, on that side, for nodes of that batch. Several bodies deep: inner ones see those of
  // outer ones that are there already.
  using Key = std::tuple<ValueId, Side, std::string>;
  using Known = std::map<Key, ValueId>;

  void VisitBody(SubgraphId body) {
    known_.emplace_back();
    std::vector<NodeId> order;
    for (const NodeId id : std::vector<NodeId>(graph_[body].nodes)) {
      for (size_t i = 0; i < graph_[id].inputs.size(); ++i) {
        const ValueId read = graph_[id].inputs[i];
        const ValueId found = OnSide(read, SideOfInput(id, i), body, graph_[id].memory, order);
        graph_[id].inputs[i] = found;
      }
      for (const SubgraphId inner : SubgraphsOf(graph_[id])) VisitBody(inner);
      order.push_back(id);
    }
    for (size_t i = 0; i < graph_[body].outputs.size(); ++i) {
      const ValueId made = graph_[body].outputs[i];
      const bool tested = i == 0 && IsTested(body);
      if (!made.valid() || (!graph_[made].producer.valid() && !tested)) continue;
      const NodeId maker = tested ? graph_[body].owner : graph_[made].producer;
      const MemoryAttributes memory = graph_[maker].memory;
      const ValueId sent = OnSide(made, tested ? Side::kHost : Side::kDevice, body, memory, order);
      if (sent == made) continue;
      // What leaves the model keeps its name.
      const auto before = graph_[body].outputs.begin() + static_cast<std::ptrdiff_t>(i);
      const bool named = std::find(graph_[body].outputs.begin(), before, sent) != before;
      if (body == Graph::kRoot && !named) std::swap(graph_[sent].name, graph_[made].name);
      graph_[body].outputs[i] = sent;
    }
    graph_[body].nodes = std::move(order);
    known_.pop_back();
  }

  // Whether the host looks at the first output of the body, to know whether a loop goes on.
  bool IsTested(SubgraphId body) const {
    const NodeId owner = graph_[body].owner;
    return owner.valid() && IsLoop(graph_[owner]) && PartsOfLoop(graph_, owner).goes_on.valid();
  }

  Side SideOfInput(NodeId id, size_t input) const {
    const Node& node = graph_[id];
    const bool host = target_.RunsOnHost(node) || NeedsOnHost(graph_, node, input);
    return host ? Side::kHost : Side::kDevice;
  }

  Side SideOf(ValueId value) const {
    const NodeId producer = graph_[value].producer;
    const bool host = producer.valid() && target_.RunsOnHost(graph_[producer]);
    return host ? Side::kHost : Side::kDevice;
  }

  // The value itself, or what a Transfer at the end of `order` makes of it. `memory` is of the node
  // that it is for.
  ValueId OnSide(ValueId value, Side side, SubgraphId body, const MemoryAttributes& memory,
                 std::vector<NodeId>& order) {
    if (!value.valid() || graph_[value].constant.valid() || SideOf(value) == side) return value;
    const Key key(value, side, memory.batch_label);
    for (const Known& known : known_) {
      if (const auto found = known.find(key); found != known.end()) return found->second;
    }
    const bool fetch = side == Side::kHost;
    const NodeId id(graph_.nodes.size());
    const ValueId made(graph_.values.size());
    graph::Value copy = graph_[value];
    copy.name = StrCat(copy.name, fetch ? " (on the host)" : " (on the device)");
    copy.producer = id;
    copy.home = body;
    Node node;
    node.name = StrCat(fetch ? "fetch " : "send ", graph_[value].name);
    node.domain = "plimsoll";
    node.op = "Transfer";
    node.version = 1;
    node.inputs = {value};
    node.outputs = {made};
    node.memory.stream = memory.stream;
    node.memory.batch_label = memory.batch_label;
    if (fetch) node.memory.memory_type = MemoryAttributes::Type::kHost;
    node.home = body;
    graph_.values.push_back(std::move(copy));
    graph_.nodes.push_back(std::move(node));
    order.push_back(id);
    known_.back().emplace(key, made);
    return made;
  }

  Graph& graph_;
  const Target& target_;
  std::vector<Known> known_;
};

}  // namespace

void PlaceNodes(Graph& graph, const Target& target, const std::vector<VariableUpdate>& updates) {
  if (target.host_reachable) return;
  const std::vector<bool> on_host = FindHostNodes(graph, target, updates);
  for (size_t i = 0; i < on_host.size(); ++i) {
    if (!on_host[i]) continue;
    graph.nodes[i].memory.memory_type = MemoryAttributes::Type::kHost;
    // The kernel clears what it needs: fills are the device's.
    graph.nodes[i].memory.needs_clearing.clear();
  }
  TransferInserter(graph, target).Run();
}

HostTransfers CountHostTransfers(const Graph& graph, const Target& target,
                                 const std::vector<VariableUpdate>& updates) {
  HostTransfers count;
  if (target.host_reachable) return count;
  std::vector<bool> given(graph.values.size());
  const auto& inputs = graph.root().inputs;
  for (const ValueId input : inputs) given[input.index()] = true;
  for (const VariableUpdate& update : updates) given[inputs[update.input].index()] = false;
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      const bool host = target.RunsOnHost(node);
      if (!IsTransfer(node)) {
        count.host_nodes += host ? 1 : 0;
        continue;
      }
      if (given[node.inputs[0].index()]) continue;
      ++(host ? count.fetches : count.sends);
      (host ? count.fetched : count.sent) += PlannedSize(graph[node.outputs[0]].type);
    }
  }
  return count;
}

}  // namespace plimsoll::compile
