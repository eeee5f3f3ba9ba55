#include "kernels/cpu/product/contraction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/matrix_vector.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Rows that are multiplied one by one, without packing.
constexpr int64_t kVectorRows = 3;
// Rows whose products with long ones go without packing, and their elements.
constexpr int64_t kMostLongRows = 16;
constexpr int64_t kMostLongDepth = 64;
constexpr int64_t kFewestLongColumns = 4 * kPanelWidth;
// Columns of long rows that are worked on at once.
constexpr int64_t kLongPiece = 64 * kPanelWidth;

int64_t Count(std::span<const ContractedAxis> axes) {
  int64_t count = 1;
  for (const ContractedAxis& axis : axes) count *= axis.size;
  return count;
}

}  // namespace

int64_t Contraction::kept_count() const { return Count(kept); }
int64_t Contraction::summed_count() const { return Count(summed); }

void MatrixContraction::Axes::Add(const ContractedAxis& axis) {
  a.push_back({axis.size, axis.a});
  b.push_back({axis.size, axis.b});
  c.push_back({axis.size, axis.c});
  count *= axis.size;
}

int64_t MatrixContraction::Stride(const Groups& groups) {
  if (groups.empty()) return 1;
  int64_t stride = groups.back().stride;
  int64_t expected = stride;
  for (size_t i = groups.size(); i-- > 0;) {
    if (groups[i].stride != expected) return 0;
    expected *= groups[i].size;
  }
  return stride;
}

bool MatrixContraction::Fits(const Contraction& contraction) {
  constexpr int64_t kWorthwhile = 64;  // multiplications
  const auto in_both = [](const ContractedAxis& axis) {
    return axis.size == 1 || (axis.a != 0 && axis.b != 0);
  };
  return contraction.binary &&
         std::all_of(contraction.summed.begin(), contraction.summed.end(), in_both) &&
         contraction.kept_count() * contraction.summed_count() >= kWorthwhile;
}

void MatrixContraction::Arrange(const Contraction& contraction, bool exchanged) {
  exchanged_ = exchanged;
  batch_ = rows_ = columns_ = depth_ = Axes();
  a_stride_ = c_stride_ = 0;
  const auto own = [exchanged](ContractedAxis axis) {
    if (exchanged) std::swap(axis.a, axis.b);
    return axis;
  };
  for (const ContractedAxis& given : contraction.kept) {
    const ContractedAxis axis = own(given);
    if (axis.size == 1) continue;
    const bool is_row = axis.b == 0;
    const bool is_column = axis.a == 0 && axis.b != 0;
    (is_row ? rows_ : is_column ? columns_ : batch_).Add(axis);
  }
  for (const ContractedAxis& axis : contraction.summed) {
    if (axis.size != 1) depth_.Add(own(axis));
  }
  SplitColumns();
  if (Stride(depth_.a) == 1) a_stride_ = rows_.count == 1 ? depth_.count : Stride(rows_.a);
  if (Stride(columns_.c) == 1) c_stride_ = rows_.count == 1 ? columns_.count : Stride(rows_.c);
  vectors_ = MultipliesVectors();
}

MatrixContraction::MatrixContraction(const Contraction& contraction, Bytes most_workspace,
                                     const MatrixContraction* whole) {
  // A matrix times a vector is the vector times the matrix, whose rows are then read as they lie.
  const bool one_column = std::ranges::none_of(
      contraction.kept, [](const ContractedAxis& axis) { return axis.size > 1 && axis.a == 0; });
  if (one_column && (whole == nullptr || whole->exchanged_)) Arrange(contraction, true);
  if (!vectors_) Arrange(contraction, false);
  vectors_ = vectors_ && (whole == nullptr || whole->vectors_);
  if (vectors_) return;
  for (const bool exchanged : {true, false}) {
    Arrange(contraction, exchanged);
    vectors_ = false;  // as the whole has it
    long_rows_ = ReadsLongRows() && (whole == nullptr || whole->long_rows_);
    if (long_rows_) return;
  }
  // Of the packed columns: with fewer, what is gathered of A is gathered too often.
  constexpr int64_t kColumnBytes = 1 << 20;
  constexpr int64_t kContractionRows = 48;
  constexpr int64_t kFewColumns = 64;
  constexpr int64_t kFewRows = 12;
  const int64_t all = std::max(PanelColumns(columns_.count), kPanelWidth);
  const int64_t panel = std::max<int64_t>(depth_.count, 1) * kPanelWidth * int64_t{sizeof(float)};
  const int64_t many = std::clamp(kColumnBytes / panel * kPanelWidth, kFewColumns, all);
  const int64_t slots = std::clamp<int64_t>(rows_.count / kContractionRows, 1, Threads());
  const Pieces choices[] = {{many, kContractionRows, slots},
                            {many, kContractionRows, 1},
                            {std::min(kFewColumns, all), kContractionRows, 1},
                            {kPanelWidth, kFewRows, 1}};
  for (const Pieces& pieces : choices) {
    Place(pieces);
    if (workspace_ <= most_workspace) return;
  }
  // A few columns packed as a panel are padding for the most part.
  if (columns_.count * 4 <= kPanelWidth) Place({0, 0, 1});
}

void MatrixContraction::SplitColumns() {
  size_t first = columns_.b.size();
  while (first > 0 && Stride(Groups(columns_.b.begin() + static_cast<std::ptrdiff_t>(first) - 1,
                                    columns_.b.end())) != 0) {
    --first;
  }
  Axes outer, inner;
  for (size_t i = 0; i < columns_.b.size(); ++i) {
    (i < first ? outer : inner)
        .Add(
            {columns_.b[i].size, columns_.a[i].stride, columns_.b[i].stride, columns_.c[i].stride});
  }
  const bool few_rows = rows_.count <= kVectorRows;
  if (first == 0 || (inner.count < kPanelWidth && !few_rows)) return;
  for (size_t i = 0; i < outer.b.size(); ++i) {
    batch_.Add({outer.b[i].size, outer.a[i].stride, outer.b[i].stride, outer.c[i].stride});
  }
  columns_ = inner;
}

bool MatrixContraction::MultipliesVectors() const {
  const int64_t column = Stride(columns_.b);
  const int64_t down = Stride(depth_.b);
  return rows_.count <= kVectorRows && a_stride_ != 0 && c_stride_ != 0 && column != 0 &&
         down != 0 && (column == 1 || down == 1);
}

bool MatrixContraction::ReadsLongRows() const {
  const bool evenly = Stride(rows_.a) != 0 && Stride(depth_.a) != 0 && Stride(depth_.b) != 0 &&
                      Stride(rows_.c) != 0;
  return evenly && Stride(columns_.b) == 1 && Stride(columns_.c) == 1 &&
         rows_.count <= kMostLongRows && depth_.count <= kMostLongDepth &&
         columns_.count >= kFewestLongColumns;
}

void MatrixContraction::RunLongRows(const float* a, const float* b, int64_t column, int64_t count,
                                    float* c) const {
  const int64_t whole = count / kPanelWidth * kPanelWidth;
  Gemm gemm{.rows = rows_.count,
            .columns = whole,
            .depth = depth_.count,
            .a = a,
            .a_row_stride = Stride(rows_.a),
            .a_depth_stride = Stride(depth_.a),
            .b = {b + column, Stride(depth_.b), kPanelWidth},
            .c = c + column,
            .c_stride = Stride(rows_.c)};
  if (whole > 0) RunGemm(gemm);
  if (whole == count) return;
  // The last panel is read whole.
  std::array<float, kMostLongDepth * kPanelWidth> panel{};
  for (int64_t d = 0; d < depth_.count; ++d) {
    std::copy_n(gemm.b.data + whole + d * gemm.b.row_stride, count - whole,
                panel.data() + d * kPanelWidth);
  }
  gemm.columns = count - whole;
  gemm.b = {panel.data(), kPanelWidth, 0};
  gemm.c += whole;
  RunGemm(gemm);
}

void MatrixContraction::RunVectors(const float* a, const float* b, float* c) const {
  const int64_t column = Stride(columns_.b);
  const int64_t down = Stride(depth_.b);
  for (int64_t row = 0; row < rows_.count; ++row, a += a_stride_, c += c_stride_) {
    if (column == 1) {
      SumOfRows(b, down, depth_.count, columns_.count, a, c);
    } else {
      RowsTimesVector(b, column, columns_.count, depth_.count, a, 1.0f, c);
    }
  }
}

void MatrixContraction::Place(const Pieces& pieces) {
  constexpr int64_t kFloat = sizeof(float);
  pieces_ = pieces;
  workspace_ = Bytes();
  if (pieces.columns == 0) return;
  WorkspaceLayout layout;
  layout.Take(Bytes(depth_.count * pieces.columns) * kFloat);
  const int64_t rows = pieces.rows * pieces.slots;
  if (a_stride_ == 0) a_offset_ = layout.Take(Bytes(rows * depth_.count) * kFloat);
  if (c_stride_ == 0) c_offset_ = layout.Take(Bytes(rows * pieces.columns) * kFloat);
  workspace_ = layout.total();
}

Bytes MatrixContraction::workspace() const { return workspace_; }

void MatrixContraction::Run(const float* a, const float* b, void* workspace, float* c) const {
  if (exchanged_) std::swap(a, b);
  if (vectors_) {
    constexpr int64_t kGrain = 1 << 15;  // multiplications
    const int64_t work = std::max<int64_t>(rows_.count * columns_.count * depth_.count, 1);
    ParallelFor(batch_.count, std::max<int64_t>(kGrain / work, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        RunVectors(a + OffsetIn(batch_.a, i), b + OffsetIn(batch_.b, i), c + OffsetIn(batch_.c, i));
      }
    });
    return;
  }
  if (long_rows_) {
    constexpr int64_t kGrain = 1 << 17;  // multiplications
    const int64_t pieces = (columns_.count + kLongPiece - 1) / kLongPiece;
    const int64_t work = rows_.count * depth_.count * std::min(columns_.count, kLongPiece);
    ParallelFor(batch_.count * pieces, std::max<int64_t>(kGrain / std::max<int64_t>(work, 1), 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t place = i / pieces;
                    const int64_t column = i % pieces * kLongPiece;
                    RunLongRows(a + OffsetIn(batch_.a, place), b + OffsetIn(batch_.b, place),
                                column, std::min(kLongPiece, columns_.count - column),
                                c + OffsetIn(batch_.c, place));
                  }
                });
    return;
  }
  for (int64_t i = 0; i < batch_.count; ++i) {
    RunOne(a + OffsetIn(batch_.a, i), b + OffsetIn(batch_.b, i), workspace,
           c + OffsetIn(batch_.c, i));
  }
}

void MatrixContraction::RunElements(const float* a, const float* b, float* c) const {
  const DepthParts parts{.depth = depth_.count};
  for (int64_t row = 0; row < rows_.count; ++row) {
    for (int64_t column = 0; column < columns_.count; ++column) {
      const float* const from_a = a + OffsetIn(rows_.a, row);
      const float* const from_b = b + OffsetIn(columns_.b, column);
      float total = 0;
      for (int64_t part = 0; part < parts.count(); ++part) {
        float sum = 0;
        const int64_t end = parts.begin(part + 1);
        for (int64_t d = parts.begin(part); d < end; ++d) {
          sum = std::fma(from_a[OffsetIn(depth_.a, d)], from_b[OffsetIn(depth_.b, d)], sum);
        }
        total = part == 0 ? sum : total + sum;
      }
      c[OffsetIn(rows_.c, row) + OffsetIn(columns_.c, column)] = total;
    }
  }
}

void MatrixContraction::RunOne(const float* a, const float* b, void* workspace, float* c) const {
  if (pieces_.columns == 0) return RunElements(a, b, c);
  auto* const panels = static_cast<float*>(workspace);
  const int64_t tiles = (rows_.count + pieces_.rows - 1) / pieces_.rows;
  for (int64_t column = 0; column < columns_.count; column += pieces_.columns) {
    const int64_t count = std::min(pieces_.columns, columns_.count - column);
    PackColumns(b, column, count, panels);
    ParallelFor(pieces_.slots, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        const int64_t row = slot * pieces_.rows;
        float* const gathered = At<float>(workspace, a_offset_) + row * depth_.count;
        float* const made = At<float>(workspace, c_offset_) + row * pieces_.columns;
        for (int64_t tile = slot; tile < tiles; tile += pieces_.slots) {
          const int64_t first = tile * pieces_.rows;
          RunTile(a, first, std::min(first + pieces_.rows, rows_.count), column, count, panels,
                  gathered, made, c);
        }
      }
    });
  }
}

void MatrixContraction::PackColumns(const float* b, int64_t first, int64_t count,
                                    float* panels) const {
  const int64_t row_step = Stride(depth_.b);
  const int64_t column_step = Stride(columns_.b);
  if (row_step != 0 && column_step != 0) {
    PackPanels(b + first * column_step, row_step, column_step, 0, depth_.count, 0, count,
               depth_.count, panels);
    return;
  }
  std::fill_n(panels, PanelElements(depth_.count, count), 0.0f);
  for (int64_t column = 0; column < count; ++column) {
    float* to = panels + PanelOffset(depth_.count, column);
    const float* from = b + OffsetIn(columns_.b, first + column);
    for (int64_t d = 0; d < depth_.count; ++d) to[d * kPanelWidth] = from[OffsetIn(depth_.b, d)];
  }
}

void MatrixContraction::RunTile(const float* a, int64_t first, int64_t last, int64_t column,
                                int64_t count, const float* panels, float* gathered, float* made,
                                float* c) const {
  const float* left = a + first * a_stride_;
  if (a_stride_ == 0) {
    const int64_t step = Stride(depth_.a);
    for (int64_t row = first; row < last; ++row) {
      const float* const from = a + OffsetIn(rows_.a, row);
      float* const to = gathered + (row - first) * depth_.count;
      for (int64_t d = 0; d < depth_.count; ++d) {
        to[d] = from[step != 0 ? d * step : OffsetIn(depth_.a, d)];
      }
    }
    left = gathered;
  }
  float* const results = c_stride_ != 0 ? c + first * c_stride_ + column : made;
  MultiplyPanels(last - first, count, depth_.count, left, a_stride_ != 0 ? a_stride_ : depth_.count,
                 panels, depth_.count, 1.0f, results, c_stride_ != 0 ? c_stride_ : pieces_.columns);
  if (c_stride_ != 0) return;
  const int64_t step = Stride(columns_.c);
  for (int64_t row = first; row < last; ++row) {
    float* const to = c + OffsetIn(rows_.c, row);
    const float* const from = made + (row - first) * pieces_.columns;
    for (int64_t i = 0; i < count; ++i) {
      to[step != 0 ? (column + i) * step : OffsetIn(columns_.c, column + i)] = from[i];
    }
  }
}

}  // namespace plimsoll::kernels::cpu
