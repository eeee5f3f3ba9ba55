#include "engine/cache/stored_searches.h"

#include "compile/searches/record.h"

namespace plimsoll::engine {
namespace {

constexpr std::string_view kSearchKind = "searches";

}  // namespace

void StoredSearches::Load() {
  const auto bytes = cache_.Find(*key_);
  if (!bytes) return;
  compile::RecordReader record(*bytes);
  for (size_t left = record.Count(24); left > 0 && !record.failed(); --left) {
    WeightHash request;
    request.high = static_cast<uint64_t>(record.Int());
    request.low = static_cast<uint64_t>(record.Int());
    answers_[request] = record.Text();
  }
  if (!record.AtEnd()) answers_.clear();
}

std::optional<std::string> StoredSearches::Find(const std::string& request) {
  const CacheKey key = CacheKeyFor(kSearchKind, request);
  if (!key_) {
    key_ = key;
    Load();
  }
  const auto found = answers_.find(key.hash);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

void StoredSearches::Keep(const std::string& request, std::string answer) {
  answers_[CacheKeyFor(kSearchKind, request).hash] = std::move(answer);
  changed_ = true;
}

void StoredSearches::Save() {
  if (!changed_ || !key_) return;
  compile::RecordWriter record;
  record.Int(std::ssize(answers_));
  for (const auto& [request, answer] : answers_) {
    record.Int(static_cast<int64_t>(request.high));
    record.Int(static_cast<int64_t>(request.low));
    record.Text(answer);
  }
  cache_.Keep(*key_, std::as_bytes(std::span(record.bytes())));
  changed_ = false;
}

}  // namespace plimsoll::engine
