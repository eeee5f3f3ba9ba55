#include <algorithm>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

// LpNormalization and MeanVarianceNormalization: elements divided by a norm, or by the standard
// deviation, of all those that share their place along the kept axes. In place works: what decides
// the divisor is read before anything that it depends on is written.
namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kAxisNormalizationGrain = 1 << 13;

// Calls visit with the place of every element of the `index`-th set that is normalised together.
template <typename Visit>
void EachElement(const AxisGroups& groups, int64_t index, const Visit& visit) {
  const int64_t base = OffsetIn(groups.kept, index);
  for (int64_t i = 0; i < groups.folded_count; ++i) visit(base + OffsetIn(groups.folded, i));
}

template <typename T>
void DivideByNorm(const AxisGroups& groups, int64_t power, int64_t index, const T* x, T* y) {
  double norm = 0;
  EachElement(groups, index, [&](int64_t at) {
    const double value = x[at];
    norm += power == 1 ? std::abs(value) : value * value;
  });
  if (power == 2) norm = std::sqrt(norm);
  EachElement(groups, index, [&](int64_t at) {
    const double value = norm == 0 ? 0.0 : static_cast<double>(x[at]) / norm;
    y[at] = T(static_cast<Wide<T>>(value));
  });
}

// The same for the second power of a row.
void DivideRowByNorm(const float* x, int64_t count, float* y) {
  const float norm = std::sqrt(RowSumOfSquares(x, count, 0));
  if (norm > 0) return RowAffine(x, count, 1 / norm, 0, y);
  std::transform(x, x + count, y, [norm](float value) { return norm == 0 ? 0 : value / norm; });
}

template <typename T>
void Standardize(const AxisGroups& groups, int64_t, int64_t index, const T* x, T* y) {
  constexpr double kEpsilon = 1e-9;  // the standard's: added to the deviation
  const auto count = static_cast<double>(groups.folded_count);
  double mean = 0;
  EachElement(groups, index, [&](int64_t at) { mean += static_cast<double>(x[at]); });
  mean /= count;
  double squares = 0;
  EachElement(groups, index, [&](int64_t at) {
    const double distance = static_cast<double>(x[at]) - mean;
    squares += distance * distance;
  });
  const double divisor = std::sqrt(squares / count) + kEpsilon;
  EachElement(groups, index, [&](int64_t at) {
    y[at] = T(static_cast<Wide<T>>((static_cast<double>(x[at]) - mean) / divisor));
  });
}

template <bool kByNorm>
Result<KernelPointer> MakeOver(KernelSite& site, const std::vector<int64_t>& axes, int64_t power) {
  const TensorInfo& x = site.inputs[0];
  std::vector<bool> folded(x.dims.size());
  for (const int64_t axis : axes) {
    PLIMSOLL_ASSIGN(const int64_t place, NormalAxis(site, axis, x.rank()));
    folded[static_cast<size_t>(place)] = true;
  }
  const AxisGroups groups = GroupAxes(x.dims, folded);
  if (kByNorm && power == 2 && x.type == graph::DataType::kFloat32 && groups.folds_innermost() &&
      groups.folded.size() == 1) {
    return MakeKernel([groups](const KernelCall& call) {
      const int64_t count = groups.folded_count;
      const int64_t grain = kAxisNormalizationGrain / std::max<int64_t>(count, 1) + 1;
      ParallelFor(groups.kept_count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = OffsetIn(groups.kept, i);
          DivideRowByNorm(static_cast<const float*>(call.inputs[0]) + first, count,
                          static_cast<float*>(call.outputs[0]) + first);
        }
      });
    });
  }
  KernelPointer kernel;
  VisitType<AllFloats>(x.type, [&]<typename T>() {
    kernel = MakeKernel([groups, power](const KernelCall& call) {
      const int64_t grain =
          std::max<int64_t>(kAxisNormalizationGrain / std::max<int64_t>(groups.folded_count, 1), 1);
      constexpr auto kRun = kByNorm ? DivideByNorm<T> : Standardize<T>;
      ParallelFor(groups.kept_count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          kRun(groups, power, i, static_cast<const T*>(call.inputs[0]),
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
  return MakeOver<true>(site, {site.attributes().Int("axis", -1)}, power);
}

Result<KernelPointer> MakeMeanVarianceNormalization(KernelSite& site) {
  const std::vector<int64_t>* axes = site.attributes().Ints("axes");
  return MakeOver<false>(site, axes != nullptr ? *axes : std::vector<int64_t>{0, 2, 3}, 0);
}

constexpr KernelRow kAxisNormalizationRows[] = {
    {"", "LpNormalization", 1, graph::kNewest, MakeLpNormalization},
    {"", "MeanVarianceNormalization", 9, graph::kNewest, MakeMeanVarianceNormalization},
};

}  // namespace

std::span<const KernelRow> AxisNormalizationKernels() { return kAxisNormalizationRows; }

}  // namespace plimsoll::kernels::cpu
