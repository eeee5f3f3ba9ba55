#include "kernels/cpu/convolution/winograd/winograd_weights.h"

#include <algorithm>

#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kInputsOfTwo = 4;
constexpr int64_t kInputsOfFour = 6;

using WeightRow = std::array<double, kWinogradTaps>;
// A weight from two positions.
struct RestoredTap {
  size_t first;
  double first_factor;
  size_t second;
  double second_factor;
};
struct WeightTransform {
  int64_t inputs;
  std::array<WeightRow, kMostWinogradInputs> rows;
  std::array<RestoredTap, kWinogradTaps> restored;
};

// The polynomial of the weights at points 0, 1, -1 and infinity.
constexpr WeightTransform kWeightsOfTwo = {
    .inputs = kInputsOfTwo,
    .rows = {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}, {}, {}}},
    .restored = {{{0, 1, 0, 0}, {1, 1, 2, -1}, {3, 1, 0, 0}}}};

// The same at 0, a, -a, b, -b and infinity (see PointsOfFour in winograd_loops.cc), each divided by
// the product of the point's distances from all others.
constexpr WeightTransform WeightsOfFour() {
  constexpr double a = 0.75;
  constexpr double b = 1.5;
  constexpr double at_zero = a * a * b * b;
  constexpr double at_a = 2 * a * a * (a * a - b * b);
  constexpr double at_b = 2 * b * b * (b * b - a * a);
  return {
      .inputs = kInputsOfFour,
      .rows = {{{1 / at_zero, 0, 0},
                {1 / at_a, a / at_a, a * a / at_a},
                {1 / at_a, -a / at_a, a * a / at_a},
                {1 / at_b, b / at_b, b * b / at_b},
                {1 / at_b, -b / at_b, b * b / at_b},
                {0, 0, 1}}},
      .restored = {{{0, at_zero, 0, 0}, {1, at_a / (2 * a), 2, -at_a / (2 * a)}, {5, 1, 0, 0}}}};
}
constexpr WeightTransform kWeightsOfFour = WeightsOfFour();

const WeightTransform& TransformFor(int64_t results) {
  return results == 2 ? kWeightsOfTwo : kWeightsOfFour;
}

void TransformTaps(const WeightTransform& transform, const float* taps, float* to, int64_t stride) {
  const auto inputs = static_cast<size_t>(transform.inputs);
  for (size_t y = 0; y < inputs; ++y) {
    const WeightRow& down = transform.rows[y];
    WeightRow row;
    for (size_t x = 0; x < 3; ++x) {
      row[x] = (down[0] * taps[x] + down[2] * taps[6 + x]) + down[1] * taps[3 + x];
    }
    for (size_t x = 0; x < inputs; ++x) {
      const WeightRow& across = transform.rows[x];
      *to = static_cast<float>((across[0] * row[0] + across[2] * row[2]) + across[1] * row[1]);
      to += stride;
    }
  }
}

}  // namespace

void WinogradWeights::Transform(const float* plain, int64_t first, int64_t last,
                                float* packed) const {
  const WeightTransform& transform = TransformFor(results);
  const int64_t position_stride = rounded_channels * kWinogradFilters;
  constexpr int64_t kTaps = kWinogradTaps * kWinogradTaps;
  ParallelFor(last - first, 1, [&](int64_t begin, int64_t end) {
    begin += first;
    end += first;
    std::fill(packed + begin * PanelElements(), packed + end * PanelElements(), 0.0f);
    for (int64_t filter = begin * kWinogradFilters;
         filter < std::min(end * kWinogradFilters, filters); ++filter) {
      float* const to = packed + filter / kWinogradFilters * PanelElements();
      for (int64_t channel = 0; channel < channels; ++channel) {
        TransformTaps(transform, plain + (filter * channels + channel) * kTaps,
                      to + channel * kWinogradFilters + filter % kWinogradFilters, position_stride);
      }
    }
  });
}

void WinogradWeights::Restore(const float* panel, int64_t channel, Taps& taps) const {
  const WeightTransform& transform = TransformFor(results);
  const int64_t position_stride = rounded_channels * kWinogradFilters;
  const auto at = [&](size_t y, size_t x, int64_t filter) {
    const int64_t position = static_cast<int64_t>(y) * transform.inputs + static_cast<int64_t>(x);
    return static_cast<double>(
        panel[position * position_stride + channel * kWinogradFilters + filter]);
  };
  for (size_t tap = 0; tap < taps.size(); ++tap) {
    const RestoredTap& y = transform.restored[tap / kWinogradTaps];
    const RestoredTap& x = transform.restored[tap % kWinogradTaps];
    for (int64_t filter = 0; filter < kWinogradFilters; ++filter) {
      const double first = y.first_factor * at(y.first, x.first, filter) +
                           y.second_factor * at(y.second, x.first, filter);
      const double second = y.first_factor * at(y.first, x.second, filter) +
                            y.second_factor * at(y.second, x.second, filter);
      taps[tap][static_cast<size_t>(filter)] =
          static_cast<float>(x.first_factor * first + x.second_factor * second);
    }
  }
}

}  // namespace plimsoll::kernels::cpu
