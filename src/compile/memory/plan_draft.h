#pragma once

#include <vector>

#include "compile/memory/reuse_rules.h"
#include "compile/memory/storage/storages.h"
#include "compile/memory/technique.h"
#include "compile/order/schedule_builder.h"
#include "compile/passes/stable_values.h"
#include "compile/plan_model.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// A plan before anything has an address: which values share bytes, and when each node runs.
struct PlanDraft {
  Storages storages;
  std::vector<PlannedUpdate> updates;
  BodySchedule root;
  Order order;               // rows of `root`
  int64_t peak = 0;          // the largest sum of bytes that live at one moment
  int64_t lower_bound = 0;   // of the peak of every order; 0: not known
  std::vector<bool> copied;  // by node: joins that were declined; empty: none
};

// Looks for a draft with a low peak. What joins values (a Concat whose inputs are written straight
// into its output, a Split whose outputs lie in its input) is taken where it costs nothing, node by
// node, since the pieces of a joined storage cannot move separately.
class PlanDrafts {
 public:
  PlanDrafts(const graph::Graph& graph, const std::vector<bool>& constant, const ReuseRules& rules,
             const StableValues& stable, const PlanOptions& options);

  PlanDraft Best() const;
  // Nothing is joined but views: what Best is compared with.
  PlanDraft Separate() const;
  // What each technique brought to the draft.
  std::vector<Technique> Techniques(const PlanDraft& draft) const;

 private:
  PlanDraft Make(std::vector<bool> copied) const;
  std::vector<bool> AllCopied() const;
  void SetOrder(PlanDraft& draft) const;
  void Measure(PlanDraft& draft) const;
  bool DeclineAtPeak(PlanDraft& best) const;
  bool MaySearchAgain(const PlanDraft& draft) const;

  const graph::Graph& graph_;
  const std::vector<bool>& constant_;
  const PlanOptions& options_;
  StorageRules rules_;
  std::vector<graph::NodeId> joining_;  // nodes that may join
};

}  // namespace plimsoll::compile
