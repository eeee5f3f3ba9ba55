#include "kernels/cpu/vector/normalized_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/normalized_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/vector/registers-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::ScalableTag<float>;
using Doubles = hn::ScalableTag<double>;
using Halves = hn::Rebind<float, Doubles>;  // floats that become one vector of doubles
using Eights = hn::CappedTag<float, 8>;
constexpr Vectors kVectors;
constexpr Doubles kDoubles;
constexpr Halves kHalves;
constexpr Eights kEights;

HWY_INLINE float Mean(const float* x, int64_t count) {
  const auto width = static_cast<int64_t>(hn::Lanes(kDoubles));
  const auto at = [&](int64_t i)
                      HWY_ATTR { return hn::PromoteTo(kDoubles, hn::LoadU(kHalves, x + i)); };
  auto a = hn::Zero(kDoubles), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    a = hn::Add(a, at(i));
    b = hn::Add(b, at(i + width));
    c = hn::Add(c, at(i + 2 * width));
    d = hn::Add(d, at(i + 3 * width));
  }
  double sum = hn::GetLane(hn::SumOfLanes(kDoubles, hn::Add(hn::Add(a, b), hn::Add(c, d))));
  for (; i < count; ++i) sum += x[i];
  return static_cast<float>(sum / static_cast<double>(count));
}

// Sums of squares around the means. Each row has one sum of eight lanes; rows go side by side, so
// that none waits for its sum.
template <int kRows>
HWY_INLINE void SquareSums(const float* x, int64_t length, const float* means, float* sums) {
  const auto width = static_cast<int64_t>(hn::Lanes(kEights));
  hn::Vec<Eights> totals[kRows], centers[kRows];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
    totals[row] = hn::Zero(kEights);
    centers[row] = hn::Set(kEights, means[row]);
  }
  int64_t i = 0;
  for (; i + width <= length; i += width) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const auto distance = hn::Sub(hn::LoadU(kEights, x + row * length + i), centers[row]);
      totals[row] = hn::MulAdd(distance, distance, totals[row]);
    }
  }
  for (int row = 0; row < kRows; ++row) {
    HWY_ALIGN float lanes[hn::MaxLanes(kEights)];
    hn::Store(totals[row], kEights, lanes);
    for (int64_t half = width / 2; half > 0; half /= 2) {
      for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    for (int64_t rest = i; rest < length; ++rest) {
      const float distance = x[row * length + rest] - means[row];
      lanes[0] = std::fma(distance, distance, lanes[0]);
    }
    sums[row] = lanes[0];
  }
}

void SquareSumsOf(const float* x, int64_t rows, int64_t length, const float* means, float* sums) {
  int64_t row = 0;
  for (; row + 8 <= rows; row += 8) {
    SquareSums<8>(x + row * length, length, means + row, sums + row);
  }
  for (; row + 2 <= rows; row += 2) {
    SquareSums<2>(x + row * length, length, means + row, sums + row);
  }
  for (; row < rows; ++row) SquareSums<1>(x + row * length, length, means + row, sums + row);
}

HWY_INLINE void NormalizeRow(const RowNormalization& of, const float* x, float mean, float factor,
                             float* y) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  const auto center = hn::Set(kVectors, mean);
  const auto times = hn::Set(kVectors, factor);
  int64_t i = 0;
  for (; i + width <= of.length; i += width) {
    const auto v = hn::Mul(hn::Sub(hn::LoadU(kVectors, x + i), center), times);
    const auto scale = hn::LoadU(kVectors, of.scale + i);
    hn::StoreU(of.bias != nullptr ? hn::MulAdd(v, scale, hn::LoadU(kVectors, of.bias + i))
                                  : hn::Mul(v, scale),
               kVectors, y + i);
  }
  for (; i < of.length; ++i) {
    const float v = (x[i] - mean) * factor;
    y[i] = of.bias != nullptr ? std::fma(v, of.scale[i], of.bias[i]) : v * of.scale[i];
  }
}

void NormalizeTogether(const RowNormalization& of, const float* x, int64_t rows, float* y,
                       RowMoments& moments) {
  std::array<float, kRowsTogether> squares;
  for (int64_t row = 0; row < rows; ++row) {
    moments.mean[row] = of.centred ? Mean(x + row * of.length, of.length) : 0.0f;
  }
  SquareSumsOf(x, rows, of.length, moments.mean.data(), squares.data());
  for (int64_t row = 0; row < rows; ++row) {
    const float variance = squares[row] / static_cast<float>(of.length);
    moments.inverse_deviation[row] = 1.0f / std::sqrt(variance + of.epsilon);
    NormalizeRow(of, x + row * of.length, moments.mean[row], moments.inverse_deviation[row],
                 y + row * of.length);
  }
}

// Mean and squares after each element, for as many rows as a vector has lanes.
HWY_INLINE void RunningMoments(const float* x, int64_t rows, int64_t length, float* means,
                               float* squares) {
  const hn::RebindToSigned<Vectors> di;
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  const auto last = hn::Set(di, static_cast<int32_t>(rows - 1));
  const auto places =
      hn::Mul(hn::Min(hn::Iota(di, 0), last), hn::Set(di, static_cast<int32_t>(length)));
  auto mean = hn::Zero(kVectors), sum = mean, count = mean;
  for (int64_t i = 0; i < length; ++i) {
    const auto v = hn::GatherIndex(kVectors, x + i, places);
    count = hn::Add(count, hn::Set(kVectors, 1.0f));
    const auto before = hn::Sub(v, mean);
    mean = hn::Add(mean, hn::Div(before, count));
    auto square = hn::Mul(before, hn::Sub(v, mean));
    RoundHere(square);
    sum = hn::Add(sum, square);
  }
  HWY_ALIGN float lanes[2][hn::MaxLanes(kVectors)];
  hn::Store(mean, kVectors, lanes[0]);
  hn::Store(sum, kVectors, lanes[1]);
  std::copy_n(lanes[0], std::min(rows, width), means);
  std::copy_n(lanes[1], std::min(rows, width), squares);
}

// Each step rounds: nothing is fused.
HWY_INLINE void DivideRow(const RowNormalization& of, const float* x, float mean, float deviation,
                          float* y) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  const auto center = hn::Set(kVectors, mean);
  const auto below = hn::Set(kVectors, deviation);
  int64_t i = 0;
  for (; i + width <= of.length; i += width) {
    const auto v = hn::Div(hn::Sub(hn::LoadU(kVectors, x + i), center), below);
    auto scaled = hn::Mul(v, hn::LoadU(kVectors, of.scale + i));
    RoundHere(scaled);
    if (of.bias != nullptr) scaled = hn::Add(scaled, hn::LoadU(kVectors, of.bias + i));
    hn::StoreU(scaled, kVectors, y + i);
  }
  for (; i < of.length; ++i) {
    const auto one = hn::CappedTag<float, 1>();
    auto scaled = hn::Set(one, (x[i] - mean) / deviation * of.scale[i]);
    RoundHere(scaled);
    y[i] = of.bias != nullptr ? hn::GetLane(scaled) + of.bias[i] : hn::GetLane(scaled);
  }
}

void NormalizeRunning(const RowNormalization& of, const float* x, int64_t rows, float* y,
                      RowMoments& moments) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  std::array<float, kRowsTogether> squares;
  for (int64_t row = 0; row < rows; row += width) {
    RunningMoments(x + row * of.length, rows - row, of.length, moments.mean.data() + row,
                   squares.data() + row);
  }
  for (int64_t row = 0; row < rows; ++row) {
    const float deviation = std::sqrt(squares[row] / static_cast<float>(of.length) + of.epsilon);
    moments.inverse_deviation[row] = 1.0f / deviation;
    DivideRow(of, x + row * of.length, moments.mean[row], deviation, y + row * of.length);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(NormalizeTogether);
HWY_EXPORT(NormalizeRunning);

RowMoments NormalizeRows(const RowNormalization& normalization, const float* x, int64_t rows,
                         float* y) {
  RowMoments moments;
  // Shorter rows ONNX Runtime takes element by element.
  constexpr int64_t kShort = 8;
  if (normalization.centred && (normalization.running_means || normalization.length < kShort)) {
    HWY_DYNAMIC_DISPATCH(NormalizeRunning)(normalization, x, rows, y, moments);
  } else {
    HWY_DYNAMIC_DISPATCH(NormalizeTogether)(normalization, x, rows, y, moments);
  }
  return moments;
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
