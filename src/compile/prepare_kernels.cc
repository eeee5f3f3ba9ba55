#include "compile/prepare_kernels.h"

#include <algorithm>
#include <bit>
#include <cassert>

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

// What kernels are prepared by, besides the graph.
struct KernelsWanted {
  const CompileOptions& options;
  const std::vector<Bytes>& most_workspace;
  const std::vector<KernelChoice>& choices;
  kernels::PackedWeights* store = nullptr;  // null: constants stay as they are

  const kernels::Backend& BackendOf(const KernelSite& site) const {
    return options.plan.lifetimes.target.BackendOf(site.node());
  }
  bool Packs(const Node& node) const {
    return store != nullptr && MayPack(node) && !options.plan.lifetimes.target.RunsOnHost(node) &&
           options.weight_forms != WeightForms::kPlain;
  }
};

// Passes packing on where the forms asked for allow it, and remembers which of a site's inputs were
// packed. Sets the site's `packed_weights`.
class PackingRecorder : public kernels::PackedWeights {
 public:
  PackingRecorder(KernelSite& site, const KernelsWanted& wanted, const ConstantReaders& readers)
      : store_(wanted.store),
        site_(site),
        forms_(wanted.options.weight_forms),
        on_host_(wanted.options.plan.lifetimes.target.RunsOnHost(site.node())),
        readers_(readers) {
    if (!wanted.Packs(site.node())) return;
    site.packed_weights = this;
    store_->BeginNode(site.node());
  }

  // What others read plain stays in memory next to the packed form.
  bool Wants(const void* data, Bytes plain, Bytes packed, Bytes workspace) const override {
    if (forms_ == WeightForms::kPacked) return true;
    return packed - (IsOnlyRead(data) ? plain : Bytes(0)) <= workspace;
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
    return store_->Pack(data, plain, layout, packed, fill);
  }
  void Forget(const void* data, Bytes size) override { store_->Forget(data, size); }
  uint64_t inputs() const { return inputs_; }

  // What the kernel may depend on besides its site: who prepares it, whether it packs, which
  // constants it alone reads, and which operands are the same constant.
  std::string Context() const {
    std::string context = {on_host_ ? 'h' : 'd', site_.packed_weights == nullptr ? '-' : 'p'};
    for (const TensorInfo& input : site_.inputs) {
      const auto first = std::ranges::find(site_.inputs, input.data, &TensorInfo::data);
      context += input.constant && IsOnlyRead(input.data) ? '1' : '0';
      context += static_cast<char>(std::min<std::ptrdiff_t>(first - site_.inputs.begin(), 127));
    }
    return context;
  }

 private:
  bool IsOnlyRead(const void* data) const {
    return std::ranges::any_of(site_.node().inputs,
                               [&](ValueId input) { return readers_.IsOnlyRead(input, data); });
  }

  kernels::PackedWeights* const store_;
  const KernelSite& site_;
  const WeightForms forms_;
  const bool on_host_;
  const ConstantReaders& readers_;
  uint64_t inputs_ = 0;
};

// The sites of all nodes that have a kernel, in the order of the bodies.
template <typename Visit>
Status ForEachSite(CompiledModel& model, const KernelsWanted& wanted, const Visit& visit) {
  const Graph& graph = model.graph;
  model.kernels.resize(graph.nodes.size());
  model.packed_inputs.resize(graph.nodes.size());
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      if (!SubgraphsOf(node).empty() || IsTransfer(node)) continue;
      NodeSite known(graph, id);
      KernelSite& site = known.site();
      site.deterministic = wanted.options.deterministic;
      site.sizes_vary = wanted.options.sizes_vary;
      if (!wanted.most_workspace.empty()) site.most_workspace = wanted.most_workspace[id.index()];
      if (!wanted.choices.empty() && !wanted.choices[id.index()].alternative.empty()) {
        const KernelChoice& choice = wanted.choices[id.index()];
        site.alternatives.wanted = choice.alternative;
        site.most_workspace = std::min(site.most_workspace, choice.most_workspace);
      }
      const kernels::Backend& backend = wanted.BackendOf(site);
      if (!backend.Supports(graph, id)) return kernels::NoKernel(site, backend.name());
      PLIMSOLL_TRY(visit(site));
    }
  }
  return {};
}

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
    site.sizes_vary = options.sizes_vary;
    site.most_workspace = most_workspace[i];
    site.looked_at = true;
    site.packed_weights = &no_packing;
    site.alternatives.trades = &trades[i];
    const kernels::Backend& backend = options.plan.lifetimes.target.BackendOf(site.node());
    if (!backend.Prepare(site).ok()) trades[i].clear();
  }
  return trades;
}

Status PrepareKernels(CompiledModel& model, const CompileOptions& options,
                      const std::vector<Bytes>& most_workspace,
                      const std::vector<KernelChoice>& choices) {
  ConstantReaders readers(model.graph, true);
  const KernelsWanted wanted{options, most_workspace, choices, options.packed_weights};
  return ForEachSite(model, wanted, [&](KernelSite& site) -> Status {
    const size_t node = site.id.index();
    PackingRecorder recorder(site, wanted, readers);
    PLIMSOLL_ASSIGN(model.kernels[node], wanted.BackendOf(site).Prepare(site));
    model.packed_inputs[node] = recorder.inputs();
    readers.Packed(site.node(), recorder.inputs());
    return {};
  });
}

Status LookAtKernels(CompiledModel& model, const CompileOptions& options,
                     const std::vector<Bytes>& most_workspace,
                     const std::vector<KernelChoice>& choices, KernelLooks& looks,
                     TradesByNode& trades) {
  const ConstantReaders readers(model.graph, false);
  NoPacking no_packing;
  const KernelsWanted wanted{options, most_workspace, choices,
                             options.packed_weights == nullptr ? nullptr : &no_packing};
  trades.assign(model.graph.nodes.size(), {});
  return ForEachSite(model, wanted, [&](KernelSite& site) -> Status {
    const size_t node = site.id.index();
    PackingRecorder recorder(site, wanted, readers);
    const auto prepare = [&]() -> Result<KernelLook> {
      KernelLook look;
      site.alternatives.trades = &look.trades;
      site.looked_at = true;
      PLIMSOLL_ASSIGN(const kernels::KernelPointer kernel, wanted.BackendOf(site).Prepare(site));
      look.workspace = kernel->workspace();
      look.packed_inputs = recorder.inputs();
      return look;
    };
    PLIMSOLL_ASSIGN(KernelLook look, looks.At(site, recorder.Context(), prepare));
    model.kernels[node] = kernels::MakeKernel(
        [](const kernels::KernelCall&) { assert(false && "a kernel to look at"); }, look.workspace);
    model.packed_inputs[node] = look.packed_inputs;
    trades[node] = std::move(look.trades);
    return {};
  });
}

}  // namespace plimsoll::compile
