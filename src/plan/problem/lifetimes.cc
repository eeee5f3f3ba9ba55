#include "plan/problem/lifetimes.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/problem/happens_before.h"

namespace plimsoll::plan {
namespace {

// Replaces each number by its rank among the distinct ones, unless all are small already.
void RankInto(const std::vector<int64_t>& numbers, std::vector<int32_t>& ranks) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max() - 1;
  ranks.resize(numbers.size());
  const auto small = [](int64_t number) { return number >= 0 && number <= kLargest; };
  if (std::all_of(numbers.begin(), numbers.end(), small)) {
    std::copy(numbers.begin(), numbers.end(), ranks.begin());
    return;
  }
  std::vector<int64_t> distinct = numbers;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), numbers[i]);
    ranks[i] = static_cast<int32_t>(at - distinct.begin());
  }
}

std::vector<Use> RealUses(const Buffer& buffer) {
  std::vector<Use> uses = buffer.elsewhere;
  uses.push_back(buffer.life);
  std::erase_if(uses, [](const Use& use) { return use.begin == use.end; });
  return uses;
}

// The same streams with time running backwards: what is over before a step there comes after it
// here.
Problem Backwards(const Problem& problem) {
  Problem backwards;
  backwards.streams = problem.streams;
  const auto turned = [&](StreamId stream, int64_t step) {
    return problem.streams[stream.index()].steps - 1 - step;
  };
  for (const Synchronisation& sync : problem.synchronisations) {
    backwards.synchronisations.push_back(
        {sync.to, turned(sync.to, sync.to_step), sync.from, turned(sync.from, sync.from_step)});
  }
  return backwards;
}

}  // namespace

Result<Lifetimes> Lifetimes::Make(const Problem& problem) {
  Lifetimes lives;
  lives.one_line_ = problem.streams.size() <= 1 &&
                    std::all_of(problem.buffers.begin(), problem.buffers.end(),
                                [](const Buffer& buffer) { return buffer.elsewhere.empty(); });
  PLIMSOLL_TRY(lives.one_line_ ? lives.MakeOneLine(problem) : lives.MakeSeveralStreams(problem));
  return lives;
}

Status Lifetimes::MakeOneLine(const Problem& problem) {
  if (!problem.synchronisations.empty()) {
    if (auto order = HappensBefore::Make(problem); !order.ok()) return order.status();
  }
  const size_t count = problem.buffers.size();
  std::vector<int64_t> moments(2 * count);
  for (size_t i = 0; i < count; ++i) {
    moments[i] = problem.buffers[i].life.begin;
    moments[count + i] = problem.buffers[i].life.end;
  }
  std::vector<int32_t> ranks;
  RankInto(moments, ranks);
  begin_.assign(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(count));
  end_.assign(ranks.begin() + static_cast<ptrdiff_t>(count), ranks.end());
  return {};
}

Status Lifetimes::MakeSeveralStreams(const Problem& problem) {
  auto made = HappensBefore::Make(problem);
  if (!made.ok()) return made.status();
  const HappensBefore& order = *made;
  auto made_backwards = HappensBefore::Make(Backwards(problem));
  if (!made_backwards.ok()) return made_backwards.status();
  const HappensBefore& backwards = *made_backwards;
  const size_t count = problem.buffers.size();
  streams_ = problem.streams.size();
  over_before_.assign(count * streams_, std::numeric_limits<int64_t>::max());
  first_after_.assign(count * streams_, std::numeric_limits<int64_t>::min());
  uses_.resize(count);
  // The number of steps over before a step grows along every path of the order, so it numbers the
  // steps in an order that the streams allow.
  const auto rank = [](const std::vector<int64_t>& clock) {
    return std::accumulate(clock.begin(), clock.end(), static_cast<int64_t>(clock.size()));
  };
  std::vector<int64_t> moments(2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    const std::vector<Use> uses = RealUses(problem.buffers[i]);
    if (!uses.empty()) moments[i] = std::numeric_limits<int64_t>::max();
    for (const Use& use : uses) {
      const std::vector<int64_t> clock = order.Clock(use.stream, use.begin);
      const int64_t last_turned = problem.streams[use.stream.index()].steps - use.end;
      const std::vector<int64_t> turned_clock = backwards.Clock(use.stream, last_turned);
      for (size_t s = 0; s < streams_; ++s) {
        int64_t& over = over_before_[i * streams_ + s];
        over = std::min(over, clock[s]);
        int64_t& after = first_after_[i * streams_ + s];
        after = std::max(after, problem.streams[s].steps - 1 - turned_clock[s]);
      }
      uses_[i].push_back({static_cast<uint32_t>(use.stream.index()), use.begin, use.end});
      moments[i] = std::min(moments[i], rank(clock));
      moments[count + i] =
          std::max(moments[count + i], rank(order.Clock(use.stream, use.end - 1)) + 1);
    }
  }
  std::vector<int32_t> ranks;
  RankInto(moments, ranks);
  begin_.assign(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(count));
  end_.assign(ranks.begin() + static_cast<ptrdiff_t>(count), ranks.end());
  return {};
}

bool Lifetimes::Before(BufferId first, BufferId second) const {
  const int64_t* over = &over_before_[second.index() * streams_];
  const auto& uses = uses_[first.index()];
  return std::all_of(uses.begin(), uses.end(),
                     [&](const StreamSpan& use) { return use.end - 1 <= over[use.stream]; });
}

bool Lifetimes::Together(BufferId a, BufferId b) const {
  if (Empty(a) || Empty(b)) return false;
  if (one_line_) return Begin(a) < End(b) && Begin(b) < End(a);
  return !Before(a, b) && !Before(b, a);
}

}  // namespace plimsoll::plan
