#include "engine/weights/weight_hash.h"

#include <xxhash.h>

#include <memory>

#include "base/mapped_pages.h"

namespace plimsoll::engine {

std::string WeightHash::Text() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 0xf];
  }
  return text;
}

WeightHash HashOf(std::span<const std::byte> bytes) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  ReadInSlices(bytes, [&](std::span<const std::byte> slice) {
    XXH3_128bits_update(state.get(), slice.data(), slice.size());
    return true;
  });
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return {.high = hash.high64, .low = hash.low64};
}

}  // namespace plimsoll::engine
