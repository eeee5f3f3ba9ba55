#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "config/run_config.h"
#include "engine/cache/disk_cache.h"
#include "engine/weights/constant_memory.h"
#include "engine/weights/external_weights.h"
#include "engine/weights/shared_forms.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// A constant in a form that kernels read.
struct HeldWeight {
  Bytes size;
  std::string name;  // of the constant; of a packed one that of the node that it was packed for
};
// By address: what several graphs hold together is in it once.
using HeldWeights = std::map<const void*, HeldWeight>;

Bytes SumOf(const HeldWeights& weights);

// What the graphs of a session have together for their weights: files, where external_weight asks
// for them, memory with the pages that variable_use_1g_huge_page asks for, the forms that kernels
// read, and the disk cache of compiled graphs and packed weights. Thread-safe.
class SessionWeights {
 public:
  // `forms`: of several sessions; null: the session has its own.
  SessionWeights(const config::RunConfig& config, std::shared_ptr<device::Device> device,
                 device::DeviceId id, std::shared_ptr<SharedForms> forms = nullptr);

  ExternalWeights* external() { return external_ ? &*external_ : nullptr; }  // null: off
  // For graphs that are only counted: makes equal constants one, as files would, and writes none.
  WeightHash ShareEqual(graph::ConstantTensor& constant);
  ConstantMemory& memory() { return memory_; }
  SharedForms& forms() { return *forms_; }
  uint64_t session() const { return session_; }  // its number in this process
  // Null: op_compiler_cache_mode is off, and no graph comes from a compiled file.
  DiskCache* cache() { return cache_.get(); }
  // Before a graph is loaded: the cache that serves its compiled file, or feeds one.
  DiskCache& MakeCache();

 private:
  const uint64_t session_;
  std::optional<ExternalWeights> external_;
  ConstantMemory memory_;
  const std::shared_ptr<SharedForms> forms_;
  std::unique_ptr<DiskCache> cache_;
  std::mutex mutex_;
  struct Shared {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> storage;
  };
  std::map<WeightHash, Shared> shared_;
};

}  // namespace plimsoll::engine
