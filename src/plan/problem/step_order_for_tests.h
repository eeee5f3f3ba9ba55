#pragma once

#include <algorithm>
#include <vector>

#include "plan/problem/random_problem_for_tests.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Which steps of all streams happen before which others, by following every synchronisation from
// every step: no idea of vector clocks is shared. For a handful of steps.
class StepOrder {
 public:
  explicit StepOrder(const Problem& problem) {
    for (const Stream& stream : problem.streams) {
      first_.push_back(count_);
      count_ += static_cast<size_t>(stream.steps);
    }
    before_.assign(count_, std::vector<bool>(count_, false));
    for (size_t s = 0; s < problem.streams.size(); ++s) {
      for (int64_t step = 1; step < problem.streams[s].steps; ++step) {
        before_[At(s, step - 1)][At(s, step)] = true;
      }
    }
    for (const Synchronisation& sync : problem.synchronisations) {
      before_[At(sync.from.index(), sync.from_step)][At(sync.to.index(), sync.to_step)] = true;
    }
    for (size_t middle = 0; middle < count_; ++middle) {
      for (size_t a = 0; a < count_; ++a) {
        for (size_t b = 0; before_[a][middle] && b < count_; ++b) {
          if (before_[middle][b]) before_[a][b] = true;
        }
      }
    }
  }

  bool Before(size_t stream, int64_t step, size_t other, int64_t other_step) const {
    return before_[At(stream, step)][At(other, other_step)];
  }
  // Whether every use of one is over before every use of the other begins.
  bool Before(const Buffer& a, const Buffer& b) const {
    for (const Use& first : Uses(a)) {
      for (const Use& second : Uses(b)) {
        if (!Before(first.stream.index(), first.end - 1, second.stream.index(), second.begin)) {
          return false;
        }
      }
    }
    return true;
  }

  static std::vector<Use> Uses(const Buffer& buffer) {
    std::vector<Use> uses = {buffer.life};
    uses.insert(uses.end(), buffer.elsewhere.begin(), buffer.elsewhere.end());
    std::erase_if(uses, [](const Use& use) { return use.begin == use.end; });
    return uses;
  }

 private:
  size_t At(size_t stream, int64_t step) const {
    return first_[stream] + static_cast<size_t>(step);
  }

  std::vector<size_t> first_;
  size_t count_ = 0;
  std::vector<std::vector<bool>> before_;
};

// Two to four streams whose steps were shuffled into one order: every synchronisation goes forward
// in it, so that there is no circle, between any streams and also within one, from high steps to
// low ones as well, and listed in no order.
inline Problem RandomStreams(RandomProblem& dice) {
  Problem problem;
  problem.AddRegion({.name = "map", .alignment = 1});
  const int64_t streams = dice.Between(2, 4);
  for (int64_t i = 0; i < streams; ++i) problem.AddStream({.steps = dice.Between(1, 6)});
  struct Place {
    StreamId stream;
    int64_t step;
  };
  std::vector<Place> line;
  std::vector<int64_t> next(static_cast<size_t>(streams), 0);
  const auto left = [&](size_t s) { return next[s] < problem.streams[s].steps; };
  for (int64_t all = 0; all < 6 * streams; ++all) {
    auto s = static_cast<size_t>(dice.Between(0, streams - 1));
    for (int64_t i = 0; i < streams && !left(s); ++i) s = (s + 1) % static_cast<size_t>(streams);
    if (left(s)) line.push_back({StreamId(s), next[s]++});
  }
  const int64_t waits = dice.Between(0, 9);
  const auto last = static_cast<int64_t>(line.size()) - 1;
  for (int64_t i = 0; i < waits && last > 0; ++i) {
    const int64_t from = dice.Between(0, last - 1);
    const Place& a = line[static_cast<size_t>(from)];
    const Place& b = line[static_cast<size_t>(dice.Between(from + 1, last))];
    problem.synchronisations.push_back({a.stream, a.step, b.stream, b.step});
  }
  return problem;
}

}  // namespace plimsoll::plan
