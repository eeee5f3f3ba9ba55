#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/memory/out_of_memory.h"

namespace plimsoll::memory {

// Bytes and blocks by tag, for the report of who holds memory. Index 0 is "untagged". A known tag
// costs one hash and no heap call.
class OwnerTable {
 public:
  OwnerTable() : slots_(64, kEmpty) { owners_.push_back({"untagged", Bytes(), 0}); }

  uint32_t Find(std::string_view tag) { return tag.empty() ? 0 : FindTagged(tag); }
  void Took(uint32_t owner, int64_t bytes) {
    owners_[owner].bytes += Bytes(bytes);
    ++owners_[owner].blocks;
  }
  void Gave(uint32_t owner, int64_t bytes) {
    owners_[owner].bytes -= Bytes(bytes);
    --owners_[owner].blocks;
  }
  std::string_view Tag(uint32_t owner) const {
    return owner == 0 ? std::string_view() : owners_[owner].tag;
  }
  // The largest holders of anything, ties by tag.
  std::vector<MemoryOwner> Top(size_t count) const;

 private:
  static constexpr uint32_t kEmpty = 0xffffffff;
  uint32_t FindTagged(std::string_view tag);

  std::vector<MemoryOwner> owners_;
  std::vector<uint32_t> slots_;  // open addressing, a power of two
};

}  // namespace plimsoll::memory
