#include "compile/plan_model.h"

#include <numeric>

#include "compile/constants.h"
#include "compile/schedule_builder.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

std::vector<NodeId> NodesInOrder(const BodySchedule& body, const Order& order) {
  std::vector<NodeId> nodes;
  nodes.reserve(order.size());
  for (const int32_t row : order) nodes.push_back(body.nodes[static_cast<size_t>(row)]);
  return nodes;
}

Order FileOrder(const BodySchedule& body) {
  Order order(body.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void AddJoins(const BodySchedule& body, const Order& order, std::vector<InPlaceJoin>& joins) {
  for (const InPlaceTaken& taken : WalkOrder(body.schedule, order).in_place) {
    joins.push_back(
        {ValueId(static_cast<size_t>(taken.output)), ValueId(static_cast<size_t>(taken.input))});
  }
}

Bytes FileOrderBound(const Graph& graph, const std::vector<bool>& constant) {
  const Storages plain = FindStorages(graph, constant, ViewRules::kPlain);
  const BodySchedule root = BuildSchedule(graph, plain, constant, Graph::kRoot, false);
  const Timeline timeline =
      BuildTimeline(graph, plain, constant, NodesInOrder(root, FileOrder(root)));
  return LiveBound(BuildBlocks(graph, plain, timeline, {}), timeline, plan::kDefaultAlignment);
}

}  // namespace

Result<PlannedModel> PlanModel(const Graph& graph, const PlanOptions& options) {
  PlannedModel model;
  model.constant = options.fold_at_load ? FindConstantValues(graph) : StoredConstants(graph);
  model.weights = WeightBytes(graph, model.constant);
  model.file_order_lower_bound = FileOrderBound(graph, model.constant);
  const Storages storages = FindStorages(graph, model.constant, ViewRules::kAll);
  const BodySchedule root = BuildSchedule(graph, storages, model.constant, Graph::kRoot,
                                          options.in_place, options.lifetimes.workspaces);
  const Order order = options.search_order ? SearchOrder(root.schedule, options.order_effort)
                                           : TopologicalOrder(root.schedule, options.order_mode);
  std::vector<InPlaceJoin> joins;
  AddJoins(root, order, joins);
  for (size_t i = 1; i < graph.subgraphs.size(); ++i) {
    const BodySchedule body = BuildSchedule(graph, storages, model.constant, SubgraphId(i),
                                            options.in_place, options.lifetimes.workspaces);
    AddJoins(body, FileOrder(body), joins);
  }
  model.order = NodesInOrder(root, order);
  model.timeline = BuildTimeline(graph, storages, model.constant, model.order);
  model.blocks = BuildBlocks(graph, storages, model.timeline, joins);
  model.buffers =
      BuildProblem(graph, model.blocks, model.timeline, model.constant, options.lifetimes);
  const plan::HybridMemAssigner assigner(options.threads);
  PLIMSOLL_ASSIGN(model.plan, assigner.Assign(model.buffers.problem, options.effort));
  PLIMSOLL_TRY(plan::Verify(model.buffers.problem, model.plan));
  return model;
}

}  // namespace plimsoll::compile
