#pragma once

#include "kernels/cpu/elementwise/wide_elements.h"
#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A scale or bias that broadcasts to data seen as rows (the last axes joined into one). Made of the
// shapes; loading allocates nothing.
class BroadcastFactor {
 public:
  BroadcastFactor() = default;  // left out: every element is `otherwise`
  explicit BroadcastFactor(double otherwise) : otherwise_(otherwise) {}
  // `first` is the axis of `data` that a row begins with.
  BroadcastFactor(const TensorInfo& factor, const Dims& data, size_t first);

  bool present() const { return elements_.load != nullptr; }
  // Whether the factor's elements are one row of the data, the same for every row.
  bool is_row() const { return is_row_; }
  graph::DataType type() const { return type_; }

  // Elements [first, first + count) of row `row`.
  void Load(const void* data, int64_t row, int64_t first, int64_t count, double* to) const;

 private:
  graph::DataType type_ = graph::DataType::kUndefined;
  WideElements<double> elements_;
  std::vector<AxisGroup> places_;  // an axis of the data, and how far apart its elements lie here
  int64_t row_length_ = 1;
  bool is_row_ = false;
  double otherwise_ = 0;
};

}  // namespace plimsoll::kernels::cpu
