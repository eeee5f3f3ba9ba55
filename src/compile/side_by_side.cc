#include "compile/side_by_side.h"

#include <algorithm>
#include <numeric>

#include "compile/compile_model.h"
#include "compile/memory/storage/views.h"
#include "compile/passes/bodies.h"
#include "compile/searches/stored_plan.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What one thread does in a nanosecond at least. Operators that are neither elementwise nor counted
// do more for each byte.
constexpr int64_t kOperations = 24;
constexpr int64_t kMovedBytes = 4;
constexpr int64_t kOtherBytes = 2;
constexpr int64_t kCallNanoseconds = 300;
// A node that takes longer is better cut than run beside others: 50 regions.
constexpr int64_t kLongest = 50 * kRegionNanoseconds;
constexpr size_t kMostNodes = 48;  // of one place

int64_t SizeOf(const Graph& graph, const std::vector<ValueId>& values) {
  int64_t bytes = 0;
  for (const ValueId value : values) {
    if (value.valid()) bytes = SaturatingAdd(bytes, PlannedSize(graph[value].type).value());
  }
  return bytes;
}

int64_t NanosecondsOf(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const graph::OperatorFacts& facts = graph::FactsOf(node);
  if (IsPlainView(node)) return kCallNanoseconds;
  const int64_t bytes = SaturatingAdd(SizeOf(graph, node.inputs), SizeOf(graph, node.outputs));
  if (facts.operations != nullptr) {
    const int64_t counted = facts.operations(graph, node);
    if (counted > 0) return kCallNanoseconds + counted / kOperations + bytes / (2 * kMovedBytes);
  }
  const bool moves = facts.elementwise || facts.view != graph::View::kNone;
  return kCallNanoseconds + bytes / (moves ? kMovedBytes : kOtherBytes);
}

// How long nodes take, each in as many threads as it is worth.
int64_t OneAfterTheOther(const std::vector<int64_t>& nodes, int threads) {
  int64_t sum = 0;
  for (const int64_t node : nodes) sum += std::min(node, node / threads + kRegionNanoseconds);
  return sum;
}

class Finder {
 public:
  explicit Finder(const CompiledModel& model)
      : model_(model), graph_(model.graph), steps_(model.planned.timeline.steps) {
    step_of_.assign(graph_.nodes.size(), -1);
    for (size_t i = 0; i < steps_.size(); ++i) {
      step_of_[steps_[i].node.index()] = static_cast<int64_t>(i);
      const bool plain = IsPlain(steps_[i]);
      nanoseconds_.push_back(plain ? NanosecondsOf(graph_, steps_[i].node) : kLongest + 1);
    }
    live_ = LiveBytes(model.planned);
    born_.resize(steps_.size());
    for (const plan::Buffer& buffer : model.planned.buffers.problem.buffers) {
      const auto birth = static_cast<size_t>(buffer.life.begin);
      if (buffer.region != model.planned.buffers.feature_map || birth >= born_.size()) continue;
      born_[birth] += buffer.size;
    }
  }

  std::vector<SideBySide> Find() const {
    std::vector<SideBySide> found;
    for (size_t first = 0; first < steps_.size();) {
      const size_t end = BestEnd(first);
      if (end == first) {
        ++first;
        continue;
      }
      SideBySide place{.first = static_cast<int64_t>(first), .nodes = {}, .nanoseconds = {}};
      for (; first < end; ++first) {
        place.nodes.push_back(steps_[first].node);
        place.nanoseconds.push_back(nanoseconds_[first]);
      }
      found.push_back(std::move(place));
    }
    return found;
  }

 private:
  // Nothing but its kernel runs, at any time between what it needs and who needs it.
  bool IsPlain(const Step& step) const {
    const Node& node = graph_[step.node];
    const graph::MemoryAttributes& memory = node.memory;
    const bool updates = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output.valid() && model_.planned.overwrites[output.index()];
    });
    return step.kind == Step::Kind::kRun && node.home == Graph::kRoot &&
           SubgraphsOf(node).empty() && memory.needs_clearing.empty() &&
           memory.batch_label.empty() && !updates && !IsTransfer(node) &&
           model_.kernels[step.node.index()] != nullptr &&
           !model_.plan_options.lifetimes.target.RunsOnHost(node);
  }

  // The end of the steps from `first` on that gain most, or `first` where none do.
  size_t BestEnd(size_t first) const {
    size_t best = first;
    int64_t gained = 0;
    std::vector<int64_t> nodes;
    std::vector<int64_t> branches;  // nanoseconds
    std::vector<size_t> branch_of;  // by step from the first on
    const size_t last = std::min(steps_.size(), first + kMostNodes);
    const Bytes peak = FeatureMapPeak(model_.planned);
    Bytes live;  // when all that branches touch lives together
    for (size_t step = first; step < last && nanoseconds_[step] <= kLongest; ++step) {
      live += step == first ? live_[first] : born_[step];
      if (live > peak) return best;
      size_t branch = branches.size();
      for (const ValueId input : graph_[steps_[step].node].inputs) {
        const NodeId maker = input.valid() ? graph_[input].producer : NodeId();
        if (!maker.valid()) continue;
        const int64_t made = step_of_[maker.index()];
        if (made < static_cast<int64_t>(first) || made >= static_cast<int64_t>(step)) continue;
        const size_t other = branch_of[static_cast<size_t>(made) - first];
        if (branch != branches.size() && branch != other) return best;  // branches meet
        branch = other;
      }
      if (branch == branches.size()) branches.push_back(0);
      branch_of.push_back(branch);
      branches[branch] += nanoseconds_[step];
      nodes.push_back(nanoseconds_[step]);
      if (!IsWorthIt(nodes, branches, model_.threads)) continue;
      const int64_t gain =
          OneAfterTheOther(nodes, model_.threads) - ShareOut(branches, model_.threads).nanoseconds;
      if (gain <= gained) continue;
      gained = gain;
      best = step + 1;
    }
    return best;
  }

  const CompiledModel& model_;
  const Graph& graph_;
  const std::vector<Step>& steps_;
  std::vector<int64_t> step_of_;      // by node
  std::vector<int64_t> nanoseconds_;  // by step
  std::vector<Bytes> live_;           // likewise: what lives there
  std::vector<Bytes> born_;           // likewise: of that, what did not live before
};

// What lives at one of the steps lives at all of them.
void Lengthen(plan::Problem& problem, plan::RegionId feature_map, const SideBySide& place) {
  const int64_t end = place.first + static_cast<int64_t>(place.nodes.size());
  for (plan::Buffer& buffer : problem.buffers) {
    plan::Use& life = buffer.life;
    if (buffer.region != feature_map || life.begin >= end || life.end <= place.first) continue;
    life.begin = std::min(life.begin, place.first);
    life.end = std::max(life.end, end);
  }
}

// What lives at a place's steps when all of it lives together.
Bytes LiveAt(const plan::Problem& problem, plan::RegionId feature_map, const SideBySide& place) {
  Bytes live;
  const int64_t end = place.first + static_cast<int64_t>(place.nodes.size());
  for (const plan::Buffer& buffer : problem.buffers) {
    const bool there = buffer.life.begin < end && buffer.life.end > place.first;
    if (buffer.region == feature_map && there) live += buffer.size;
  }
  return live;
}

}  // namespace

BranchShares ShareOut(const std::vector<int64_t>& branches, int threads) {
  BranchShares shares;
  shares.thread_of.resize(branches.size());
  std::vector<size_t> order(branches.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return branches[a] > branches[b]; });
  std::vector<int64_t> busy(static_cast<size_t>(std::max(threads, 1)));
  for (const size_t branch : order) {
    const auto least = std::min_element(busy.begin(), busy.end());
    *least += branches[branch];
    shares.thread_of[branch] = static_cast<int>(least - busy.begin());
  }
  shares.nanoseconds = kRegionNanoseconds + *std::max_element(busy.begin(), busy.end());
  return shares;
}

bool IsWorthIt(const std::vector<int64_t>& nodes, const std::vector<int64_t>& branches,
               int threads) {
  if (branches.size() < 2 || threads < 2) return false;
  return ShareOut(branches, threads).nanoseconds * 5 < OneAfterTheOther(nodes, threads) * 4;
}

Status PlanSideBySide(CompiledModel& model) {
  model.side_by_side.clear();
  PlannedModel& planned = model.planned;
  const bool one_stream = planned.timeline.steps_of_stream.size() < 2;
  const ReuseOptions& reuse = model.plan_options.lifetimes.reuse;
  if (model.threads < 2 || !one_stream || reuse.disabled || !reuse.not_of.empty()) return {};
  const Bytes peak = FeatureMapPeak(planned);
  const plan::RegionId feature_map = planned.buffers.feature_map;
  std::vector<SideBySide> places = Finder(model).Find();
  // All of them, or those that leave room.
  for (int turn = 0; turn < 2 && !places.empty(); ++turn) {
    plan::Problem problem = planned.buffers.problem;
    for (const SideBySide& place : places) Lengthen(problem, feature_map, place);
    const PlanOptions& options = model.plan_options;
    PLIMSOLL_ASSIGN(plan::MemoryPlan plan,
                    AssignOnce(problem, options.assigner, options.gear, options.threads,
                               options.effort, options.searches));
    if (plan.regions[feature_map.index()].size <= peak) {
      planned.buffers.problem = std::move(problem);
      planned.plan = std::move(plan);
      model.side_by_side = std::move(places);
      return {};
    }
    std::erase_if(places, [&](const SideBySide& place) {
      return LiveAt(problem, feature_map, place) * 4 > peak * 3;
    });
  }
  return {};
}

}  // namespace plimsoll::compile
