#include "compile/order_search.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "compile/order_beam.h"
#include "compile/order_cost.h"
#include "compile/order_cut.h"
#include "compile/order_graph.h"
#include "compile/order_list.h"
#include "compile/order_modes.h"

namespace plimsoll::compile {
namespace {

constexpr int32_t kFirstWidth = 16;
constexpr int32_t kLastWidth = 1 << 16;
constexpr int32_t kFirstReach = 16;  // nodes on either side of the peak
constexpr int32_t kLastReach = 1024;

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

// Holds the best order so far, and improves it by turns until a cut proves that nothing lower
// exists, or the steps are spent.
class Search {
 public:
  Search(const Schedule& schedule, const OrderEffort& effort)
      : schedule_(schedule),
        graph_(schedule),
        steps_left_(effort.steps),
        best_(schedule.nodes.size()) {
    std::iota(best_.begin(), best_.end(), 0);
    Measure();
  }

  Order Run() {
    Peel();
    Try(best_);
    for (const OrderMode mode : {OrderMode::kReverseDepthFirst, OrderMode::kDepthFirst}) {
      if (Over()) break;
      const Order order = TopologicalOrder(schedule_, mode);
      Try(order);
      Try(ListForward(graph_, order, peak_, ListChoice::kLeastLive));
    }
    for (int32_t width = kFirstWidth; width <= kLastWidth && !Over(); width *= 4) {
      while (!Over() && ImproveAroundPeak(width)) Peel();
    }
    return std::move(best_);
  }

 private:
  bool Over() const { return proven_ || steps_left_ <= 0; }

  void Measure() {
    const std::vector<int64_t> line = Waterline(graph_, best_);
    const auto highest = std::ranges::max_element(line);
    peak_place_ = static_cast<int32_t>(highest - line.begin());
    peak_ = line.empty() ? 0 : *highest;
    proven_ = line.empty();
  }

  bool Offer(const Order& order, int64_t peak) {
    if (peak >= peak_) return false;
    best_ = order;
    Measure();
    return true;
  }

  // Runs early what shrinks and late what grows, again and again while that helps.
  bool Settle(Order order) {
    bool better = false;
    for (int64_t before = PeakOf(order); steps_left_ > 0;) {
      better = Offer(order, before) || better;
      order = ListForward(graph_, order, before, ListChoice::kRank);
      order = ListBackward(graph_, order, before);
      const int64_t after = PeakOf(order);
      steps_left_ -= 2 * graph_.size();
      better = Offer(order, after) || better;
      if (after >= before) break;
      before = after;
    }
    return better;
  }

  void Try(const Order& order) {
    if (!Over() && Settle(order)) Peel();
  }

  // Moves the node at the peak to its cheapest moment while that lowers the peak. Where no moment
  // is cheaper, no order is better.
  void Peel() {
    for (bool better = true; better && !Over();) {
      const int32_t top = best_[peak_place_];
      const CheapestMoment moment = FindCheapestMoment(graph_, top, steps_left_);
      steps_left_ -= moment.steps;
      if (!moment.found) return;
      proven_ = moment.bytes >= peak_;
      if (proven_) return;
      Order order = best_;
      const auto behind = std::stable_partition(order.begin(), order.end(),
                                                [&](int32_t node) { return moment.before[node]; });
      const auto at_peak = std::find(behind, order.end(), top);
      std::rotate(behind, at_peak, at_peak + 1);
      better = Settle(std::move(order));
    }
  }

  // Searches ever larger windows around the peak until one has a better order.
  bool ImproveAroundPeak(int32_t width) {
    for (int32_t reach = kFirstReach; reach <= kLastReach && !Over(); reach *= 2) {
      const int32_t begin = std::max(0, peak_place_ - reach);
      const int32_t end = std::min(graph_.size(), peak_place_ + reach);
      const OrderGraph window = OrderGraph::Window(graph_, best_, begin, end);
      const BeamAnswer answer =
          SearchBeam(window, {.width = width, .bound = peak_, .steps = steps_left_});
      steps_left_ -= answer.steps;
      if (!answer.order.empty()) {
        const Order old(best_.begin() + begin, best_.begin() + end);
        std::ranges::transform(answer.order, best_.begin() + begin,
                               [&](int32_t node) { return old[node]; });
        Measure();
        return true;
      }
      if (window.size() < graph_.size()) continue;
      proven_ = answer.exhaustive;
      return false;
    }
    return false;
  }

  int64_t PeakOf(const Order& order) const {
    const std::vector<int64_t> line = Waterline(graph_, order);
    return *std::ranges::max_element(line);
  }

  const Schedule& schedule_;
  const OrderGraph graph_;
  int64_t steps_left_;
  Order best_;
  int64_t peak_ = 0;
  int32_t peak_place_ = 0;  // in best_: the first that reaches the peak
  bool proven_ = false;
};

}  // namespace

Order SearchOrder(const Schedule& schedule, const OrderEffort& effort) {
  if (!SumFits(schedule)) {
    Order file(schedule.nodes.size());
    std::iota(file.begin(), file.end(), 0);
    return file;
  }
  return Search(schedule, effort).Run();
}

}  // namespace plimsoll::compile
