#pragma once

#include <cstddef>
#include <cstdint>

#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

// Lays out the parts of a kernel's workspace, each 64-byte aligned.
class WorkspaceLayout {
 public:
  // The offset of a new part; 0 for one without bytes.
  int64_t Take(Bytes size) {
    if (size == Bytes()) return 0;
    const int64_t offset = total_.value();
    total_ += size.RoundUp(kAlignment);
    return offset;
  }
  Bytes total() const { return total_; }

 private:
  static constexpr int64_t kAlignment = 64;
  Bytes total_;
};

// The part of a workspace at an offset that Take gave.
template <typename T = void>
T* At(void* workspace, int64_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace plimsoll::kernels::cpu
