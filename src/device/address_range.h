#pragma once

#include <string>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Whether the range shares a byte with [at, at + size).
bool Overlap(const AddressRange& range, Address at, Bytes size);

// "0x7f0000200000".
std::string AddressText(Address at);

}  // namespace plimsoll::device
