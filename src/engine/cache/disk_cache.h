#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_settings.h"
#include "engine/cache/cache_entry.h"
#include "engine/cache/cache_limits.h"
#include "engine/cache/compiled_file.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Compiled graphs and packed weights between processes: op_compiler_cache_mode. FOLDER/kernel_cache
// holds the entries, FOLDER/op_cache.ini the limits for everyone who uses the folder.
//
// The cache may only save work. An entry that is damaged or of another version is made again, and
// what cannot be written is left out with one warning; no call fails. Any number of processes may
// use a folder. Thread-safe.
class DiskCache {
 public:
  // One that keeps nothing on disk: it serves what compiled files hold, and gives what is made to a
  // sink.
  static std::unique_ptr<DiskCache> WithoutFolder();

  // Makes the folders. Fails (cache.folder) where that is impossible, and the caller goes without.
  static Result<std::unique_ptr<DiskCache>> Open(const config::CacheSettings& settings,
                                                 std::function<FileTime()> now = Now);

  // The bytes of an entry; nothing: there is none.
  std::optional<std::string> Find(const CacheKey& key);
  // The bytes of an entry of this size, shared with every process that maps them; null: there is
  // none.
  std::shared_ptr<const std::byte> Map(const CacheKey& key, Bytes size);
  // `of`: the constant that it was made of, where it was made of one alone.
  void Keep(const CacheKey& key, std::span<const std::byte> bytes, const WeightHash* of = nullptr);
  // From now on these are looked at first, and that is told of everything that is made.
  void Serve(std::shared_ptr<const CompiledFile> file);
  void TellOf(std::shared_ptr<CacheSink> sink);
  // What a compiled file says of a constant of its model, without looking at the bytes.
  std::optional<WeightHash> HashAt(std::span<const std::byte> constant) const;
  // That a constant of a compiled file is what was compiled (compiled.damaged). Others pass.
  Status CheckConstant(std::span<const std::byte> constant) const;
  // After a compilation: entries age, and op_cache.ini is written where it is missing.
  void Settle();

  // Whether forms of this operator are made anew whatever the cache has: those of op_debug_list.
  bool IsPassedBy(std::string_view name, std::string_view op) const;

  struct Counts {
    int64_t found = 0;
    int64_t missing = 0;
    int64_t kept = 0;
  };
  Counts counts() const { return {found_, missing_, kept_}; }

 private:
  DiskCache(const config::CacheSettings& settings, std::function<FileTime()> now);
  static FileTime Now() { return std::chrono::system_clock::now(); }
  std::filesystem::path PathOf(const CacheKey& key) const;
  std::shared_ptr<const std::byte> MapAny(const CacheKey& key, uint64_t* size);
  void Empty() const;
  std::vector<std::shared_ptr<const CompiledFile>> Files() const;
  std::shared_ptr<CacheSink> Sink() const;

  const std::filesystem::path folder_;
  const std::filesystem::path entries_;
  const config::CacheLimits limits_;
  const std::optional<config::OperatorList> always_compiled_;
  const std::function<FileTime()> now_;
  const bool has_folder_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<const CompiledFile>> files_;
  std::shared_ptr<CacheSink> sink_;
  std::atomic<bool> broken_ = false;  // an entry could not be written: no more are
  std::atomic<int64_t> found_ = 0;
  std::atomic<int64_t> missing_ = 0;
  std::atomic<int64_t> kept_ = 0;
};

}  // namespace plimsoll::engine
