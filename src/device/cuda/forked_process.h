#pragma once

#include <string_view>

// CUDA does not survive fork: in the child every call of the driver fails or hangs.
namespace plimsoll::device::cuda {

inline constexpr std::string_view kForkedText =
    "this process was made by fork from one that used CUDA, and CUDA does not survive that";
inline constexpr std::string_view kForkedRemedy =
    "start the process anew (spawn), or fork before CUDA is first used";

// Told by whoever has initialised the driver.
void NoteDriverUse();
// Whether the driver was used by the process that this one was forked from.
bool UsedBeforeFork();

}  // namespace plimsoll::device::cuda
