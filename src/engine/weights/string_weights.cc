#include "engine/weights/string_weights.h"

#include <cstdint>
#include <cstring>

namespace plimsoll::engine {

std::vector<std::byte> StringsAsBytes(const std::vector<std::string_view>& strings) {
  std::vector<std::byte> bytes;
  for (const std::string_view text : strings) {
    const uint64_t length = text.size();
    const size_t place = bytes.size();
    bytes.resize(place + sizeof(length) + text.size());
    std::memcpy(bytes.data() + place, &length, sizeof(length));
    if (!text.empty()) std::memcpy(bytes.data() + place + sizeof(length), text.data(), length);
  }
  return bytes;
}

std::vector<std::string_view> StringsIn(std::span<const std::byte> bytes) {
  std::vector<std::string_view> strings;
  while (!bytes.empty()) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes = bytes.subspan(sizeof(length));
    strings.emplace_back(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.subspan(length);
  }
  return strings;
}

}  // namespace plimsoll::engine
