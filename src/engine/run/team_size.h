#pragma once

#include <chrono>
#include <cstdint>

namespace plimsoll::engine {

// How many of its threads a graph's short runs take. To hand work to another thread and to read
// what that has written has a price that the machine sets, and a virtual one changes it from minute
// to minute: where it is high a small graph runs faster in fewer threads, or in one.
//
// Learns from what runs take: tries half as many threads for a few runs, keeps them where these are
// faster by a twentieth, and looks again, for more and for fewer, where runs have become faster or
// slower by a third, and once in a thousand runs. Long runs take all threads. Results do not depend
// on it. Not thread-safe.
class TeamSize {
 public:
  explicit TeamSize(int most) : most_(most), settled_(most), threads_(most) {}

  int threads() const { return threads_; }  // for the next run
  void Ran(std::chrono::nanoseconds took);  // with that many

 private:
  void Settle(int threads);
  void Try();
  void EndTry();
  void EndWatch();

  static constexpr int64_t kMostBetween = 1024;  // runs from one try to the next

  int most_;
  int settled_;
  int threads_;
  bool tries_ = false;
  bool down_ = false;                      // the latest try was for fewer
  int64_t runs_ = 0;                       // since the number changed, or in this window
  int64_t since_try_ = kMostBetween;       // runs
  std::chrono::nanoseconds shortest_{0};   // of the runs that count
  std::chrono::nanoseconds reference_{0};  // the same with the settled number; 0: not known
};

}  // namespace plimsoll::engine
