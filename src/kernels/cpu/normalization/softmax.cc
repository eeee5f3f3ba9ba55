#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/reduction/arg_lanes.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/cpu/vector/fold_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

// Softmax, LogSoftmax and Hardmax along an axis. All read a lane whole before they write it, so
// that they may work in place.
namespace plimsoll::kernels::cpu {
namespace {

enum class Kind { kSoftmax, kLogSoftmax, kHardmax };

constexpr int64_t kSoftmaxGrain = 1 << 13;
constexpr int64_t kColumns = 256;  // lanes worked on at a time where they are not consecutive

// Before version 13 all axes from `axis` on form one; since then there is but one axis.
Result<AxisSplit> Lanes(const KernelSite& site) {
  const TensorInfo& x = site.inputs[0];
  const bool joined = site.node().version < 13;
  const int64_t axis = site.attributes().Int("axis", joined ? 1 : -1);
  if (x.rank() == 0) return AxisSplit{};
  if (joined && axis == x.rank()) return AxisSplit{x.elements(), 1, 1};
  PLIMSOLL_ASSIGN(const int64_t place, NormalAxis(site, axis, x.rank()));
  AxisSplit split = SplitAt(x.dims, place);
  if (joined) split = {split.outer, split.length * split.inner, 1};
  return split;
}

void FloatRow(Kind kind, const float* x, int64_t count, float* y) {
  const float largest =
      kind == Kind::kSoftmax ? RowSoftmax(x, count, y) : RowLogSoftmax(x, count, y);
  if (!std::isfinite(largest)) std::fill_n(y, count, std::numeric_limits<float>::quiet_NaN());
}

// Lanes side by side: element i of lane c is x[i * inner + c], for at most kColumns lanes.
void FloatColumns(Kind kind, const float* x, const AxisSplit& split, int64_t columns, float* y) {
  std::array<float, kColumns> largest;
  std::array<float, kColumns> sums;
  std::fill_n(largest.begin(), columns, -std::numeric_limits<float>::infinity());
  std::fill_n(sums.begin(), columns, 0.0f);
  FoldRowsInto(RowFold::kMax, x, split.inner, split.length, columns, largest.data());
  // Lanes whose largest element is infinite end as NaN, as infinity minus infinity does.
  for (int64_t c = 0; c < columns; ++c) {
    if (!std::isfinite(largest[c])) sums[c] = std::numeric_limits<float>::quiet_NaN();
  }
  std::array<float, kColumns> unused;
  for (int64_t i = 0; i < split.length; ++i) {
    float* exponentials = kind == Kind::kSoftmax ? y + i * split.inner : unused.data();
    RowExpTo(x + i * split.inner, largest.data(), columns, sums.data(), exponentials);
  }
  for (int64_t c = 0; c < columns; ++c) {
    sums[c] = kind == Kind::kSoftmax ? 1.0f / sums[c] : std::log(sums[c]);
  }
  for (int64_t i = 0; i < split.length; ++i) {
    float* row = y + i * split.inner;
    if (kind == Kind::kSoftmax) {
      RowMultiplyBy(sums.data(), columns, row);
    } else {
      RowSubtract(x + i * split.inner, largest.data(), sums.data(), columns, row);
    }
  }
}

KernelPointer MakeFloatSoftmax(Kind kind, const AxisSplit& split) {
  if (split.inner == 1) {
    return MakeKernel([kind, split](const KernelCall& call) {
      const auto* x = static_cast<const float*>(call.inputs[0]);
      auto* y = static_cast<float*>(call.outputs[0]);
      const int64_t grain =
          std::max<int64_t>(kSoftmaxGrain / std::max<int64_t>(split.length, 1), 1);
      ParallelFor(split.outer, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          FloatRow(kind, x + i * split.length, split.length, y + i * split.length);
        }
      });
    });
  }
  return MakeKernel([kind, split](const KernelCall& call) {
    const int64_t pieces = (split.inner + kColumns - 1) / kColumns;
    ParallelFor(split.outer * pieces, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % pieces * kColumns;
        const int64_t at = i / pieces * split.length * split.inner + column;
        FloatColumns(kind, static_cast<const float*>(call.inputs[0]) + at, split,
                     std::min(kColumns, split.inner - column),
                     static_cast<float*>(call.outputs[0]) + at);
      }
    });
  });
}

// Lanes [begin, end) become zeros, but for a one where the largest element was.
void MarkLargest(const float* x, const AxisSplit& split, int64_t begin, int64_t end, float* y) {
  std::array<int64_t, kColumns> places;
  for (int64_t lane = begin; lane < end;) {
    const int64_t in_row = split.inner == 1 ? kColumns : split.inner - lane % split.inner;
    const int64_t count = std::min({end - lane, kColumns, in_row});
    ArgOfLanes(x, split, {}, lane, lane + count, places.data());
    float* const first = y + lane / split.inner * split.length * split.inner + lane % split.inner;
    if (split.inner == 1) {
      std::fill_n(first, count * split.length, 0.0f);
      for (int64_t i = 0; i < count; ++i) first[i * split.length + places[i]] = 1;
    } else {
      for (int64_t i = 0; i < split.length; ++i) std::fill_n(first + i * split.inner, count, 0.0f);
      for (int64_t i = 0; i < count; ++i) first[places[i] * split.inner + i] = 1;
    }
    lane += count;
  }
}

KernelPointer MakeFloatHardmax(const AxisSplit& split) {
  return MakeKernel([split](const KernelCall& call) {
    const int64_t grain = std::max<int64_t>(kSoftmaxGrain / split.length, 1);
    ParallelFor(split.lanes(), grain, [&](int64_t begin, int64_t end) {
      MarkLargest(static_cast<const float*>(call.inputs[0]), split, begin, end,
                  static_cast<float*>(call.outputs[0]));
    });
  });
}

// One lane of elements `stride` apart.
template <typename T>
void SoftmaxLane(bool logarithm, const T* x, int64_t count, int64_t stride, T* y) {
  using W = Wide<T>;
  W largest = -std::numeric_limits<W>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    const W value = x[i * stride];
    if (value > largest || value != value) largest = value;
  }
  W sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<W>(x[i * stride]) - largest);
  const W log_sum = std::log(sum);
  for (int64_t i = 0; i < count; ++i) {
    const W value = static_cast<W>(x[i * stride]) - largest;
    y[i * stride] = T(logarithm ? value - log_sum : std::exp(value) / sum);
  }
}

// 1 at the first largest element; NaN counts as the largest.
template <typename T>
void HardmaxLane(bool, const T* x, int64_t count, int64_t stride, T* y) {
  using W = Wide<T>;
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    const W value = x[i * stride];
    const W old = x[best * stride];
    if (value > old || (value != value && old == old)) best = i;
  }
  for (int64_t i = 0; i < count; ++i) y[i * stride] = T(i == best ? 1.0f : 0.0f);
}

template <Kind kKind>
Result<KernelPointer> MakeSoftmax(KernelSite& site) {
  PLIMSOLL_ASSIGN(const AxisSplit split, Lanes(site));
  const graph::DataType type = site.inputs[0].type;
  if (type == graph::DataType::kFloat32 && kKind != Kind::kHardmax) {
    return MakeFloatSoftmax(kKind, split);
  }
  if (type == graph::DataType::kFloat32 && split.length > 0 && split.length < kMostArgPlaces) {
    return MakeFloatHardmax(split);
  }
  KernelPointer kernel;
  VisitType<AllFloats>(type, [&]<typename T>() {
    kernel = MakeKernel([split](const KernelCall& call) {
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      const int64_t grain =
          std::max<int64_t>(kSoftmaxGrain / std::max<int64_t>(split.length, 1), 1);
      constexpr auto kLane = kKind == Kind::kHardmax ? HardmaxLane<T> : SoftmaxLane<T>;
      ParallelFor(split.lanes(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t at = i / split.inner * split.length * split.inner + i % split.inner;
          kLane(kKind == Kind::kLogSoftmax, x + at, split.length, split.inner, y + at);
        }
      });
    });
  });
  if (kernel == nullptr) return site.Unsupported("softmax is of floats");
  return kernel;
}

constexpr KernelRow kSoftmaxRows[] = {
    {"", "Softmax", 1, graph::kNewest, MakeSoftmax<Kind::kSoftmax>},
    {"", "LogSoftmax", 1, graph::kNewest, MakeSoftmax<Kind::kLogSoftmax>},
    {"", "Hardmax", 1, graph::kNewest, MakeSoftmax<Kind::kHardmax>},
};

}  // namespace

std::span<const KernelRow> SoftmaxKernels() { return kSoftmaxRows; }

}  // namespace plimsoll::kernels::cpu
