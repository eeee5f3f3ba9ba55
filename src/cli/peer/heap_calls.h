#pragma once

#include <cstdint>
#include <exception>

namespace plimsoll::cli {

// How often this process has asked the heap for memory so far, by anyone: the program replaces
// malloc and its kin with counting ones. -1 where it cannot, under a sanitizer.
int64_t HeapCalls();

// Those of the calling thread are not counted from now on.
void LeaveOutHeapCalls();

// While it lives, memory that runs out where nobody looks ends the process with a message and exit
// code 1: a small request that the heap refuses, since libraries do not expect that of one, and an
// exception about it that leaves a thread. Large requests fail as they always do.
class OutOfMemoryEnds {
 public:
  OutOfMemoryEnds();
  OutOfMemoryEnds(const OutOfMemoryEnds&) = delete;
  OutOfMemoryEnds& operator=(const OutOfMemoryEnds&) = delete;
  ~OutOfMemoryEnds();

 private:
  std::terminate_handler before_;
};

}  // namespace plimsoll::cli
