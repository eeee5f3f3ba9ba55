#pragma once

#include <vector>

#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The type that a value of a run has.
graph::ValueType TypeOf(const kernels::HostValue& value);

// The slice of `tensor` at `index` of an axis, without that axis. Allocates through `allocate`.
Result<kernels::HostTensor> TakeSlice(const kernels::HostTensor& tensor, int64_t axis,
                                      int64_t index, const kernels::AllocateTensor& allocate);

// Slices of one type and shape as one tensor, with a new axis at `axis`. Needs one slice at least;
// fails (run.slices) where they differ.
Result<kernels::HostTensor> Stack(const std::vector<kernels::HostTensor>& slices, int64_t axis,
                                  const kernels::AllocateTensor& allocate);

// Slices of one type and shape that come one by one, as one tensor with a new first axis: in memory
// that is twice as large whenever it is full.
class GrowingStack {
 public:
  // Fails as Stack does.
  Status Add(const kernels::HostTensor& slice, const kernels::AllocateTensor& allocate);
  bool empty() const { return count_ == 0; }
  // All of them; the memory may be larger.
  kernels::HostTensor Take();

 private:
  kernels::HostTensor whole_;  // its first dimension is how many slices there is room for
  int64_t count_ = 0;
};

}  // namespace plimsoll::engine
