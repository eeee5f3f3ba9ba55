#include "compile/storages.h"

#include <algorithm>

#include "compile/batch_labels.h"
#include "compile/bodies.h"
#include "compile/views.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// Storages are joined as nodes are met in the file's order. A joined storage points to the one that
// holds it, and where in it.
class Finder {
 public:
  Finder(const Graph& graph, const std::vector<bool>& constant, ViewRules rules,
         const std::vector<bool>& kept, const std::vector<bool>& apart)
      : graph_(graph),
        constant_(constant),
        rules_(rules),
        kept_(kept),
        apart_(apart),
        is_output_(graph.values.size()) {
    found_.places.resize(graph.values.size());
    found_.fresh.resize(graph.values.size());
    for (const ValueId output : graph.root().outputs) is_output_[output.index()] = true;
  }

  Storages Find() {
    for (const ValueId input : graph_.root().inputs) Open(input, Home::kInput);
    Body(Graph::kRoot);
    if (rules_ == ViewRules::kAll) JoinIntoOutputs();
    return Flatten();
  }

 private:
  struct Joined {
    int32_t holder = -1;  // -1: stands alone
    Bytes offset;
  };

  void Body(SubgraphId id) {
    for (const NodeId node : graph_[id].nodes) {
      for (const SubgraphId body : SubgraphsOf(graph_[node])) {
        for (const ValueId input : graph_[body].inputs) Open(input, Home::kFeatureMap);
        Body(body);
      }
      Visit(node);
    }
  }

  bool Takes(ValueId value) const {
    return value.valid() && !constant_[value.index()] && found_.places[value.index()].storage < 0;
  }

  void Open(ValueId value, Home home) {
    if (!Takes(value)) return;
    const Bytes bytes = PlannedSize(graph_[value].type);
    found_.places[value.index()] = {static_cast<int32_t>(found_.storages.size()), Bytes(0), bytes};
    found_.storages.push_back({home, bytes});
    found_.fresh[value.index()] = bytes;
    joined_.emplace_back();
    batches_.push_back(BatchOf(graph_, value));
  }

  void OpenOutput(ValueId value) {
    Open(value, value.valid() && is_output_[value.index()] ? Home::kOutput : Home::kFeatureMap);
  }

  void Visit(NodeId id) {
    const Node& node = graph_[id];
    const bool considered = rules_ == ViewRules::kAll || IsPlainView(node);
    const std::vector<WindowOf> windows =
        considered ? WindowsOf(graph_, id) : std::vector<WindowOf>();
    const bool into_output = !windows.empty() && windows[0].whole == node.outputs[0];
    if (!into_output) {
      for (const WindowOf& window : windows) {
        if (!TakeWindow(window)) found_.copies.push_back(id);
      }
    }
    for (const ValueId output : node.outputs) OpenOutput(output);
    if (into_output) {
      for (const WindowOf& window : windows) {
        if (GiveWindow(window)) {
          found_.fresh[window.whole.index()] -= found_.places[window.part.index()].bytes;
        }
      }
    }
    if (rules_ == ViewRules::kAll && node.domain.empty() && node.op == "If") JoinBranches(node);
  }

  // The storage that holds this one, and the offset in it.
  std::pair<int32_t, Bytes> Root(int32_t storage) const {
    Bytes offset;
    while (joined_[static_cast<size_t>(storage)].holder >= 0) {
      offset += joined_[static_cast<size_t>(storage)].offset;
      storage = joined_[static_cast<size_t>(storage)].holder;
    }
    return {storage, offset};
  }

  // The new value `part` lies in the storage of `whole`, unless it is an output of the model that
  // would then be the caller's input, another output, or only a piece of something larger.
  bool TakeWindow(const WindowOf& window) {
    if (!Takes(window.part) || constant_[window.whole.index()]) return true;
    const ValuePlace& whole = found_.places[window.whole.index()];
    if (whole.storage < 0) return true;
    const Bytes bytes = PlannedSize(graph_[window.part].type);
    const auto [root, offset] = Root(whole.storage);
    Storage& holder = found_.storages[static_cast<size_t>(root)];
    const bool inside = window.offset + bytes <= whole.bytes;
    if (is_output_[window.part.index()]) {
      const bool covers = bytes == holder.bytes && holder.home == Home::kFeatureMap;
      const bool same_batch = BatchOf(graph_, window.part) == batches_[static_cast<size_t>(root)];
      if (!covers || !same_batch) return false;
      holder.home = Home::kOutput;
    }
    if (!inside) return false;
    found_.places[window.part.index()] = {whole.storage, whole.offset + window.offset, bytes};
    return true;
  }

  // The value `part`, made earlier, is written straight into `whole`.
  bool GiveWindow(const WindowOf& window) {
    if (constant_[window.part.index()]) return false;
    const ValuePlace& part = found_.places[window.part.index()];
    const ValuePlace& whole = found_.places[window.whole.index()];
    if (part.storage < 0 || whole.storage < 0) return false;
    const auto [root, offset] = Root(part.storage);
    if (root == Root(whole.storage).first) return false;
    const bool covers = offset + part.offset == Bytes(0) &&
                        part.bytes == found_.storages[static_cast<size_t>(root)].bytes;
    const bool ours = found_.storages[static_cast<size_t>(root)].home == Home::kFeatureMap;
    const bool same_stream = StreamOf(window.part) == StreamOf(window.whole);
    // What runs of other batches write must not go into an output that these do not make.
    const bool same_batch = batches_[static_cast<size_t>(root)] ==
                            batches_[static_cast<size_t>(Root(whole.storage).first)];
    if (!covers || !ours || !same_stream || !same_batch || part.bytes == Bytes(0)) return false;
    joined_[static_cast<size_t>(root)] = {whole.storage, whole.offset + window.offset};
    return true;
  }

  int StreamOf(ValueId value) const {
    const NodeId producer = graph_[value].producer;
    return producer.valid() ? graph_[producer].memory.stream : 0;
  }

  // Both branches write the result into the If's own output, except where that is the caller's
  // memory: a body's output never uses zero copy (R57).
  void JoinBranches(const Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid() || is_output_[output.index()]) continue;
      for (const SubgraphId body : SubgraphsOf(node)) {
        if (i >= graph_[body].outputs.size()) continue;
        const ValueId result = graph_[body].outputs[i];
        if (result.valid() && graph_[result].home == body) {
          if (GiveWindow({result, output, Bytes(0)})) found_.fresh[result.index()] = Bytes(0);
        }
      }
    }
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
      for (const kernels::InPlacePair& pair : kernels::InPlacePairs(graph_, *node)) {
        const ValueId output = graph_[*node].outputs[static_cast<size_t>(pair.output)];
        const ValueId input = graph_[*node].inputs[static_cast<size_t>(pair.input)];
        if (JoinIntoOutput(output, input, readers)) break;
      }
    }
  }

  bool IsKept(NodeId node) const { return !kept_.empty() && kept_[node.index()]; }

  void CountReader(ValueId value, std::vector<int>& readers) const {
    if (!value.valid() || found_.places[value.index()].storage < 0) return;
    ++readers[static_cast<size_t>(Root(found_.places[value.index()].storage).first)];
  }

  bool JoinIntoOutput(ValueId output, ValueId input, const std::vector<int>& readers) {
    if (!apart_.empty() && apart_[output.index()]) return false;
    const ValuePlace& into = found_.places[output.index()];
    const ValuePlace& from = found_.places[input.index()];
    if (into.storage < 0 || from.storage < 0 || found_.fresh[output.index()] != into.bytes) {
      return false;
    }
    const bool callers =
        found_.storages[static_cast<size_t>(Root(into.storage).first)].home == Home::kOutput;
    const bool made_here = graph_[input].producer.valid() && !IsKept(graph_[input].producer) &&
                           IsOrdinary(graph_[graph_[input].producer].memory);
    const bool only_reader = readers[static_cast<size_t>(Root(from.storage).first)] == 1;
    if (!callers || !made_here || !only_reader) return false;
    if (!GiveWindow({input, output, Bytes(0)})) return false;
    found_.fresh[output.index()] = Bytes(0);
    return true;
  }

  Storages Flatten() {
    std::vector<int32_t> number(found_.storages.size(), -1);
    Storages flat;
    flat.copies = found_.copies;
    flat.places = found_.places;
    flat.fresh = found_.fresh;
    for (ValuePlace& place : flat.places) {
      if (place.storage < 0) continue;
      const auto [root, offset] = Root(place.storage);
      int32_t& index = number[static_cast<size_t>(root)];
      if (index < 0) {
        index = static_cast<int32_t>(flat.storages.size());
        flat.storages.push_back(found_.storages[static_cast<size_t>(root)]);
      }
      place.storage = index;
      place.offset += offset;
    }
    return flat;
  }

  const Graph& graph_;
  const std::vector<bool>& constant_;
  ViewRules rules_;
  const std::vector<bool>& kept_;
  const std::vector<bool>& apart_;
  std::vector<bool> is_output_;
  std::vector<Joined> joined_;
  std::vector<std::string> batches_;  // by storage: the batch that alone writes it
  Storages found_;
};

}  // namespace

Storages FindStorages(const Graph& graph, const std::vector<bool>& constant, ViewRules rules,
                      const std::vector<bool>& kept, const std::vector<bool>& apart) {
  return Finder(graph, constant, rules, kept, apart).Find();
}

}  // namespace plimsoll::compile
