#pragma once

#include <string_view>

#include "plimsoll/base/status.h"
#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// Whether the bytes begin as a pickle does.
bool IsPickle(std::string_view bytes);

// A memory snapshot of PyTorch, as torch.cuda.memory._dump_snapshot saves it: what one device's
// allocator was asked for while the recording ran, of the device with the most events. Blocks that
// are older than the recording, by their free or because a segment still holds them, live from its
// first event on.
Result<Trace> ParseSnapshot(std::string_view bytes, std::string_view name);

}  // namespace plimsoll::replay
