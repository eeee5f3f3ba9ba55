#include "compile/order/order_graph.h"

#include <algorithm>
#include <cassert>

namespace plimsoll::compile {
namespace {

void SortAndUnite(std::vector<int32_t>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Storages that never hold a byte do not matter: -1. The others are numbered anew.
std::vector<int32_t> NumberStorages(const Schedule& schedule) {
  std::vector<int32_t> numbers(static_cast<size_t>(schedule.storages), -1);
  int32_t next = 0;
  for (const ScheduleValue& value : schedule.values) {
    if (value.bytes > 0 && numbers[value.storage] < 0) numbers[value.storage] = next++;
  }
  return numbers;
}

// Numbers for some storages of a larger graph, in the order in which they are met.
class StorageNumbers {
 public:
  StorageNumbers(const OrderGraph& graph, std::span<const int32_t> nodes) {
    for (const int32_t node : nodes) {
      for (const OrderGraph::Touch& touch : graph.touches(node)) {
        numbers_.push_back({touch.storage, static_cast<int32_t>(numbers_.size())});
      }
    }
    std::ranges::sort(numbers_);
    const auto rest = std::ranges::unique(numbers_, {}, &Numbered::storage);
    numbers_.erase(rest.begin(), rest.end());
    std::ranges::sort(numbers_, {}, &Numbered::number);
    for (size_t i = 0; i < numbers_.size(); ++i) {
      met_.push_back(numbers_[i].storage);
      numbers_[i].number = static_cast<int32_t>(i);
    }
    std::ranges::sort(numbers_);
  }

  int32_t operator[](int32_t storage) const {
    return std::ranges::lower_bound(numbers_, storage, {}, &Numbered::storage)->number;
  }
  const std::vector<int32_t>& met() const { return met_; }

 private:
  struct Numbered {
    int32_t storage;
    int32_t number;
    auto operator<=>(const Numbered&) const = default;
  };
  std::vector<Numbered> numbers_;
  std::vector<int32_t> met_;
};

}  // namespace

OrderGraph::OrderGraph(const Schedule& schedule) {
  const std::vector<int32_t> compact = NumberStorages(schedule);
  storages_.resize(static_cast<size_t>(
      std::ranges::count_if(compact, [](int32_t number) { return number >= 0; })));
  std::vector<int32_t> writers(schedule.values.size(), -1);
  for (size_t node = 0; node < schedule.nodes.size(); ++node) {
    for (const int32_t value : schedule.nodes[node].writes) {
      writers[value] = static_cast<int32_t>(node);
    }
  }
  std::vector<int32_t> before;
  for (const ScheduleNode& node : schedule.nodes) {
    before = node.after;
    for (const int32_t value : node.reads) {
      if (writers[value] >= 0) before.push_back(writers[value]);
    }
    SortAndUnite(before);
    for (const int32_t predecessor : before) predecessors_.Add(predecessor);
    predecessors_.EndRow();
    workspaces_.push_back(node.workspace);
    AddTouches(schedule, node, compact);
  }
  Index();
}

void OrderGraph::AddTouches(const Schedule& schedule, const ScheduleNode& node,
                            std::span<const int32_t> compact) {
  std::vector<Touch> touched;
  const auto touch = [&](int32_t value, int64_t written) {
    const int32_t storage = compact[schedule.values[value].storage];
    if (storage >= 0) touched.push_back({storage, written});
  };
  for (const int32_t value : node.reads) touch(value, 0);
  const size_t reads = touched.size();
  for (const int32_t value : node.writes) touch(value, schedule.values[value].bytes);
  std::vector<int32_t> written;
  for (size_t i = reads; i < touched.size(); ++i) written.push_back(touched[i].storage);
  SortAndUnite(written);
  std::ranges::stable_sort(touched, {}, &Touch::storage);
  written_.push_back(0);
  for (size_t i = 0; i < touched.size();) {
    Touch whole{.storage = touched[i].storage};
    for (; i < touched.size() && touched[i].storage == whole.storage; ++i) {
      whole.written += touched[i].written;
    }
    written_.back() += whole.written;
    storages_[whole.storage].total += whole.written;
    touches_.Add(whole);
  }
  touches_.EndRow();
  for (size_t output = 0; output < node.writes.size() && !node.in_place.empty(); ++output) {
    const int64_t bytes = schedule.values[node.writes[output]].bytes;
    for (const InPlaceChance& chance : node.in_place) {
      const ScheduleValue& input = schedule.values[chance.input];
      const int32_t storage = compact[input.storage];
      if (chance.output != node.writes[output] || bytes == 0 || storage < 0 ||
          schedule.pinned[input.storage] || std::ranges::binary_search(written, storage)) {
        continue;
      }
      takeovers_.Add({static_cast<int32_t>(output), storage, bytes});
    }
  }
  takeovers_.EndRow();
}

OrderGraph OrderGraph::Window(const OrderGraph& whole, const Placed& placed, int32_t begin,
                              int32_t end) {
  assert(0 <= begin && begin < end && end <= whole.size());
  OrderGraph window;
  window.live_before_ = placed.live[begin];
  const std::span<const int32_t> nodes = placed.order.subspan(begin, end - begin);
  const StorageNumbers numbers(whole, nodes);
  for (const int32_t storage : numbers.met()) {
    Storage seen = whole.storage(storage);
    for (const Writer& writer : whole.writers(storage)) {
      if (placed.place[writer.node] < begin) seen.held_before += writer.bytes;
    }
    seen.kept = seen.kept || placed.last[storage] >= end;
    seen.total = seen.held_before;
    window.storages_.push_back(seen);
  }
  std::vector<int32_t> before;
  for (const int32_t node : nodes) {
    before.clear();
    for (const int32_t predecessor : whole.predecessors(node)) {
      const int32_t place = placed.place[predecessor];
      if (place >= begin) before.push_back(place - begin);
    }
    SortAndUnite(before);
    for (const int32_t predecessor : before) window.predecessors_.Add(predecessor);
    window.predecessors_.EndRow();
    for (Touch touch : whole.touches(node)) {
      touch.storage = numbers[touch.storage];
      window.storages_[touch.storage].total += touch.written;
      window.touches_.Add(touch);
    }
    window.touches_.EndRow();
    for (Takeover takeover : whole.takeovers(node)) {
      takeover.storage = numbers[takeover.storage];
      window.takeovers_.Add(takeover);
    }
    window.takeovers_.EndRow();
    window.workspaces_.push_back(whole.workspace(node));
    window.written_.push_back(whole.written(node));
  }
  window.Index();
  return window;
}

void OrderGraph::Index() {
  successors_ = Rows<int32_t>(size(), [&](auto add) {
    for (int32_t node = 0; node < size(); ++node) {
      for (const int32_t predecessor : predecessors(node)) add(predecessor, node);
    }
  });
  users_ = Rows<int32_t>(storages(), [&](auto add) {
    for (int32_t node = 0; node < size(); ++node) {
      for (const Touch& touch : touches(node)) add(touch.storage, node);
    }
  });
  writers_ = Rows<Writer>(storages(), [&](auto add) {
    for (int32_t node = 0; node < size(); ++node) {
      for (const Touch& touch : touches(node)) {
        if (touch.written > 0) add(touch.storage, Writer{node, touch.written});
      }
    }
  });
}

bool OrderGraph::operator==(const OrderGraph& other) const {
  return live_before_ == other.live_before_ && predecessors_ == other.predecessors_ &&
         touches_ == other.touches_ && takeovers_ == other.takeovers_ &&
         workspaces_ == other.workspaces_ && storages_ == other.storages_;
}

uint64_t OrderGraph::Hash() const {
  uint64_t hash = 0;
  const auto mix = [&](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  mix(size());
  mix(live_before_);
  for (const int32_t predecessor : predecessors_.items()) mix(predecessor);
  for (const Touch& touch : touches_.items()) mix(touch.storage * int64_t{31} + touch.written);
  for (const Storage& storage : storages_) mix(storage.held_before + (storage.kept ? 1 : 0));
  for (const int64_t workspace : workspaces_) mix(workspace);
  return hash;
}

}  // namespace plimsoll::compile
