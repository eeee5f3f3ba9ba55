#include "compile/order/search/order_improver.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "compile/order/order_cost.h"
#include "compile/order/order_modes.h"
#include "compile/order/search/order_beam.h"
#include "compile/order/search/order_bound.h"
#include "compile/order/search/order_cut.h"
#include "compile/order/search/order_list.h"

namespace plimsoll::compile {
namespace {

constexpr int32_t kFirstWidth = 16;
constexpr int32_t kLastWidth = 1 << 16;
constexpr int32_t kFirstReach = 16;  // nodes on either side of the peak
constexpr int32_t kLastReach = 1024;
constexpr int32_t kMostNodesForBound = 1 << 13;
constexpr int64_t kCutStepsANode = 32;
constexpr int64_t kFirstCutSteps = 1 << 18;

// What the list schedules of one node cost, in looks at a node that could run next.
constexpr int64_t kListSteps = 8;

// An order that is above the best by more than a share of this is not worked on further.
constexpr int64_t kHopeless = 4;

// Lower is better: the peak, then the places that reach it.
using Height = std::pair<int64_t, int64_t>;

Height HeightOf(const OrderGraph& graph, const Order& order) {
  const std::vector<int64_t> line = Waterline(graph, order);
  const int64_t peak = *std::ranges::max_element(line);
  return {peak, std::ranges::count(line, peak)};
}

Order FileOrder(const OrderGraph& graph) {
  Order order(static_cast<size_t>(graph.size()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

OrderImprover::OrderImprover(OrderGraph graph, const std::atomic<bool>* stop)
    : graph_(std::move(graph)),
      stop_(stop),
      line_(graph_, FileOrder(graph_)),
      width_(kFirstWidth),
      cut_limit_(kFirstCutSteps + kCutStepsANode * graph_.size()) {
  if (graph_.size() <= kMostNodesForBound) lower_bound_ = LowestPeak(graph_);
}

bool OrderImprover::Improve(int64_t enough, int64_t& steps) {
  enough = std::max(enough, lower_bound_);
  const int64_t before = peak();
  if (!std::exchange(tried_plain_orders_, true)) TryPlainOrders(enough, steps);
  while (peak() >= before && peak() > enough && steps > 0 && width_ <= kLastWidth && !Stopped()) {
    if (std::exchange(cut_pending_, false) && MovePeak(cut_limit_, steps)) continue;
    enough = std::max(enough, lower_bound_);
    if (peak() <= enough || SearchWindows(steps)) continue;
    width_ *= 4;
    cut_limit_ *= 4;
    cut_pending_ = true;
  }
  return peak() < before;
}

void OrderImprover::TryPlainOrders(int64_t enough, int64_t& steps) {
  const auto attempt = [&](const Order& order) {
    if (peak() > enough && !Stopped()) Settle(order, steps);
  };
  attempt(Order(order()));
  for (const OrderMode mode : {OrderMode::kReverseDepthFirst, OrderMode::kDepthFirst}) {
    if (peak() <= enough || Stopped()) return;
    const Order order = TopologicalOrder(graph_, mode);
    attempt(order);
    attempt(ListForward(graph_, order, peak(), ListChoice::kLeastLive));
  }
}

bool OrderImprover::Offer(const Order& order, const Height& height) {
  if (height >= Height{peak(), line_.PlacesAtPeak()}) return false;
  line_ = OrderLine(graph_, order);
  cut_pending_ = true;
  return true;
}

// Runs early what shrinks and late what grows, again and again while that helps.
bool OrderImprover::Settle(Order order, int64_t& steps) {
  Height before = HeightOf(graph_, order);
  bool better = Offer(order, before);
  for (bool promising = true; promising;) {
    order = ListForward(graph_, order, before.first, ListChoice::kRank);
    order = ListBackward(graph_, order, before.first);
    steps -= kListSteps * graph_.size();
    const Height after = HeightOf(graph_, order);
    better = Offer(order, after) || better;
    promising = after < before && after.first - peak() <= peak() / kHopeless;
    before = after;
  }
  return better;
}

// Moves the node at the peak to its cheapest moment. Where no moment is cheaper, no order is
// better.
bool OrderImprover::MovePeak(int64_t limit, int64_t& steps) {
  const int32_t top = order()[line_.peak_place()];
  const CheapestMoment moment = FindCheapestMoment(graph_, top, std::min(limit, steps));
  steps -= moment.steps;
  if (!moment.found) return false;
  lower_bound_ = std::max(lower_bound_, moment.bytes);
  if (Proven()) return false;
  Order moved = order();
  const auto behind = std::stable_partition(moved.begin(), moved.end(),
                                            [&](int32_t node) { return moment.before[node]; });
  const auto at_peak = std::find(behind, moved.end(), top);
  std::rotate(behind, at_peak, at_peak + 1);
  return Settle(std::move(moved), steps);
}

// Searches ever larger windows around the peak until one has a better order.
bool OrderImprover::SearchWindows(int64_t& steps) {
  for (int32_t reach = kFirstReach; reach <= kLastReach && steps > 0 && !Stopped(); reach *= 2) {
    const int32_t begin = std::max(0, line_.peak_place() - reach);
    const int32_t end = std::min(graph_.size(), line_.peak_place() + reach);
    const OrderGraph window = line_.Window(begin, end);
    const BeamAnswer answer =
        SearchBeam(window, {.width = width_, .bound = peak(), .steps = steps, .stop = stop_});
    steps -= answer.steps + window.size();
    if (!answer.order.empty()) {
      const int64_t before = peak();
      Order nodes;
      for (const int32_t node : answer.order) nodes.push_back(order()[begin + node]);
      line_.Replace(begin, nodes);
      cut_pending_ = cut_pending_ || peak() < before;
      return true;
    }
    if (window.size() < graph_.size()) continue;
    if (answer.exhaustive) lower_bound_ = peak();
    return false;
  }
  return false;
}

}  // namespace plimsoll::compile
