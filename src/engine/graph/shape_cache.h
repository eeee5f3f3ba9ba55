#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "engine/run/bound_executable.h"
#include "kernels/kernel.h"
#include "plimsoll/base/tensor.h"

namespace plimsoll::engine {

// Sets of input shapes that are compiled: a bounded number, of which the longest unused goes first,
// and those that are pinned, which stay. Finding one costs a look at each. Not thread-safe.
class ShapeCache {
 public:
  struct Entry {
    std::vector<kernels::Dims> dims;  // by input
    BoundExecutable run;              // without an executable: they are run node by node
    std::string reason;               // then: why
    bool pinned = false;
  };

  // `kept`: entries that are not pinned; the last one always stays.
  explicit ShapeCache(size_t kept) : kept_(kept) {}

  // The entry for inputs of these shapes, which is the one used last from now on; null: none.
  // Allocates nothing.
  Entry* Find(std::span<const TensorView> inputs);
  Entry& Add(Entry entry);  // likewise used last
  void Pin(Entry entry);    // behind all others

  const Entry* last_used() const { return entries_.empty() ? nullptr : &entries_.front(); }
  const std::list<Entry>& entries() const { return entries_; }

 private:
  void ForgetLongestUnused();

  const size_t kept_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace plimsoll::engine
