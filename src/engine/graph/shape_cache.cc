#include "engine/graph/shape_cache.h"

#include <algorithm>

namespace plimsoll::engine {

ShapeCache::Entry* ShapeCache::Find(std::span<const TensorView> inputs) {
  const auto matches = [&](const Entry& entry) {
    return std::equal(
        inputs.begin(), inputs.end(), entry.dims.begin(), entry.dims.end(),
        [](const TensorView& tensor, const kernels::Dims& dims) { return tensor.dims == dims; });
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front();
}

ShapeCache::Entry& ShapeCache::Add(Entry entry) {
  entries_.push_front(std::move(entry));
  ForgetLongestUnused();
  return entries_.front();
}

void ShapeCache::Pin(Entry entry) {
  entry.pinned = true;
  entries_.push_back(std::move(entry));
}

void ShapeCache::ForgetLongestUnused() {
  const auto goes = [](const Entry& entry) { return !entry.pinned; };
  const auto kept = static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), goes));
  if (kept <= std::max<size_t>(kept_, 1)) return;
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), goes);
  entries_.erase(std::next(last).base());
}

}  // namespace plimsoll::engine
