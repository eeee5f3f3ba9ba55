#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// An output each of whose elements is an element of the input, found axis by axis in a table: the
// reflecting pads and Resize to the nearest. Run allocates nothing and cannot fail.
class TableCopy {
 public:
  static constexpr int64_t kOutside = -1;

  // places[axis][i] is where, along that axis of the input, output place i is read; kOutside: the
  // element is `fill` there.
  TableCopy(graph::DataType type, const Dims& from, std::vector<Dims> places);

  // Types of whole bytes only; Unsupported sites check with this.
  static bool Supports(graph::DataType type);

  // `fill` points to one element; it may be null where no table has kOutside.
  void Run(const void* from, void* to, const void* fill) const;

 private:
  template <typename T>
  void CopyRow(const T* from, T* to, const T& fill) const;
  template <typename T>
  void Walk(size_t axis, const T* from, T* to, const T& fill) const;

  graph::DataType type_;
  std::vector<Dims> offsets_;  // by axis: elements to skip, or kOutside
  Dims strides_;               // of the output
  bool empty_ = false;
  int64_t run_ = 0;      // where the longest run of neighbours of the last axis begins
  int64_t run_end_ = 0;  // and ends
  int64_t repeats_ = 0;  // how often each element of the last axis comes, where that is all
};

}  // namespace plimsoll::kernels::cpu
