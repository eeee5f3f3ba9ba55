#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "compile/order/schedule.h"

// For tests: small random schedules, and answers about them by plain enumeration.
namespace plimsoll::compile {

using NodeSet = uint32_t;  // bit i: node i has run

inline bool Contains(NodeSet set, int32_t node) { return (set >> node & 1U) != 0; }

// Nodes that touch the storage.
inline NodeSet Touching(const Schedule& schedule, int32_t storage) {
  NodeSet touching = 0;
  for (size_t node = 0; node < schedule.nodes.size(); ++node) {
    for (const auto& values : {schedule.nodes[node].reads, schedule.nodes[node].writes}) {
      for (const int32_t value : values) {
        if (schedule.values[value].storage == storage) touching |= NodeSet{1} << node;
      }
    }
  }
  return touching;
}

inline int64_t HeldBy(const Schedule& schedule, int32_t storage, NodeSet done) {
  int64_t held = 0;
  for (size_t node = 0; node < schedule.nodes.size(); ++node) {
    if (!Contains(done, static_cast<int32_t>(node))) continue;
    for (const int32_t value : schedule.nodes[node].writes) {
      if (schedule.values[value].storage == storage) held += schedule.values[value].bytes;
    }
  }
  return held;
}

// Bytes live while `node` runs when `done` has run before, straight from the rules.
inline int64_t BytesWhile(const Schedule& schedule, NodeSet done, int32_t node) {
  const ScheduleNode& running = schedule.nodes[node];
  int64_t bytes = running.workspace;
  for (int32_t storage = 0; storage < schedule.storages; ++storage) {
    if ((Touching(schedule, storage) & ~done) != 0) bytes += HeldBy(schedule, storage, done);
  }
  std::set<int32_t> taken;  // or written into by the node itself
  for (const int32_t output : running.writes) {
    taken.insert(schedule.values[output].storage);
  }
  for (const int32_t output : running.writes) {
    const int64_t size = schedule.values[output].bytes;
    bytes += size;
    for (const InPlaceChance& chance : running.in_place) {
      const int32_t storage = schedule.values[chance.input].storage;
      if (chance.output != output || size == 0 || schedule.pinned[storage] ||
          taken.contains(storage) || HeldBy(schedule, storage, done) != size ||
          (Touching(schedule, storage) & ~done) != NodeSet{1} << node) {
        continue;
      }
      taken.insert(storage);
      bytes -= size;
      break;
    }
  }
  return bytes;
}

// The nodes that must have run before `node` may.
inline NodeSet Needed(const Schedule& schedule, int32_t node) {
  NodeSet needed = 0;
  for (const int32_t before : schedule.nodes[node].after) needed |= NodeSet{1} << before;
  for (size_t writer = 0; writer < schedule.nodes.size(); ++writer) {
    for (const int32_t value : schedule.nodes[writer].writes) {
      if (std::ranges::count(schedule.nodes[node].reads, value) > 0) needed |= NodeSet{1} << writer;
    }
  }
  return needed;
}

inline bool MayRun(const Schedule& schedule, NodeSet done, int32_t node) {
  return !Contains(done, node) && (Needed(schedule, node) & ~done) == 0;
}

inline bool IsLegal(const Schedule& schedule, const Order& order) {
  NodeSet done = 0;
  for (const int32_t node : order) {
    if (!MayRun(schedule, done, node)) return false;
    done |= NodeSet{1} << node;
  }
  return order.size() == schedule.nodes.size();
}

inline int64_t PeakByRules(const Schedule& schedule, const Order& order) {
  NodeSet done = 0;
  int64_t peak = 0;
  for (const int32_t node : order) {
    peak = std::max(peak, BytesWhile(schedule, done, node));
    done |= NodeSet{1} << node;
  }
  return peak;
}

// What the whole enumeration knows: the lowest peak of all orders, and for each node the fewest
// bytes at which any order can run it.
struct Enumeration {
  int64_t lowest_peak = 0;
  std::vector<int64_t> cheapest;
};

inline Enumeration Enumerate(const Schedule& schedule) {
  const auto size = static_cast<int32_t>(schedule.nodes.size());
  Enumeration result{.cheapest = std::vector<int64_t>(schedule.nodes.size(), INT64_MAX)};
  std::vector<int64_t> peaks(size_t{1} << size, INT64_MAX);  // of the best way to each set
  peaks[0] = 0;
  for (NodeSet done = 0; done < peaks.size(); ++done) {
    if (peaks[done] == INT64_MAX) continue;
    for (int32_t node = 0; node < size; ++node) {
      if (!MayRun(schedule, done, node)) continue;
      const int64_t bytes = BytesWhile(schedule, done, node);
      int64_t& peak = peaks[done | NodeSet{1} << node];
      peak = std::min(peak, std::max(peaks[done], bytes));
      result.cheapest[node] = std::min(result.cheapest[node], bytes);
    }
  }
  result.lowest_peak = peaks.back();
  return result;
}

inline Order FileOrder(const Schedule& schedule) {
  Order order(schedule.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Random wiring over `size` nodes: views, storages with several writers, pinned storages, chances
// to run in place, nodes with two outputs, workspaces, extra edges.
inline Schedule RandomSchedule(uint32_t seed, int32_t size) {
  std::mt19937 random(seed);
  const auto below = [&](size_t limit) { return static_cast<int32_t>(random() % limit); };
  Schedule schedule;
  const auto add_storage = [&](bool pinned) {
    schedule.pinned.push_back(pinned);
    return schedule.storages++;
  };
  const auto add_value = [&](int64_t bytes, int32_t storage) {
    schedule.values.push_back({bytes, storage});
    return static_cast<int32_t>(schedule.values.size()) - 1;
  };
  add_value(0, add_storage(true));
  for (int32_t index = 0; index < size; ++index) {
    ScheduleNode node;
    const auto known = schedule.values.size();
    for (int32_t reads = 1 + below(3); reads > 0; --reads) {
      const auto recent = std::min<size_t>(known, 5);
      const auto value = static_cast<int32_t>(known - recent) + below(recent);
      if (std::ranges::count(node.reads, value) == 0) node.reads.push_back(value);
    }
    for (int32_t writes = below(4) == 0 ? 2 : 1; writes > 0; --writes) {
      const int32_t kind = below(10);
      const int64_t bytes = 1 + below(4);
      if (kind == 0) {
        node.writes.push_back(add_value(0, schedule.values[node.reads[0]].storage));
      } else if (kind == 1) {
        node.writes.push_back(add_value(0, add_storage(true)));
      } else if (kind == 2 && schedule.storages > 1) {
        const int32_t storage = below(schedule.storages);
        node.writes.push_back(add_value(schedule.pinned[storage] ? 0 : bytes, storage));
      } else {
        node.writes.push_back(add_value(bytes, add_storage(false)));
        for (const int32_t input : node.reads) {
          if (below(2) == 0) node.in_place.push_back({node.writes.back(), input});
        }
      }
    }
    if (index > 0 && below(6) == 0) node.after.push_back(below(index));
    if (below(4) == 0) node.workspace = below(4);
    schedule.nodes.push_back(std::move(node));
  }
  return schedule;
}

}  // namespace plimsoll::compile
