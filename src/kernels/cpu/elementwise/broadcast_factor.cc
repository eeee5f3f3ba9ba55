#include "kernels/cpu/elementwise/broadcast_factor.h"

#include <algorithm>

namespace plimsoll::kernels::cpu {

BroadcastFactor::BroadcastFactor(const TensorInfo& factor, const Dims& data, size_t first)
    : type_(factor.type), elements_(WideElementsOf<double>(factor.type)), is_row_(true) {
  places_.resize(data.size());
  int64_t stride = 1;
  for (size_t axis = data.size(); axis-- > 0;) {
    const size_t from_end = data.size() - axis;
    const int64_t size =
        from_end <= factor.dims.size() ? factor.dims[factor.dims.size() - from_end] : 1;
    places_[axis] = {data[axis], size == 1 ? 0 : stride};
    stride *= size;
    is_row_ = is_row_ && size == (axis >= first ? data[axis] : 1);
    if (axis >= first) row_length_ *= data[axis];
  }
}

void BroadcastFactor::Load(const void* data, int64_t row, int64_t first, int64_t count,
                           double* to) const {
  if (!present()) {
    std::fill_n(to, count, otherwise_);
  } else if (is_row_) {
    elements_.load(data, first, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      elements_.load(data, OffsetIn(places_, row * row_length_ + first + i), 1, to + i);
    }
  }
}

}  // namespace plimsoll::kernels::cpu
