#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "compile/order/order_graph.h"
#include "compile/order/search/order_line.h"

namespace plimsoll::compile {

// Looks for ever lower peaks of one graph, which it can leave and take up again.
//
// Orders that need no search come first, and always run. From the best of them it goes on: the node
// at the peak moves to its cheapest moment (a cut), and windows around the peak are searched, ever
// wider. Where the peak is reached at several places, one fewer is an improvement. What it does
// follows from the graph alone; `steps` only says when to stop. One thread.
class OrderImprover {
 public:
  // `stop`, once true, ends the work like steps that are spent; null: nothing does.
  explicit OrderImprover(OrderGraph graph, const std::atomic<bool>* stop = nullptr);
  OrderImprover(const OrderImprover&) = delete;
  OrderImprover& operator=(const OrderImprover&) = delete;

  const OrderGraph& graph() const { return graph_; }
  const Order& order() const {
    return line_.order();
  }  // node i of the graph is in place i at first
  int64_t peak() const { return line_.peak(); }
  int64_t lower_bound() const { return lower_bound_; }  // of the peak of every order
  bool Proven() const { return peak() <= lower_bound_; }

  // Works until the peak is lower, or at most `enough`. False: nothing further was found, or the
  // steps are spent, which are counted down.
  bool Improve(int64_t enough, int64_t& steps);

 private:
  void TryPlainOrders(int64_t enough, int64_t& steps);
  bool Settle(Order order, int64_t& steps);
  bool Offer(const Order& order, const std::pair<int64_t, int64_t>& height);
  bool MovePeak(int64_t limit, int64_t& steps);
  bool SearchWindows(int64_t& steps);
  bool Stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  const OrderGraph graph_;
  const std::atomic<bool>* const stop_;
  OrderLine line_;
  int64_t lower_bound_ = 0;
  bool tried_plain_orders_ = false;
  int32_t width_;            // of the beam
  int64_t cut_limit_;        // steps for one cut
  bool cut_pending_ = true;  // since the order last changed
};

}  // namespace plimsoll::compile
