#pragma once

#include <map>
#include <optional>
#include <string>

#include "compile/searches/search_store.h"
#include "engine/cache/disk_cache.h"

namespace plimsoll::engine {

// The answers of all searches of one compilation, as one entry of the cache: a graph that was
// compiled before asks for the same first. One thread.
class StoredSearches : public compile::SearchStore {
 public:
  explicit StoredSearches(DiskCache& cache) : cache_(cache) {}

  std::optional<std::string> Find(const std::string& request) override;
  void Keep(const std::string& request, std::string answer) override;
  // Keeps the entry, where the compilation searched for anything that was not in it.
  void Save();

 private:
  void Load();

  DiskCache& cache_;
  std::optional<CacheKey> key_;  // of the first request
  std::map<WeightHash, std::string> answers_;
  bool changed_ = false;
};

}  // namespace plimsoll::engine
