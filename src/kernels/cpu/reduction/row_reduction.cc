#include "kernels/cpu/reduction/row_reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/cpu/vector/fold_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kRowReductionGrain = 1 << 14;  // elements that are worth a thread
constexpr int64_t kMostShort = 8;                // elements of a run

enum class End { kNothing, kMean, kRoot, kLogarithm };

// One reduction: a run folded to a number, numbers and rows of them joined, rows folded into a row
// of totals.
template <typename T>
struct RowReduction {
  std::string_view op;
  T start;
  T (*run)(const T* x, int64_t count);
  T (*join)(T a, T b);
  RowFold rows;
  RowFold join_rows;
  End end;
};

// Whole numbers wrap around.
template <typename T>
T Add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T Multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
T Larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <typename T>
T Smaller(T a, T b) {
  return b < a || b != b ? b : a;
}
float SquaresOfRun(const float* x, int64_t count) { return RowSumOfSquares(x, count, 0.0f); }
template <RowFold kFold, typename T>
T FoldedRun(const T* x, int64_t count) {
  return FoldRow(kFold, x, count);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using enum RowFold;
constexpr RowReduction<float> kFloatReductions[] = {
    {"ReduceSum", 0.0f, RowSum, Add, kSum, kSum, End::kNothing},
    {"ReduceMean", 0.0f, RowSum, Add, kSum, kSum, End::kMean},
    {"ReduceProd", 1.0f, RowProduct, Multiply, kProduct, kProduct, End::kNothing},
    {"ReduceMax", -kInfinity, RowMax, Larger, kMax, kMax, End::kNothing},
    {"ReduceMin", kInfinity, RowMin, Smaller, kMin, kMin, End::kNothing},
    {"ReduceL1", 0.0f, RowSumOfMagnitudes, Add, kMagnitudes, kSum, End::kNothing},
    {"ReduceSumSquare", 0.0f, SquaresOfRun, Add, kSquares, kSum, End::kNothing},
    {"ReduceL2", 0.0f, SquaresOfRun, Add, kSquares, kSum, End::kRoot},
    {"ReduceLogSum", 0.0f, RowSum, Add, kSum, kSum, End::kLogarithm},
};

// Means are not among them: their sums need more bits than the elements have.
template <typename T>
constexpr RowReduction<T> kIntegerReductions[] = {
    {"ReduceSum", 0, FoldedRun<kSum, T>, Add, kSum, kSum, End::kNothing},
    {"ReduceProd", 1, FoldedRun<kProduct, T>, Multiply, kProduct, kProduct, End::kNothing},
    {"ReduceMax", std::numeric_limits<T>::lowest(), FoldedRun<kMax, T>, Larger, kMax, kMax,
     End::kNothing},
    {"ReduceMin", std::numeric_limits<T>::max(), FoldedRun<kMin, T>, Smaller, kMin, kMin,
     End::kNothing},
    {"ReduceL1", 0, FoldedRun<kMagnitudes, T>, Add, kMagnitudes, kSum, End::kNothing},
    {"ReduceSumSquare", 0, FoldedRun<kSquares, T>, Add, kSquares, kSum, End::kNothing},
};

template <typename T>
T Ended(End end, T total, int64_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    if (end == End::kMean) return total / static_cast<T>(count);
    if (end == End::kRoot) return std::sqrt(total);
    if (end == End::kLogarithm) return std::log(total);
  }
  return total;
}

// A result out of runs of consecutive elements.
template <typename T>
T FoldedRuns(const RowReduction<T>& fold, const AxisGroups& groups, const T* x) {
  const std::span<const AxisGroup> outer(groups.folded.data(), groups.folded.size() - 1);
  const int64_t run = groups.folded.back().size;
  const int64_t runs = run == 0 ? 0 : groups.folded_count / run;
  T total = fold.start;
  for (int64_t r = 0; r < runs; ++r) {
    total = fold.join(total, fold.run(x + OffsetIn(outer, r), run));
  }
  return Ended(fold.end, total, groups.folded_count);
}

// Results out of short runs that follow each other: their first elements as one row, then their
// second ones.
template <typename T>
void FoldShortRuns(const RowReduction<T>& fold, int64_t run, const T* x, int64_t begin, int64_t end,
                   T* y) {
  constexpr int64_t kPiece = 256;
  alignas(64) std::array<T, kMostShort * kPiece> columns;
  for (int64_t first = begin; first < end; first += kPiece) {
    const int64_t count = std::min(kPiece, end - first);
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      TransposeWords(reinterpret_cast<const uint32_t*>(x + first * run), run,
                     reinterpret_cast<uint32_t*>(columns.data()), kPiece, run, count);
    } else {
      TransposeMatrix(x + first * run, run, columns.data(), kPiece, run, count);
    }
    std::fill_n(y + first, count, fold.start);
    FoldRowsInto(fold.rows, columns.data(), kPiece, run, count, y + first);
    if (fold.end == End::kNothing) continue;
    for (int64_t i = first; i < first + count; ++i) y[i] = Ended(fold.end, y[i], run);
  }
}

// Rows [first, last) of those that are folded.
template <typename T>
void FoldRowsOf(RowFold fold, const AxisGroups& groups, const T* x, int64_t first, int64_t last,
                int64_t count, T* totals) {
  const AxisGroup inner = groups.folded.empty() ? AxisGroup() : groups.folded.back();
  for (int64_t row = first; row < last;) {
    const int64_t rows = std::min(last - row, inner.size - row % inner.size);
    FoldRowsInto(fold, x + OffsetIn(groups.folded, row), inner.stride, rows, count, totals);
    row += rows;
  }
}

// Totals of consecutive elements: `count` of them, at most kMostColumns.
template <typename T>
void FoldAllRows(RowFold rows, RowFold join, T start, const AxisGroups& groups, const T* x,
                 int64_t count, T* totals) {
  std::fill_n(totals, count, start);
  if (groups.folded_count <= kRowsInOne) {
    return FoldRowsOf(rows, groups, x, 0, groups.folded_count, count, totals);
  }
  std::array<T, kMostColumns> block;
  for (int64_t first = 0; first < groups.folded_count; first += kRowsInOne) {
    const int64_t last = std::min(first + kRowsInOne, groups.folded_count);
    std::fill_n(block.data(), count, start);
    FoldRowsOf(rows, groups, x, first, last, count, block.data());
    FoldRowsInto(join, block.data(), 0, 1, count, totals);
  }
}

// Consecutive results out of consecutive elements.
template <typename T>
void FoldColumns(const RowReduction<T>& fold, const AxisGroups& groups, const T* x, int64_t count,
                 T* y) {
  FoldAllRows(fold.rows, fold.join_rows, fold.start, groups, x, count, y);
  if (fold.end == End::kNothing) return;
  for (int64_t k = 0; k < count; ++k) y[k] = Ended(fold.end, y[k], groups.folded_count);
}

// Results out of many short runs each, where the runs of neighbouring results follow each other:
// places of a row of runs are folded as columns, and then each run.
template <typename T>
void FoldRunsAsColumns(const RowReduction<T>& fold, const AxisGroups& columns, int64_t run,
                       int64_t count, const T* x, int64_t results, T* y) {
  std::array<T, kMostColumns> totals;
  RowReduction<T> open = fold;
  open.end = End::kNothing;
  FoldColumns(open, columns, x, results * run, totals.data());
  for (int64_t i = 0; i < results; ++i) {
    T total = fold.start;
    for (int64_t k = 0; k < run; ++k) {
      total = fold.join(total, totals[static_cast<size_t>(i * run + k)]);
    }
    y[i] = Ended(fold.end, total, count);
  }
}

template <typename T>
KernelPointer MakeFoldRunsAsColumns(const RowReduction<T>& fold, const AxisGroups& groups) {
  const int64_t run = groups.folded.back().size;
  const int64_t results = groups.kept.back().size;
  AxisGroups columns = groups;
  columns.folded.pop_back();
  columns.folded_count /= run;
  return MakeKernel([fold, groups, columns, run, results](const KernelCall& call) {
    const std::span<const AxisGroup> outer(groups.kept.data(), groups.kept.size() - 1);
    const int64_t grain = kRowReductionGrain / (groups.folded_count * results) + 1;
    ParallelFor(groups.kept_count / results, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        FoldRunsAsColumns(fold, columns, run, groups.folded_count,
                          static_cast<const T*>(call.inputs[0]) + OffsetIn(outer, i), results,
                          static_cast<T*>(call.outputs[0]) + i * results);
      }
    });
  });
}

// Whether runs are too short for vectors of their own, and rows of runs are not.
bool FoldsRunsAsColumns(const AxisGroups& groups) {
  constexpr int64_t kMostRun = 16;
  constexpr int64_t kMostOfMany = 128;  // where there are many runs for each result
  constexpr int64_t kMany = 8;
  constexpr int64_t kFewestColumns = 8;
  if (!groups.folds_innermost() || groups.folded.size() < 2 || groups.kept.empty()) return false;
  const int64_t run = groups.folded.back().size;
  const int64_t row = run * groups.kept.back().size;
  const int64_t most = groups.folded_count >= kMany * run ? kMostOfMany : kMostRun;
  return run > 0 && run < most && groups.kept.back().stride == run && row >= kFewestColumns &&
         row <= kMostColumns && groups.folded_count > 0;
}

// The logarithm of a sum of exponentials: the largest element is subtracted first, so that none
// overflows. Where that is infinite or NaN, nothing is, and the sum is what it should be.
struct LogSumExp {
  static float Shift(float largest) { return std::isfinite(largest) ? largest : 0; }

  static float OfRuns(const AxisGroups& groups, const float* x) {
    const std::span<const AxisGroup> outer(groups.folded.data(), groups.folded.size() - 1);
    const int64_t run = groups.folded.back().size;
    const int64_t runs = run == 0 ? 0 : groups.folded_count / run;
    float largest = -kInfinity;
    for (int64_t i = 0; i < runs; ++i) {
      largest = Larger(largest, RowMax(x + OffsetIn(outer, i), run));
    }
    double sum = 0;
    for (int64_t i = 0; i < runs; ++i) {
      sum += RowExpSum(x + OffsetIn(outer, i), run, Shift(largest));
    }
    return static_cast<float>(std::log(sum)) + Shift(largest);
  }

  static void OfColumns(const AxisGroups& groups, const float* x, int64_t count, float* y) {
    std::array<float, kMostColumns> shifts;
    std::array<float, kMostColumns> unused;
    std::array<float, kMostColumns> sums;
    FoldAllRows(RowFold::kMax, RowFold::kMax, -kInfinity, groups, x, count, shifts.data());
    std::transform(shifts.begin(), shifts.begin() + count, shifts.begin(), Shift);
    std::fill_n(y, count, 0.0f);
    for (int64_t first = 0; first < groups.folded_count; first += kRowsInOne) {
      std::fill_n(sums.begin(), count, 0.0f);
      for (int64_t row = first; row < std::min(first + kRowsInOne, groups.folded_count); ++row) {
        RowExpTo(x + OffsetIn(groups.folded, row), shifts.data(), count, sums.data(),
                 unused.data());
      }
      RowAddTo(sums.data(), count, 1, y);
    }
    for (int64_t i = 0; i < count; ++i) y[i] = std::log(y[i]) + shifts[i];
  }
};

// Shares out sets of runs by of_runs(first element of a set) -> result, or neighbouring sets by
// of_columns(first elements of them, how many, results).
template <typename T, typename OfRuns, typename OfColumns>
KernelPointer MakeOfSets(const AxisGroups& groups, const OfRuns& of_runs,
                         const OfColumns& of_columns) {
  const int64_t folded = std::max<int64_t>(groups.folded_count, 1);
  if (groups.folds_innermost()) {
    return MakeKernel([groups, folded, of_runs](const KernelCall& call) {
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      ParallelFor(groups.kept_count, std::max<int64_t>(kRowReductionGrain / folded, 1),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      y[i] = of_runs(x + OffsetIn(groups.kept, i));
                  });
    });
  }
  const int64_t row = groups.kept.empty() ? 1 : groups.kept.back().size;
  const int64_t pieces = row == 0 ? 0 : (row + kMostColumns - 1) / kMostColumns;
  const int64_t rows = row == 0 ? 0 : groups.kept_count / row;
  return MakeKernel([groups, folded, row, rows, pieces, of_columns](const KernelCall& call) {
    const std::span<const AxisGroup> outer(groups.kept.data(),
                                           groups.kept.empty() ? 0 : groups.kept.size() - 1);
    const int64_t grain =
        std::max<int64_t>(kRowReductionGrain / (folded * std::min(row, kMostColumns)), 1);
    ParallelFor(rows * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i % pieces * kMostColumns;
        of_columns(static_cast<const T*>(call.inputs[0]) + OffsetIn(outer, i / pieces) + at,
                   std::min(kMostColumns, row - at),
                   static_cast<T*>(call.outputs[0]) + i / pieces * row + at);
      }
    });
  });
}

template <typename T>
KernelPointer MakeOfTable(std::span<const RowReduction<T>> table, std::string_view op,
                          const AxisGroups& groups) {
  const auto fold = std::ranges::find(table, op, &RowReduction<T>::op);
  if (fold == table.end()) return nullptr;
  const int64_t folded = std::max<int64_t>(groups.folded_count, 1);
  const bool short_runs = groups.folds_innermost() && groups.folded.size() == 1 &&
                          folded <= kMostShort && groups.folded_count > 0 &&
                          groups.kept.size() == 1 && groups.kept[0].stride == folded;
  if (short_runs) {
    return MakeKernel([fold, groups, folded](const KernelCall& call) {
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      ParallelFor(groups.kept_count, kRowReductionGrain / folded, [&](int64_t begin, int64_t end) {
        FoldShortRuns(*fold, folded, x, begin, end, y);
      });
    });
  }
  if (FoldsRunsAsColumns(groups)) return MakeFoldRunsAsColumns(*fold, groups);
  return MakeOfSets<T>(
      groups, [fold, groups](const T* x) { return FoldedRuns(*fold, groups, x); },
      [fold, groups](const T* x, int64_t count, T* y) { FoldColumns(*fold, groups, x, count, y); });
}

}  // namespace

void SumColumns(RowFold rows, const AxisGroups& groups, const float* x, int64_t count,
                float* totals) {
  FoldAllRows(rows, RowFold::kSum, 0.0f, groups, x, count, totals);
}

KernelPointer MakeRowReduction(std::string_view op, graph::DataType type,
                               const AxisGroups& groups) {
  if (type == graph::DataType::kFloat32 && op == "ReduceLogSumExp") {
    return MakeOfSets<float>(
        groups, [groups](const float* x) { return LogSumExp::OfRuns(groups, x); },
        [groups](const float* x, int64_t count, float* y) {
          LogSumExp::OfColumns(groups, x, count, y);
        });
  }
  if (type == graph::DataType::kFloat32) return MakeOfTable<float>(kFloatReductions, op, groups);
  KernelPointer kernel;
  VisitType<TypeList<int32_t, int64_t>>(
      type, [&]<typename T>() { kernel = MakeOfTable<T>(kIntegerReductions<T>, op, groups); });
  return kernel;
}

}  // namespace plimsoll::kernels::cpu
