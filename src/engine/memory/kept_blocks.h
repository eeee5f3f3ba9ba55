#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// Large blocks of host memory for tensors that come and go from run to run in the same sizes: one
// that is given back is kept for the next of its size, so that its pages need not be taken from the
// system and cleared again. What is kept and what is in use are together never more than what was
// in use at one moment. Thread-safe; blocks may outlive it.
class KeptBlocks : public std::enable_shared_from_this<KeptBlocks> {
 public:
  static constexpr Bytes kLeast = KiB(256);  // smaller ones are the heap's business

  ~KeptBlocks();
  // At least kLeast. Null where the system has none.
  std::shared_ptr<void> Take(Bytes size);
  // Returns what is kept to the system.
  Bytes Trim();

  Bytes in_use() const;
  Bytes kept() const;

 private:
  void GiveBack(void* block, Bytes size);
  void Release(Bytes size);  // one that is kept

  mutable std::mutex mutex_;
  std::map<Bytes, std::vector<void*>> idle_;
  Bytes in_use_;
  Bytes kept_;
  Bytes most_in_use_;
};

}  // namespace plimsoll::engine
