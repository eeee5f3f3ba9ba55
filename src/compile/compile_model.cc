#include "compile/compile_model.h"

#include <algorithm>

#include "compile/batch_labels.h"
#include "compile/host_operators.h"
#include "compile/streams.h"
#include "kernels/kernel_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;
using kernels::KernelSite;
using kernels::TensorInfo;

bool IsPlainTensor(const ValueType& type) {
  return type.is_tensor() && type.data_type != DataType::kString && type.shape &&
         graph::IsStatic(*type.shape);
}

TensorInfo InfoOf(const Graph& graph, ValueId id) {
  TensorInfo info;
  if (!id.valid()) return info;
  const graph::Value& value = graph[id];
  info.type = value.type.data_type;
  info.dims = graph::StaticDims(*value.type.shape);
  if (value.constant.valid()) {
    info.constant = true;
    info.data = graph[value.constant].bytes.data();
    info.assumed = graph[value.constant].missing;
  }
  return info;
}

// Lets go of constants as soon as every node that reads them has packed them.
class ConstantReaders {
 public:
  explicit ConstantReaders(Graph& graph) : graph_(graph), readers_(graph.constants.size()) {
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
      if (readers_[constant.index()] > 0) continue;
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
  std::vector<int> readers_;  // that need the plain form, by constant
};

// Passes packing on where the forms asked for allow it, and remembers which of a site's inputs were
// packed.
class PackingRecorder : public kernels::PackedWeights {
 public:
  PackingRecorder(kernels::PackedWeights& store, const KernelSite& site, WeightForms forms,
                  const ConstantReaders& readers)
      : store_(store), site_(site), forms_(forms), readers_(readers) {}

  // What others read plain stays beside the packed form.
  bool Wants(const void* data, Bytes plain, Bytes packed, Bytes workspace) const override {
    if (forms_ == WeightForms::kPacked) return true;
    const bool alone = std::ranges::any_of(
        site_.node().inputs, [&](ValueId input) { return readers_.IsOnlyRead(input, data); });
    return packed - (alone ? plain : Bytes(0)) <= workspace;
  }
  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override {
    for (size_t i = 0; i < site_.inputs.size() && i < 64; ++i) {
      const TensorInfo& input = site_.inputs[i];
      if (input.constant && input.data == data && input.size() == plain) {
        inputs_ |= uint64_t{1} << i;
      }
    }
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

// A packed constant lies where its packed form does, which is no place in a group.
bool MayPack(const Node& node) {
  return node.memory.continuous_input == graph::MemoryAttributes::Continuous::kNone &&
         !node.memory.no_address_refresh;
}

// Kernels for every node that carries no body, in the order of the bodies.
Status PrepareKernels(CompiledModel& model, const CompileOptions& options) {
  const Graph& graph = model.graph;
  ConstantReaders readers(model.graph);
  model.kernels.resize(graph.nodes.size());
  model.packed_inputs.resize(graph.nodes.size());
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      if (!SubgraphsOf(node).empty()) continue;
      KernelSite site{.graph = graph, .id = id, .inputs = {}, .outputs = {}};
      site.outputs_cleared = !node.memory.needs_clearing.empty();
      for (const ValueId input : node.inputs) site.inputs.push_back(InfoOf(graph, input));
      for (const ValueId output : node.outputs) site.outputs.push_back(InfoOf(graph, output));
      std::optional<PackingRecorder> recorder;
      const bool packs = options.packed_weights != nullptr && MayPack(node) &&
                         options.weight_forms != WeightForms::kPlain;
      if (packs) {
        site.packed_weights =
            &recorder.emplace(*options.packed_weights, site, options.weight_forms, readers);
      }
      PLIMSOLL_ASSIGN(model.kernels[id.index()], kernels::PrepareKernel(site));
      if (!recorder) continue;
      model.packed_inputs[id.index()] = recorder->inputs();
      readers.Packed(node, recorder->inputs());
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> WhyNotPlannable(const Graph& graph) {
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      const bool has_bodies = !SubgraphsOf(node).empty();
      if (has_bodies && !(node.domain.empty() && node.op == "If")) {
        return StrCat(Describe(graph, id), " runs its body as often as data tells");
      }
      for (const auto* values : {&node.inputs, &node.outputs}) {
        for (const ValueId value : *values) {
          if (!value.valid() || IsPlainTensor(graph[value].type)) continue;
          return StrCat("'", graph[value].name, "' at ", Describe(graph, id), " is ",
                        Text(graph[value].type));
        }
      }
    }
    for (const ValueId output : body.outputs) {
      if (output.valid() && !IsPlainTensor(graph[output].type)) {
        return StrCat("'", graph[output].name, "' is ", Text(graph[output].type));
      }
    }
  }
  return std::nullopt;
}

Result<CompiledModel> CompileModel(Graph graph, const CompileOptions& options) {
  CompiledModel model;
  model.graph = std::move(graph);
  model.input_fusion_size = options.plan.input_fusion_size;
  if (options.optimise) PLIMSOLL_TRY(Specialise(model.graph, model.passes));
  PLIMSOLL_TRY(SpreadBatchLabels(model.graph, options.plan.updates));
  PLIMSOLL_TRY(SettleStreams(model.graph, options.plan.updates));
  SeparateUpdates(model.graph, options.plan.updates);
  if (options.hold_constants) PLIMSOLL_TRY(options.hold_constants(model.graph));
  PLIMSOLL_TRY(PrepareKernels(model, options));
  if (options.host_operators_apart) PutHostOperatorsApart(model.graph);
  PlanOptions plan = options.plan;
  plan.fold_at_load = false;
  plan.lifetimes.workspaces.assign(model.graph.nodes.size(), Bytes(0));
  for (size_t i = 0; i < model.kernels.size(); ++i) {
    if (model.kernels[i] != nullptr) plan.lifetimes.workspaces[i] = model.kernels[i]->workspace();
  }
  PLIMSOLL_ASSIGN(model.planned, PlanModel(model.graph, plan));
  model.plan_options = std::move(plan);
  return model;
}

}  // namespace plimsoll::compile
