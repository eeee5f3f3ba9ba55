#include "compile/order/order_search.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <vector>

#include "compile/order/order_graph.h"
#include "compile/order/search/order_improver.h"
#include "compile/order/search/order_line.h"
#include "compile/order/search/order_parts.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {
namespace {

bool SumFits(const Schedule& schedule) {
  int64_t sum = 0;
  for (const ScheduleValue& value : schedule.values) {
    if (__builtin_add_overflow(sum, value.bytes, &sum)) return false;
  }
  for (const ScheduleNode& node : schedule.nodes) {
    if (__builtin_add_overflow(sum, node.workspace, &sum)) return false;
  }
  // The rest of the range is for differences, and for capacities that no sum of bytes reaches.
  return sum < INT64_MAX / 8;
}

int64_t StepsFor(const OrderEffort& effort, size_t nodes) {
  const auto times = static_cast<int64_t>(nodes) / OrderEffort::kNodes;
  return times < 1 ? effort.steps : SaturatingMultiply(effort.steps, times);
}

// The order of the whole, lowered at its highest part again and again until that part's peak is
// proven, or nothing further is found there.
class Search {
 public:
  Search(const Schedule& schedule, const OrderEffort& effort)
      : graph_(schedule),
        parts_(SplitIntoParts(graph_)),
        line_(graph_, parts_.order),
        stop_(effort.stop),
        steps_left_(StepsFor(effort, schedule.nodes.size())),
        improvers_(0, HashOf, SameGraph) {}

  FoundOrder Run() {
    for (size_t i = 0; i < parts_.parts.size(); ++i) Rank(i);
    while (!heights_.empty() && heights_.top().peak > floor_) {
      const Height top = heights_.top();
      heights_.pop();
      if (!Lower(top.part, top.peak)) break;
      Rank(top.part);
    }
    return {line_.order(), floor_};
  }

 private:
  struct Height {
    int64_t peak;
    size_t part;
    bool operator<(const Height& other) const {
      return peak != other.peak ? peak < other.peak : part > other.part;
    }
  };
  // Graphs by content; the improver holds its own.
  using Key = const OrderGraph*;
  static size_t HashOf(Key graph) { return graph->Hash(); }
  static bool SameGraph(Key one, Key other) { return *one == *other; }

  void Rank(size_t index) {
    const OrderPart& part = parts_.parts[index];
    const int64_t peak = line_.PeakWithin(part.begin, part.end);
    if (part.end - part.begin == 1) {
      floor_ = std::max(floor_, peak);
    } else {
      heights_.push({peak, index});
    }
  }

  // Whether the part's peak is lower than `peak` now.
  bool Lower(size_t index, int64_t peak) {
    const OrderPart& part = parts_.parts[index];
    OrderImprover& improver = ImproverFor(index);
    if (improver.peak() >= peak) improver.Improve(floor_, steps_left_);
    floor_ = std::max(floor_, improver.lower_bound());
    if (improver.peak() >= peak) return false;
    Order nodes;
    for (const int32_t node : improver.order()) nodes.push_back(parts_.order[part.begin + node]);
    line_.Replace(part.begin, nodes);
    return true;
  }

  // One for all parts that do the same work.
  OrderImprover& ImproverFor(size_t index) {
    const auto [known, is_new] = improver_of_.try_emplace(index, nullptr);
    if (!is_new) return *known->second;
    const OrderPart& part = parts_.parts[index];
    OrderGraph graph = line_.Window(part.begin, part.end);
    const auto same = improvers_.find(&graph);
    if (same != improvers_.end()) {
      known->second = same->second.get();
    } else {
      auto improver = std::make_unique<OrderImprover>(std::move(graph), stop_);
      known->second = improver.get();
      improvers_.emplace(&improver->graph(), std::move(improver));
    }
    return *known->second;
  }

  const OrderGraph graph_;
  const OrderParts parts_;
  OrderLine line_;
  const std::atomic<bool>* const stop_;
  int64_t steps_left_;
  int64_t floor_ = 0;  // no order of the whole is lower
  std::priority_queue<Height> heights_;
  std::unordered_map<size_t, OrderImprover*> improver_of_;  // by part
  std::unordered_map<Key, std::unique_ptr<OrderImprover>, decltype(&HashOf), decltype(&SameGraph)>
      improvers_;
};

}  // namespace

FoundOrder FindOrder(const Schedule& schedule, const OrderEffort& effort) {
  if (SumFits(schedule)) return Search(schedule, effort).Run();
  FoundOrder file;
  file.order.resize(schedule.nodes.size());
  std::iota(file.order.begin(), file.order.end(), 0);
  return file;
}

Order SearchOrder(const Schedule& schedule, const OrderEffort& effort) {
  return FindOrder(schedule, effort).order;
}

}  // namespace plimsoll::compile
