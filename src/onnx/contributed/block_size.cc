#include "onnx/contributed/block_size.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace plimsoll::onnx {
namespace {

constexpr int64_t kMostWeights = int64_t{1} << 20;  // whose spread is looked at, or one filter's
// Of weights that all have one spread, what sizes differ by is as a sum of one number around zero
// for each output and each tap, which seldom is larger than a few.
constexpr double kChance = 8;

int64_t WeightsOf(const BlockedFilter& filter) {
  const auto [outputs, inputs, height, width] = filter.dims;
  return outputs * inputs * height * width;
}

bool HasData(const BlockedFilter& filter) {
  return filter.tensor->bytes.size() == WeightsOf(filter) * sizeof(float);
}

float WeightAt(const BlockedFilter& filter, int64_t place) {
  float weight = 0;
  std::memcpy(&weight, filter.tensor->bytes.data() + place * sizeof(float), sizeof weight);
  return weight;
}

int64_t FillingOf(const BlockedFilter& filter, int64_t block) {
  const auto [outputs, inputs, height, width] = filter.dims;
  const UsedChannels used = UsedOf(filter, block);
  return WeightsOf(filter) - used.outputs * used.inputs * height * width;
}

// Spreads along one axis of a filter, as mean squares over the elements that are not zero.
struct Spreads {
  std::vector<double> sums;
  std::vector<double> counts;
  std::vector<double> inverses;

  explicit Spreads(int64_t size) : sums(size), counts(size), inverses(size, 1) {}
  void Clear() {
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(counts.begin(), counts.end(), 0);
  }
  void Settle() {
    for (size_t i = 0; i < sums.size(); ++i) {
      inverses[i] = sums[i] > 0 && std::isfinite(sums[i]) ? counts[i] / sums[i] : 1;
    }
  }
  double Logarithms() const {
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) sum += counts[i] * std::log(inverses[i]);
    return sum;
  }
};

// The logarithm of the likelihood of normal weights whose spread is a factor of their output times
// a factor of their input and tap, without what is the same for all sizes. Zeros tell nothing.
double LikelihoodOf(const BlockedFilter& filter, int64_t block) {
  constexpr int kRounds = 4;
  const int64_t rows = WeightsOf(filter) / filter.dims[0];
  Spreads outputs(filter.dims[0]);
  Spreads taps(rows);
  for (int round = 0; round < 2 * kRounds; ++round) {
    Spreads& fitted = round % 2 == 0 ? outputs : taps;
    fitted.Clear();
    int64_t place = 0;
    for (int64_t first = 0; first < filter.dims[0]; first += block) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t output = first; output < first + block; ++output, ++place) {
          const double weight = WeightAt(filter, place);
          const int64_t at = round % 2 == 0 ? output : row;
          const double inverse = round % 2 == 0 ? taps.inverses[row] : outputs.inverses[output];
          fitted.sums[at] += weight * weight * inverse;
          fitted.counts[at] += weight != 0 ? 1 : 0;
        }
      }
    }
    fitted.Settle();
  }
  return (outputs.Logarithms() + taps.Logarithms()) / 2;
}

// The size whose figure is larger than any other's by a margin.
template <typename Figure, typename Margin>
std::optional<int64_t> Foremost(std::span<const int64_t> sizes, const std::vector<Figure>& figures,
                                const Margin& margin) {
  const auto best = std::max_element(figures.begin(), figures.end());
  for (auto other = figures.begin(); other != figures.end(); ++other) {
    if (other != best && !margin(*best, *other)) return std::nullopt;
  }
  return sizes[best - figures.begin()];
}

}  // namespace

UsedChannels UsedOf(const BlockedFilter& filter, int64_t block) {
  const auto [outputs, inputs, height, width] = filter.dims;
  UsedChannels used{outputs, inputs};
  if (!HasData(filter)) return used;
  const int64_t taps = height * width;
  const int64_t rows = inputs * taps;
  const auto is_used = [&](int64_t place) { return WeightAt(filter, place) != 0; };

  // Of the last block at least one channel is used.
  used.outputs = outputs - block + 1;
  for (int64_t i = (outputs - block) * rows; used.outputs < outputs && i < outputs * rows; ++i) {
    if (is_used(i)) used.outputs = std::max(used.outputs, outputs - block + i % block + 1);
  }
  if (!filter.blocks_of_inputs) return used;
  used.inputs = inputs - block + 1;
  const int64_t square = block * block;
  for (int64_t first = 0; first < outputs; first += block) {
    const int64_t begin = first * rows + (inputs / block - 1) * taps * square;
    for (int64_t i = 0; used.inputs < inputs && i < taps * square; ++i) {
      if (!is_used(begin + i)) continue;
      used.inputs = std::max(used.inputs, inputs - block + i % square / block + 1);
    }
  }
  return used;
}

std::optional<int64_t> LikeliestBlock(std::span<const int64_t> sizes,
                                      std::span<const BlockedFilter> filters) {
  std::vector<int64_t> filling(sizes.size(), 0);
  std::vector<double> likelihoods(sizes.size(), 0);
  double factors = 0;
  int64_t read = 0;
  for (const BlockedFilter& filter : filters) {
    if (!HasData(filter)) continue;
    for (size_t i = 0; i < sizes.size(); ++i) filling[i] += FillingOf(filter, sizes[i]);
    const int64_t weights = WeightsOf(filter);
    if (read > 0 && read + weights > kMostWeights) continue;
    read += weights;
    factors += static_cast<double>(filter.dims[0] + weights / filter.dims[0]);
    for (size_t i = 0; i < sizes.size(); ++i) likelihoods[i] += LikelihoodOf(filter, sizes[i]);
  }
  const auto most_zeros =
      Foremost(sizes, filling, [](int64_t best, int64_t other) { return best / 2 > other; });
  if (most_zeros) return most_zeros;
  return Foremost(sizes, likelihoods, [&](double best, double other) {
    return best - other > kChance * std::sqrt(factors);
  });
}

int64_t BlockOfThisProcessor() { return __builtin_cpu_supports("avx512f") != 0 ? 16 : 8; }

}  // namespace plimsoll::onnx
