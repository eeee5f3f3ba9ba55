#include "compile/plan_model.h"

#include <algorithm>
#include <numeric>

#include "compile/memory/plan_draft.h"
#include "compile/memory/stream_waits.h"
#include "compile/order/order_certificate.h"
#include "compile/order/schedule_builder.h"
#include "compile/passes/constants.h"
#include "compile/searches/stored_plan.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

std::vector<NodeId> NodesInOrder(const BodySchedule& body, const Order& order) {
  std::vector<NodeId> nodes;
  nodes.reserve(order.size());
  for (const NodeRow row : order) nodes.push_back(body.nodes[static_cast<size_t>(row)]);
  return nodes;
}

Order FileOrder(const BodySchedule& body) {
  Order order(body.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The in-place decisions of a walk, but for those that would give away what must be kept.
class Joins {
 public:
  Joins(const Graph& graph, const Storages& storages, const ReuseRules& rules)
      : storages_(storages), kept_(storages.storages.size()) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      const StorageId storage = storages.places[i].storage;
      if (storage.valid() && rules.Keeps(graph.values[i].producer)) {
        kept_[storage.index()] = true;
      }
    }
  }

  void Add(const BodySchedule& body, const Order& order) {
    for (const InPlaceTaken& taken : WalkOrder(body.schedule, order).in_place) {
      const ValueId output = body.ValueAt(taken.output);
      const ValueId input = body.ValueAt(taken.input);
      if (!IsKept(output) && !IsKept(input)) joins_.push_back({output, input});
    }
  }

  const std::vector<InPlaceJoin>& joins() const { return joins_; }

 private:
  bool IsKept(ValueId value) const {
    return kept_[storages_.places[value.index()].storage.index()];
  }

  const Storages& storages_;
  std::vector<bool> kept_;  // by storage
  std::vector<InPlaceJoin> joins_;
};

Bytes FileOrderBound(const Graph& graph, const std::vector<bool>& constant) {
  const Storages plain = FindStorages(graph, constant, {.views = ViewRules::kPlain});
  const Timeline timeline =
      BuildTimeline(graph, plain, constant, NodesOfSchedule(graph, constant, Graph::kRoot));
  return LiveBound(JoinStorages(graph, plain, timeline, {}), timeline, plan::kDefaultAlignment);
}

void NoteUnknownBatches(const AssignerChoice& choice, PlannedBuffers& buffers) {
  for (std::string& label : UnknownBatches(choice, buffers.problem.batches)) {
    buffers.notes.push_back({std::move(label),
                             "has a strategy (ge.plimsoll.batchStrategies), but no batch of the "
                             "compiled graph has that label"});
  }
}

// Gives every byte of the draft its place. `model` knows the graph's constants and bounds.
Result<PlannedModel> Place(const Graph& graph, const PlanDraft& draft, const StableValues& stable,
                           const ReuseRules& rules, const PlanOptions& options,
                           PlannedModel model) {
  const Storages& storages = draft.storages;
  model.updates = draft.updates;
  model.overwrites = storages.overwrites;
  Joins joins(graph, storages, rules);
  joins.Add(draft.root, draft.order);
  for (size_t i = 1; i < graph.subgraphs.size(); ++i) {
    const BodySchedule body =
        BuildSchedule(graph, storages, model.constant, SubgraphId(i), options.in_place,
                      options.lifetimes.workspaces, *options.lifetimes.target.backend);
    joins.Add(body, FileOrder(body));
  }
  model.order = NodesInOrder(draft.root, draft.order);
  model.timeline = BuildTimeline(graph, storages, model.constant, model.order);
  PLIMSOLL_TRY(VerifyUpdates(graph, storages, model.timeline));
  model.joined = JoinStorages(graph, storages, model.timeline, joins.joins());
  model.timeline.waits = FindStreamWaits(graph, model.joined, model.timeline);
  PLIMSOLL_ASSIGN(model.buffers, BuildProblem(graph, model.joined, model.timeline, stable, rules,
                                              model.constant, options.lifetimes));
  if (options.gear.empty()) NoteUnknownBatches(options.assigner, model.buffers);
  PLIMSOLL_ASSIGN(model.plan, AssignOnce(model.buffers.problem, options.assigner, options.gear,
                                         options.threads, options.effort, options.searches));
  if (CountsAsThePlanDoes(graph, draft, stable, options.lifetimes)) {
    model.order_lower_bound = Bytes(draft.lower_bound);
  }
  return model;
}

Result<PlannedModel> PlanOnce(const Graph& graph, const PlanOptions& options) {
  PlannedModel known;
  known.constant = options.fold_at_load ? FindConstantValues(graph) : StoredConstants(graph);
  known.weights = WeightBytes(graph, known.constant);
  known.file_order_lower_bound = FileOrderBound(graph, known.constant);
  const ReuseRules rules = MakeReuseRules(graph, options.lifetimes.reuse);
  const StableValues stable = FindStableValues(graph);
  PlanDrafts drafts(graph, known.constant, rules, stable, options);
  const PlanDraft best = drafts.Best();
  PLIMSOLL_ASSIGN(PlannedModel model, Place(graph, best, stable, rules, options, known));
  model.techniques = drafts.Techniques(best);
  if (FeatureMapPeak(model) <= known.file_order_lower_bound) return model;
  // Joined storages of several pieces may leave gaps between them that plain buffers do not.
  const PlanDraft separate = drafts.Separate();
  if (Bytes(separate.peak) >= FeatureMapPeak(model)) return model;
  PLIMSOLL_ASSIGN(PlannedModel plain, Place(graph, separate, stable, rules, options, known));
  if (FeatureMapPeak(plain) >= FeatureMapPeak(model)) return model;
  plain.techniques = drafts.Techniques(separate);
  return plain;
}

}  // namespace

Bytes FeatureMapPeak(const PlannedModel& model) {
  return model.plan.regions[model.buffers.feature_map.index()].size;
}

std::vector<Bytes> LiveBytes(const PlannedModel& model) {
  std::vector<Bytes> live(model.timeline.steps.size() + 1);
  const int64_t last = std::ssize(live) - 1;
  for (const plan::Buffer& buffer : model.buffers.problem.buffers) {
    if (buffer.region != model.buffers.feature_map) continue;
    live[static_cast<size_t>(std::min(buffer.life.begin, last))] += buffer.size;
    live[static_cast<size_t>(std::min(buffer.life.end, last))] -= buffer.size;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

Bytes PlainPeak(const Graph& graph) { return FileOrderBound(graph, FindConstantValues(graph)); }

Result<PlannedModel> PlanModel(const Graph& graph, const PlanOptions& options) {
  PLIMSOLL_ASSIGN(PlannedModel usual, PlanOnce(graph, options));
  if (!options.memory_priority || options.order_effort.Stopped()) return usual;
  constexpr int64_t kMoreSteps = 4;
  PlanOptions longer = options;
  longer.order_effort.steps = std::max(options.order_effort.steps, OrderEffort::kMemoryPriority);
  longer.effort.steps = SaturatingMultiply(options.effort.steps, kMoreSteps);
  PLIMSOLL_ASSIGN(PlannedModel searched, PlanOnce(graph, longer));
  return FeatureMapPeak(searched) < FeatureMapPeak(usual) ? std::move(searched) : std::move(usual);
}

}  // namespace plimsoll::compile
