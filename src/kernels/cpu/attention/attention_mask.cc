#include "kernels/cpu/attention/attention_mask.h"

namespace plimsoll::kernels::cpu {
namespace {

// The mask's size along axis `axis` of [batch, heads, queries, keys].
int64_t SizeAlong(const Dims& dims, size_t axis) {
  const size_t missing = 4 - dims.size();
  return axis < missing ? 1 : dims[axis - missing];
}

}  // namespace

bool AttentionMask::Fits(const TensorInfo& mask, const AttentionShape& shape) {
  if (mask.rank() < 1 || mask.rank() > 4) return false;
  const std::array<int64_t, 3> full = {shape.batch, shape.query_heads, shape.queries};
  for (size_t axis = 0; axis < full.size(); ++axis) {
    const int64_t size = SizeAlong(mask.dims, axis);
    if (size != 1 && size != full[axis]) return false;
  }
  return mask.dims.back() <= shape.keys;
}

AttentionMask::AttentionMask(const TensorInfo& mask, const AttentionShape& shape)
    : type_(mask.type), keys_(mask.dims.back()) {
  int64_t stride = 1;
  const std::array<int64_t, 4> full = {shape.batch, shape.query_heads, shape.queries, keys_};
  for (size_t axis = 4; axis-- > 0;) {
    const int64_t size = SizeAlong(mask.dims, axis);
    strides_[axis] = size == full[axis] ? stride : 0;
    stride *= size;
  }
}

}  // namespace plimsoll::kernels::cpu
