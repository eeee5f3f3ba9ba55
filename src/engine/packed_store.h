#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "kernels/kernel.h"

namespace plimsoll::engine {

// Packed forms of a model's constants, each made once however many kernels and shapes ask for it.
// The plain form's pages are dropped once it is packed. Thread-safe; makers wait for each other.
//
// A constant that outlives the store is told by its address; any other by a hash of its bytes,
// since its memory may be another constant's later.
class PackedStore : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override;
  void Forget(const void* data, Bytes size) override;

  // Says that the constant at this address stays there for as long as the store.
  void AddLasting(const void* data);
  Bytes held() const;

 private:
  mutable std::mutex mutex_;
  std::set<const void*> lasting_;
  std::map<std::string, std::shared_ptr<void>> forms_;  // by constant and layout
  Bytes held_;
};

}  // namespace plimsoll::engine
