#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Which of equal elements counts, and whether the largest or the smallest is asked for. As in
// numpy, NaN is both.
struct ArgOrder {
  bool largest = true;
  bool last_of_equals = false;
};

// Where the extreme element of each of `lanes` neighbouring columns lies, whose elements follow
// each other every `stride`; `length` is at least 1 and less than 2^31.
void ArgOfColumns(const float* first, int64_t stride, int64_t length, int64_t lanes, ArgOrder order,
                  int64_t* places);
void ArgOfColumns(const int32_t* first, int64_t stride, int64_t length, int64_t lanes,
                  ArgOrder order, int64_t* places);
void ArgOfColumns(const int64_t* first, int64_t stride, int64_t length, int64_t lanes,
                  ArgOrder order, int64_t* places);
// The same of one row.
int64_t ArgOfRow(const float* row, int64_t length, ArgOrder order);
int64_t ArgOfRow(const int32_t* row, int64_t length, ArgOrder order);
int64_t ArgOfRow(const int64_t* row, int64_t length, ArgOrder order);

}  // namespace plimsoll::kernels::cpu
