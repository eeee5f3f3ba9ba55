#include "plan/packing/exact_packing.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "plan/packing/greedy_packing.h"
#include "plan/packing/packing_search.h"
#include "plan/packing/packing_sections.h"
#include "plan/packing/packing_strategies.h"

namespace plimsoll::plan {
namespace {

// Beyond these the search would take gigabytes, or too deep a stack.
constexpr size_t kMostOverlaps = size_t{1} << 25;
constexpr size_t kMostItems = 4096;

// Narrows [low_, high_], between which the minimum lies, by searches at chosen capacities. All
// heights count in units.
class Minimizer {
 public:
  Minimizer(const Packing& packing, const SectionedPacking& sectioned, const PackingEffort& effort,
            const ExactTechniques& techniques)
      : packing_(packing),
        sectioned_(sectioned),
        techniques_(techniques),
        effort_(effort),
        search_(sectioned, techniques) {
    for (const SectionedItem& item : sectioned_.items) {
      const PackingItem& from = packing_.items[item.original];
      lengths_.push_back(static_cast<double>(from.end) - from.begin);
    }
    if (effort_.deadline_ms > 0) {
      deadline_ = std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double, std::milli>(effort_.deadline_ms));
    }
  }

  void Improve(PackingAnswer& answer) {
    const int64_t unit = sectioned_.unit;
    low_ = (answer.lower_bound + unit - 1) / unit;
    high_ = (answer.height + unit - 1) / unit;
    goal_ = effort_.capacity < 0 ? 0 : effort_.capacity / unit;
    answer_ = &answer;
    // Who minimises asks for many heights in each round.
    const int64_t steps_per_item = effort_.capacity < 0 ? 2 : 4;
    first_share_ = steps_per_item * static_cast<int64_t>(sectioned_.items.size()) + 100;
    for (int64_t round = 0; !Done(); ++round) {
      effort_.capacity < 0 ? Bisect(round) : Decide(round);
    }
    answer.lower_bound = std::max(answer.lower_bound, low_ * unit);
    answer.optimal = low_ >= high_;
    answer.infeasible = effort_.capacity >= 0 && low_ > goal_;
    answer.steps += steps_;
    answer.deadline_hit |= deadline_hit_;
  }

 private:
  using Outcome = PackingSearch::Outcome;

  bool Done() const {
    return high_ * sectioned_.unit <= effort_.EnoughHeight(low_ * sectioned_.unit) ||
           deadline_hit_ || steps_ >= effort_.steps ||
           (effort_.capacity >= 0 && (high_ <= goal_ || low_ > goal_));
  }

  // The lowest place first, which is the best outcome; then halves what is left above it.
  void Bisect(int64_t round) {
    Attempt(low_, round);
    int64_t untried = low_ + 1;
    while (!Done() && untried < high_) {
      const int64_t middle = untried + (high_ - untried) / 2;
      if (Attempt(std::min(middle, high_ - 1), round) != Outcome::kFound) untried = middle + 1;
      untried = std::max(untried, low_ + 1);
    }
  }

  // Less room than there is often makes the search faster, since it prunes more.
  void Decide(int64_t round) {
    Attempt(goal_, round);
    if (!Done() && low_ < goal_) Attempt(low_, round);
  }

  Outcome Attempt(int64_t capacity, int64_t round) {
    PackingRefutations passing;
    PackingRefutations& refutations = capacity == low_    ? Lowest(capacity)
                                      : capacity == goal_ ? at_goal_
                                                          : passing;
    const int64_t strategies = techniques_.restarts ? kPlainStrategies : 1;
    const int64_t share = LubyShare(round);
    // A share longer than all before goes to the strategies themselves, others to perturbed ones.
    const bool plain = std::has_single_bit(static_cast<uint64_t>(round) + 2);
    for (int64_t i = 0; i < strategies && !Done(); ++i) {
      PackingStrategy strategy = StrategyOf(i, plain ? 0 : static_cast<uint64_t>(round));
      if (!techniques_.tightest_first) strategy.pick = PackingSearch::Pick::kSequence;
      PackingSearch::Limits limits;
      limits.capacity = capacity;
      limits.deadline = deadline_;
      limits.stop = effort_.stop;
      limits.steps = effort_.steps - steps_;
      if (techniques_.restarts) limits.steps = std::min(limits.steps, first_share_ * share);
      const Outcome outcome = search_.Run(StrategySequence(sectioned_, lengths_, strategy),
                                          strategy.pick, limits, refutations);
      steps_ += search_.steps();
      deadline_hit_ |= search_.deadline_hit();
      if (outcome == Outcome::kFound) Keep();
      if (outcome == Outcome::kRefuted) low_ = std::max(low_, capacity + 1);
      if (outcome != Outcome::kSpent) return outcome;
    }
    return Outcome::kSpent;
  }

  PackingRefutations& Lowest(int64_t capacity) {
    if (at_low_of_ != capacity) at_low_ = {};
    at_low_of_ = capacity;
    return at_low_;
  }

  void Keep() {
    int64_t height = 0;
    for (size_t i = 0; i < sectioned_.items.size(); ++i) {
      const SectionedItem& item = sectioned_.items[i];
      answer_->offsets[item.original] = search_.offsets()[i] * sectioned_.unit;
      height = std::max(height, search_.offsets()[i] + item.size);
    }
    high_ = height;
    answer_->height = height * sectioned_.unit;
  }

  const Packing& packing_;
  const SectionedPacking& sectioned_;
  const ExactTechniques techniques_;
  const PackingEffort effort_;
  PackingSearch search_;
  std::vector<double> lengths_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  PackingAnswer* answer_ = nullptr;
  PackingRefutations at_low_;
  PackingRefutations at_goal_;
  int64_t at_low_of_ = -1;
  int64_t low_ = 0;
  int64_t high_ = 0;
  int64_t goal_ = 0;
  int64_t first_share_ = 0;
  int64_t steps_ = 0;
  bool deadline_hit_ = false;
};

}  // namespace

PackingAnswer PackExact(const Packing& packing, const PackingEffort& effort,
                        const ExactTechniques& techniques) {
  PackingAnswer best = PackBestGreedy(packing, effort.capacity);
  ImproveExactly(packing, effort, techniques, best);
  return best;
}

void ImproveExactly(const Packing& packing, const PackingEffort& effort,
                    const ExactTechniques& techniques, PackingAnswer& answer) {
  answer.optimal = answer.height <= answer.lower_bound;
  answer.infeasible = effort.capacity >= 0 && answer.lower_bound > effort.capacity;
  const bool enough = answer.height <= effort.EnoughHeight(answer.lower_bound);
  if (enough || answer.infeasible) return;
  if (packing.items.size() > kMostItems) return;
  const std::optional<SectionedPacking> sectioned =
      MakeSections(packing, techniques.divisor, kMostOverlaps);
  if (sectioned) Minimizer(packing, *sectioned, effort, techniques).Improve(answer);
}

}  // namespace plimsoll::plan
