#pragma once

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plimsoll/base/status.h"

// What the writer and the reader of variable files share (the layout is in variable_file.h).
namespace plimsoll::engine {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

inline constexpr std::string_view kVariableMagic = "PLIMSOLV";
inline constexpr uint32_t kVariableVersion = 1;
inline constexpr uint64_t kVariableHead = 48;
inline constexpr uint64_t kVariableHashedHead = 40;
inline constexpr size_t kVariablePiece = size_t{1} << 20;

constexpr uint64_t RoundUpTo(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

// A hash that takes its bytes in pieces.
class PieceHash {
 public:
  PieceHash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~PieceHash() { XXH3_freeState(state_); }
  PieceHash(const PieceHash&) = delete;
  PieceHash& operator=(const PieceHash&) = delete;

  void Add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_, bytes.data(), bytes.size());
  }
  uint64_t value() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;
};

inline uint64_t HashOfTable(std::span<const std::byte> head, std::span<const std::byte> table) {
  PieceHash hash;
  hash.Add(head.first(kVariableHashedHead));
  hash.Add(table);
  return hash.value();
}

// Calls `visit` with offset and length for each piece of so many bytes.
template <typename Visit>
Status ForEachPieceOf(uint64_t size, const Visit& visit) {
  for (uint64_t offset = 0; offset < size; offset += kVariablePiece) {
    const uint64_t length = std::min<uint64_t>(kVariablePiece, size - offset);
    PLIMSOLL_TRY(visit(offset, static_cast<size_t>(length)));
  }
  return {};
}

}  // namespace plimsoll::engine
