#include "kernels/cpu/contraction.h"

#include <algorithm>

#include "kernels/cpu/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

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
  constexpr int64_t kWorthwhile = 4096;  // multiplications
  const auto in_both = [](const ContractedAxis& axis) {
    return axis.size == 1 || (axis.a != 0 && axis.b != 0);
  };
  return contraction.binary &&
         std::all_of(contraction.summed.begin(), contraction.summed.end(), in_both) &&
         contraction.kept_count() * contraction.summed_count() >= kWorthwhile;
}

MatrixContraction::MatrixContraction(const Contraction& contraction) {
  for (const ContractedAxis& axis : contraction.kept) {
    if (axis.size == 1) continue;
    const bool is_row = axis.b == 0;
    const bool is_column = axis.a == 0 && axis.b != 0;
    (is_row ? rows_ : is_column ? columns_ : batch_).Add(axis);
  }
  for (const ContractedAxis& axis : contraction.summed) {
    if (axis.size != 1) depth_.Add(axis);
  }
  if (Stride(depth_.a) == 1) a_stride_ = rows_.count == 1 ? depth_.count : Stride(rows_.a);
  if (Stride(columns_.c) == 1) c_stride_ = rows_.count == 1 ? columns_.count : Stride(rows_.c);
  constexpr int64_t kFloat = sizeof(float);
  WorkspaceLayout layout;
  layout.Take(Bytes(PanelElements(depth_.count, columns_.count)) * kFloat);
  if (a_stride_ == 0) a_offset_ = layout.Take(Bytes(rows_.count * depth_.count) * kFloat);
  if (c_stride_ == 0) c_offset_ = layout.Take(Bytes(rows_.count * columns_.count) * kFloat);
  workspace_ = layout.total();
}

Bytes MatrixContraction::workspace() const { return workspace_; }

void MatrixContraction::Run(const float* a, const float* b, void* workspace, float* c) const {
  for (int64_t i = 0; i < batch_.count; ++i) {
    RunOne(a + OffsetIn(batch_.a, i), b + OffsetIn(batch_.b, i), workspace,
           c + OffsetIn(batch_.c, i));
  }
}

void MatrixContraction::RunOne(const float* a, const float* b, void* workspace, float* c) const {
  auto* panels = static_cast<float*>(workspace);
  const int64_t b_row = Stride(depth_.b);
  const int64_t b_column = Stride(columns_.b);
  if (b_row != 0 && b_column != 0) {
    PackPanels(b, b_row, b_column, 0, depth_.count, 0, columns_.count, depth_.count, panels);
  } else {
    std::fill_n(panels, PanelElements(depth_.count, columns_.count), 0.0f);
    for (int64_t column = 0; column < columns_.count; ++column) {
      float* to = panels + PanelOffset(depth_.count, column);
      const float* from = b + OffsetIn(columns_.b, column);
      for (int64_t d = 0; d < depth_.count; ++d) to[d * kPanelWidth] = from[OffsetIn(depth_.b, d)];
    }
  }
  constexpr int64_t kRowsAtOnce = 48;
  ParallelFor(rows_.count, kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kRowsAtOnce) {
      const int64_t last = std::min(first + kRowsAtOnce, end);
      const float* left = a + first * a_stride_;
      if (a_stride_ == 0) {
        float* packed = At<float>(workspace, a_offset_);
        for (int64_t row = first; row < last; ++row) {
          const float* from = a + OffsetIn(rows_.a, row);
          for (int64_t d = 0; d < depth_.count; ++d) {
            packed[row * depth_.count + d] = from[OffsetIn(depth_.a, d)];
          }
        }
        left = packed + first * depth_.count;
      }
      float* made = c_stride_ != 0 ? c + first * c_stride_
                                   : At<float>(workspace, c_offset_) + first * columns_.count;
      MultiplyPanels(last - first, columns_.count, depth_.count, left,
                     a_stride_ != 0 ? a_stride_ : depth_.count, panels, depth_.count, 1.0f, made,
                     c_stride_ != 0 ? c_stride_ : columns_.count);
      if (c_stride_ != 0) continue;
      for (int64_t row = first; row < last; ++row) {
        float* to = c + OffsetIn(rows_.c, row);
        const float* from = made + (row - first) * columns_.count;
        for (int64_t column = 0; column < columns_.count; ++column) {
          to[OffsetIn(columns_.c, column)] = from[column];
        }
      }
    }
  });
}

}  // namespace plimsoll::kernels::cpu
