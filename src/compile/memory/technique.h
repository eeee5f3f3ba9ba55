#pragma once

#include <string>

#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// A way to save memory or time that joins or lengthens lives (concat without copies, grouped
// layouts, kernels with workspaces, ...): where it was taken, and where it was left and why.
struct Technique {
  std::string name;
  int taken = 0;     // places in the graph
  int declined = 0;  // likewise
  Bytes gained;      // the peak without the places taken, less the peak with them; may be negative
  std::string reason;  // of what was declined, or what a negative gain buys
};

}  // namespace plimsoll::compile
