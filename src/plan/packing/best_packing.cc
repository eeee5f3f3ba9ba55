#include "plan/packing/best_packing.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "plan/packing/exact_packing.h"
#include "plan/packing/greedy_packing.h"

namespace plimsoll::plan {
namespace {

// Up to this many items the search finds more in the same time than repairs do.
constexpr size_t kSearchedAtOnce = 2048;
constexpr int kRepairRounds = 16;
// What the plain greedy orders may take whatever the effort: enough for all with 100,000 items.
constexpr int64_t kFreeSteps = 600000;

class Clock {
 public:
  explicit Clock(double deadline_ms) : deadline_ms_(deadline_ms) {}

  // 0 when there is no deadline, and never 0 when there is one.
  double Left() const {
    if (deadline_ms_ <= 0) return 0;
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start_;
    return std::max(deadline_ms_ - spent.count(), kOver);
  }
  bool Over() const { return deadline_ms_ > 0 && Left() <= kOver; }

 private:
  static constexpr double kOver = 1e-3;

  const double deadline_ms_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Greedy orders that learn: what ended above the goal goes to the front of its order for the next
// placement. The orders take turns; each placed item counts as a step.
class RepairedGreedy {
 public:
  RepairedGreedy(const Packing& packing, const PackingEffort& effort, const Clock& clock)
      : packing_(packing), effort_(effort), clock_(clock) {
    best_.lower_bound = PackingLowerBound(packing);
  }

  // Round 0 places in the plain orders.
  PackingAnswer Run(int rounds) {
    std::vector<std::vector<int32_t>> sequences;
    const int64_t goal = effort_.EnoughHeight(best_.lower_bound);
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < std::size(kGreedyOrders); ++i) {
        if (Enough(goal, round)) return std::move(best_);
        if (round == 0) sequences.push_back(GreedySequence(packing_, kGreedyOrders[i]));
        PackingAnswer answer = PackInSequence(packing_, sequences[i]);
        best_.steps += Placed();
        std::stable_partition(sequences[i].begin(), sequences[i].end(), [&](int32_t index) {
          return answer.offsets[index] + packing_.items[index].size > goal;
        });
        if (!best_.offsets.empty() && answer.height >= best_.height) continue;
        best_.height = answer.height;
        best_.offsets = std::move(answer.offsets);
      }
    }
    return std::move(best_);
  }

 private:
  int64_t Placed() const { return static_cast<int64_t>(packing_.items.size()); }

  bool Enough(int64_t goal, int round) {
    if (best_.steps == 0) return false;
    const int64_t steps = round == 0 ? std::max(effort_.steps, kFreeSteps) : effort_.steps;
    if (best_.height <= goal || best_.steps + Placed() > steps) return true;
    if (clock_.Over() || effort_.Stopped()) best_.deadline_hit = true;
    return best_.deadline_hit;
  }

  const Packing& packing_;
  const PackingEffort effort_;
  const Clock& clock_;
  PackingAnswer best_;
};

}  // namespace

PackingAnswer PackBest(const Packing& packing, const PackingEffort& effort) {
  if (packing.items.empty()) return PackExact(packing, effort);
  const Clock clock(effort.deadline_ms);
  const int rounds = packing.items.size() > kSearchedAtOnce ? kRepairRounds : 1;
  PackingAnswer best = RepairedGreedy(packing, effort, clock).Run(rounds);
  PackingEffort left = effort;
  left.steps -= best.steps;
  left.deadline_ms = clock.Left();
  ImproveExactly(packing, left, {}, best);
  return best;
}

}  // namespace plimsoll::plan
