#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace plimsoll::kernels::cpu {

// Where each key stands in a list; of equal keys the last. Search by halves, so no hash decides.
// All NaN are the same key.
template <typename Key>
class KeyIndex {
 public:
  explicit KeyIndex(const std::vector<Key>& keys) {
    for (size_t i = 0; i < keys.size(); ++i) places_.emplace_back(keys[i], i);
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      if (Before(a.first, b.first)) return true;
      return !Before(b.first, a.first) && a.second > b.second;
    });
  }

  std::optional<size_t> Find(const Key& key) const {
    const auto found = std::lower_bound(
        places_.begin(), places_.end(), key,
        [](const Place& place, const Key& wanted) { return Before(place.first, wanted); });
    if (found == places_.end() || Before(key, found->first)) return std::nullopt;
    return found->second;
  }

 private:
  using Place = std::pair<Key, size_t>;

  static bool Before(const Key& a, const Key& b) {
    const bool a_is_number = a == a;
    const bool b_is_number = b == b;
    return a_is_number && b_is_number ? a < b : a_is_number && !b_is_number;
  }

  std::vector<Place> places_;
};

}  // namespace plimsoll::kernels::cpu
