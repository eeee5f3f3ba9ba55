#include "engine/weights/session_weights.h"

#include <atomic>

#include "plimsoll/base/log.h"

namespace plimsoll::engine {
namespace {

uint64_t NextSession() {
  static std::atomic<uint64_t> next = 0;
  return next++;
}

}  // namespace

Bytes SumOf(const HeldWeights& weights) {
  Bytes sum;
  for (const auto& [address, held] : weights) sum += held.size;
  return sum;
}

SessionWeights::SessionWeights(const config::RunConfig& config,
                               std::shared_ptr<device::Device> device, device::DeviceId id,
                               std::shared_ptr<SharedForms> forms)
    : session_(NextSession()),
      memory_(std::move(device), id, config.memory_config.variable_use_1g_huge_page),
      forms_(forms == nullptr ? std::make_shared<SharedForms>() : std::move(forms)) {
  if (config.external_weight) external_.emplace(config.work_path, session_);
  if (config.cache.mode == config::CacheSettings::Mode::kDisable) return;
  auto cache = DiskCache::Open(config.cache);
  if (cache.ok()) {
    cache_ = *std::move(cache);
  } else {
    Log(LogLevel::kWarning, cache.error().Text());
  }
}

DiskCache& SessionWeights::MakeCache() {
  if (cache_ == nullptr) cache_ = DiskCache::WithoutFolder();
  return *cache_;
}

WeightHash SessionWeights::ShareEqual(graph::ConstantTensor& constant) {
  const WeightHash hash = HashOf(constant.bytes);
  const std::lock_guard lock(mutex_);
  const Shared& first =
      shared_.try_emplace(hash, Shared{constant.bytes, constant.storage}).first->second;
  constant.bytes = first.bytes;
  constant.storage = first.storage;
  return hash;
}

}  // namespace plimsoll::engine
