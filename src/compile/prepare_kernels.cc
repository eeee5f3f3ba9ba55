#include "compile/prepare_kernels.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "compile/node_site.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using kernels::KernelSite;
using kernels::TensorInfo;

// Lets go of constants as soon as every node that reads them has packed them.
class ConstantReaders {
 public:
  ConstantReaders(Graph& graph, bool lets_go)
      : graph_(graph), lets_go_(lets_go), readers_(graph.constants.size()) {
    for (const graph::Subgraph& body : graph.subgraphs) {
      for (const NodeId id : body.nodes) {
        for (const ValueId input : graph[id].inputs) Count(input, 1);
      }
      for (const ValueId output : body.outputs) Count(output, 1);
    }
  }

  // Whether the value is the constant at `data`, and one node alone reads it.
  bool IsOnlyRead(ValueId value, const void* data) const {
    if (!value.valid() || !graph_[value].constant.valid()) return false;
    const graph::ConstantId constant = graph_[value].constant;
    return graph_[constant].bytes.data() == data && readers_[constant.index()] == 1;
  }

  void Packed(const Node& node, uint64_t inputs) {
    for (size_t i = 0; i < node.inputs.size() && i < 64; ++i) {
      if (((inputs >> i) & 1) == 0) continue;
      Count(node.inputs[i], -1);
      const graph::ConstantId constant = graph_[node.inputs[i]].constant;
      if (readers_[constant.index()] > 0 || !lets_go_) continue;
      graph_.constants[constant.index()].bytes = {};
      graph_.constants[constant.index()].storage.reset();
    }
  }

 private:
  void Count(ValueId value, int change) {
    if (!value.valid() || !graph_[value].constant.valid()) return;
    readers_[graph_[value].constant.index()] += change;
  }

  Graph& graph_;
  const bool lets_go_;
  std::vector<int> readers_;  // that need the plain form, by constant
};

// Passes packing on where the forms asked for allow it, and remembers which of a site's inputs were
// packed.
class PackingRecorder : public kernels::PackedWeights {
 public:
  PackingRecorder(kernels::PackedWeights& store, const KernelSite& site, WeightForms forms,
                  const ConstantReaders& readers)
      : store_(store), site_(site), forms_(forms), readers_(readers) {
    store_.BeginNode(site.node());
  }

  // What others read plain stays in memory next to the packed form.
  bool Wants(const void* data, Bytes plain, Bytes packed, Bytes workspace) const override {
    if (forms_ == WeightForms::kPacked) return true;
    const bool alone = std::ranges::any_of(
        site_.node().inputs, [&](ValueId input) { return readers_.IsOnlyRead(input, data); });
    return packed - (alone ? plain : Bytes(0)) <= workspace;
  }
  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override {
    uint64_t same = 0;
    for (size_t i = 0; i < site_.inputs.size() && i < 64; ++i) {
      const TensorInfo& input = site_.inputs[i];
      if (input.constant && input.data == data && input.size() == plain) same |= uint64_t{1} << i;
    }
    // Of a constant that is two operands of the node, the other may be read as it is.
    if (std::has_single_bit(same)) inputs_ |= same;
    return store_.Pack(data, plain, layout, packed, fill);
  }
  void Forget(const void* data, Bytes size) override { store_.Forget(data, size); }
  uint64_t inputs() const { return inputs_; }

 private:
  kernels::PackedWeights& store_;
  const KernelSite& site_;
  const WeightForms forms_;
  const ConstantReaders& readers_;
  uint64_t inputs_ = 0;
};

}  // namespace

// A packed constant lies where its packed form does, which is no place in a group.
bool MayPack(const Node& node) {
  return node.memory.continuous_input == graph::MemoryAttributes::Continuous::kNone &&
         !node.memory.no_address_refresh;
}

TradesByNode TradesWithin(const CompiledModel& model, const CompileOptions& options,
                          const TradesByNode& offered, const std::vector<Bytes>& most_workspace) {
  TradesByNode trades(offered.size());
  NoPacking no_packing;
  for (size_t i = 0; i < offered.size(); ++i) {
    if (offered[i].empty()) continue;
    NodeSite known(model.graph, NodeId(i));
    KernelSite& site = known.site();
    site.deterministic = options.deterministic;
    site.most_workspace = most_workspace[i];
    site.packed_weights = &no_packing;
    site.alternatives.trades = &trades[i];
    const kernels::Backend& backend = options.plan.lifetimes.target.BackendOf(site.node());
    if (!backend.Prepare(site).ok()) trades[i].clear();
  }
  return trades;
}

Status PrepareKernels(CompiledModel& model, const CompileOptions& options, Purpose purpose,
                      const std::vector<Bytes>& most_workspace,
                      const std::vector<KernelChoice>& choices, TradesByNode* trades) {
  const Graph& graph = model.graph;
  const Target& target = options.plan.lifetimes.target;
  ConstantReaders readers(model.graph, purpose == Purpose::kToRun);
  NoPacking no_packing;
  kernels::PackedWeights* const store =
      purpose == Purpose::kToLook && options.packed_weights != nullptr ? &no_packing
                                                                       : options.packed_weights;
  model.kernels.resize(graph.nodes.size());
  model.packed_inputs.resize(graph.nodes.size());
  if (trades != nullptr) trades->assign(graph.nodes.size(), {});
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      if (!SubgraphsOf(node).empty() || IsTransfer(node)) continue;
      const kernels::Backend& backend = target.BackendOf(node);
      NodeSite known(graph, id);
      KernelSite& site = known.site();
      site.deterministic = options.deterministic;
      if (trades != nullptr) site.alternatives.trades = &(*trades)[id.index()];
      if (!most_workspace.empty()) site.most_workspace = most_workspace[id.index()];
      if (!choices.empty() && !choices[id.index()].alternative.empty()) {
        const KernelChoice& choice = choices[id.index()];
        site.alternatives.wanted = choice.alternative;
        site.most_workspace = std::min(site.most_workspace, choice.most_workspace);
      }
      if (!backend.Supports(graph, id)) return kernels::NoKernel(site, backend.name());
      std::optional<PackingRecorder> recorder;
      const bool packs = store != nullptr && MayPack(node) && !target.RunsOnHost(node) &&
                         options.weight_forms != WeightForms::kPlain;
      if (packs) {
        site.packed_weights = &recorder.emplace(*store, site, options.weight_forms, readers);
      }
      PLIMSOLL_ASSIGN(model.kernels[id.index()], backend.Prepare(site));
      if (!recorder) continue;
      model.packed_inputs[id.index()] = recorder->inputs();
      readers.Packed(node, recorder->inputs());
    }
  }
  return {};
}

}  // namespace plimsoll::compile
