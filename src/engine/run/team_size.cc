#include "engine/run/team_size.h"

#include <algorithm>

namespace plimsoll::engine {
namespace {

using std::chrono::nanoseconds;

// A longer run has work for all, and a try would cost too much.
constexpr nanoseconds kLongest = std::chrono::milliseconds(4);
constexpr int64_t kSkipped = 2;  // runs behind a change: threads fall asleep, or wake
constexpr int64_t kCounted = 8;  // of which the shortest tells
constexpr int64_t kLeastBetween = 64;
constexpr int64_t kDoubted = 128;  // runs until fewer threads are looked at again

bool IsBelow(nanoseconds some, nanoseconds other, int64_t percent) {
  return some.count() * 100 < other.count() * percent;
}

}  // namespace

void TeamSize::Settle(int threads) {
  threads_ = settled_ = threads;
  tries_ = false;
  runs_ = 0;
  reference_ = {};
}

void TeamSize::Try() {
  const int next = down_ ? (settled_ + 1) / 2 : std::min(settled_ * 2, most_);
  if (next == settled_) return Settle(settled_);
  threads_ = next;
  tries_ = true;
  runs_ = 0;
}

void TeamSize::EndTry() {
  const bool better = IsBelow(shortest_, reference_, 95);
  if (!better) return Settle(settled_);
  settled_ = threads_;
  reference_ = shortest_;
  // It may have been something else that slowed the others down.
  since_try_ = kMostBetween - kDoubted;
  Try();
}

void TeamSize::EndWatch() {
  runs_ = kSkipped;
  if (reference_ == nanoseconds(0)) reference_ = shortest_;
  const bool changed = IsBelow(shortest_, reference_, 75) || IsBelow(reference_, shortest_, 75);
  if (since_try_ < (changed ? kLeastBetween : kMostBetween)) return;
  since_try_ = 0;
  reference_ = shortest_;
  down_ = settled_ == most_ || (settled_ > 1 && !down_);
  Try();
}

void TeamSize::Ran(nanoseconds took) {
  if (most_ == 1) return;
  ++since_try_;
  if (took > kLongest) return Settle(most_);
  if (++runs_ <= kSkipped) return;
  shortest_ = runs_ == kSkipped + 1 ? took : std::min(shortest_, took);
  if (runs_ < kSkipped + kCounted) return;
  tries_ ? EndTry() : EndWatch();
}

}  // namespace plimsoll::engine
