#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// An order of a graph with the bytes that are live at each of its places. A stretch of the order
// can be changed, and a window cut out, in time that follows the stretch and not the graph. The
// graph must outlive it. One thread.
class OrderLine {
 public:
  // The order must be legal.
  OrderLine(const OrderGraph& graph, Order order);

  const Order& order() const { return order_; }
  int64_t peak() const { return tree_.empty() ? 0 : tree_[1]; }  // 0 where there are no nodes
  int32_t peak_place() const;                                    // the first that reaches it
  int64_t PlacesAtPeak() const;                                  // looks at all places
  int64_t PeakWithin(int32_t begin, int32_t end) const;

  OrderGraph Window(int32_t begin, int32_t end) const {
    return OrderGraph::Window(*graph_, {order_, place_, last_, live_}, begin, end);
  }

  // From place `begin` on, the nodes that are there come in the order `nodes`, which must be legal.
  void Replace(int32_t begin, std::span<const int32_t> nodes);

 private:
  void Measure(int32_t begin, int32_t end);

  const OrderGraph* graph_;
  Order order_;
  std::vector<int32_t> place_;  // by node
  std::vector<int32_t> last_;   // by storage; behind every place for one that is kept
  std::vector<int64_t> live_;   // by place, before it; one more for the end
  // A tree of maxima: [leaves_ + place] is the bytes while the node there runs, [i] the larger of
  // [2 * i] and [2 * i + 1].
  std::vector<int64_t> tree_;
  int32_t leaves_ = 1;
};

}  // namespace plimsoll::compile
