#pragma once

#include <cstdint>

namespace plimsoll::cli {

// How often this process has asked the heap for memory so far, by anyone: the program replaces
// malloc and its kin with counting ones. -1 where it cannot, under a sanitizer.
int64_t HeapCalls();

// Those of the calling thread are not counted from now on.
void LeaveOutHeapCalls();

}  // namespace plimsoll::cli
