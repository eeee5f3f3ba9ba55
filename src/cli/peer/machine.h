#pragma once

#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// One thing that `plimsoll doctor` looked at: what it found, and what to do about it, if anything.
struct Finding {
  std::string subject;  // "processor"
  std::string state;    // "avx2, avx512f"
  std::string advice;   // empty: all is well
};

// Looks at processor, threads, limits, memory, huge pages, libraries and the Python that bench and
// compare start. Reads files, starts that Python; changes nothing. `root` replaces "/" for tests.
std::vector<Finding> ExamineMachine(const std::string& root = "/");

// What this process may take of the machine's memory, by the machine and its control groups; 0
// where neither tells.
Bytes UsableMemory(const std::string& root = "/");

}  // namespace plimsoll::cli
