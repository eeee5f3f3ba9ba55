#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/cpu/reduction/row_reduction.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

// LpNormalization and MeanVarianceNormalization: elements divided by a norm, or by the standard
// deviation, of all those that share their place along the kept axes. In place works: what decides
// the divisor is read before anything that it depends on is written.
namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kAxisNormalizationGrain = 1 << 13;

constexpr double kDeviationEpsilon = 1e-9;  // the standard's: added to the deviation

// What the divisor is; where it is the deviation, the mean is taken away first.
enum class Divisor { kMagnitudes, kRootOfSquares, kDeviation };

// Calls visit with the place of every element of the `index`-th set that is normalised together.
template <typename Visit>
void EachElement(const AxisGroups& groups, int64_t index, const Visit& visit) {
  const int64_t base = OffsetIn(groups.kept, index);
  for (int64_t i = 0; i < groups.folded_count; ++i) visit(base + OffsetIn(groups.folded, i));
}

template <typename T>
void NormalizeElements(Divisor kind, const AxisGroups& groups, int64_t index, const T* x, T* y) {
  const auto count = static_cast<double>(groups.folded_count);
  double mean = 0;
  if (kind == Divisor::kDeviation) {
    EachElement(groups, index, [&](int64_t at) { mean += static_cast<double>(x[at]); });
    mean /= count;
  }
  double divisor = 0;
  EachElement(groups, index, [&](int64_t at) {
    const double distance = static_cast<double>(x[at]) - mean;
    divisor += kind == Divisor::kMagnitudes ? std::abs(distance) : distance * distance;
  });
  if (kind == Divisor::kRootOfSquares) divisor = std::sqrt(divisor);
  if (kind == Divisor::kDeviation) divisor = std::sqrt(divisor / count) + kDeviationEpsilon;
  EachElement(groups, index, [&](int64_t at) {
    const double value = divisor == 0 ? 0.0 : (static_cast<double>(x[at]) - mean) / divisor;
    y[at] = T(static_cast<Wide<T>>(value));
  });
}

// A divisor out of a sum of magnitudes or of squares. Zeros stay zeros.
float DivisorOf(Divisor kind, double sum, int64_t count) {
  if (kind == Divisor::kDeviation) {
    return static_cast<float>(std::sqrt(sum / static_cast<double>(count)) + kDeviationEpsilon);
  }
  const auto norm = static_cast<float>(kind == Divisor::kMagnitudes ? sum : std::sqrt(sum));
  return norm == 0 ? 1 : norm;
}

// One set, out of runs of consecutive elements.
void NormalizeRuns(Divisor kind, const AxisGroups& groups, const float* x, float* y) {
  const std::span<const AxisGroup> outer(groups.folded.data(), groups.folded.size() - 1);
  const int64_t run = groups.folded.back().size;
  const auto each_run = [&](const auto& visit) {
    for (int64_t i = 0; i < groups.folded_count / run; ++i) visit(OffsetIn(outer, i));
  };
  float mean = 0;
  if (kind == Divisor::kDeviation) {
    double sum = 0;
    each_run([&](int64_t at) { sum += RowSum(x + at, run); });
    mean = static_cast<float>(sum / static_cast<double>(groups.folded_count));
  }
  double sum = 0;
  each_run([&](int64_t at) {
    sum += kind == Divisor::kMagnitudes ? RowSumOfMagnitudes(x + at, run)
                                        : RowSumOfSquares(x + at, run, mean);
  });
  const float divisor = DivisorOf(kind, sum, groups.folded_count);
  const float factor = 1 / divisor;
  each_run([&](int64_t at) {
    if (std::isfinite(factor)) {
      return RowNormalize(x + at, run, mean, factor, nullptr, nullptr, y + at);
    }
    std::transform(x + at, x + at + run, y + at,
                   [&](float value) { return (value - mean) / divisor; });
  });
}

// Neighbouring sets, element beside element: `count` of them, at most kSetsTogether.
constexpr int64_t kSetsTogether = 256;
void NormalizeColumns(Divisor kind, const AxisGroups& groups, const float* x, int64_t count,
                      float* y) {
  std::array<float, kSetsTogether> centers = {};
  std::array<float, kSetsTogether> divisors = {};
  if (kind == Divisor::kDeviation) {
    SumColumns(RowFold::kSum, groups, x, count, centers.data());
    for (int64_t i = 0; i < count; ++i) centers[i] /= static_cast<float>(groups.folded_count);
    std::array<float, kSetsTogether> part;
    for (int64_t first = 0; first < groups.folded_count; first += kRowsInOne) {
      part.fill(0);
      for (int64_t row = first; row < std::min(first + kRowsInOne, groups.folded_count); ++row) {
        RowAddSquaredDistancesTo(x + OffsetIn(groups.folded, row), centers.data(), count,
                                 part.data());
      }
      RowAddTo(part.data(), count, 1, divisors.data());
    }
  } else {
    SumColumns(kind == Divisor::kMagnitudes ? RowFold::kMagnitudes : RowFold::kSquares, groups, x,
               count, divisors.data());
  }
  for (int64_t i = 0; i < count; ++i) {
    divisors[i] = DivisorOf(kind, divisors[i], groups.folded_count);
  }
  for (int64_t row = 0; row < groups.folded_count; ++row) {
    const int64_t at = OffsetIn(groups.folded, row);
    RowStandardize(x + at, centers.data(), divisors.data(), count, y + at);
  }
}

// Sets that follow each other and are too short for vectors: some of them become columns.
constexpr int64_t kShortSet = 32;
constexpr int64_t kShortSetsTogether = 64;

bool AreShortRows(const AxisGroups& groups) {
  return groups.folds_innermost() && groups.folded.size() == 1 && groups.kept.size() == 1 &&
         groups.folded_count <= kShortSet;
}

void NormalizeShortRows(Divisor kind, const AxisGroups& columns, const float* x, int64_t count,
                        float* y) {
  alignas(64) std::array<float, kShortSet * kShortSetsTogether> block;
  const int64_t length = columns.folded_count;
  for (int64_t first = 0; first < count; first += kShortSetsTogether) {
    const int64_t sets = std::min(kShortSetsTogether, count - first);
    TransposeWords(reinterpret_cast<const uint32_t*>(x + first * length), length,
                   reinterpret_cast<uint32_t*>(block.data()), kShortSetsTogether, length, sets);
    NormalizeColumns(kind, columns, block.data(), sets, block.data());
    TransposeWords(reinterpret_cast<const uint32_t*>(block.data()), kShortSetsTogether,
                   reinterpret_cast<uint32_t*>(y + first * length), length, sets, length);
  }
}

int64_t SetsOfAThread(int64_t folded_count) {
  return std::max<int64_t>(kAxisNormalizationGrain / std::max<int64_t>(folded_count, 1), 1);
}

KernelPointer MakeOfFloats(Divisor kind, const AxisGroups& groups) {
  if (AreShortRows(groups)) {
    const AxisGroups columns{.kept = {{kShortSetsTogether, 1}},
                             .folded = {{groups.folded_count, kShortSetsTogether}},
                             .kept_count = kShortSetsTogether,
                             .folded_count = groups.folded_count};
    return MakeKernel([kind, columns, sets = groups.kept_count](const KernelCall& call) {
      const int64_t length = columns.folded_count;
      ParallelFor(sets, SetsOfAThread(length), [&](int64_t begin, int64_t end) {
        NormalizeShortRows(kind, columns,
                           static_cast<const float*>(call.inputs[0]) + begin * length, end - begin,
                           static_cast<float*>(call.outputs[0]) + begin * length);
      });
    });
  }
  if (groups.folds_innermost()) {
    return MakeKernel([kind, groups](const KernelCall& call) {
      ParallelFor(groups.kept_count, SetsOfAThread(groups.folded_count),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t at = OffsetIn(groups.kept, i);
                      NormalizeRuns(kind, groups, static_cast<const float*>(call.inputs[0]) + at,
                                    static_cast<float*>(call.outputs[0]) + at);
                    }
                  });
    });
  }
  const int64_t row = groups.kept.empty() ? 1 : groups.kept.back().size;
  const int64_t pieces = (row + kSetsTogether - 1) / kSetsTogether;
  return MakeKernel([kind, groups, row, pieces](const KernelCall& call) {
    const std::span<const AxisGroup> outer(groups.kept.data(),
                                           groups.kept.empty() ? 0 : groups.kept.size() - 1);
    const int64_t grain = SetsOfAThread(groups.folded_count * std::min(row, kSetsTogether));
    ParallelFor(groups.kept_count / row * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % pieces * kSetsTogether;
        const int64_t at = OffsetIn(outer, i / pieces) + column;
        NormalizeColumns(kind, groups, static_cast<const float*>(call.inputs[0]) + at,
                         std::min(kSetsTogether, row - column),
                         static_cast<float*>(call.outputs[0]) + at);
      }
    });
  });
}

Result<KernelPointer> MakeOver(KernelSite& site, const std::vector<int64_t>& axes, Divisor kind) {
  const TensorInfo& x = site.inputs[0];
  std::vector<bool> folded(x.dims.size());
  for (const int64_t axis : axes) {
    PLIMSOLL_ASSIGN(const int64_t place, NormalAxis(site, axis, x.rank()));
    folded[static_cast<size_t>(place)] = true;
  }
  const AxisGroups groups = GroupAxes(x.dims, folded);
  if (x.type == graph::DataType::kFloat32 && x.elements() > 0) return MakeOfFloats(kind, groups);
  KernelPointer kernel;
  VisitType<AllFloats>(x.type, [&]<typename T>() {
    kernel = MakeKernel([groups, kind](const KernelCall& call) {
      ParallelFor(groups.kept_count, SetsOfAThread(groups.folded_count),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      NormalizeElements(kind, groups, i, static_cast<const T*>(call.inputs[0]),
                                        static_cast<T*>(call.outputs[0]));
                    }
                  });
    });
  });
  if (kernel == nullptr) return site.Unsupported("normalisation is of floats");
  return kernel;
}

Result<KernelPointer> MakeLpNormalization(KernelSite& site) {
  const int64_t power = site.attributes().Int("p", 2);
  if (power != 1 && power != 2) return site.Unsupported("p must be 1 or 2");
  return MakeOver(site, {site.attributes().Int("axis", -1)},
                  power == 1 ? Divisor::kMagnitudes : Divisor::kRootOfSquares);
}

Result<KernelPointer> MakeMeanVarianceNormalization(KernelSite& site) {
  const std::vector<int64_t>* axes = site.attributes().Ints("axes");
  return MakeOver(site, axes != nullptr ? *axes : std::vector<int64_t>{0, 2, 3},
                  Divisor::kDeviation);
}

constexpr KernelRow kAxisNormalizationRows[] = {
    {"", "LpNormalization", 1, graph::kNewest, MakeLpNormalization},
    {"", "MeanVarianceNormalization", 9, graph::kNewest, MakeMeanVarianceNormalization},
};

}  // namespace

std::span<const KernelRow> AxisNormalizationKernels() { return kAxisNormalizationRows; }

}  // namespace plimsoll::kernels::cpu
