#include "compile/memory/storage/storages.h"

#include <algorithm>
#include <span>

#include "compile/bodies/loops.h"
#include "compile/memory/storage/carried_values.h"
#include "compile/memory/storage/offset_forest.h"
#include "compile/memory/storage/views.h"
#include "compile/passes/bodies.h"
#include "compile/shapes/batch_labels.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// By value: its bytes become another value's by reference_output. Other values that hold the same
// bytes may be read after that.
std::vector<bool> OverwrittenValues(const Graph& graph) {
  std::vector<bool> found(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].memory.reference_outputs.empty()) continue;
    for (const WindowOf& window : WindowsOf(graph, NodeId(i))) {
      if (window.whole.valid()) found[window.whole.index()] = true;
    }
  }
  return found;
}

// Storages are joined as nodes are met in the file's order. A joined storage points to the one that
// holds it, and where in it.
class Finder {
 public:
  Finder(const Graph& graph, const std::vector<bool>& constant, const StorageRules& rules)
      : graph_(graph),
        constant_(constant),
        rules_(rules),
        is_output_(graph.values.size()),
        carried_from_(graph.values.size()),
        overwritten_(OverwrittenValues(graph)) {
    found_.places.resize(graph.values.size());
    found_.fresh.resize(graph.values.size());
    for (const ValueId output : graph.root().outputs) is_output_[output.index()] = true;
  }

  Storages Find() {
    for (const ValueId input : graph_.root().inputs) Open(input, Home::kInput);
    Body(Graph::kRoot);
    if (rules_.views == ViewRules::kAll) JoinIntoOutputs();
    return Flatten();
  }

 private:
  void Body(SubgraphId id) {
    for (const NodeId node : graph_[id].nodes) {
      for (const SubgraphId body : SubgraphsOf(graph_[node])) {
        ++depth_;
        for (const ValueId input : graph_[body].inputs) {
          Open(input, Home::kFeatureMap);
          const StorageId storage = found_.places[input.index()].storage;
          if (storage.valid()) handed_on_[storage.index()] = true;
        }
        if (IsLoop(graph_[node])) NoteCarried(node);
        Body(body);
        --depth_;
      }
      Visit(node);
    }
  }

  void NoteCarried(NodeId id) {
    for (const CarriedValue& carried : PartsOfLoop(graph_, id).carried) {
      carried_from_[carried.result.index()] = carried.input;
    }
  }

  bool Takes(ValueId value) const {
    return value.valid() && !constant_[value.index()] &&
           !found_.places[value.index()].storage.valid();
  }

  void Open(ValueId value, Home home) {
    if (!Takes(value)) return;
    const Bytes bytes = PlannedSize(graph_[value].type);
    found_.places[value.index()] = {StorageId(found_.storages.size()), Bytes(0), bytes};
    found_.storages.push_back({home, bytes});
    found_.fresh[value.index()] = bytes;
    forest_.Add();
    outermost_.push_back(depth_);
    handed_on_.push_back(false);
    standalone_storage_.push_back(StandsAlone(value));
    batches_.push_back(BatchOf(graph_, value));
  }

  // What is cleared just before its node runs holds nothing by then.
  static bool IsCleared(const Node& node, ValueId output) {
    return std::any_of(node.memory.needs_clearing.begin(), node.memory.needs_clearing.end(),
                       [&](int index) {
                         const auto at = static_cast<size_t>(index);
                         return at < node.outputs.size() && node.outputs[at] == output;
                       });
  }

  bool StandsAlone(ValueId value) const { return IsNamed(rules_.standalone, value.index()); }

  static bool IsNamed(const std::vector<bool>& list, size_t index) {
    return !list.empty() && list[index];
  }

  bool IsOverwritten(const WindowOf& window) const {
    return overwritten_[window.part.index()] || overwritten_[window.whole.index()];
  }

  void OpenOutput(ValueId value) {
    Open(value, value.valid() && is_output_[value.index()] ? Home::kOutput : Home::kFeatureMap);
  }

  void Visit(NodeId id) {
    const Node& node = graph_[id];
    const bool references = !node.memory.reference_outputs.empty();
    const bool considered = rules_.views == ViewRules::kAll || IsPlainView(node);
    const bool copied = IsNamed(rules_.copied, id.index()) && !IsPlainView(node) && !references;
    const std::vector<WindowOf> windows =
        considered && !copied ? WindowsOf(graph_, id) : std::vector<WindowOf>();
    const bool into_output = !windows.empty() && windows[0].whole == node.outputs[0];
    if (!into_output) {
      for (const WindowOf& window : windows) {
        const bool may_be_part =
            (references || (!StandsAlone(window.part) && !IsOverwritten(window))) &&
            !IsCleared(node, window.part);
        if (!may_be_part || !TakeWindow(window)) found_.copies.push_back(id);
      }
    }
    for (const ValueId output : node.outputs) OpenOutput(output);
    if (into_output && !IsCleared(node, node.outputs[0])) GiveWindows(windows);
    if (rules_.views == ViewRules::kAll && node.domain.empty() && node.op == "If")
      JoinBranches(node);
    if (rules_.views == ViewRules::kAll && IsLoop(node)) JoinCarried(id);
  }

  // The new value `part` lies in the storage of `whole`, unless it is an output of the model that
  // would then be the caller's input, another output, or only a piece of something larger.
  bool TakeWindow(const WindowOf& window) {
    if (!Takes(window.part) || constant_[window.whole.index()]) return true;
    const ValuePlace& whole = found_.places[window.whole.index()];
    if (!whole.storage.valid()) return true;
    const Bytes bytes = PlannedSize(graph_[window.part].type);
    const StorageId root = forest_.Root(whole.storage).holder;
    if (TakesCarried(window, root)) return false;
    Storage& holder = found_[root];
    const bool inside = window.offset + bytes <= whole.bytes;
    if (is_output_[window.part.index()]) {
      const bool covers = bytes == holder.bytes && holder.home == Home::kFeatureMap;
      const bool same_batch = BatchOf(graph_, window.part) == batches_[root.index()];
      if (!covers || !same_batch) return false;
      holder.home = Home::kOutput;
    }
    if (!inside) return false;
    found_.places[window.part.index()] = {whole.storage, whole.offset + window.offset, bytes};
    return true;
  }

  // Whether a result that goes to the next iteration would lie in what this one was given, which
  // is replaced before the result is read. Where it is its own old value nothing is replaced.
  bool TakesCarried(const WindowOf& window, StorageId root) const {
    const ValueId input = carried_from_[window.part.index()];
    return input.valid() && handed_on_[root.index()] && window.whole != input;
  }

  // Each part goes into the whole, alone or as one of several that already lie side by side as they
  // will there: [a, b] of an earlier Concat is the beginning of [a, b, c].
  void GiveWindows(std::span<const WindowOf> windows) {
    for (size_t first = 0; first < windows.size();) {
      const size_t count = SideBySide(windows.subspan(first));
      if (GiveRun(windows.subspan(first, count))) {
        for (const WindowOf& window : windows.subspan(first, count)) {
          found_.fresh[window.whole.index()] -= found_.places[window.part.index()].bytes;
        }
      }
      first += count;
    }
  }

  // How many of the parts, from the first, lie one behind the other in one storage from its start
  // to its end; 1 where they do not.
  size_t SideBySide(std::span<const WindowOf> windows) {
    const StorageId storage = found_.places[windows[0].part.index()].storage;
    if (!storage.valid()) return 1;
    const StorageId root = forest_.Root(storage).holder;
    const Bytes all = found_[root].bytes;
    Bytes reached;
    for (size_t i = 0; i < windows.size(); ++i) {
      const ValuePlace& part = found_.places[windows[i].part.index()];
      if (!part.storage.valid() || part.bytes == Bytes(0)) return 1;
      const auto [holder, offset] = forest_.Root(part.storage);
      if (holder != root || offset + part.offset != reached) return 1;
      reached += part.bytes;
      if (reached == all) return i + 1;
    }
    return 1;
  }

  bool GiveWindow(const WindowOf& window) { return GiveRun({&window, 1}); }

  // Values made earlier, which lie side by side, are written straight into `whole`.
  bool GiveRun(std::span<const WindowOf> parts) {
    const WindowOf& first = parts[0];
    const ValuePlace& whole = found_.places[first.whole.index()];
    if (!whole.storage.valid()) return false;
    Bytes bytes;
    for (const WindowOf& window : parts) {
      if (constant_[window.part.index()] || IsOverwritten(window)) return false;
      if (!found_.places[window.part.index()].storage.valid()) return false;
      if (StreamOf(window.part) != StreamOf(window.whole)) return false;
      bytes += found_.places[window.part.index()].bytes;
    }
    const ValuePlace& part = found_.places[first.part.index()];
    const auto [root, offset] = forest_.Root(part.storage);
    const StorageId into = forest_.Root(whole.storage).holder;
    if (root == into) return false;
    const Storage& given = found_[root];
    const bool covers = offset + part.offset == Bytes(0) && bytes == given.bytes;
    const bool standalone = standalone_storage_[root.index()] || handed_on_[root.index()];
    // What runs of other batches write must not go into an output that these do not make.
    const bool same_batch = batches_[root.index()] == batches_[into.index()];
    if (!covers || given.home != Home::kFeatureMap || !same_batch || standalone ||
        bytes == Bytes(0)) {
      return false;
    }
    forest_.Put(root, whole.storage, whole.offset + first.offset);
    int& outermost = outermost_[into.index()];
    outermost = std::min(outermost, outermost_[root.index()]);
    return true;
  }

  int StreamOf(ValueId value) const {
    const NodeId producer = graph_[value].producer;
    return producer.valid() ? graph_[producer].memory.stream : 0;
  }

  // Both branches write the result into the If's own output, except where that is the caller's
  // memory: a body's output never uses zero copy (R57). A result that lies in memory of something
  // made outside of the body is copied: the other branch must not write there.
  void JoinBranches(const Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid() || is_output_[output.index()]) continue;
      for (const SubgraphId body : SubgraphsOf(node)) {
        if (i >= graph_[body].outputs.size()) continue;
        const ValueId result = graph_[body].outputs[i];
        if (!result.valid() || graph_[result].home != body || !IsMadeInside(result)) continue;
        if (GiveWindow({result, output, Bytes(0)})) found_.fresh[result.index()] = Bytes(0);
      }
    }
  }

  // A result is written over what the iteration was given where nothing reads that any more. What
  // the body is given is the node's output once the last iteration has replaced it, except where
  // that is the caller's memory (R57).
  void JoinCarried(NodeId id) {
    const LoopParts parts = PartsOfLoop(graph_, id);
    std::vector<std::vector<ValueId>> reads;  // by node of the body
    for (const NodeId node : graph_[parts.body].nodes) reads.push_back(ReadsOf(graph_, node));
    for (const CarriedValue& carried : parts.carried) {
      const StorageId storage = found_.places[carried.input.index()].storage;
      if (!storage.valid() || forest_.Root(storage).holder != storage) continue;
      if (MayOverwrite(parts.body, carried, reads)) WriteOver(carried);
      if (!carried.output.valid() || is_output_[carried.output.index()]) continue;
      handed_on_[storage.index()] = false;
      const bool joined = GiveWindow({carried.input, carried.output, Bytes(0)});
      if (joined) found_.fresh[carried.input.index()] = Bytes(0);
    }
  }

  bool MayOverwrite(SubgraphId body, const CarriedValue& carried,
                    const std::vector<std::vector<ValueId>>& reads) {
    const StorageId given = RootOf(carried.input);
    const StorageId made = RootOf(carried.result);
    const NodeId maker = graph_[carried.result].producer;
    if (!made.valid() || made == given || handed_on_[made.index()] || !maker.valid() ||
        graph_[carried.result].home != body || IsKept(maker) || !IsMadeInside(carried.result)) {
      return false;
    }
    return IsReadBeforeItIsMade(graph_, *rules_.backend, {body, carried, reads},
                                [&](ValueId value) { return RootOf(value); });
  }

  void WriteOver(const CarriedValue& carried) {
    const StorageId made = RootOf(carried.result);
    if (!GiveWindow({carried.result, carried.input, Bytes(0)})) return;
    for (size_t i = 0; i < found_.places.size(); ++i) {
      if (found_.places[i].storage == made) found_.fresh[i] = Bytes(0);
    }
  }

  StorageId RootOf(ValueId value) {
    if (!value.valid() || !found_.places[value.index()].storage.valid()) return {};
    return forest_.Root(found_.places[value.index()].storage).holder;
  }

  // Whether all that lies with the value is made in bodies of the node that is visited.
  bool IsMadeInside(ValueId value) {
    const StorageId storage = found_.places[value.index()].storage;
    return !storage.valid() || outermost_[forest_.Root(storage).holder.index()] > depth_;
  }

  // What only the last node of a chain reads, and what that node could overwrite, is written into
  // the caller's output from the start: x in `output = Relu(x)`. True for every order of execution.
  void JoinIntoOutputs() {
    std::vector<int> readers(found_.storages.size());
    for (const Node& node : graph_.nodes) {
      for (const ValueId input : node.inputs) CountReader(input, readers);
    }
    for (const graph::Subgraph& body : graph_.subgraphs) {
      for (const ValueId output : body.outputs) CountReader(output, readers);
    }
    const std::vector<NodeId>& nodes = graph_.root().nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!IsOrdinary(graph_[*node].memory) || IsKept(*node)) continue;
      for (const kernels::InPlacePair& pair : rules_.backend->InPlacePairs(graph_, *node)) {
        const ValueId output = graph_[*node].outputs[static_cast<size_t>(pair.output)];
        const ValueId input = graph_[*node].inputs[static_cast<size_t>(pair.input)];
        if (JoinIntoOutput(output, input, readers)) break;
      }
    }
  }

  bool IsKept(NodeId node) const { return IsNamed(rules_.kept, node.index()); }

  void CountReader(ValueId value, std::vector<int>& readers) {
    if (!value.valid() || !found_.places[value.index()].storage.valid()) return;
    ++readers[forest_.Root(found_.places[value.index()].storage).holder.index()];
  }

  bool JoinIntoOutput(ValueId output, ValueId input, const std::vector<int>& readers) {
    if (IsNamed(rules_.exclusive, output.index())) return false;
    const ValuePlace& into = found_.places[output.index()];
    const ValuePlace& from = found_.places[input.index()];
    if (!into.storage.valid() || !from.storage.valid() ||
        found_.fresh[output.index()] != into.bytes) {
      return false;
    }
    const bool callers = found_[forest_.Root(into.storage).holder].home == Home::kOutput;
    const bool made_here = graph_[input].producer.valid() && !IsKept(graph_[input].producer) &&
                           IsOrdinary(graph_[graph_[input].producer].memory);
    const bool only_reader = readers[forest_.Root(from.storage).holder.index()] == 1;
    if (!callers || !made_here || !only_reader) return false;
    if (!GiveWindow({input, output, Bytes(0)})) return false;
    found_.fresh[output.index()] = Bytes(0);
    return true;
  }

  Storages Flatten() {
    std::vector<StorageId> number(found_.storages.size());
    Storages flat;
    flat.copies = found_.copies;
    flat.places = found_.places;
    flat.fresh = found_.fresh;
    for (ValuePlace& place : flat.places) {
      if (!place.storage.valid()) continue;
      const auto [root, offset] = forest_.Root(place.storage);
      StorageId& id = number[root.index()];
      if (!id.valid()) {
        id = StorageId(flat.storages.size());
        flat.storages.push_back(found_[root]);
      }
      place.storage = id;
      place.offset += offset;
    }
    return flat;
  }

  const Graph& graph_;
  const std::vector<bool>& constant_;
  const StorageRules& rules_;
  std::vector<bool> is_output_;
  std::vector<ValueId> carried_from_;  // by value that goes to the next iteration: what it replaces
  std::vector<bool> overwritten_;
  OffsetForest<StorageId> forest_;        // of storages: which hold which
  int depth_ = 0;                         // of the body that is visited; 0: the root
  std::vector<int> outermost_;            // by storage: the least depth of what lies in it
  std::vector<bool> standalone_storage_;  // by storage: never lies in another
  std::vector<bool> handed_on_;           // by storage: of what a body is given
  std::vector<std::string> batches_;      // by storage: the batch that alone writes it
  Storages found_;
};

}  // namespace

Storages FindStorages(const Graph& graph, const std::vector<bool>& constant,
                      const StorageRules& rules) {
  return Finder(graph, constant, rules).Find();
}

std::vector<NodeId> JoiningNodes(const Graph& graph, const Storages& storages) {
  std::vector<NodeId> found;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (IsPlainView(node) || !node.memory.reference_outputs.empty()) continue;
    const std::vector<WindowOf> windows = WindowsOf(graph, NodeId(i));
    const bool joins = std::any_of(windows.begin(), windows.end(), [&](const WindowOf& window) {
      const ValuePlace& part = storages.places[window.part.index()];
      const ValuePlace& whole = storages.places[window.whole.index()];
      return part.storage.valid() && part.storage == whole.storage && part.bytes < whole.bytes &&
             part.offset == whole.offset + window.offset;
    });
    if (joins) found.push_back(NodeId(i));
  }
  return found;
}

}  // namespace plimsoll::compile
