#include "device/address_range.h"

#include <charconv>
#include <cstdint>

namespace plimsoll::device {

bool Overlap(const AddressRange& range, Address at, Bytes size) {
  return range.base < at + static_cast<uint64_t>(size.value()) &&
         at < range.base + static_cast<uint64_t>(range.size.value());
}

std::string AddressText(Address at) {
  char digits[16];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), at, 16);
  return "0x" + std::string(digits, end);
}

}  // namespace plimsoll::device
