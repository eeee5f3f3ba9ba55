// What a product does in a run; float_product.cc plans it.
#include <algorithm>
#include <array>
#include <cassert>

#include "kernels/cpu/product/float_product.h"
#include "kernels/cpu/product/matrix_vector.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/product/product_shares.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/cpu/vector/half_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Multiplications in whose time one element is packed.
constexpr int64_t kPackingWork = 8;
// Columns of what is worked on by turns from both ends.
constexpr int64_t kTurnColumns = 128;
// With no more tiles in a row for each thread, bringing rows of A near, which other threads may
// have written, takes less than waiting for them.
constexpr int64_t kTilesOfRow = 4;
// Columns of a row that is summed on the stack.
constexpr int64_t kSummedColumns = 512;

// c = addend, or c += addend.
void AddRow(const Addend& addend, int64_t row, int64_t column, int64_t columns, bool onto,
            float* c) {
  const float* const from = addend.data + row * addend.row_stride + column * addend.column_stride;
  if (addend.column_stride == 0) {
    const float value = addend.factor * *from;
    for (int64_t i = 0; i < columns; ++i) c[i] = onto ? c[i] + value : value;
  } else if (onto) {
    RowAddTo(from, columns, addend.factor, c);
  } else if (addend.factor != 1) {
    for (int64_t i = 0; i < columns; ++i) c[i] = addend.factor * from[i];
  } else if (from != c) {
    std::copy_n(from, columns, c);
  }
}

}  // namespace

struct FloatProduct::Part {
  const float* a = nullptr;
  PanelMatrix b;
  const uint16_t* halves = nullptr;  // the panels of B, where these are halves
  float* c = nullptr;
  Addend bias;
  Addend other;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_column = 0;
  int64_t columns = 0;
  int64_t from = 0;  // of the depth
  int64_t depth = 0;
  Order order = Order::kUsual;
  bool fetches_beyond = true;  // as Gemm's
  bool fetches_rows = false;
};

void FloatProduct::Run(const float* a, const float* b, const Addend& bias, const Addend& other,
                       float* c, void* workspace) const {
  float* const panels = At<float>(workspace, panels_);
  const bool in_pieces = way_ == Way::kPack || way_ == Way::kHalves;
  const int64_t step = std::max<int64_t>(in_pieces ? piece_columns_ : shape_.columns, 1);
  const size_t matrices = shape_.a_matrices.size();
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      const auto first_of = [&](int64_t number) {
        return matrices * static_cast<size_t>(number) / static_cast<size_t>(slots_);
      };
      RunMatrices(first_of(slot), first_of(slot + 1), step, a, b, bias, other, c,
                  panels + slot * slot_floats_);
    }
  });
}

FloatProduct::Part FloatProduct::PartOf(size_t i, const float* a, const Addend& bias,
                                        const Addend& other, float* c) const {
  Part part{.a = a + shape_.a_matrices[i] * shape_.a_size(),
            .b = {},
            .c = c + static_cast<int64_t>(i) * shape_.c_size(),
            .bias = bias,
            .other = other,
            .rows = shape_.rows,
            .columns = shape_.columns,
            .depth = shape_.depth};
  for (Addend* addend : {&part.bias, &part.other}) {
    if (addend->data != nullptr) addend->data += static_cast<int64_t>(i) * addend->matrix_stride;
  }
  return part;
}

int64_t FloatProduct::PackedAt(size_t i) const {
  return shape_.b_matrices[i] * PanelElements(part_.all_depth, part_.all_columns) +
         part_.first_column * part_.all_depth + part_.first_depth * kPanelWidth;
}

PanelMatrix FloatProduct::PackedMatrix(size_t i) const {
  return {static_cast<const float*>(packed_) + PackedAt(i), kPanelWidth,
          part_.all_depth * kPanelWidth};
}

void FloatProduct::RunBlock(const ProductBlock& block, const float* a, const Addend& bias,
                            const Addend& other, float* c, Order order) const {
  assert(packed() && block.first_column % kPanelWidth == 0);
  const size_t matrices = shape_.a_matrices.size();
  for (size_t number = 0; number < matrices; ++number) {
    const size_t i = order == Order::kBack ? matrices - 1 - number : number;
    Part part = PartOf(i, a, bias, other, c);
    part.order = order;
    part.b = PackedMatrix(i);
    part.first_row = block.first_row;
    part.rows = block.rows;
    part.first_column = block.first_column;
    part.columns = block.columns;
    RunPart(part);
  }
}

void FloatProduct::RunMatrices(size_t first_matrix, size_t end_matrix, int64_t step, const float* a,
                               const float* b, const Addend& bias, const Addend& other, float* c,
                               float* panels) const {
  const int64_t first_of_b =
      part_.first_depth * shape_.b_depth_stride + part_.first_column * shape_.b_column_stride;
  for (int64_t first = 0; first < shape_.columns; first += step) {
    int64_t in_panels = -1;
    for (size_t i = first_matrix; i < end_matrix; ++i) {
      const float* const matrix = b + shape_.b_matrices[i] * shape_.b_size() + first_of_b;
      Part part = PartOf(i, a, bias, other, c);
      part.first_column = first;
      part.columns = std::min(step, shape_.columns - first);
      switch (way_) {
        case Way::kPacked:
          part.b = PackedMatrix(i);
          break;
        case Way::kHalves:
          part.halves = static_cast<const uint16_t*>(packed_) + PackedAt(i);
          [[fallthrough]];
        case Way::kPack:
          RunPacking(part, matrix, panels, piece_parts_ == 1 && in_panels == shape_.b_matrices[i]);
          in_panels = shape_.b_matrices[i];
          continue;
        case Way::kDots:
          part.b = {matrix, 1, 0};
          break;
        case Way::kInPlace:
          if (SumsRows()) {
            RunSumsOfRows(part, matrix);
            continue;
          }
          part.b = {matrix, shape_.b_depth_stride, kPanelWidth};
          part.columns -= shape_.columns % kPanelWidth;
          if (part.columns < shape_.columns) {
            Part tail = part;
            tail.first_column = part.columns;
            tail.columns = shape_.columns - part.columns;
            RunPacking(tail, matrix, panels, false);
          }
          break;
      }
      RunMatrix(part);
    }
  }
}

// Whether a few rows of small matrices are sums of B's rows, which no panels are made of.
bool FloatProduct::SumsRows() const {
  constexpr int64_t kMostSummedRows = 2;
  if (steps_.given() && (steps_.in_fours || shape_.depth > steps_.depth_step)) return false;
  return shape_.rows <= kMostSummedRows && shape_.a_depth_stride == 1 && shape_.depth > 0 &&
         shape_.columns <= kSummedColumns &&
         shape_.rows * shape_.columns * shape_.depth < kThreadWork;
}

void FloatProduct::RunSumsOfRows(const Part& part, const float* b) const {
  std::array<float, kSummedColumns> sums;
  for (int64_t row = 0; row < shape_.rows; ++row) {
    SumOfRows(b, shape_.b_depth_stride, shape_.depth, shape_.columns,
              part.a + row * shape_.a_row_stride, sums.data());
    float* const c = part.c + row * shape_.columns;
    const bool has_other = part.other.data != nullptr;
    const bool adds = has_other || part.bias.data != nullptr;
    if (has_other) AddRow(part.other, row, 0, shape_.columns, false, c);
    if (part.bias.data != nullptr) AddRow(part.bias, row, 0, shape_.columns, has_other, c);
    if (adds) {
      RowAddTo(sums.data(), shape_.columns, scale_, c);
    } else {
      RowAffine(sums.data(), shape_.columns, scale_, 0.0f, c);
    }
    if (activation_ != nullptr) activation_(c, c, shape_.columns, coefficients_);
  }
}

void FloatProduct::RunMatrix(const Part& whole) const {
  if (whole.rows == 0 || whole.columns == 0) return;
  const int64_t work = whole.rows * whole.columns * std::max<int64_t>(whole.depth, 1);
  const int64_t most = std::clamp<int64_t>(work / kThreadWork, 1, Threads());
  if (most == 1 || InRegion()) return RunPart(whole);
  const ProductTiles tiles = TilesOfProduct(whole.rows, whole.columns);
  const int64_t tile_work = std::max<int64_t>(work / (tiles.rows * tiles.columns), 1);
  const int64_t wanted = std::max(work / (most * MostPartsOfThread(most)), kThreadWork);
  // What two threads read comes from each other's caches: better the smaller of A and B.
  const ProductGrid grid = GridOfProduct(tiles, most, kThreadWork / tile_work, wanted / tile_work,
                                         by_rows_ || whole.rows > whole.columns);
  const bool down = !grid.by_rows;  // pieces below each other follow each other
  const bool dense = shape_.a_row_stride == whole.depth && shape_.a_depth_stride == 1;
  const bool rows_once = tiles.columns <= kTilesOfRow * most;
  ParallelPieces(grid.pieces(), Threads(), [&](int64_t piece, int64_t) {
    const ProductBlock block = BlockOfPiece(grid, whole.rows, whole.columns, piece);
    if (block.rows == 0 || block.columns == 0) return;
    Part part = whole;
    part.first_row += block.first_row;
    part.rows = block.rows;
    part.first_column += block.first_column;
    part.columns = block.columns;
    part.fetches_beyond = !down || block.first_row + block.rows == whole.rows;
    part.fetches_rows = down && dense && rows_once;
    RunPart(part);
  });
}

void FloatProduct::RunPart(const Part& part) const {
  if (way_ == Way::kDots) return RunDots(part);
  const int64_t last_row = part.first_row + part.rows;
  const int64_t last_column = part.first_column + part.columns;
  const bool is_first = part.from == 0;
  const bool is_last = part.from + part.depth == shape_.depth;
  const bool bias_first = is_first && !bias_last_ && part.bias.data != nullptr;
  const bool has_other = part.other.data != nullptr;
  const bool adds = bias_first || (is_first && has_other);
  const int64_t block_columns = part.order == Order::kUsual ? block_columns_ : kTurnColumns;
  const int64_t blocks = (part.columns + block_columns - 1) / block_columns;
  for (int64_t row = part.first_row; row < last_row; row += block_rows_) {
    for (int64_t number = 0; number < blocks; ++number) {
      const int64_t block = part.order == Order::kBack ? blocks - 1 - number : number;
      const int64_t column = part.first_column + block * block_columns;
      Gemm gemm{.rows = std::min(block_rows_, last_row - row),
                .columns = std::min(block_columns, last_column - column),
                .depth = part.depth,
                .depth_step = steps_.depth_step,
                .a = part.a + row * shape_.a_row_stride + part.from * shape_.a_depth_stride,
                .a_row_stride = shape_.a_row_stride,
                .a_depth_stride = shape_.a_depth_stride,
                .b = part.b,
                .scale = scale_,
                .c = part.c + row * shape_.columns + column,
                .c_stride = shape_.columns,
                .accumulate = adds || !is_first,
                .fetches_beyond = part.fetches_beyond,
                .fetches_rows = part.fetches_rows};
      gemm.b.data += column / kPanelWidth * part.b.panel_stride;
      for (int64_t r = 0; adds && r < gemm.rows; ++r) {
        float* const c = gemm.c + r * gemm.c_stride;
        if (has_other) AddRow(part.other, row + r, column, gemm.columns, false, c);
        if (bias_first) AddRow(part.bias, row + r, column, gemm.columns, has_other, c);
      }
      steps_.in_fours ? RunRowInFours(gemm) : RunGemm(gemm);
      for (int64_t r = 0; is_last && r < gemm.rows; ++r) {
        float* const c = gemm.c + r * gemm.c_stride;
        const bool biased = bias_last_ && part.bias.data != nullptr;
        if (biased) AddRow(part.bias, row + r, column, gemm.columns, true, c);
        if (activation_ != nullptr) activation_(c, c, gemm.columns, coefficients_);
      }
    }
  }
}

// Several rows at a time, so that sums do not wait for each other.
void FloatProduct::RunDotsOfOneColumn(const Part& part) const {
  constexpr int64_t kAtOnce = 64;
  std::array<float, kAtOnce> dots;
  const int64_t end = part.first_row + part.rows;
  for (int64_t first = part.first_row; first < end; first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, end - first);
    RowsTimesVector(part.a + first * shape_.a_row_stride, shape_.a_row_stride, count, shape_.depth,
                    part.b.data, scale_, dots.data());
    float* const c = part.c + first;
    for (int64_t i = 0; i < count; ++i) {
      float added = 0;
      for (const Addend* const addend : {&part.other, &part.bias}) {
        if (addend->data == nullptr) continue;
        added += addend->factor * addend->data[(first + i) * addend->row_stride];
      }
      c[i] = added + dots[static_cast<size_t>(i)];
    }
    if (activation_ != nullptr) activation_(c, c, count, coefficients_);
  }
}

void FloatProduct::RunDots(const Part& part) const {
  if (shape_.columns == 1) return RunDotsOfOneColumn(part);
  for (int64_t row = part.first_row; row < part.first_row + part.rows; ++row) {
    float* const c = part.c + row * shape_.columns + part.first_column;
    const bool has_other = part.other.data != nullptr;
    const bool adds = has_other || part.bias.data != nullptr;
    if (has_other) AddRow(part.other, row, part.first_column, part.columns, false, c);
    if (part.bias.data != nullptr) {
      AddRow(part.bias, row, part.first_column, part.columns, has_other, c);
    }
    for (int64_t i = 0; i < part.columns; ++i) {
      const float* const b = part.b.data + (part.first_column + i) * shape_.b_column_stride;
      const float dot = scale_ * RowDot(part.a + row * shape_.a_row_stride, b, shape_.depth);
      c[i] = adds ? c[i] + dot : dot;
    }
    if (activation_ != nullptr) activation_(c, c, part.columns, coefficients_);
  }
}

// A piece of the columns, packed part by part of the depth. `packed`: it is in the panels already.
void FloatProduct::RunPacking(const Part& piece, const float* b, float* panels, bool packed) const {
  for (int64_t i = 0; i < piece_parts_; ++i) {
    Part part = piece;
    part.from = piece_parts_ == 1 ? 0 : depth_parts().begin(i);
    part.depth = (piece_parts_ == 1 ? shape_.depth : depth_parts().begin(i + 1)) - part.from;
    if (!packed) PackPiece(part, b, panels);
    // Panels are counted from the matrix's first column on.
    part.b = {panels - part.first_column * part.depth, kPanelWidth, part.depth * kPanelWidth};
    RunMatrix(part);
  }
}

void FloatProduct::PackPiece(const Part& piece, const float* b, float* panels) const {
  if (piece.halves != nullptr) return WidenPiece(piece, panels);
  const float* const first =
      b + piece.from * shape_.b_depth_stride + piece.first_column * shape_.b_column_stride;
  const int64_t count = PanelColumns(piece.columns) / kPanelWidth;
  const int64_t panel_work = piece.depth * kPanelWidth * kPackingWork + 1;
  const int64_t grain = std::max<int64_t>(kThreadWork / panel_work, 1);
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    const int64_t column = begin * kPanelWidth;
    const int64_t last = std::min(end * kPanelWidth, piece.columns);
    PackPanels(first + column * shape_.b_column_stride, shape_.b_depth_stride,
               shape_.b_column_stride, 0, piece.depth, column, last - column, piece.depth, panels);
  });
}

void FloatProduct::WidenPiece(const Part& piece, float* panels) const {
  const int64_t stride = part_.all_depth * kPanelWidth;
  const int64_t length = piece.depth * kPanelWidth;
  const uint16_t* const first =
      piece.halves + piece.first_column / kPanelWidth * stride + piece.from * kPanelWidth;
  const int64_t count = PanelColumns(piece.columns) / kPanelWidth;
  const int64_t grain = std::max<int64_t>(kThreadWork / (length + 1), 1);
  VisitType<HalfFloats>(element_, [&]<typename Half>() {
    ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        WidenRow(reinterpret_cast<const Half*>(first + panel * stride), length,
                 panels + panel * length);
      }
    });
  });
}

}  // namespace plimsoll::kernels::cpu
