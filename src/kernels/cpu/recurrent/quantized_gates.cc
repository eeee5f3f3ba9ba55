#include "kernels/cpu/recurrent/quantized_gates.h"

#include <algorithm>

#include "kernels/cpu/vector/float_rows.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<QuantizedGates> QuantizedGates::Make(const KernelSite& site, size_t weights, size_t scale,
                                            const RecurrentShape& shape, int64_t direction,
                                            int64_t rows, WorkspaceLayout& workspace) {
  QuantizedGates made;
  made.weights_ = weights;
  made.scale_ = scale;
  made.direction_ = direction;
  // Sums of one row lie gate behind gate, as their columns do: one product makes all of them.
  made.products_ = rows == 1 ? 1 : shape.gates;
  const int64_t columns = shape.gates * shape.hidden;
  for (const size_t input : {scale, scale + 1}) {
    const int64_t count = site.inputs[input].elements();
    if (count != shape.directions && count != shape.directions * columns) {
      return site.BadInput(StrCat("input ", input, " has ", count,
                                  " elements, not one a direction or one a column"));
    }
    (input == scale ? made.scale_count_ : made.zero_count_) = count / shape.directions;
  }
  const int64_t depth = site.inputs[weights].dims[1];
  PLIMSOLL_ASSIGN(made.product_, ByteProduct::MakeForOperands(site,
                                                              {.rows = rows,
                                                               .columns = columns / made.products_,
                                                               .depth = depth,
                                                               .a_row_stride = depth,
                                                               .a_depth_stride = 1,
                                                               .b_depth_stride = columns,
                                                               .b_column_stride = 1,
                                                               .a_matrices = {0},
                                                               .b_matrices = {0},
                                                               .b_count = 1},
                                                              weights, scale + 1, workspace));
  made.bytes_ = workspace.Take(Bytes(rows * depth));
  made.scales_ = workspace.Take(Bytes(columns / made.products_) * 4);
  made.sums_ = workspace.Take(Bytes(rows * (columns / made.products_)) * 4);
  return made;
}

void QuantizedGates::AddTo(const KernelCall& call, const float* a, const FloatRange& range,
                           float* c) const {
  const ProductShape& shape = product_->shape();
  const DynamicScale quantized = DynamicScaleOf(range);
  auto* const bytes = At<uint8_t>(call.workspace, bytes_);
  QuantizeRun(a, shape.rows * shape.depth, quantized.scale, quantized.zero_point, bytes);
  auto* const scales = At<float>(call.workspace, scales_);
  auto* const sums = At<float>(call.workspace, sums_);
  const auto* const weights = static_cast<const std::byte*>(call.inputs[weights_]) +
                              direction_ * shape.depth * shape.columns * products_;
  const bool own_scales = scale_count_ > 1;
  for (int64_t part = 0; part < products_; ++part) {
    const float* const scale = static_cast<const float*>(call.inputs[scale_]) +
                               direction_ * scale_count_ + (own_scales ? part * shape.columns : 0);
    RowAffine(scale, own_scales ? shape.columns : 1, quantized.scale, 0, scales);
    const auto* const zeros = static_cast<const std::byte*>(call.inputs[scale_ + 1]) +
                              direction_ * zero_count_ +
                              (zero_count_ > 1 ? part * shape.columns : 0);
    product_->RunOn({.a = bytes,
                     .a_zero = quantized.zero_point,
                     .b = weights + part * shape.columns,
                     .b_column = (direction_ * products_ + part) * shape.columns,
                     .b_zeros = zeros,
                     .b_zero_count = zero_count_ > 1 ? shape.columns : 1},
                    call.workspace,
                    {.kind = PairFinish::Kind::kFloat32,
                     .to = sums,
                     .row_stride = shape.columns,
                     .by_columns = true,
                     .scale_step = own_scales ? 1 : 0,
                     .scales = scales});
    float* const to = c + part * shape.c_size();
    RowAddTo(sums, shape.c_size(), 1, to);
  }
}

}  // namespace plimsoll::kernels::cpu
