#include "compile/order/schedule.h"

#include <algorithm>
#include <cassert>

namespace plimsoll::compile {
namespace {

// What the walk knows of a storage: its bytes so far, and the nodes that have yet to touch it.
struct Storage {
  int64_t held = 0;
  int32_t touches_left = 0;
};

class Walker {
 public:
  explicit Walker(const Schedule& schedule)
      : schedule_(schedule), storages_(static_cast<size_t>(schedule.storages)) {
    for (const ScheduleNode& node : schedule.nodes) {
      for (const StorageRow storage : Touched(node)) ++storages_[storage].touches_left;
    }
  }

  Walk Run(std::span<const NodeRow> order) {
    for (const NodeRow node : order) Step(node);
    return std::move(walk_);
  }

 private:
  std::vector<StorageRow> Touched(const ScheduleNode& node) const {
    std::vector<StorageRow> touched;
    for (const ValueRow value : node.reads) touched.push_back(schedule_.values[value].storage);
    for (const ValueRow value : node.writes) touched.push_back(schedule_.values[value].storage);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    return touched;
  }

  void Step(NodeRow index) {
    const ScheduleNode& node = schedule_.nodes[index];
    for (const ValueRow value : node.writes) Write(index, value);
    if (live_ + node.workspace > walk_.peak || walk_.peak_node < 0) {
      walk_.peak = live_ + node.workspace;
      walk_.peak_node = index;
    }
    for (const StorageRow storage : Touched(node)) {
      if (--storages_[storage].touches_left == 0) {
        live_ -= storages_[storage].held;
        storages_[storage].held = 0;
      }
    }
  }

  void Write(NodeRow index, ValueRow value) {
    const auto [bytes, storage] = schedule_.values[value];
    const ValueRow input = bytes > 0 ? TakenOver(schedule_.nodes[index], value) : -1;
    if (input >= 0) {
      storages_[schedule_.values[input].storage].held = 0;
      walk_.in_place.push_back({index, value, input});
    } else {
      live_ += bytes;
    }
    storages_[storage].held += bytes;
  }

  ValueRow TakenOver(const ScheduleNode& node, ValueRow output) const {
    const int64_t bytes = schedule_.values[output].bytes;
    for (const InPlaceChance& chance : node.in_place) {
      if (chance.output != output) continue;
      const StorageRow taken = schedule_.values[chance.input].storage;
      const Storage& storage = storages_[taken];
      if (storage.held == bytes && storage.touches_left == 1 && !schedule_.pinned[taken] &&
          !WritesInto(node, taken)) {
        return chance.input;
      }
    }
    return -1;
  }

  bool WritesInto(const ScheduleNode& node, StorageRow storage) const {
    return std::ranges::any_of(
        node.writes, [&](ValueRow value) { return schedule_.values[value].storage == storage; });
  }

  const Schedule& schedule_;
  std::vector<Storage> storages_;
  int64_t live_ = 0;
  Walk walk_;
};

}  // namespace

bool IsLegalOrder(const Schedule& schedule, std::span<const NodeRow> order) {
  if (order.size() != schedule.nodes.size()) return false;
  std::vector<bool> written(schedule.values.size(), true);
  std::vector<bool> done(schedule.nodes.size(), false);
  for (const ScheduleNode& node : schedule.nodes) {
    for (const ValueRow value : node.writes) written[value] = false;
  }
  for (const NodeRow index : order) {
    const ScheduleNode& node = schedule.nodes[index];
    if (done[index] ||
        !std::ranges::all_of(node.reads, [&](ValueRow value) { return written[value]; }) ||
        !std::ranges::all_of(node.after, [&](NodeRow before) { return done[before]; })) {
      return false;
    }
    for (const ValueRow value : node.writes) written[value] = true;
    done[index] = true;
  }
  return true;
}

Walk WalkOrder(const Schedule& schedule, std::span<const NodeRow> order) {
  assert(IsLegalOrder(schedule, order));
  return Walker(schedule).Run(order);
}

}  // namespace plimsoll::compile
