#pragma once

#include <string>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Whose memory work may touch: a fill its own device's, a copy also another's and the host's, which
// is all memory that no device of this kind has handed out.
enum class Reach { kOwnDevice, kAnyDevice, kAnywhere };

// Memory that work touches.
struct Touch {
  AddressRange range;
  Reach reach = Reach::kAnywhere;
};

// Whether the range shares a byte with [at, at + size).
bool Overlap(const AddressRange& range, Address at, Bytes size);

// "0x7f0000200000".
std::string AddressText(Address at);

}  // namespace plimsoll::device
