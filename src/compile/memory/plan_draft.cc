#include "compile/memory/plan_draft.h"

#include <algorithm>
#include <limits>

#include "compile/searches/stored_order.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMostNodesSearchedAgain = 20'000;
constexpr size_t kMostTries = 256;             // of single joins
constexpr size_t kMostNodesTried = 2'000'000;  // nodes times tries

// The first and the last place of the order at which each storage is touched.
struct Lives {
  std::vector<NodeRow> first;
  std::vector<NodeRow> last;
};

Lives LivesIn(const PlanDraft& draft) {
  Lives lives;
  lives.first.assign(draft.storages.storages.size(), std::numeric_limits<NodeRow>::max());
  lives.last.assign(draft.storages.storages.size(), -1);
  for (size_t place = 0; place < draft.order.size(); ++place) {
    const ScheduleNode& node = draft.root.schedule.nodes[static_cast<size_t>(draft.order[place])];
    for (const auto* values : {&node.reads, &node.writes}) {
      for (const ValueRow value : *values) {
        const auto storage =
            static_cast<size_t>(draft.root.schedule.values[static_cast<size_t>(value)].storage);
        if (storage >= lives.first.size()) continue;
        lives.first[storage] = std::min(lives.first[storage], static_cast<NodeRow>(place));
        lives.last[storage] = std::max(lives.last[storage], static_cast<NodeRow>(place));
      }
    }
  }
  return lives;
}

}  // namespace

PlanDrafts::PlanDrafts(const Graph& graph, const std::vector<bool>& constant,
                       const ReuseRules& rules, const StableValues& stable,
                       const PlanOptions& options)
    : graph_(graph), constant_(constant), options_(options) {
  rules_.kept = rules.kept;
  rules_.backend = options.lifetimes.target.backend;
  rules_.exclusive = NewValues(graph, options.updates);
  if (!options.lifetimes.one_shape) {
    // Values that must start where they start whatever the shapes.
    rules_.standalone.resize(stable.keys.size());
    for (size_t i = 0; i < stable.keys.size(); ++i) rules_.standalone[i] = !stable.keys[i].empty();
  }
  all_joined_ = FindStorages(graph_, constant_, rules_);
  joining_ = JoiningNodes(graph_, all_joined_);
}

PlanDraft PlanDrafts::Make(std::vector<bool> copied) const {
  PlanDraft draft;
  if (copied.empty()) {
    draft.storages = all_joined_;
  } else {
    StorageRules rules = rules_;
    rules.copied = copied;
    draft.storages = FindStorages(graph_, constant_, rules);
  }
  draft.copied = std::move(copied);
  draft.updates = JoinUpdates(graph_, options_.updates, draft.storages, *rules_.backend);
  draft.root = BuildSchedule(graph_, draft.storages, constant_, Graph::kRoot, options_.in_place,
                             options_.lifetimes.workspaces, *rules_.backend);
  return draft;
}

void PlanDrafts::Measure(PlanDraft& draft) const {
  draft.peak = WalkOrder(draft.root.schedule, draft.order).peak;
}

void PlanDrafts::SetOrder(PlanDraft& draft) const {
  if (options_.search_order) {
    FoundOrder found = FindOrderOnce(draft.root.schedule, options_.order_effort, options_.searches);
    draft.order = std::move(found.order);
    draft.lower_bound = found.lower_bound;
  } else {
    draft.order = TopologicalOrder(draft.root.schedule, options_.order_mode);
  }
  Measure(draft);
}

bool PlanDrafts::MaySearchAgain(const PlanDraft& draft) const {
  return options_.search_order && draft.order.size() <= kMostNodesSearchedAgain;
}

PlanDraft PlanDrafts::Best() const {
  PlanDraft best = Make({});
  SetOrder(best);
  if (joining_.empty()) return best;
  while (DeclineAtPeak(best)) {
  }
  if (!MaySearchAgain(best)) return best;
  PlanDraft separate = Separate();
  return separate.peak < best.peak ? separate : best;
}

PlanDraft PlanDrafts::Separate() const {
  PlanDraft draft = Make(AllCopied());
  SetOrder(draft);
  return draft;
}

std::vector<bool> PlanDrafts::AllCopied() const {
  std::vector<bool> copied(graph_.nodes.size());
  for (const NodeId id : joining_) copied[id.index()] = true;
  return copied;
}

// Declines the one join whose storage lives at the peak and that lowers the peak most.
bool PlanDrafts::DeclineAtPeak(PlanDraft& best) const {
  const Walk walk = WalkOrder(best.root.schedule, best.order);
  const auto top = std::find(best.order.begin(), best.order.end(), walk.peak_node);
  const auto place = static_cast<NodeRow>(top - best.order.begin());
  const Lives lives = LivesIn(best);
  const size_t most =
      std::min(kMostTries, kMostNodesTried / std::max<size_t>(best.order.size(), 1));
  size_t tries = 0;
  PlanDraft lowest;
  lowest.peak = best.peak;
  std::vector<bool> copied = best.copied;
  copied.resize(graph_.nodes.size());
  for (const NodeId id : joining_) {
    if (copied[id.index()] || tries == most) continue;
    const Node& node = graph_[id];
    const auto lives_at_peak = [&](ValueId value) {
      const StorageId storage = value.valid() ? best.storages.Of(value).storage : StorageId();
      return storage.valid() && lives.first[storage.index()] <= place &&
             place <= lives.last[storage.index()];
    };
    if (!std::any_of(node.inputs.begin(), node.inputs.end(), lives_at_peak) &&
        !std::any_of(node.outputs.begin(), node.outputs.end(), lives_at_peak)) {
      continue;
    }
    ++tries;
    copied[id.index()] = true;
    PlanDraft draft = Make(copied);
    copied[id.index()] = false;
    // A copy can make room for an update in place, which then has readers to wait for.
    if (!IsLegalOrder(draft.root.schedule, best.order)) continue;
    draft.order = best.order;
    Measure(draft);
    if (draft.peak < lowest.peak) lowest = std::move(draft);
  }
  if (lowest.peak == best.peak) return false;
  if (MaySearchAgain(lowest)) {
    const Order kept = lowest.order;
    const int64_t peak = lowest.peak;
    SetOrder(lowest);
    if (lowest.peak > peak) {
      lowest.order = kept;
      lowest.peak = peak;
    }
  }
  best = std::move(lowest);
  return true;
}

std::vector<Technique> PlanDrafts::Techniques(const PlanDraft& draft) const {
  std::vector<Technique> techniques;
  if (!joining_.empty()) {
    Technique joined;
    joined.name = "concat and split without copies";
    for (const NodeId id : joining_) {
      const bool copied = !draft.copied.empty() && draft.copied[id.index()];
      ++(copied ? joined.declined : joined.taken);
    }
    PlanDraft separate = Make(AllCopied());
    separate.order = draft.order;
    if (IsLegalOrder(separate.root.schedule, separate.order)) {
      Measure(separate);
    } else {
      SetOrder(separate);
    }
    joined.gained = Bytes(separate.peak - draft.peak);
    if (joined.declined > 0) joined.reason = "copies at these nodes lower the peak";
    techniques.push_back(std::move(joined));
  }
  const Walk walk = WalkOrder(draft.root.schedule, draft.order);
  if (!walk.in_place.empty()) {
    Technique in_place;
    in_place.name = "in place";
    in_place.taken = static_cast<int>(walk.in_place.size());
    Schedule without = draft.root.schedule;
    for (ScheduleNode& node : without.nodes) node.in_place.clear();
    in_place.gained = Bytes(WalkOrder(without, draft.order).peak - draft.peak);
    techniques.push_back(std::move(in_place));
  }
  return techniques;
}

}  // namespace plimsoll::compile
