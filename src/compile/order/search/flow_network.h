#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace plimsoll::compile {

// A maximum flow, and with it the smallest cut, between two vertices of a directed network.
//
// Flow goes along shortest paths first, so the rounds are at most as many as the vertices. One
// thread. The sum of the limited capacities must stay below kUnlimited.
class FlowNetwork {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

  explicit FlowNetwork(int32_t vertices);

  int32_t AddVertex();
  void AddArc(int32_t from, int32_t to, int64_t capacity);

  // Once. False when more than `step_limit` arcs had to be looked at.
  bool Saturate(int32_t source, int32_t target, int64_t step_limit);

  // After Saturate: on the source's side of the smallest cut, the one nearest to the source.
  bool NearSource(int32_t vertex) const { return level_[vertex] >= 0; }
  int64_t flow() const { return flow_; }
  int64_t steps() const { return steps_; }

 private:
  struct Arc {
    int32_t to;
    int64_t room;
  };

  bool Level(int32_t source, int32_t target);
  bool Push(int32_t source, int32_t target);

  std::vector<Arc> arcs_;  // each next to its reverse
  std::vector<std::vector<int32_t>> arcs_of_;
  std::vector<int32_t> level_;  // distance from the source; -1 where no room leads
  std::vector<size_t> next_;    // by vertex: the arc that Push tries next
  int64_t flow_ = 0;
  int64_t steps_ = 0;
};

}  // namespace plimsoll::compile
