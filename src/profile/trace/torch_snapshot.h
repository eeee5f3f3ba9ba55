#pragma once

#include <string>

#include "profile/record/event.h"

namespace plimsoll::profile {

// A recording as a memory snapshot of PyTorch, which pytorch.org/memory_viz opens: a pickle
// (protocol 2) of plain data. Segments are the memory that runs lay in; every allocation has its
// operator, its graph and its step as a stack of frames.
std::string TorchSnapshot(const Recording& recording);

}  // namespace plimsoll::profile
