#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "plimsoll/base/bytes.h"

namespace plimsoll::device {

// Hands out parts of [base, base + size), lowest first that fits, and takes them back. Serves as
// addresses of the fake device and as offsets into a file. Not thread-safe. Taking costs the number
// of free pieces, giving back its logarithm.
class AddressSpace {
 public:
  AddressSpace(uint64_t base, Bytes size) {
    free_.emplace(base, static_cast<uint64_t>(size.value()));
  }

  // `alignment` is a power of two. Nothing when no free piece is large enough.
  std::optional<uint64_t> Take(Bytes size, Bytes alignment);
  // A part exactly as it was taken.
  void GiveBack(uint64_t at, Bytes size);

 private:
  std::map<uint64_t, uint64_t> free_;  // from start to length; neighbours are always joined
};

}  // namespace plimsoll::device
