#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/cache/cache_entry.h"
#include "engine/cache/cache_limits.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

struct CacheOptions {
  bool force = false;            // empty the cache first
  std::filesystem::path folder;  // op_compiler_cache_dir; made where it is missing
  // What the environment asks for; op_cache.ini in the folder goes before it.
  std::optional<CacheLimits> from_environment;
  std::function<FileTime()> now = [] { return std::chrono::system_clock::now(); };
};

// Compiled graphs and packed weights between processes: op_compiler_cache_mode. FOLDER/kernel_cache
// holds the entries, FOLDER/op_cache.ini the limits for everyone who uses the folder.
//
// The cache may only save work. An entry that is damaged or of another version is made again, and
// what cannot be written is left out with one warning; no call fails. Any number of processes may
// use a folder. Thread-safe.
class DiskCache {
 public:
  // Makes the folders. Fails (cache.folder) where that is impossible, and the caller goes without.
  static Result<std::unique_ptr<DiskCache>> Open(CacheOptions options);

  // The bytes of an entry; nothing: there is none.
  std::optional<std::string> Find(const CacheKey& key);
  // Into memory of exactly this size. False: there is no such entry, and the memory holds anything.
  bool Read(const CacheKey& key, std::span<std::byte> into);
  void Keep(const CacheKey& key, std::span<const std::byte> bytes);
  // After a compilation: entries age, and op_cache.ini is written where it is missing.
  void Settle();

  struct Counts {
    int64_t found = 0;
    int64_t missing = 0;
    int64_t kept = 0;
  };
  Counts counts() const { return {found_, missing_, kept_}; }
  const std::filesystem::path& folder() const { return options_.folder; }

 private:
  explicit DiskCache(CacheOptions options);
  std::filesystem::path PathOf(const CacheKey& key) const;
  bool Read(const CacheKey& key, const std::function<std::byte*(uint64_t size)>& take);
  void Empty() const;

  const CacheOptions options_;
  const std::filesystem::path entries_;
  CacheLimits limits_;
  std::atomic<bool> full_ = false;  // the last entry could not be written
  std::atomic<int64_t> found_ = 0;
  std::atomic<int64_t> missing_ = 0;
  std::atomic<int64_t> kept_ = 0;
};

}  // namespace plimsoll::engine
