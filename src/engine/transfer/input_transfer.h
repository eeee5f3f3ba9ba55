#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// Inputs of a run that are brought to the device at once.
struct InputTransfer {
  std::vector<size_t> inputs;  // indexes into the sizes that were given
  bool fused = false;          // each is at most input_fusion_size; else it is one larger input
};

// Which of the inputs that a run copies go together: those of at most `input_fusion_size` bytes in
// one transfer, which comes first, and each larger one alone, in order. Each is compared by its own
// size. 0 switches fusing off: every input goes alone, empty ones too.
std::vector<InputTransfer> FuseInputs(std::span<const Bytes> sizes, Bytes input_fusion_size);

}  // namespace plimsoll::engine
