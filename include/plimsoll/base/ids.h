#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace plimsoll {

// An index into one kind of table. Ids of different kinds do not mix, and a default one is "none".
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(size_t index) : index_(static_cast<uint32_t>(index)) {}

  constexpr bool valid() const { return index_ != kNone; }
  constexpr size_t index() const { return index_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t index_ = kNone;
};

}  // namespace plimsoll

// Ids as keys of unordered containers.
template <typename Tag>
struct std::hash<plimsoll::Id<Tag>> {
  size_t operator()(plimsoll::Id<Tag> id) const { return std::hash<size_t>()(id.index()); }
};
