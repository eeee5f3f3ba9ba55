#include "kernels/cpu/convolution/scale_layout.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<ScaleLayout> ScaleLayout::Make(const KernelSite& site) {
  const Dims& data = site.inputs[0].dims;
  const Dims& scales = site.inputs[1].dims;
  ScaleLayout layout;
  if (site.has_input(2) && site.inputs[2].elements() != site.inputs[1].elements()) {
    return site.BadInput("there are not as many zero points as scales");
  }
  if (site.inputs[1].elements() == 1) {
    layout.inner_ = site.inputs[0].elements();
    return layout;
  }
  const auto rank = static_cast<int64_t>(data.size());
  int64_t axis = site.attributes().Int("axis", 1);
  if (rank == 1 && scales.size() == 1) axis = 0;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return site.BadInput(StrCat("there is no axis ", axis));
  const auto at = static_cast<size_t>(axis);
  const int64_t outer = ElementCount(std::span(data).first(at));
  layout.axis_ = data[at];
  layout.inner_ = ElementCount(std::span(data).subspan(at + 1));
  if (scales.size() == 1 && scales[0] == data[at]) {
    layout.kind_ = layout.inner_ == 1 ? Kind::kLastAxis : Kind::kAxis;
    layout.rows_ = layout.inner_ == 1 ? outer : outer * layout.axis_;
    return layout;
  }
  layout.block_ = site.attributes().Int("block_size", 0);
  if (layout.block_ <= 0) return site.BadInput("the scales fit neither the axis nor blocks of it");
  layout.blocks_ = (layout.axis_ + layout.block_ - 1) / layout.block_;
  Dims expected = data;
  expected[at] = layout.blocks_;
  if (scales != expected) return site.BadInput("the scales do not fit blocks of block_size");
  const bool last = layout.inner_ == 1;
  layout.kind_ = last ? Kind::kBlocksOfLastAxis : Kind::kBlocks;
  layout.rows_ = outer * (last ? layout.blocks_ : layout.axis_);
  return layout;
}

ScaleLayout::Row ScaleLayout::At(int64_t row) const {
  switch (kind_) {
    case Kind::kTensor:
      return {0, inner_, 0, 0};
    case Kind::kAxis:
      return {row * inner_, inner_, row % axis_, 0};
    case Kind::kLastAxis:
      return {row * axis_, axis_, 0, 1};
    case Kind::kBlocks: {
      const int64_t block = row / axis_ * blocks_ + row % axis_ / block_;
      return {row * inner_, inner_, block * inner_, 1};
    }
    case Kind::kBlocksOfLastAxis: {
      const int64_t in_axis = row % blocks_ * block_;
      return {row / blocks_ * axis_ + in_axis, std::min(block_, axis_ - in_axis), row, 0};
    }
  }
  return {};
}

}  // namespace plimsoll::kernels::cpu
