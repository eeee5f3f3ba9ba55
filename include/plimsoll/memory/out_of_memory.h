#pragma once

#include <string>
#include <vector>

#include "plimsoll/memory/allocator.h"

namespace plimsoll::memory {

// What blocks of one tag hold.
struct MemoryOwner {
  std::string tag;
  Bytes bytes;
  int64_t blocks = 0;
};

// Everything a person needs to know when memory ran out. Plain data; the text is one line.
struct OutOfMemoryReport {
  DeviceId device;
  Bytes requested;
  Bytes limit;         // saturated: none is set
  Bytes device_total;  // 0: the device did not say
  Bytes device_free;
  Bytes reserved;   // by all that share the device's physical memory
  Bytes allocated;  // by the allocator that failed
  Bytes free;       // reserved by it and not allocated
  Bytes cached;     // reserved, and in no allocator's hands
  Bytes largest_free_run;
  bool stitches = true;             // whether free pages that are not adjacent can be joined
  bool pooled = false;              // whether other streams hold memory of their own
  std::vector<MemoryOwner> owners;  // largest first
  std::string cause;                // the device's refusal

  // 0: all free bytes are in one run; near 1: they are in crumbs.
  double Fragmentation() const;
  // What would help, given the settings in force.
  std::vector<std::string> Remedies() const;
  // Kind kDoesNotFit, code "memory.out_of_memory".
  Error ToError() const;
};

}  // namespace plimsoll::memory
