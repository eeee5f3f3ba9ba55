#pragma once

#include "kernels/host_value.h"

namespace plimsoll::cli {

// How far apart two tensors of numbers are: the length of their difference over the length of
// `expected`. Infinite where types or shapes differ, or where only one has a NaN at some place.
double RelativeDistance(const kernels::HostTensor& got, const kernels::HostTensor& expected);

// The largest difference between two elements at one place; infinite as above.
double LargestDifference(const kernels::HostTensor& got, const kernels::HostTensor& expected);

}  // namespace plimsoll::cli
