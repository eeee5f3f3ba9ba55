#pragma once

#include <optional>

#include "kernels/cpu/product/byte_product.h"
#include "kernels/cpu/quantization/byte_loops.h"
#include "kernels/cpu/recurrent/recurrent_layer.h"

namespace plimsoll::kernels::cpu {

// The products of all gates' weights, bytes [directions, depth, gates * hidden] with one scale and
// zero point a direction or a column, with rows of data, which become bytes: c += a x weights.
class QuantizedGates {
 public:
  // The zero point of the weights is the input behind their scale.
  static Result<QuantizedGates> Make(const KernelSite& site, size_t weights, size_t scale,
                                     const RecurrentShape& shape, int64_t direction, int64_t rows,
                                     WorkspaceLayout& workspace);

  // `range` is that of the data that `a` is part of, and decides how bytes stand for it.
  void AddTo(const KernelCall& call, const float* a, const FloatRange& range, float* c) const;

 private:
  std::optional<ByteProduct> product_;
  size_t weights_ = 0;
  size_t scale_ = 0;
  int64_t direction_ = 0;
  int64_t products_ = 1;     // as many as gates, or one for all of them
  int64_t scale_count_ = 1;  // of a direction
  int64_t zero_count_ = 1;   // likewise
  int64_t bytes_ = 0;        // places in the workspace
  int64_t scales_ = 0;
  int64_t sums_ = 0;
};

}  // namespace plimsoll::kernels::cpu
