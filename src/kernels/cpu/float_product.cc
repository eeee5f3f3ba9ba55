#include "kernels/cpu/float_product.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/float32_functions.h"
#include "kernels/cpu/float_rows.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/panel_product.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// With no more rows than this, packing B costs more than it saves.
constexpr int64_t kFewRows = 8;
constexpr int64_t kFewRowsForDots = 4;
// A block of C of this size stays in the second cache until its activation is applied.
constexpr int64_t kBlockRows = 192;
constexpr int64_t kBlockColumns = 512;
// Of a constant that is packed: read, then let go.
constexpr int64_t kSliceElements = int64_t{1} << 21;
// Of a matrix that each run packs: so much of it lies in panels at a time.
constexpr int64_t kRunSliceElements = int64_t{1} << 18;
// Multiplications that are worth a thread of their own.
constexpr int64_t kThreadWork = int64_t{1} << 17;

UnaryLoop LoopOf(FusedActivation::Kind kind) {
  using Kind = FusedActivation::Kind;
  switch (kind) {
    case Kind::kRelu:
      return Float32().relu;
    case Kind::kLeakyRelu:
      return Float32().leaky_relu;
    case Kind::kClip:
      return Float32().clip;
    case Kind::kSigmoid:
      return Float32().sigmoid;
    case Kind::kTanh:
      return Float32().tanh;
    case Kind::kSwish:
      return Float32().swish;
    case Kind::kHardSigmoid:
      return Float32().hard_sigmoid;
    case Kind::kHardSwish:
      return Float32().hard_swish;
    case Kind::kGelu:
      return Float32().gelu;
    case Kind::kGeluTanh:
      return Float32().tanh_gelu;
    case Kind::kElu:
      return Float32().elu;
    case Kind::kMish:
      return Float32().mish;
    case Kind::kNone:
      return nullptr;
  }
  return nullptr;
}

// c = addend, or c += addend.
void AddRow(const Addend& addend, int64_t row, int64_t column, int64_t columns, bool onto,
            float* c) {
  const float* const from = addend.data + row * addend.row_stride + column * addend.column_stride;
  if (addend.column_stride == 0) {
    const float value = addend.factor * *from;
    for (int64_t i = 0; i < columns; ++i) c[i] = onto ? c[i] + value : value;
  } else if (onto) {
    for (int64_t i = 0; i < columns; ++i) c[i] += addend.factor * from[i];
  } else if (from != c || addend.factor != 1) {
    for (int64_t i = 0; i < columns; ++i) c[i] = addend.factor * from[i];
  }
}

}  // namespace

struct FloatProduct::Part {
  const float* a = nullptr;
  PanelMatrix b;
  float* c = nullptr;
  Addend bias;
  Addend other;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_column = 0;
  int64_t columns = 0;
};

Result<FloatProduct> FloatProduct::Make(const KernelSite& site, size_t b, ProductShape shape,
                                        float scale, const FusedActivation& activation,
                                        WorkspaceLayout& workspace) {
  FloatProduct product;
  product.scale_ = scale;
  product.activation_ = LoopOf(activation.kind);
  product.coefficients_ = {.alpha = activation.alpha, .beta = activation.beta};
  product.shape_ = std::move(shape);
  const ProductShape& own = product.shape_;
  const int64_t elements = PanelElements(own.depth, own.columns);
  const Bytes packed_size(own.b_count * elements * int64_t{sizeof(float)});
  const TensorInfo& tensor = site.inputs[b];
  const Bytes panels = product.ChooseUnpacked();
  const bool packs = tensor.constant && site.packed_weights != nullptr && tensor.elements() > 0 &&
                     site.packed_weights->Wants(tensor.data, tensor.size(), packed_size, panels);
  if (!packs) {
    product.panels_ = workspace.Take(panels);
    return product;
  }
  product.way_ = Way::kPacked;
  const std::string layout = StrCat("panels ", own.b_count, "x", own.depth, "x", own.columns, "/",
                                    own.b_depth_stride, "/", own.b_column_stride);
  PLIMSOLL_ASSIGN(
      const void* const packed,
      site.packed_weights->Pack(tensor.data, tensor.size(), layout, packed_size, [&](void* to) {
        for (int64_t i = 0; i < own.b_count; ++i) {
          product.PackConstant(static_cast<const float*>(tensor.data) + i * own.b_size(),
                               static_cast<float*>(to) + i * elements, *site.packed_weights);
        }
        return Status();
      }));
  product.packed_ = static_cast<const float*>(packed);
  return product;
}

// How to read B as it is; gives what that takes of the workspace.
Bytes FloatProduct::ChooseUnpacked() {
  const int64_t depth = std::max<int64_t>(shape_.depth, 1);
  slice_columns_ = std::max<int64_t>(kRunSliceElements / depth / kPanelWidth, 1) * kPanelWidth;
  slice_columns_ = std::min(slice_columns_, PanelColumns(shape_.columns));
  int64_t scratch = PanelElements(shape_.depth, slice_columns_);
  way_ = Way::kPack;
  if (shape_.b_column_stride == 1 && shape_.rows <= kFewRows) {
    way_ = Way::kInPlace;
    scratch = shape_.columns % kPanelWidth == 0 ? 0 : PanelElements(shape_.depth, kPanelWidth);
  } else if (shape_.b_depth_stride == 1 && shape_.a_depth_stride == 1 &&
             shape_.rows <= kFewRowsForDots) {
    way_ = Way::kDots;
    scratch = 0;
  }
  return Bytes(scratch * int64_t{sizeof(float)});
}

void FloatProduct::PackSlice(const float* b, int64_t first_column, int64_t columns,
                             float* panels) const {
  const int64_t count = PanelColumns(columns) / kPanelWidth;
  const int64_t grain = std::max<int64_t>(kThreadWork / (shape_.depth * kPanelWidth + 1), 1);
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kPanelWidth;
    const int64_t last = std::min(end * kPanelWidth, columns);
    PackPanels(b + (first_column + first) * shape_.b_column_stride, shape_.b_depth_stride,
               shape_.b_column_stride, 0, shape_.depth, first, last - first, shape_.depth, panels);
  });
}

// Slice by slice, and what has been read is let go: a large weight never lies in memory twice.
void FloatProduct::PackConstant(const float* b, float* panels, PackedWeights& store) const {
  const bool by_columns = shape_.b_depth_stride == 1;
  const int64_t lines = by_columns ? shape_.columns : shape_.depth;
  const int64_t length = by_columns ? shape_.depth : shape_.columns;
  const int64_t step =
      std::max<int64_t>(kSliceElements / std::max<int64_t>(length, 1) / kPanelWidth, 1) *
      kPanelWidth;
  for (int64_t first = 0; first < lines; first += step) {
    const int64_t count = std::min(step, lines - first);
    const float* const slice = b + first * length;
    if (by_columns) {
      PackPanels(slice, 1, length, 0, shape_.depth, first, count, shape_.depth, panels);
    } else {
      PackPanels(slice, length, 1, first, count, 0, shape_.columns, shape_.depth, panels);
    }
    store.Forget(slice, Bytes(count * length * int64_t{sizeof(float)}));
  }
}

void FloatProduct::Run(const float* a, const float* b, const Addend& bias, const Addend& other,
                       float* c, void* workspace) const {
  const int64_t elements = PanelElements(shape_.depth, shape_.columns);
  float* const panels = At<float>(workspace, panels_);
  size_t next = 0;
  for (size_t i = 0; i < shape_.a_matrices.size(); i = next) {
    next = i + 1;
    const float* const matrix = b + shape_.b_matrices[i] * shape_.b_size();
    Part whole = PartOf(i, a, bias, other, c);
    if (way_ == Way::kPacked) {
      whole.b = {packed_ + shape_.b_matrices[i] * elements, kPanelWidth,
                 shape_.depth * kPanelWidth};
    } else if (way_ == Way::kDots) {
      whole.b = {matrix, 1, 0};
    } else if (way_ == Way::kInPlace) {
      const int64_t tail = shape_.columns % kPanelWidth;
      whole.b = {matrix, shape_.b_depth_stride, kPanelWidth};
      whole.columns -= tail;
      if (tail > 0) {
        PackSlice(matrix, whole.columns, tail, panels);
        RunInPanels(whole, whole.columns, tail, panels);
      }
    } else {
      while (next < shape_.b_matrices.size() && shape_.b_matrices[next] == shape_.b_matrices[i]) {
        ++next;
      }
      for (int64_t first = 0; first < shape_.columns; first += slice_columns_) {
        const int64_t count = std::min(slice_columns_, shape_.columns - first);
        PackSlice(matrix, first, count, panels);
        for (size_t j = i; j < next; ++j) {
          RunInPanels(PartOf(j, a, bias, other, c), first, count, panels);
        }
      }
      continue;
    }
    RunMatrix(whole);
  }
}

// One product, B still to come.
FloatProduct::Part FloatProduct::PartOf(size_t i, const float* a, const Addend& bias,
                                        const Addend& other, float* c) const {
  Part part{.a = a + shape_.a_matrices[i] * shape_.a_size(),
            .b = {},
            .c = c + static_cast<int64_t>(i) * shape_.c_size(),
            .bias = bias,
            .other = other,
            .rows = shape_.rows,
            .columns = shape_.columns};
  for (Addend* addend : {&part.bias, &part.other}) {
    if (addend->data != nullptr) addend->data += static_cast<int64_t>(i) * addend->matrix_stride;
  }
  return part;
}

// These columns of a product, which the panels begin with.
void FloatProduct::RunInPanels(Part part, int64_t first, int64_t columns,
                               const float* panels) const {
  part.first_column = first;
  part.columns = columns;
  // Panels are counted from the matrix's first column on.
  part.b = {panels - first * shape_.depth, kPanelWidth, kPanelWidth * shape_.depth};
  RunMatrix(part);
}

void FloatProduct::RunMatrix(const Part& whole) const {
  if (whole.rows == 0 || whole.columns == 0) return;
  const int64_t panels = (whole.columns + kPanelWidth - 1) / kPanelWidth;
  const auto grain = [&](int64_t slices) {
    const int64_t work = whole.rows * whole.columns * std::max<int64_t>(shape_.depth, 1) / slices;
    return std::max<int64_t>(kThreadWork / std::max<int64_t>(work, 1), 1);
  };
  if (panels >= Threads() || panels >= whole.rows) {
    ParallelFor(panels, grain(panels), [&](int64_t begin, int64_t end) {
      Part part = whole;
      part.first_column += begin * kPanelWidth;
      part.columns = std::min(end * kPanelWidth, whole.columns) - begin * kPanelWidth;
      RunPart(part);
    });
    return;
  }
  ParallelFor(whole.rows, grain(whole.rows), [&](int64_t begin, int64_t end) {
    Part part = whole;
    part.first_row = begin;
    part.rows = end - begin;
    RunPart(part);
  });
}

void FloatProduct::RunPart(const Part& part) const {
  if (way_ == Way::kDots) return RunDots(part);
  const int64_t last_row = part.first_row + part.rows;
  const int64_t last_column = part.first_column + part.columns;
  const bool adds = part.bias.data != nullptr || part.other.data != nullptr;
  for (int64_t row = part.first_row; row < last_row; row += kBlockRows) {
    for (int64_t column = part.first_column; column < last_column; column += kBlockColumns) {
      Gemm gemm{.rows = std::min(kBlockRows, last_row - row),
                .columns = std::min(kBlockColumns, last_column - column),
                .depth = shape_.depth,
                .a = part.a + row * shape_.a_row_stride,
                .a_row_stride = shape_.a_row_stride,
                .a_depth_stride = shape_.a_depth_stride,
                .b = part.b,
                .scale = scale_,
                .c = part.c + row * shape_.columns + column,
                .c_stride = shape_.columns,
                .accumulate = adds};
      gemm.b.data += column / kPanelWidth * part.b.panel_stride;
      for (int64_t r = 0; adds && r < gemm.rows; ++r) {
        float* const c = gemm.c + r * gemm.c_stride;
        const bool has_other = part.other.data != nullptr;
        if (has_other) AddRow(part.other, row + r, column, gemm.columns, false, c);
        if (part.bias.data != nullptr) {
          AddRow(part.bias, row + r, column, gemm.columns, has_other, c);
        }
      }
      RunGemm(gemm);
      for (int64_t r = 0; activation_ != nullptr && r < gemm.rows; ++r) {
        float* const c = gemm.c + r * gemm.c_stride;
        activation_(c, c, gemm.columns, coefficients_);
      }
    }
  }
}

void FloatProduct::RunDots(const Part& part) const {
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

}  // namespace plimsoll::kernels::cpu
