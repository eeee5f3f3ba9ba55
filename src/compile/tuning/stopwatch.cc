#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include "compile/tuning/tuning.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

namespace plimsoll::compile {
namespace {

constexpr double kClearly = 1.03;

// Of one thread its processor time, so that others on the machine do not count.
double Seconds() {
  timespec now{};
  clock_gettime(kernels::Threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Seconds of `times` runs, for one of them.
Result<double> TimeOf(const Candidate& candidate, int times) {
  const double begin = Seconds();
  for (int i = 0; i < times; ++i) PLIMSOLL_TRY(candidate.run());
  return (Seconds() - begin) / times;
}

}  // namespace

Stopwatch StopwatchFor(bool longer) {
  return [longer](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
    constexpr double kOneTime = 200e-6;  // shorter runs are repeated
    constexpr double kHopeless = 1.5;    // times the first one's
    constexpr int kMostRepeats = 100;
    const int rounds = longer ? 12 : 5;
    std::vector<double> best;
    for (const Candidate& candidate : candidates) {
      PLIMSOLL_TRY(candidate.run());  // touches what it needs
      PLIMSOLL_ASSIGN(const double once, TimeOf(candidate, 1));
      best.push_back(once);
    }
    const int repeats =
        static_cast<int>(std::clamp<double>(kOneTime / std::max(best[0], 1e-9), 1, kMostRepeats));
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < candidates.size(); ++i) {
        if (round > 0 && best[i] > best[0] * kHopeless) continue;
        PLIMSOLL_ASSIGN(const double time, TimeOf(candidates[i], repeats));
        best[i] = std::min(best[i], time);
      }
    }
    return best;
  };
}

Result<size_t> ClearlyFastest(const Stopwatch& stopwatch, const std::vector<Candidate>& candidates,
                              double* gain) {
  *gain = 1;
  if (candidates.size() < 2) return 0;
  PLIMSOLL_ASSIGN(const std::vector<double> first, stopwatch(candidates));
  const auto fastest = static_cast<size_t>(std::ranges::min_element(first) - first.begin());
  if (first[0] < first[fastest] * kClearly) return 0;
  // Chance would not favour the same one again.
  PLIMSOLL_ASSIGN(const std::vector<double> again,
                  stopwatch(std::vector<Candidate>{candidates[0], candidates[fastest]}));
  if (again[0] < again[1] * kClearly) return 0;
  *gain = again[0] / again[1];
  return fastest;
}

bool Agree(const kernels::HostTensor& got, const kernels::HostTensor& expected, bool exactly) {
  if (got.type != expected.type || got.dims != expected.dims) return false;
  if (exactly || !graph::IsFloating(got.type)) {
    return std::memcmp(got.data.get(), expected.data.get(),
                       static_cast<size_t>(got.size().value())) == 0;
  }
  constexpr double kRelative = 1e-3;
  constexpr double kOfLargest = 1e-5;  // what cancels out is compared with what is left
  const auto at = [](const kernels::HostTensor& tensor, int64_t i) {
    return kernels::LoadDouble(tensor.type, tensor.data.get(), i);
  };
  double largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    if (std::isfinite(at(expected, i))) largest = std::max(largest, std::abs(at(expected, i)));
  }
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = at(got, i);
    const double b = at(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= kRelative * std::abs(b) + kOfLargest * largest)) return false;
  }
  return true;
}

}  // namespace plimsoll::compile
