#include "compile/order/search/flow_network.h"

#include <algorithm>

namespace plimsoll::compile {

FlowNetwork::FlowNetwork(int32_t vertices)
    : arcs_of_(static_cast<size_t>(vertices)), level_(arcs_of_.size()), next_(arcs_of_.size()) {}

int32_t FlowNetwork::AddVertex() {
  arcs_of_.emplace_back();
  level_.emplace_back();
  next_.emplace_back();
  return static_cast<int32_t>(arcs_of_.size()) - 1;
}

void FlowNetwork::AddArc(int32_t from, int32_t to, int64_t capacity) {
  arcs_of_[from].push_back(static_cast<int32_t>(arcs_.size()));
  arcs_.push_back({to, capacity});
  arcs_of_[to].push_back(static_cast<int32_t>(arcs_.size()));
  arcs_.push_back({from, 0});
}

bool FlowNetwork::Saturate(int32_t source, int32_t target, int64_t step_limit) {
  while (Level(source, target)) {
    std::ranges::fill(next_, 0);
    while (Push(source, target)) {
      if (steps_ > step_limit) return false;
    }
    if (steps_ > step_limit) return false;
  }
  return true;
}

bool FlowNetwork::Level(int32_t source, int32_t target) {
  std::ranges::fill(level_, -1);
  std::vector<int32_t> queue = {source};
  level_[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int32_t index : arcs_of_[queue[i]]) {
      ++steps_;
      const Arc& arc = arcs_[index];
      if (arc.room == 0 || level_[arc.to] >= 0) continue;
      level_[arc.to] = level_[queue[i]] + 1;
      queue.push_back(arc.to);
    }
  }
  return level_[target] >= 0;
}

// Sends flow along one more path of arcs that each climb one level.
bool FlowNetwork::Push(int32_t source, int32_t target) {
  std::vector<int32_t> path;
  int32_t at = source;
  while (at != target) {
    bool advanced = false;
    for (size_t& i = next_[at]; i < arcs_of_[at].size(); ++i) {
      ++steps_;
      const Arc& arc = arcs_[arcs_of_[at][i]];
      if (arc.room == 0 || level_[arc.to] != level_[at] + 1) continue;
      path.push_back(arcs_of_[at][i]);
      at = arc.to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path.empty()) return false;
    at = arcs_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[at];
  }
  int64_t amount = kUnlimited;
  for (const int32_t index : path) amount = std::min(amount, arcs_[index].room);
  for (const int32_t index : path) {
    arcs_[index].room -= amount;
    arcs_[index ^ 1].room += amount;
  }
  flow_ += amount;
  return true;
}

}  // namespace plimsoll::compile
