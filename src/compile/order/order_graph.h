#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/order/schedule.h"

namespace plimsoll::compile {

// A schedule in the form that the searches run on: no values, only nodes that touch storages.
//
// The bytes live after a set of nodes has run do not depend on the order inside the set, and
// neither does what one more node adds for a moment. So a search remembers sets, not orders. A
// window of an order, with everything before it done and everything behind it still to come, is
// again such a graph, and windows of it are cut in the same way.
class OrderGraph {
 public:
  struct Touch {
    StorageRow storage = -1;
    int64_t written = 0;  // bytes that the node writes into it

    bool operator==(const Touch&) const = default;
  };

  struct Writer {
    NodeRow node = -1;
    int64_t bytes = 0;
  };

  // Output number `output` of a node may take over `storage` when that holds `bytes` and the node
  // is the last to touch it.
  struct Takeover {
    int32_t output = -1;  // its number among the node's outputs
    StorageRow storage = -1;
    int64_t bytes = 0;

    bool operator==(const Takeover&) const = default;
  };

  struct Storage {
    int64_t held_before = 0;  // bytes written before the first node of this graph
    int64_t total = 0;        // held_before and all that the nodes write
    bool kept = false;        // touched by nodes behind this graph: never ends inside

    bool operator==(const Storage&) const = default;
  };

  // An order of all nodes, as windows are cut from it.
  struct Placed {
    std::span<const NodeRow> order;
    std::span<const int32_t> place;  // by node
    std::span<const int32_t> last;   // by storage: the place of the last node that touches it
    std::span<const int64_t> live;   // by place: bytes live before it
  };

  explicit OrderGraph(const Schedule& schedule);

  // The nodes order[begin, end) of `whole` alone. Its node i is order[begin + i]; its storages are
  // numbered as its nodes meet them, so windows that do the same work are equal. Takes as long as
  // the window is large, all who write into its storages included.
  static OrderGraph Window(const OrderGraph& whole, const Placed& placed, int32_t begin,
                           int32_t end);

  bool operator==(const OrderGraph& other) const;
  uint64_t Hash() const;  // equal graphs have equal hashes

  NodeRow size() const { return static_cast<NodeRow>(workspaces_.size()); }
  StorageRow storages() const { return static_cast<StorageRow>(storages_.size()); }
  int64_t edges() const { return static_cast<int64_t>(predecessors_.items().size()); }
  const Storage& storage(StorageRow index) const { return storages_[index]; }
  int64_t live_before() const { return live_before_; }

  std::span<const NodeRow> predecessors(NodeRow node) const { return predecessors_[node]; }
  std::span<const NodeRow> successors(NodeRow node) const { return successors_[node]; }
  std::span<const Touch> touches(NodeRow node) const { return touches_[node]; }
  std::span<const Takeover> takeovers(NodeRow node) const { return takeovers_[node]; }
  std::span<const NodeRow> users(StorageRow storage) const { return users_[storage]; }
  std::span<const Writer> writers(StorageRow storage) const { return writers_[storage]; }
  int64_t workspace(NodeRow node) const { return workspaces_[node]; }
  int64_t written(NodeRow node) const { return written_[node]; }  // sum over its touches

  bool outputs_compete(NodeRow node) const {
    return !takeovers(node).empty() &&
           takeovers(node).front().output != takeovers(node).back().output;
  }

 private:
  // Lists of lists in one piece of memory.
  template <typename Item>
  class Rows {
   public:
    Rows() = default;
    // `visit(add)` calls add(row, item) for every item; twice, the same each time.
    template <typename Visit>
    Rows(int32_t rows, Visit visit) : ends_(static_cast<size_t>(rows) + 1) {
      visit([&](int32_t row, const Item&) { ++ends_[row + 1]; });
      for (int32_t row = 0; row < rows; ++row) ends_[row + 1] += ends_[row];
      items_.resize(ends_.back());
      std::vector<uint32_t> next(ends_.begin(), ends_.end() - 1);
      visit([&](int32_t row, const Item& item) { items_[next[row]++] = item; });
    }

    std::span<const Item> operator[](int32_t row) const {
      return std::span(items_).subspan(ends_[row], ends_[row + 1] - ends_[row]);
    }
    void Add(const Item& item) { items_.push_back(item); }
    void EndRow() { ends_.push_back(static_cast<uint32_t>(items_.size())); }
    const std::vector<Item>& items() const { return items_; }
    bool operator==(const Rows&) const = default;

   private:
    std::vector<Item> items_;
    std::vector<uint32_t> ends_ = {0};
  };

  OrderGraph() = default;

  void AddTouches(const Schedule& schedule, const ScheduleNode& node,
                  std::span<const StorageRow> compact);
  void Index();

  Rows<NodeRow> predecessors_;
  Rows<Touch> touches_;
  Rows<Takeover> takeovers_;
  std::vector<int64_t> workspaces_;
  std::vector<int64_t> written_;
  std::vector<Storage> storages_;
  int64_t live_before_ = 0;

  // What follows from the rest.
  Rows<NodeRow> successors_;
  Rows<NodeRow> users_;
  Rows<Writer> writers_;
};

}  // namespace plimsoll::compile
