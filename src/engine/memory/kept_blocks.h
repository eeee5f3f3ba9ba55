#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// Large blocks of host memory for tensors that come and go from run to run: pages that are given
// back are kept for the next blocks, whatever their sizes, so that they need not be taken from the
// system and cleared again. Neighbours that are free join, and a block is cut from the smallest
// free range that holds it. What is kept and what is in use are together never more than what was
// in use at one moment; where a new block would take more, as many pages go back as are too many.
// Thread-safe; blocks may outlive it. A block costs a walk over the free ranges.
class KeptBlocks : public std::enable_shared_from_this<KeptBlocks> {
 public:
  static constexpr Bytes kLeast = KiB(32);  // smaller ones are the heap's business

  ~KeptBlocks();
  // At least kLeast. Null where the system has none.
  std::shared_ptr<void> Take(Bytes size);
  // Returns what is kept to the system.
  Bytes Trim();

  Bytes in_use() const;
  Bytes kept() const;

 private:
  // Addresses that nobody uses; only the first `kept` bytes of them may hold memory.
  struct Range {
    Bytes size;
    Bytes kept;
  };
  using Ranges = std::map<std::byte*, Range>;

  void GiveBack(std::byte* block, Bytes size);
  std::byte* Cut(Bytes size);  // null: no range is so large
  void DropExcess();
  void Shrink(Ranges::iterator range, Bytes kept);

  mutable std::mutex mutex_;
  Ranges free_;
  Bytes in_use_;
  Bytes kept_;
  Bytes most_in_use_;
};

}  // namespace plimsoll::engine
