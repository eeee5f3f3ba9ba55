#include "compile/compile_model.h"

#include <algorithm>

#include "compile/memory/streams.h"
#include "compile/passes/bodies.h"
#include "compile/passes/compact.h"
#include "compile/passes/host_operators.h"
#include "compile/passes/overwrite_order.h"
#include "compile/passes/slices/slice_regions.h"
#include "compile/prepare_kernels.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/shapes.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

bool IsPlainTensor(const ValueType& type) {
  return type.is_tensor() && type.data_type != DataType::kString && type.shape &&
         graph::IsStatic(*type.shape);
}

// One way to bring a graph to kernels and a plan, as far as it takes to know its peak.
struct Attempt {
  CompiledModel model;  // kernels to be looked at
  GroupedChannels layouts = GroupedChannels::kNowhere;
  int grouped = 0;                    // nodes that work on grouped tensors
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
    PLIMSOLL_ASSIGN(Attempt best, Try(GroupedChannels::kWherePossible));
    const Bytes first = best.peak();
    for (const GroupedChannels layouts :
         {GroupedChannels::kWhereFilled, GroupedChannels::kNowhere}) {
      if (best.peak() <= Target() || best.grouped == 0) break;
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
  const compile::Target& device() const { return options_.plan.lifetimes.target; }

  // What kernels and layouts need not go below: nothing where memory comes first. Who forbids to
  // use memory again wants more than plain lives take.
  Bytes Target() const {
    const ReuseOptions& reuse = options_.plan.lifetimes.reuse;
    if (options_.plan.memory_priority) return Bytes(0);
    if (reuse.disabled || !reuse.not_of.empty()) return Bytes(kSaturated);
    return options_.plain_peak.value_or(Bytes(kSaturated));
  }

  Result<Attempt> Try(GroupedChannels layouts) const {
    Attempt attempt;
    attempt.layouts = layouts;
    attempt.model.graph = simplified_;
    attempt.model.passes = passes_;
    Graph& graph = attempt.model.graph;
    if (options_.optimise) {
      PLIMSOLL_ASSIGN(attempt.grouped,
                      ChooseLayouts(graph, layouts, attempt.model.passes, *device().backend));
    }
    PLIMSOLL_TRY(SpreadBatchLabels(graph, options_.plan.updates));
    PLIMSOLL_TRY(SettleStreams(graph, options_.plan.updates));
    SeparateUpdates(graph, options_.plan.updates);
    if (options_.separate_host_operators) MoveHostOperatorsToOwnStream(graph);
    PlaceNodes(graph, device(), options_.plan.updates);
    PLIMSOLL_TRY(Plan(attempt));
    PLIMSOLL_TRY(LowerWorkspaces(attempt));
    return attempt;
  }

  // Makes what lives at the highest steps slice by slice, again and again while that lowers them.
  Status SliceAtPeak(Attempt& best) const {
    constexpr int kMostRounds = 4;
    constexpr size_t kMostNodes = 20'000;  // beyond that each round takes too long
    const bool one_stream = best.model.planned.timeline.steps_of_stream.size() < 2;
    const bool small = best.model.planned.order.size() <= kMostNodes;
    if (!options_.optimise || !one_stream || !small) return {};
    const Bytes before = best.peak();
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<ValueId> seeds = LargeAtPeak(best.model);
      bool lower = false;
      for (const int64_t slices : {2, 4}) {
        // Larger slices cost no time; smaller ones read weights too often.
        const SliceSizes sizes =
            options_.plan.memory_priority ? SliceSizes{slices, 16, 8} : SliceSizes{slices, 128, 32};
        Attempt sliced;
        sliced.layouts = best.layouts;
        sliced.grouped = best.grouped;
        sliced.model.passes = best.model.passes;
        sliced.model.graph = best.model.graph;
        const Sliced made = SliceRegions(sliced.model.graph, seeds, sizes);
        if (made.regions == 0) break;
        OverwriteAfterReaders(sliced.model.graph);
        sliced.model.graph = Compact(sliced.model.graph);
        PLIMSOLL_TRY(InferShapes(sliced.model.graph));
        PLIMSOLL_TRY(Plan(sliced));
        PLIMSOLL_TRY(LowerWorkspaces(sliced));
        // Other shapes may read the same constants whole.
        const Bytes more = options_.plan.lifetimes.one_shape ? Bytes(0) : made.constants;
        lower = sliced.peak() * 50 < best.peak() * 49 && sliced.peak() + more < best.peak();
        if (!lower) continue;
        sliced.regions = best.regions + made.regions;
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
      const bool high =
          high_before[static_cast<size_t>(end[i])] > high_before[static_cast<size_t>(begin[i])];
      if (high) large.push_back(value);
    }
    std::stable_sort(large.begin(), large.end(),
                     [&](ValueId a, ValueId b) { return size(a) > size(b); });
    return large;
  }

  Status Plan(Attempt& attempt) const {
    PLIMSOLL_TRY(PrepareKernels(attempt.model, options_, Purpose::kToLook, attempt.most_workspace));
    return PlanWithKernels(attempt.model);
  }

  Status PlanWithKernels(CompiledModel& model) const {
    PlanOptions plan = options_.plan;
    plan.fold_at_load = false;
    plan.lifetimes.workspaces = WorkspacesOf(model);
    PLIMSOLL_ASSIGN(model.planned, PlanModel(model.graph, plan));
    model.plan_options = std::move(plan);
    return {};
  }

  static std::vector<Bytes> WorkspacesOf(const CompiledModel& model) {
    std::vector<Bytes> workspaces(model.graph.nodes.size());
    for (size_t i = 0; i < model.kernels.size(); ++i) {
      if (model.kernels[i] != nullptr) workspaces[i] = model.kernels[i]->workspace();
    }
    return workspaces;
  }

  // Tells kernels that lift the peak above the target to take less, where they can; at last all of
  // them. The lowest of the plans is kept.
  Status LowerWorkspaces(Attempt& attempt) const {
    constexpr int kMostRounds = 4;
    const Bytes before = attempt.peak();
    std::vector<Bytes> most = WorkspacesToKeep(attempt);
    bool told_all = false;
    for (int round = 0; attempt.peak() > Target() && !told_all; ++round) {
      told_all = most.empty() || round == kMostRounds;
      if (told_all) most.assign(attempt.model.graph.nodes.size(), Bytes(0));
      Attempt lower;
      lower.most_workspace = std::move(most);
      lower.model.graph = attempt.model.graph;
      lower.model.passes = attempt.model.passes;
      PLIMSOLL_TRY(Plan(lower));
      most = WorkspacesToKeep(lower);
      if (lower.peak() >= attempt.peak()) continue;
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
    if (attempt.grouped > 0 || attempt.layouts != GroupedChannels::kWherePossible) {
      Technique layouts;
      layouts.name = "grouped channels";
      layouts.taken = attempt.grouped;
      if (attempt.layouts != GroupedChannels::kWherePossible) {
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
    NameWorkspaceAbovePlain(attempt.model);
    const int lowered =
        static_cast<int>(std::count_if(attempt.most_workspace.begin(), attempt.most_workspace.end(),
                                       [](Bytes most) { return most != Bytes(kSaturated); }));
    if (lowered == 0) return;
    Technique workspaces;
    workspaces.name = "kernels with smaller workspaces";
    workspaces.taken = lowered;
    workspaces.gained = attempt.lowered_by;
    techniques.push_back(std::move(workspaces));
  }

  // Where the peak is above plain lives after all, it is a workspace that lifts it.
  void NameWorkspaceAbovePlain(CompiledModel& model) const {
    const Bytes above =
        FeatureMapPeak(model.planned) - options_.plain_peak.value_or(Bytes(kSaturated));
    const std::vector<Bytes> live = LiveBytes(model.planned);
    if (above <= Bytes(0) || live.empty()) return;
    const auto top = std::max_element(live.begin(), live.end());
    const NodeId node = model.planned.timeline.steps[static_cast<size_t>(top - live.begin())].node;
    const auto& kernel = model.kernels[node.index()];
    if (kernel == nullptr || kernel->workspace() == Bytes(0)) return;
    Technique workspace;
    workspace.name = StrCat("workspace of ", FormatBytes(kernel->workspace()), " at ",
                            Describe(model.graph, node));
    workspace.taken = 1;
    workspace.gained = Bytes(0) - above;
    workspace.reason = StrCat("holds ", kernel->workspace_purpose(), " and cannot be smaller");
    model.planned.techniques.push_back(std::move(workspace));
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
  const kernels::ThreadScope threads(options.threads);
  std::vector<PassReport> passes;
  const Target& target = options.plan.lifetimes.target;
  if (options.optimise) PLIMSOLL_TRY(Simplify(graph, passes, *target.backend));
  PLIMSOLL_ASSIGN(CompiledModel model,
                  Compilation(options, std::move(graph), std::move(passes)).Run());
  model.plan_options.searches = nullptr;  // which may go before the model
  model.input_fusion_size = options.plan.input_fusion_size;
  model.threads = options.threads;
  model.transfers = CountHostTransfers(model.graph, target, options.plan.updates);
  return model;
}

}  // namespace plimsoll::compile
