#include "compile/compile_model.h"

#include <algorithm>

#include "compile/batch_labels.h"
#include "compile/bodies.h"
#include "compile/compact.h"
#include "compile/host_operators.h"
#include "compile/shapes.h"
#include "compile/slice_regions.h"
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
  }
  return info;
}

// Passes packing on, and remembers which of a site's inputs were packed.
class PackingRecorder : public kernels::PackedWeights {
 public:
  PackingRecorder(kernels::PackedWeights& store, const KernelSite& site)
      : store_(store), site_(site) {}

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
  uint64_t inputs_ = 0;
};

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

// A packed constant lies where its packed form does, which is no place in a group.
bool MayPack(const Node& node) {
  return node.memory.continuous_input == graph::MemoryAttributes::Continuous::kNone &&
         !node.memory.no_address_refresh;
}

// Says yes to every packing and does none: for kernels that are made to be looked at.
class NoPacking : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void*, Bytes, std::string_view, Bytes, const Fill&) override {
    return static_cast<const void*>(this);
  }
  void Forget(const void*, Bytes) override {}
};

// What kernels are made for.
enum class Purpose {
  kToRun,   // they pack their constants, whose plain form goes where nobody reads it
  kToLook,  // to know what they need
};

// Kernels for every node that carries no body, in the order of the bodies. `most_workspace` is what
// is welcome of each node's; empty: as much as they like.
Status PrepareKernels(CompiledModel& model, const CompileOptions& options, Purpose purpose,
                      const std::vector<Bytes>& most_workspace) {
  const Graph& graph = model.graph;
  ConstantReaders readers(model.graph, purpose == Purpose::kToRun);
  NoPacking no_packing;
  kernels::PackedWeights* const store =
      purpose == Purpose::kToLook && options.packed_weights != nullptr ? &no_packing
                                                                       : options.packed_weights;
  model.kernels.resize(graph.nodes.size());
  model.packed_inputs.resize(graph.nodes.size());
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      if (!SubgraphsOf(node).empty()) continue;
      KernelSite site{.graph = graph, .id = id, .inputs = {}, .outputs = {}};
      site.outputs_cleared = !node.memory.needs_clearing.empty();
      if (!most_workspace.empty()) site.most_workspace = most_workspace[id.index()];
      for (const ValueId input : node.inputs) site.inputs.push_back(InfoOf(graph, input));
      for (const ValueId output : node.outputs) site.outputs.push_back(InfoOf(graph, output));
      std::optional<PackingRecorder> recorder;
      if (store != nullptr && MayPack(node)) {
        site.packed_weights = &recorder.emplace(*store, site);
      }
      PLIMSOLL_ASSIGN(model.kernels[id.index()], kernels::PrepareKernel(site));
      if (!recorder) continue;
      model.packed_inputs[id.index()] = recorder->inputs();
      readers.Packed(node, recorder->inputs());
    }
  }
  return {};
}

// One way to bring a graph to kernels and a plan, as far as it takes to know its peak.
struct Attempt {
  CompiledModel model;  // kernels to be looked at
  BlockedLayouts layouts = BlockedLayouts::kNowhere;
  int blocked = 0;                    // nodes that work on blocked tensors
  std::vector<Bytes> most_workspace;  // by node; empty: as much as kernels like
  Bytes lowered_by;                   // what smaller workspaces took off the peak
  int regions = 0;                    // that run slice by slice
  Bytes sliced_by;                    // what that took off the peak

  Bytes peak() const { return FeatureMapPeak(model.planned); }
};

// Looks for a way whose peak is not above that of plain lives: the fastest layouts and kernels
// first, and those that need less where these need too much.
class Compilation {
 public:
  Compilation(const CompileOptions& options, Graph simplified, std::vector<PassReport> passes)
      : options_(options), simplified_(std::move(simplified)), passes_(std::move(passes)) {}

  Result<CompiledModel> Run() {
    PLIMSOLL_ASSIGN(Attempt best, Try(BlockedLayouts::kWherePossible));
    const Bytes first = best.peak();
    for (const BlockedLayouts layouts : {BlockedLayouts::kWhereFilled, BlockedLayouts::kNowhere}) {
      if (best.peak() <= Target() || best.blocked == 0) break;
      PLIMSOLL_ASSIGN(Attempt other, Try(layouts));
      if (other.peak() < best.peak()) best = std::move(other);
    }
    PLIMSOLL_TRY(SliceAtPeak(best));
    simplified_ = {};  // holds no constants while they are packed
    PLIMSOLL_TRY(Finish(best));
    AddTechniques(best, first);
    return std::move(best.model);
  }

 private:
  // What kernels and layouts need not go below: nothing where memory comes first.
  Bytes Target() const {
    return options_.plan.memory_priority ? Bytes(0) : options_.plain_peak.value_or(Bytes(kSaturated));
  }

  Result<Attempt> Try(BlockedLayouts layouts) const {
    Attempt attempt;
    attempt.layouts = layouts;
    attempt.model.graph = simplified_;
    attempt.model.passes = passes_;
    Graph& graph = attempt.model.graph;
    if (options_.optimise) {
      PLIMSOLL_ASSIGN(attempt.blocked, ChooseLayouts(graph, layouts, attempt.model.passes));
    }
    PLIMSOLL_TRY(SpreadBatchLabels(graph, options_.plan.updates));
    PLIMSOLL_TRY(SettleStreams(graph, options_.plan.updates));
    SeparateUpdates(graph, options_.plan.updates);
    if (options_.host_operators_apart) PutHostOperatorsApart(graph);
    PLIMSOLL_TRY(Plan(attempt));
    PLIMSOLL_TRY(LowerWorkspaces(attempt));
    return attempt;
  }

  // Makes what lives at the highest steps slice by slice, again and again while that lowers them.
  Status SliceAtPeak(Attempt& best) const {
    constexpr int kMostRounds = 4;
    const bool one_stream = best.model.planned.timeline.steps_of_stream.size() < 2;
    if (!options_.optimise || !one_stream) return {};
    const Bytes before = best.peak();
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<ValueId> seeds = LargeAtPeak(best.model);
      bool lower = false;
      for (const int64_t slices : {2, 4}) {
        Attempt sliced;
        sliced.layouts = best.layouts;
        sliced.blocked = best.blocked;
        sliced.model.passes = best.model.passes;
        sliced.model.graph = best.model.graph;
        const int regions = SliceRegions(sliced.model.graph, seeds, slices);
        if (regions == 0) break;
        sliced.model.graph = Compact(sliced.model.graph);
        PLIMSOLL_TRY(InferShapes(sliced.model.graph));
        PLIMSOLL_TRY(Plan(sliced));
        PLIMSOLL_TRY(LowerWorkspaces(sliced));
        lower = sliced.peak() * 50 < best.peak() * 49;
        if (!lower) continue;
        sliced.regions = best.regions + regions;
        sliced.sliced_by = before - sliced.peak();
        best = std::move(sliced);
        break;
      }
      if (!lower) break;
    }
    return {};
  }

  // Values that live at the highest steps, the largest first.
  static std::vector<ValueId> LargeAtPeak(const CompiledModel& model) {
    const PlannedModel& planned = model.planned;
    const std::vector<Bytes> live = LiveBytes(planned);
    if (live.empty()) return {};
    const Bytes peak = *std::max_element(live.begin(), live.end());
    std::vector<int64_t> high_before(live.size() + 1);  // how many steps before this are high
    for (size_t i = 0; i < live.size(); ++i) {
      high_before[i + 1] = high_before[i] + (live[i] * 10 >= peak * 9 ? 1 : 0);
    }
    std::vector<int64_t> begin(model.graph.values.size(), -1);
    std::vector<int64_t> end(model.graph.values.size(), -1);
    for (const Access& access : planned.timeline.accesses) {
      if (begin[access.value.index()] < 0) begin[access.value.index()] = access.step;
      end[access.value.index()] = access.step + 1;
    }
    std::vector<ValueId> large;
    const auto size = [&](ValueId value) { return PlannedSize(model.graph[value].type); };
    for (size_t i = 0; i < model.graph.values.size(); ++i) {
      const ValueId value(i);
      if (begin[i] < 0 || !model.graph[value].producer.valid() || size(value) * 16 < peak) continue;
      const bool high = high_before[static_cast<size_t>(end[i])] >
                        high_before[static_cast<size_t>(begin[i])];
      if (high) large.push_back(value);
    }
    std::stable_sort(large.begin(), large.end(),
                     [&](ValueId a, ValueId b) { return size(a) > size(b); });
    return large;
  }

  Status Plan(Attempt& attempt) const {
    PLIMSOLL_TRY(
        PrepareKernels(attempt.model, options_, Purpose::kToLook, attempt.most_workspace));
    return PlanWithKernels(attempt.model);
  }

  Status PlanWithKernels(CompiledModel& model) const {
    PlanOptions plan = options_.plan;
    plan.fold_at_load = false;
    plan.lifetimes.workspaces = WorkspacesOf(model);
    PLIMSOLL_ASSIGN(model.planned, PlanModel(model.graph, plan));
    return {};
  }

  static std::vector<Bytes> WorkspacesOf(const CompiledModel& model) {
    std::vector<Bytes> workspaces(model.graph.nodes.size());
    for (size_t i = 0; i < model.kernels.size(); ++i) {
      if (model.kernels[i] != nullptr) workspaces[i] = model.kernels[i]->workspace();
    }
    return workspaces;
  }

  // Tells kernels that lift the peak above the target to take less, where they can.
  Status LowerWorkspaces(Attempt& attempt) const {
    constexpr int kMostRounds = 3;
    const Bytes before = attempt.peak();
    for (int round = 0; round < kMostRounds && attempt.peak() > Target(); ++round) {
      Attempt lower;
      lower.most_workspace = WorkspacesToKeep(attempt);
      if (lower.most_workspace.empty()) break;
      lower.model.graph = attempt.model.graph;
      lower.model.passes = attempt.model.passes;
      PLIMSOLL_TRY(Plan(lower));
      if (lower.peak() >= attempt.peak()) break;
      attempt.model = std::move(lower.model);
      attempt.most_workspace = std::move(lower.most_workspace);
    }
    attempt.lowered_by = before - attempt.peak();
    return {};
  }

  // By node: a workspace that keeps the node's step at the target, or at what the highest step
  // takes without any; empty where no workspace is in the way. Steps of several streams are not
  // told apart: all of them keep as little as they can.
  std::vector<Bytes> WorkspacesToKeep(const Attempt& attempt) const {
    const PlannedModel& planned = attempt.model.planned;
    const std::vector<Bytes> workspaces = WorkspacesOf(attempt.model);
    if (planned.timeline.steps_of_stream.size() > 1) {
      const bool known = !attempt.most_workspace.empty();
      return known ? std::vector<Bytes>() : std::vector<Bytes>(workspaces.size());
    }
    const std::vector<Bytes> live = LiveBytes(planned);
    Bytes goal = Target();
    for (size_t i = 0; i < live.size(); ++i) {
      goal = std::max(goal, live[i] - workspaces[planned.timeline.steps[i].node.index()]);
    }
    std::vector<Bytes> most = attempt.most_workspace;
    if (most.empty()) most.assign(workspaces.size(), Bytes(kSaturated));
    bool any = false;
    for (size_t i = 0; i < live.size(); ++i) {
      const size_t node = planned.timeline.steps[i].node.index();
      if (live[i] <= goal || workspaces[node] == Bytes(0)) continue;
      const Bytes kept = goal - (live[i] - workspaces[node]);
      if (kept >= most[node]) continue;
      most[node] = kept;
      any = true;
    }
    return any ? most : std::vector<Bytes>();
  }

  // The attempt's kernels, ready to run. Where one needs another workspace than it seemed, the plan
  // is made again.
  Status Finish(Attempt& attempt) const {
    CompiledModel& model = attempt.model;
    const std::vector<Bytes> planned = WorkspacesOf(model);
    model.kernels.clear();
    if (options_.hold_constants) PLIMSOLL_TRY(options_.hold_constants(model.graph));
    PLIMSOLL_TRY(PrepareKernels(model, options_, Purpose::kToRun, attempt.most_workspace));
    return WorkspacesOf(model) == planned ? Status() : PlanWithKernels(model);
  }

  void AddTechniques(Attempt& attempt, Bytes first) const {
    std::vector<Technique>& techniques = attempt.model.planned.techniques;
    if (attempt.blocked > 0 || attempt.layouts != BlockedLayouts::kWherePossible) {
      Technique layouts;
      layouts.name = "blocked layouts";
      layouts.taken = attempt.blocked;
      if (attempt.layouts != BlockedLayouts::kWherePossible) {
        layouts.declined = 1;
        layouts.reason = StrCat("with them everywhere the peak would be ", FormatBytes(first));
      }
      techniques.push_back(std::move(layouts));
    }
    if (attempt.regions > 0) {
      Technique slices;
      slices.name = "slice by slice";
      slices.taken = attempt.regions;
      slices.gained = attempt.sliced_by;
      techniques.push_back(std::move(slices));
    }
    const int lowered = static_cast<int>(
        std::count_if(attempt.most_workspace.begin(), attempt.most_workspace.end(),
                      [](Bytes most) { return most != Bytes(kSaturated); }));
    if (lowered == 0) return;
    Technique workspaces;
    workspaces.name = "kernels with smaller workspaces";
    workspaces.taken = lowered;
    workspaces.gained = attempt.lowered_by;
    techniques.push_back(std::move(workspaces));
  }

  const CompileOptions& options_;
  Graph simplified_;
  std::vector<PassReport> passes_;
};

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
  std::vector<PassReport> passes;
  if (options.optimise) PLIMSOLL_TRY(Simplify(graph, passes));
  PLIMSOLL_ASSIGN(CompiledModel model, Compilation(options, std::move(graph), std::move(passes)).Run());
  model.input_fusion_size = options.plan.input_fusion_size;
  return model;
}

}  // namespace plimsoll::compile
