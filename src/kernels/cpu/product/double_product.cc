#include <algorithm>

#include "kernels/cpu/product/product_shape.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/double_product.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#ifndef PLIMSOLL_KERNELS_CPU_DOUBLE_PRODUCT_PARTS
#define PLIMSOLL_KERNELS_CPU_DOUBLE_PRODUCT_PARTS
namespace plimsoll::kernels::cpu {

// One matrix of a product, of which `columns` columns from the first on are worked out.
struct DoublesBlock {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const double* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_depth_stride = 0;
  const double* b = nullptr;
  int64_t b_depth_stride = 0;
  int64_t b_column_stride = 0;
  double* c = nullptr;
  int64_t c_stride = 0;
  bool onto = false;
};

// Columns of B whose rows are copied one behind the other, and so many rows of them at once.
inline constexpr int64_t kStripColumns = 16;
inline constexpr int64_t kStripDepth = 128;

}  // namespace plimsoll::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::CappedTag<double, kStripColumns> kDoubleLanes;
using DoubleVector = hn::Vec<decltype(kDoubleLanes)>;
constexpr auto kDoubleLaneCount = static_cast<int64_t>(hn::MaxLanes(kDoubleLanes));
constexpr int kStripVectors = static_cast<int>(kStripColumns / kDoubleLaneCount);
constexpr int kStripRows = std::max(12 / kStripVectors, 1);  // as many totals as registers hold
constexpr int kFewRowsVectors = 8;                           // totals of one row

// kRows rows by kWide vectors. `block.b` has its columns one behind the other.
template <int kRows, int kWide>
HWY_INLINE void DoublesTile(const DoublesBlock& block) {
  DoubleVector totals[kRows][kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) totals[r][v] = hn::Zero(kDoubleLanes);
  }
  const double* a = block.a;
  const double* b = block.b;
  for (int64_t d = 0; d < block.depth; ++d) {
    DoubleVector row[kWide];
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) row[v] = hn::LoadU(kDoubleLanes, b + v * kDoubleLaneCount);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const DoubleVector element = hn::Set(kDoubleLanes, a[r * block.a_row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v) totals[r][v] = hn::MulAdd(element, row[v], totals[r][v]);
    }
    a += block.a_depth_stride;
    b += block.b_depth_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    HWY_ALIGN double part[kWide * kDoubleLaneCount];
    double* const to = block.c + r * block.c_stride;
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) {
      hn::Store(totals[r][v], kDoubleLanes, part + v * kDoubleLaneCount);
    }
    const int64_t columns = std::min<int64_t>(block.columns, kWide * kDoubleLaneCount);
    for (int64_t i = 0; i < columns; ++i) to[i] = block.onto ? to[i] + part[i] : part[i];
  }
}

template <int kRows, int kWide>
HWY_INLINE void DoublesRows(DoublesBlock block) {
  for (; block.rows >= kRows; block.rows -= kRows) {
    DoublesTile<kRows, kWide>(block);
    block.a += kRows * block.a_row_stride;
    block.c += kRows * block.c_stride;
  }
  if constexpr (kRows > 1) {
    if (block.rows > 0) DoublesRows<kRows / 2, kWide>(block);
  }
}

// A strip of columns, of which rows are copied one behind the other.
void DoublesStrip(DoublesBlock block) {
  HWY_ALIGN double strip[kStripDepth * kStripColumns];
  const DoublesBlock whole = block;
  block.b = strip;
  block.b_depth_stride = kStripColumns;
  for (int64_t from = 0; from < whole.depth; from += kStripDepth) {
    block.depth = std::min(kStripDepth, whole.depth - from);
    block.onto = whole.onto || from > 0;
    block.a = whole.a + from * whole.a_depth_stride;
    const double* const b = whole.b + from * whole.b_depth_stride;
    for (int64_t d = 0; d < block.depth; ++d) {
      double* const to = strip + d * kStripColumns;
      for (int64_t i = 0; i < whole.columns; ++i) {
        to[i] = b[d * whole.b_depth_stride + i * whole.b_column_stride];
      }
      std::fill(to + whole.columns, to + kStripColumns, 0.0);
    }
    DoublesRows<kStripRows, kStripVectors>(block);
  }
}

// Columns that lie one behind the other, where they are; those that fill no vectors are copied.
void DoublesInPlace(DoublesBlock block) {
  const auto take = [&block](int64_t columns) {
    block.b += columns;
    block.c += columns;
    block.columns -= columns;
  };
  constexpr int64_t kWide = kFewRowsVectors * kDoubleLaneCount;
  for (; block.columns >= kWide; take(kWide)) DoublesRows<1, kFewRowsVectors>(block);
  for (; block.columns >= kStripColumns; take(kStripColumns)) {
    DoublesRows<1, kStripVectors>(block);
  }
  if (block.columns > 0) DoublesStrip(block);
}

// Rows of A with columns of B, both of which lie one behind the other.
void DoublesDots(const DoublesBlock& block) {
  constexpr int kSums = 4;  // that do not wait for each other
  const int64_t whole = block.depth / (kSums * kDoubleLaneCount) * kSums * kDoubleLaneCount;
  for (int64_t row = 0; row < block.rows; ++row) {
    const double* const a = block.a + row * block.a_row_stride;
    for (int64_t column = 0; column < block.columns; ++column) {
      const double* const b = block.b + column * block.b_column_stride;
      DoubleVector sums[kSums];
      for (DoubleVector& sum : sums) sum = hn::Zero(kDoubleLanes);
      for (int64_t d = 0; d < whole; d += kSums * kDoubleLaneCount) {
#pragma GCC unroll 4
        for (int s = 0; s < kSums; ++s) {
          const int64_t at = d + s * kDoubleLaneCount;
          sums[s] =
              hn::MulAdd(hn::LoadU(kDoubleLanes, a + at), hn::LoadU(kDoubleLanes, b + at), sums[s]);
        }
      }
      const DoubleVector all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
      double total = hn::GetLane(hn::SumOfLanes(kDoubleLanes, all));
      for (int64_t d = whole; d < block.depth; ++d) total += a[d] * b[d];
      double& to = block.c[row * block.c_stride + column];
      to = block.onto ? to + total : total;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(DoublesStrip);
HWY_EXPORT(DoublesInPlace);
HWY_EXPORT(DoublesDots);

namespace {

// With no more rows, copying B costs more than it saves.
constexpr int64_t kFewRowsOfDoubles = 3;
// Multiplications that are worth a thread of their own.
constexpr int64_t kDoublesThreadWork = int64_t{1} << 16;

// `block` has at most kStripColumns columns where B is copied, else all that a thread takes.
void MultiplyBlock(const DoublesBlock& block) {
  if (block.rows > kFewRowsOfDoubles) {
    HWY_DYNAMIC_DISPATCH(DoublesStrip)(block);
  } else if (block.b_depth_stride == 1 && block.a_depth_stride == 1) {
    HWY_DYNAMIC_DISPATCH(DoublesDots)(block);
  } else if (block.b_column_stride == 1) {
    HWY_DYNAMIC_DISPATCH(DoublesInPlace)(block);
  } else {
    HWY_DYNAMIC_DISPATCH(DoublesStrip)(block);
  }
}

}  // namespace

void MultiplyDoubles(const ProductShape& shape, const double* a, const double* b, double* c,
                     bool onto) {
  if (shape.depth == 0) {
    if (!onto) std::fill_n(c, std::ssize(shape.a_matrices) * shape.c_size(), 0.0);
    return;
  }
  const int64_t columns = shape.columns;
  const int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
  const auto matrices = static_cast<int64_t>(shape.a_matrices.size());
  const int64_t strip_work = shape.rows * kStripColumns * shape.depth + 1;
  const int64_t grain = std::max<int64_t>(kDoublesThreadWork / strip_work, 1);
  const bool copies =
      shape.rows > kFewRowsOfDoubles ||
      (shape.b_column_stride != 1 && (shape.b_depth_stride != 1 || shape.a_depth_stride != 1));
  ParallelFor(matrices * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end;) {
      const int64_t number = item / strips;
      const auto matrix = static_cast<size_t>(number);
      const int64_t first = item % strips * kStripColumns;
      const int64_t some = copies ? 1 : std::min(end - item, strips - item % strips);
      MultiplyBlock(
          {.rows = shape.rows,
           .columns = std::min(some * kStripColumns, columns - first),
           .depth = shape.depth,
           .a = a + shape.a_matrices[matrix] * shape.a_size(),
           .a_row_stride = shape.a_row_stride,
           .a_depth_stride = shape.a_depth_stride,
           .b = b + shape.b_matrices[matrix] * shape.b_size() + first * shape.b_column_stride,
           .b_depth_stride = shape.b_depth_stride,
           .b_column_stride = shape.b_column_stride,
           .c = c + number * shape.c_size() + first,
           .c_stride = columns,
           .onto = onto});
      item += some;
    }
  });
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
