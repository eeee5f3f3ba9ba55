#include "device/address_space.h"

#include <cassert>
#include <iterator>

namespace plimsoll::device {

std::optional<uint64_t> AddressSpace::Take(Bytes size, Bytes alignment) {
  assert(size > Bytes(0) && alignment > Bytes(0));
  const auto wanted = static_cast<uint64_t>(size.value());
  const auto mask = static_cast<uint64_t>(alignment.value()) - 1;
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [start, length] = *piece;
    const uint64_t at = (start + mask) & ~mask;
    const uint64_t skipped = at - start;
    if (at < start || skipped > length || length - skipped < wanted) continue;
    const uint64_t rest = length - skipped - wanted;
    if (rest > 0) free_.emplace(at + wanted, rest);
    if (skipped > 0) {
      piece->second = skipped;
    } else {
      free_.erase(piece);
    }
    return at;
  }
  return std::nullopt;
}

void AddressSpace::GiveBack(uint64_t at, Bytes size) {
  auto [piece, is_new] = free_.emplace(at, static_cast<uint64_t>(size.value()));
  assert(is_new);
  const auto next = std::next(piece);
  if (next != free_.end() && next->first == piece->first + piece->second) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece == free_.begin()) return;
  const auto previous = std::prev(piece);
  if (previous->first + previous->second == piece->first) {
    previous->second += piece->second;
    free_.erase(piece);
  }
}

}  // namespace plimsoll::device
