#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// What each reduction does to a wide number: where it starts, how it takes an element, how it ends.
namespace plimsoll::kernels::cpu {

// The running total of a reduction; only ReduceLogSumExp needs `second`.
template <typename Wide>
struct Total {
  Wide first;
  Wide second;
};

template <typename Wide>
constexpr Wide kLowest = std::is_floating_point_v<Wide> ? -std::numeric_limits<Wide>::infinity()
                                                        : std::numeric_limits<Wide>::lowest();
template <typename Wide>
constexpr Wide kHighest = std::is_floating_point_v<Wide> ? std::numeric_limits<Wide>::infinity()
                                                         : std::numeric_limits<Wide>::max();

// Integers wrap around, as those of the standard's tensors do.
template <typename Wide>
Wide Plus(Wide a, Wide b) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename Wide>
Wide Times(Wide a, Wide b) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

struct SumStep {
  template <typename Wide>
  static Total<Wide> Start() {
    return {0, 0};
  }
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    total.first = Plus(total.first, x);
  }
  template <typename Wide>
  static Wide End(const Total<Wide>& total, int64_t) {
    return total.first;
  }
};

struct MeanStep : SumStep {
  template <typename Wide>
  static Wide End(const Total<Wide>& total, int64_t count) {
    if constexpr (std::is_integral_v<Wide>) {
      return count == 0 ? 0 : total.first / static_cast<Wide>(count);
    } else {
      return total.first / static_cast<Wide>(count);
    }
  }
};

struct ProductStep : SumStep {
  template <typename Wide>
  static Total<Wide> Start() {
    return {1, 0};
  }
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    total.first = Times(total.first, x);
  }
};

struct MaxStep : SumStep {
  template <typename Wide>
  static Total<Wide> Start() {
    return {kLowest<Wide>, 0};
  }
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    if (x > total.first || x != x) total.first = x;
  }
};

struct MinStep : SumStep {
  template <typename Wide>
  static Total<Wide> Start() {
    return {kHighest<Wide>, 0};
  }
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    if (x < total.first || x != x) total.first = x;
  }
};

struct L1Step : SumStep {
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    total.first = Plus(total.first, x < 0 ? Times<Wide>(x, -1) : x);
  }
};

struct SumSquareStep : SumStep {
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    total.first = Plus(total.first, Times(x, x));
  }
};

struct L2Step : SumSquareStep {
  template <typename Wide>
  static Wide End(const Total<Wide>& total, int64_t) {
    return static_cast<Wide>(std::sqrt(static_cast<double>(total.first)));
  }
};

struct LogSumStep : SumStep {
  template <typename Wide>
  static Wide End(const Total<Wide>& total, int64_t) {
    return static_cast<Wide>(std::log(static_cast<double>(total.first)));
  }
};

// The total is exp(first) * second, `first` being the largest element so far: nothing overflows.
struct LogSumExpStep {
  template <typename Wide>
  static Total<Wide> Start() {
    return {kLowest<Wide>, 0};
  }
  template <typename Wide>
  static void Take(Total<Wide>& total, Wide x) {
    if (x == total.first) {
      total.second += 1;
    } else if (x > total.first) {
      total.second = total.second * static_cast<Wide>(std::exp(total.first - x)) + 1;
      total.first = x;
    } else {
      total.second += static_cast<Wide>(std::exp(x - total.first));
    }
  }
  template <typename Wide>
  static Wide End(const Total<Wide>& total, int64_t) {
    return static_cast<Wide>(std::log(total.second) + total.first);
  }
};

}  // namespace plimsoll::kernels::cpu
