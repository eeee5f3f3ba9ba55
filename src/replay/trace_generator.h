#pragma once

#include <cstdint>

#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// A program made up: weights that stay, and steps of varying length that take activations forwards
// and give them back backwards, with short-lived blocks in between and state that stays after the
// first step. For tests and benchmarks that must not depend on recorded files.
struct GeneratorOptions {
  uint64_t seed = 1;
  int steps = 6;
  int layers = 8;
  uint32_t streams = 1;
  Bytes unit = MiB(1);  // the scale of all sizes
};

Trace GenerateTrace(const GeneratorOptions& options);

// The first events of a trace. Blocks and streams keep their ids.
Trace Prefix(const Trace& trace, size_t events);

}  // namespace plimsoll::replay
