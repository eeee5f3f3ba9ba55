#include "kernels/cpu/reduction/float_reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kFloatReductionGrain = 1 << 14;  // elements that are worth a thread
constexpr int64_t kFloatReductionPiece = 1024;     // results worked on at a time
constexpr int64_t kMostShort = 8;                  // elements of a run
constexpr int64_t kRowsInOne = 64;  // rows summed before they join the total: errors grow less

enum class End { kNothing, kMean, kRoot };

// One reduction: a run folded to a number, numbers joined, and a row folded into a row of totals.
struct FloatFold {
  std::string_view op;
  float start;
  float (*run)(const float* x, int64_t count);
  float (*join)(float a, float b);
  void (*row)(const float* x, int64_t count, float* totals);
  void (*join_rows)(const float* x, int64_t count, float* totals);
  End end;
};

float Add(float a, float b) { return a + b; }
float Larger(float a, float b) { return b > a || b != b ? b : a; }
float Smaller(float a, float b) { return b < a || b != b ? b : a; }
float SquaresOfRun(const float* x, int64_t count) { return RowSumOfSquares(x, count, 0.0f); }
void AddRow(const float* x, int64_t count, float* y) { RowAddTo(x, count, 1.0f, y); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr FloatFold kFolds[] = {
    {"ReduceSum", 0.0f, RowSum, Add, AddRow, AddRow, End::kNothing},
    {"ReduceMean", 0.0f, RowSum, Add, AddRow, AddRow, End::kMean},
    {"ReduceMax", -kInfinity, RowMax, Larger, RowMaxTo, RowMaxTo, End::kNothing},
    {"ReduceMin", kInfinity, RowMin, Smaller, RowMinTo, RowMinTo, End::kNothing},
    {"ReduceSumSquare", 0.0f, SquaresOfRun, Add, RowAddSquaresTo, AddRow, End::kNothing},
    {"ReduceL2", 0.0f, SquaresOfRun, Add, RowAddSquaresTo, AddRow, End::kRoot},
};

float Ended(End end, float total, int64_t count) {
  if (end == End::kMean) return total / static_cast<float>(count);
  return end == End::kRoot ? std::sqrt(total) : total;
}

// Each result out of runs of consecutive elements.
void FoldRuns(const FloatFold& fold, const AxisGroups& groups, const float* x, int64_t begin,
              int64_t end, float* y) {
  const std::span<const AxisGroup> outer(groups.folded.data(), groups.folded.size() - 1);
  const int64_t run = groups.folded.back().size;
  const int64_t runs = run == 0 ? 0 : groups.folded_count / run;
  for (int64_t i = begin; i < end; ++i) {
    const float* base = x + OffsetIn(groups.kept, i);
    float total = fold.start;
    for (int64_t r = 0; r < runs; ++r) {
      total = fold.join(total, fold.run(base + OffsetIn(outer, r), run));
    }
    y[i] = Ended(fold.end, total, groups.folded_count);
  }
}

// Results out of short runs that follow each other: their first elements as one row, then their
// second ones.
void FoldShortRuns(const FloatFold& fold, int64_t run, const float* x, int64_t begin, int64_t end,
                   float* y) {
  constexpr int64_t kPiece = 256;
  alignas(64) std::array<float, kMostShort * kPiece> columns;
  for (int64_t first = begin; first < end; first += kPiece) {
    const int64_t count = std::min(kPiece, end - first);
    TransposeWords(reinterpret_cast<const uint32_t*>(x + first * run), run,
                   reinterpret_cast<uint32_t*>(columns.data()), kPiece, run, count);
    std::fill_n(y + first, count, fold.start);
    for (int64_t k = 0; k < run; ++k) fold.row(columns.data() + k * kPiece, count, y + first);
    if (fold.end == End::kNothing) continue;
    for (int64_t i = first; i < first + count; ++i) y[i] = Ended(fold.end, y[i], run);
  }
}

// Consecutive results out of consecutive elements: `count` of them, at most kFloatReductionPiece.
void FoldColumns(const FloatFold& fold, const AxisGroups& groups, const float* x, int64_t count,
                 float* y) {
  std::array<float, kFloatReductionPiece> block;
  std::fill_n(y, count, fold.start);
  for (int64_t first = 0; first < groups.folded_count; first += kRowsInOne) {
    const int64_t last = std::min(first + kRowsInOne, groups.folded_count);
    std::fill_n(block.data(), count, fold.start);
    for (int64_t r = first; r < last; ++r) {
      fold.row(x + OffsetIn(groups.folded, r), count, block.data());
    }
    fold.join_rows(block.data(), count, y);
  }
  if (fold.end == End::kNothing) return;
  for (int64_t k = 0; k < count; ++k) y[k] = Ended(fold.end, y[k], groups.folded_count);
}

// Results out of many short runs each, where the runs of neighbouring results follow each other:
// places of a row of runs are folded as columns, and then each run.
void FoldRunsAsColumns(const FloatFold& fold, const AxisGroups& columns, int64_t run, int64_t count,
                       const float* x, int64_t results, float* y) {
  std::array<float, kFloatReductionPiece> totals;
  FloatFold open = fold;
  open.end = End::kNothing;
  FoldColumns(open, columns, x, results * run, totals.data());
  for (int64_t i = 0; i < results; ++i) {
    float total = fold.start;
    for (int64_t k = 0; k < run; ++k) {
      total = fold.join(total, totals[static_cast<size_t>(i * run + k)]);
    }
    y[i] = Ended(fold.end, total, count);
  }
}

KernelPointer MakeFoldRunsAsColumns(const FloatFold& fold, const AxisGroups& groups) {
  const int64_t run = groups.folded.back().size;
  const int64_t results = groups.kept.back().size;
  AxisGroups columns = groups;
  columns.folded.pop_back();
  columns.folded_count /= run;
  return MakeKernel([fold, groups, columns, run, results](const KernelCall& call) {
    const std::span<const AxisGroup> outer(groups.kept.data(), groups.kept.size() - 1);
    const int64_t grain = kFloatReductionGrain / (groups.folded_count * results) + 1;
    ParallelFor(groups.kept_count / results, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        FoldRunsAsColumns(fold, columns, run, groups.folded_count,
                          static_cast<const float*>(call.inputs[0]) + OffsetIn(outer, i), results,
                          static_cast<float*>(call.outputs[0]) + i * results);
      }
    });
  });
}

// Whether runs are too short for vectors, and rows of runs are not.
bool FoldsRunsAsColumns(const AxisGroups& groups) {
  constexpr int64_t kMostRun = 16;
  constexpr int64_t kFewestColumns = 8;
  if (!groups.folds_innermost() || groups.folded.size() < 2 || groups.kept.empty()) return false;
  const int64_t run = groups.folded.back().size;
  const int64_t row = run * groups.kept.back().size;
  return run > 0 && run < kMostRun && groups.kept.back().stride == run && row >= kFewestColumns &&
         row <= kFloatReductionPiece && groups.folded_count > 0;
}

}  // namespace

KernelPointer MakeFloatReduction(std::string_view op, const AxisGroups& groups) {
  const auto* fold = std::find_if(std::begin(kFolds), std::end(kFolds),
                                  [op](const FloatFold& row) { return row.op == op; });
  if (fold == std::end(kFolds)) return nullptr;
  const int64_t folded = std::max<int64_t>(groups.folded_count, 1);
  const bool short_runs = groups.folds_innermost() && groups.folded.size() == 1 &&
                          folded <= kMostShort && groups.folded_count > 0 &&
                          groups.kept.size() == 1 && groups.kept[0].stride == folded;
  if (short_runs) {
    return MakeKernel([fold, groups, folded](const KernelCall& call) {
      const auto* x = static_cast<const float*>(call.inputs[0]);
      auto* y = static_cast<float*>(call.outputs[0]);
      ParallelFor(
          groups.kept_count, kFloatReductionGrain / folded,
          [&](int64_t begin, int64_t end) { FoldShortRuns(*fold, folded, x, begin, end, y); });
    });
  }
  if (FoldsRunsAsColumns(groups)) return MakeFoldRunsAsColumns(*fold, groups);
  if (groups.folds_innermost()) {
    return MakeKernel([fold, groups, folded](const KernelCall& call) {
      const auto* x = static_cast<const float*>(call.inputs[0]);
      auto* y = static_cast<float*>(call.outputs[0]);
      ParallelFor(groups.kept_count, std::max<int64_t>(kFloatReductionGrain / folded, 1),
                  [&](int64_t begin, int64_t end) { FoldRuns(*fold, groups, x, begin, end, y); });
    });
  }
  const int64_t row = groups.kept.empty() ? 1 : groups.kept.back().size;
  const int64_t pieces = row == 0 ? 0 : (row + kFloatReductionPiece - 1) / kFloatReductionPiece;
  const int64_t rows = row == 0 ? 0 : groups.kept_count / row;
  return MakeKernel([fold, groups, folded, row, rows, pieces](const KernelCall& call) {
    const std::span<const AxisGroup> outer(groups.kept.data(),
                                           groups.kept.empty() ? 0 : groups.kept.size() - 1);
    const int64_t grain =
        std::max<int64_t>(kFloatReductionGrain / (folded * std::min(row, kFloatReductionPiece)), 1);
    ParallelFor(rows * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i % pieces * kFloatReductionPiece;
        FoldColumns(*fold, groups,
                    static_cast<const float*>(call.inputs[0]) + OffsetIn(outer, i / pieces) + at,
                    std::min(kFloatReductionPiece, row - at),
                    static_cast<float*>(call.outputs[0]) + i / pieces * row + at);
      }
    });
  });
}

}  // namespace plimsoll::kernels::cpu
