#pragma once

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A shape seen from one of its axes: element (o, i, n) lies at (o * length + i) * inner + n.
struct AxisSplit {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  int64_t lanes() const { return outer * inner; }
};

// `axis` must be in [0, rank).
AxisSplit SplitAt(std::span<const int64_t> dims, int64_t axis);

// An axis of the standard, which counts from the end when it is negative, as one in [0, rank).
Result<int64_t> NormalAxis(const KernelSite& site, int64_t axis, int64_t rank);

// "index 7 is outside an axis of 5", in the words of the site that `base` was made from.
Status IndexOutside(const Error& base, int64_t index, int64_t length);

// Element `i` of a tensor of int32 or int64.
inline int64_t IndexAt(graph::DataType type, const void* data, int64_t i) {
  return type == graph::DataType::kInt64 ? static_cast<const int64_t*>(data)[i]
                                         : static_cast<const int32_t*>(data)[i];
}

// Fails unless the type is int32 or int64.
Status CheckIndexType(const KernelSite& site, size_t input);

}  // namespace plimsoll::kernels::cpu
