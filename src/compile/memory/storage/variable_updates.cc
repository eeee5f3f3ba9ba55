#include "compile/memory/storage/variable_updates.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// Who touches a storage, as places in the root's order.
struct Uses {
  std::vector<size_t> readers;  // ascending
  size_t first_writer = kNever;
  std::optional<int> stream;  // of everybody, where it is one
  bool ordinary = true;
};

class Joiner {
 public:
  Joiner(const Graph& graph, const std::vector<VariableUpdate>& updates, Storages& storages,
         const kernels::Backend& backend)
      : graph_(graph),
        backend_(backend),
        storages_(storages),
        uses_(storages.storages.size()),
        leaves_(graph.values.size()) {
    storages.overwrites.assign(graph.values.size(), false);
    const auto& nodes = graph.root().nodes;
    for (size_t place = 0; place < nodes.size(); ++place) NoteUses(nodes[place], place);
    std::vector<bool> replaces(graph.root().outputs.size());
    for (const VariableUpdate& update : updates) replaces[update.output] = true;
    for (size_t i = 0; i < replaces.size(); ++i) {
      if (!replaces[i]) leaves_[graph.root().outputs[i].index()] = true;
    }
  }

  PlannedUpdate Join(const VariableUpdate& update) {
    const ValueId input = graph_.root().inputs[update.input];
    const ValueId output = graph_.root().outputs[update.output];
    PlannedUpdate planned{.ports = update, .bytes = PlannedSize(graph_[output].type), .reason = {}};
    planned.in_place = input == output;
    if (planned.in_place) return planned;
    planned.reason = WhyNot(input, output, update.grows);
    planned.in_place = planned.reason.empty();
    const StorageId from = storages_.places[output.index()].storage;
    if (planned.in_place) {
      Move(from, storages_.places[input.index()].storage, planned.bytes);
    } else if (from.valid() && HomeOf(from) == Home::kOutput && !leaves_[output.index()]) {
      storages_[from].home = Home::kStaged;
    }
    return planned;
  }

 private:
  Home HomeOf(StorageId storage) const { return storages_[storage].home; }

  void NoteUses(NodeId id, size_t place) {
    for (const ValueId read : ReadsOf(graph_, id)) {
      if (Uses* uses = UsesOf(read, graph_[id])) uses->readers.push_back(place);
    }
    for (const ValueId written : graph_[id].outputs) {
      if (!written.valid()) continue;
      if (Uses* uses = UsesOf(written, graph_[id])) {
        uses->first_writer = std::min(uses->first_writer, place);
      }
    }
  }

  Uses* UsesOf(ValueId value, const Node& node) {
    const StorageId storage = storages_.places[value.index()].storage;
    if (!storage.valid()) return nullptr;
    Uses& uses = uses_[storage.index()];
    const bool mixed = uses.stream && *uses.stream != node.memory.stream;
    uses.ordinary = uses.ordinary && IsOrdinary(node.memory) && !mixed;
    uses.stream = node.memory.stream;
    return &uses;
  }

  bool Covers(ValueId value) const {
    const ValuePlace& place = storages_.places[value.index()];
    return place.offset == Bytes(0) &&
           place.bytes == storages_.storages[place.storage.index()].bytes;
  }

  // Empty: the new value may lie where the old one does.
  std::string WhyNot(ValueId input, ValueId output, bool grows) const {
    const StorageId old_storage = storages_.places[input.index()].storage;
    const StorageId new_storage = storages_.places[output.index()].storage;
    if (!old_storage.valid()) return "it holds nothing";
    if (!new_storage.valid()) return "its new value is a constant";
    if (HomeOf(new_storage) == Home::kInput) return "its new value is an input";
    if (HomeOf(new_storage) != Home::kOutput)
      return "its new value is that of another variable too";
    if (HomeOf(old_storage) != Home::kInput || !Covers(output) || !Covers(input)) {
      return "its new value lies inside other memory";
    }
    for (const ValueId leaving : graph_.root().outputs) {
      if (storages_.places[leaving.index()].storage == old_storage) {
        return StrCat("its old value leaves the run as '", graph_[leaving].name, "'");
      }
    }
    const Uses& old_uses = uses_[old_storage.index()];
    const Uses& new_uses = uses_[new_storage.index()];
    const bool one_stream =
        !old_uses.stream || !new_uses.stream || *old_uses.stream == *new_uses.stream;
    if (!old_uses.ordinary || !new_uses.ordinary || !one_stream) {
      return "nodes that use it ask for streams or memory of their own";
    }
    return WhyNotInOrder(old_storage, new_storage, grows);
  }

  std::string WhyNotInOrder(StorageId old_storage, StorageId new_storage, bool grows) const {
    const Uses& old_uses = uses_[old_storage.index()];
    const Uses& new_uses = uses_[new_storage.index()];
    if (old_uses.readers.empty() || old_uses.readers.back() < new_uses.first_writer) return {};
    const auto& nodes = graph_.root().nodes;
    const NodeId last = nodes[old_uses.readers.back()];
    if (old_uses.readers.back() > new_uses.first_writer) {
      return StrCat(Describe(graph_, last), " reads its old value after the new one is there");
    }
    if (OverwritesAsItReads(last, old_storage, new_storage)) return {};
    if (grows && GrowsAsItReads(last, old_storage, new_storage)) return {};
    return StrCat(Describe(graph_, last), " cannot write where it reads");
  }

  // Every operand that lies in the old storage is one that the kernel can write over.
  bool OverwritesAsItReads(NodeId id, StorageId old_storage, StorageId new_storage) const {
    const Node& node = graph_[id];
    if (!SubgraphsOf(node).empty()) return false;
    const auto pairs = backend_.InPlacePairs(graph_, id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || storages_.places[input.index()].storage != old_storage) continue;
      const bool allowed = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
        const ValueId output = node.outputs[static_cast<size_t>(pair.output)];
        return pair.input == static_cast<int>(i) && Covers(input) && Covers(output) &&
               storages_.places[output.index()].storage == new_storage;
      });
      if (!allowed) return false;
    }
    return true;
  }

  // The node's first input is all of the old storage, and alone lies there; its output is all of
  // the new one, of whole bytes.
  bool GrowsAsItReads(NodeId id, StorageId old_storage, StorageId new_storage) const {
    const Node& node = graph_[id];
    if (!backend_.GrowsOverFirstInput(graph_, id)) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const StorageId storage = storages_.places[node.inputs[i].index()].storage;
      if ((storage == old_storage) != (i == 0)) return false;
    }
    return storages_.places[node.outputs[0].index()].storage == new_storage &&
           Covers(node.inputs[0]) && Covers(node.outputs[0]) &&
           graph::Bits(graph_[node.outputs[0]].type.data_type) % 8 == 0;
  }

  void Move(StorageId from, StorageId to, Bytes bytes) {
    for (size_t i = 0; i < storages_.places.size(); ++i) {
      if (storages_.places[i].storage != from) continue;
      storages_.places[i].storage = to;
      storages_.fresh[i] = Bytes(0);
      storages_.overwrites[i] = true;
    }
    storages_[to].home = Home::kVariable;
    storages_[to].bytes = std::max(storages_[to].bytes, bytes);
  }

  const Graph& graph_;
  const kernels::Backend& backend_;
  Storages& storages_;
  std::vector<Uses> uses_;    // by storage, before anything is joined
  std::vector<bool> leaves_;  // by value: the caller gets it
};

}  // namespace

void SeparateUpdates(Graph& graph, const std::vector<VariableUpdate>& updates) {
  int version = 1;
  for (const auto& [domain, number] : graph.opsets) {
    if (domain.empty()) version = number;
  }
  std::vector<ValueId> old_values;
  for (const VariableUpdate& update : updates) {
    old_values.push_back(graph.root().inputs[update.input]);
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    const ValueId taken = graph.root().outputs[updates[i].output];
    const bool is_old = std::find(old_values.begin(), old_values.end(), taken) != old_values.end();
    if (!is_old || taken == old_values[i]) continue;
    const NodeId id(graph.nodes.size());
    const ValueId copy(graph.values.size());
    graph::Value value = graph[taken];
    value.name = StrCat(value.name, " (taken by ", graph[old_values[i]].name, ")");
    value.producer = id;
    graph.values.push_back(std::move(value));
    Node node;
    node.name = graph[copy].name;
    node.op = "Identity";
    node.version = version;
    node.inputs = {taken};
    node.outputs = {copy};
    node.home = Graph::kRoot;
    graph.nodes.push_back(std::move(node));
    graph::Subgraph& root = graph[Graph::kRoot];
    root.nodes.insert(root.nodes.begin(), id);
    root.outputs[updates[i].output] = copy;
  }
}

std::vector<bool> NewValues(const Graph& graph, const std::vector<VariableUpdate>& updates) {
  std::vector<bool> is_new(graph.values.size());
  for (const VariableUpdate& update : updates) {
    is_new[graph.root().outputs[update.output].index()] = true;
  }
  return is_new;
}

std::vector<PlannedUpdate> JoinUpdates(const Graph& graph,
                                       const std::vector<VariableUpdate>& updates,
                                       Storages& storages, const kernels::Backend& backend) {
  Joiner joiner(graph, updates, storages, backend);
  std::vector<PlannedUpdate> planned;
  for (const VariableUpdate& update : updates) planned.push_back(joiner.Join(update));
  return planned;
}

Status VerifyUpdates(const Graph& graph, const Storages& storages, const Timeline& timeline) {
  std::vector<int64_t> overwritten(storages.storages.size(), std::numeric_limits<int64_t>::max());
  for (const Access& access : timeline.accesses) {
    if (!access.writes || !storages.overwrites[access.value.index()]) continue;
    int64_t& step = overwritten[storages.places[access.value.index()].storage.index()];
    step = std::min(step, access.step);
  }
  for (const Access& access : timeline.accesses) {
    const auto storage = storages.places[access.value.index()].storage.index();
    if (storages.overwrites[access.value.index()] || access.step <= overwritten[storage]) continue;
    const NodeId node = timeline.steps[static_cast<size_t>(access.step)].node;
    return Error{
        .kind = ErrorKind::kRunFailed,
        .code = "compile.update",
        .what = "the order of a plan is wrong",
        .where = Describe(graph, node),
        .why = StrCat("it reads '", graph[access.value].name, "' after it was overwritten"),
        .remedy = "please report this with the model"};
  }
  return {};
}

}  // namespace plimsoll::compile
