#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/weights/weight_hash.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What an entry of the cache is for: a kind, and the hash of everything that its bytes depend on.
struct CacheKey {
  std::string_view kind;  // letters: the file's name begins with it
  WeightHash hash;

  std::string FileName() const;
};

// Of `request`, of the program's version and of the processor: entries of another version or for
// another processor have other names.
CacheKey CacheKeyFor(std::string_view kind, std::string_view request);

// A file of the cache: a header that names the key, the size and a checksum of all bytes, and the
// bytes behind it.
inline constexpr std::string_view kCacheEntrySuffix = ".plimsoll_cache";

// Writes the entry beside its place and moves it there, so that a reader finds all of it or none.
// Fails as FileReplacement does; file.busy: another process is writing the same entry.
Status WriteCacheEntry(const std::string& path, const CacheKey& key,
                       std::span<const std::byte> bytes);

// The entry's bytes, mapped from its file: pages that all processes share, read only. Null where
// there is no entry to be trusted: none at all, one of another key, truncated or changed, something
// that is no file. Entries are replaced and removed, never changed, so what is mapped stays.
std::shared_ptr<const std::byte> MapCacheEntry(const std::string& path, const CacheKey& key,
                                               uint64_t* size);

}  // namespace plimsoll::engine
