#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/memory/assigner_choice.h"
#include "compile/memory/lifetimes.h"
#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/storage/variable_updates.h"
#include "compile/memory/technique.h"
#include "compile/memory/timeline.h"
#include "compile/order/order_modes.h"
#include "compile/order/order_search.h"
#include "compile/searches/search_store.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/memory_plan.h"

namespace plimsoll::compile {

struct PlanOptions {
  bool search_order = true;  // off: `order_mode`
  OrderMode order_mode = OrderMode::kStable;
  OrderEffort order_effort;
  plan::Effort effort;
  int threads = 0;  // of the planner; 0: as many as the machine has
  AssignerChoice assigner;
  std::string gear;  // the label of the gear that the model is planned for; empty: of none
  bool in_place = true;
  // memory_optimization_policy MemoryPriority: plans a second time with a longer search, and keeps
  // the lower peak of the two.
  bool memory_priority = false;
  // What depends on constants only counts as worked out at load. Off: the graph has been folded,
  // and what is left of such nodes runs.
  bool fold_at_load = true;
  LifetimeOptions lifetimes;
  std::vector<VariableUpdate> updates;  // each input and each output at most once
  // Inputs that are copied come together up to this size of each; larger ones come alone.
  Bytes input_fusion_size = Bytes(131072);
  SearchStore* searches = nullptr;  // where answers of searches stay; null: nowhere
};

// A model whose every byte has its place. Plain data; verified.
struct PlannedModel {
  std::vector<graph::NodeId> order;  // of the root's nodes; those worked out at load are left out
  Timeline timeline;
  JoinedStorages joined;
  std::vector<bool> constant;  // by value: worked out at load
  PlannedBuffers buffers;
  plan::MemoryPlan plan;
  std::vector<PlannedUpdate> updates;  // as asked for, in that order
  std::vector<bool> overwrites;        // by value: written over a variable's old value
  Bytes weights;
  // Plain lives in the file's order: the largest live sum with views alone shared, nothing in
  // place.
  Bytes file_order_lower_bound;
  // No order of the nodes has a lower largest live sum; 0: not known.
  Bytes order_lower_bound;
  std::vector<Technique> techniques;
};

// The plan's waterline: what its feature map takes.
Bytes FeatureMapPeak(const PlannedModel& model);

// What lives in the feature map at each step of a run on one stream, buffers as large as they are.
std::vector<Bytes> LiveBytes(const PlannedModel& model);

// What the graph needs with plain lives in the file's order (PlannedModel::file_order_lower_bound),
// planning nothing. Shapes must have been inferred.
Bytes PlainPeak(const graph::Graph& graph);

// Plans a graph whose shapes have been inferred. A symbol without a number counts as 1. Fails where
// the plan does not pass the verifier, which is a bug of ours and says so.
Result<PlannedModel> PlanModel(const graph::Graph& graph, const PlanOptions& options = {});

}  // namespace plimsoll::compile
