#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

// Elements that are only moved: one C++ type stands for all types of its size. Strings are moved
// as objects; types below a byte have no C++ type and are moved as the unsigned integers of their
// width (MovedType).
struct SixteenBytes {
  uint64_t low;
  uint64_t high;
};

// Calls visit.template operator()<T>() with the type that stands for the elements and gives true;
// false for types below a byte.
template <typename Visit>
bool VisitMoved(graph::DataType type, Visit&& visit) {
  if (type == graph::DataType::kString) return visit.template operator()<std::string>(), true;
  switch (graph::Bits(type)) {
    case 8:
      return visit.template operator()<uint8_t>(), true;
    case 16:
      return visit.template operator()<uint16_t>(), true;
    case 32:
      return visit.template operator()<uint32_t>(), true;
    case 64:
      return visit.template operator()<uint64_t>(), true;
    case 128:
      return visit.template operator()<SixteenBytes>(), true;
    default:
      return false;
  }
}

// The unsigned integer type of a type below a byte, for LoadInteger and StoreInteger.
inline graph::DataType MovedType(graph::DataType type) {
  return graph::Bits(type) == 2 ? graph::DataType::kUint2 : graph::DataType::kUint4;
}

// Whether CopyRun moves a run of so many elements as bytes, which need not be aligned.
template <typename T>
constexpr bool MovesBytes(int64_t count) {
  constexpr int64_t kWorthACall = 64;
  return std::is_trivially_copyable_v<T> && count * int64_t{sizeof(T)} >= kWorthACall;
}

// Copies a run of elements; `from` and `to` do not overlap, or are the same place, which is then
// not written to: it may be the caller's input.
template <typename T>
void CopyRun(const T* from, T* to, int64_t count) {
  if (from == to) return;
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (MovesBytes<T>(count)) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

// Writes `count` copies of an element: a few, of which longer and longer runs are copied.
template <typename T>
void FillRun(T element, T* to, int64_t count) {
  if constexpr (!std::is_trivially_copyable_v<T>) {
    std::fill_n(to, count, element);
  } else {
    constexpr int64_t kFirst = 64 / int64_t{sizeof(T)};
    constexpr int64_t kLongest = 4096 / int64_t{sizeof(T)};  // stays in the cache
    int64_t done = std::min(kFirst, count);
    std::fill_n(to, done, element);
    while (done < count) {
      const int64_t some = std::min({done, count - done, kLongest});
      std::memcpy(to + done, to, static_cast<size_t>(some) * sizeof(T));
      done += some;
    }
  }
}

// Writes `count` copies of the element at `value` (zero, or "", where it is null).
inline void FillElements(graph::DataType type, void* to, int64_t count, const void* value) {
  const bool whole = VisitMoved(type, [&]<typename T>() {
    const T element = value == nullptr ? T() : *static_cast<const T*>(value);
    FillRun(element, static_cast<T*>(to), count);
  });
  if (whole) return;
  const graph::DataType moved = MovedType(type);
  const int64_t element = value == nullptr ? 0 : LoadInteger(moved, value, 0);
  for (int64_t i = 0; i < count; ++i) StoreInteger(moved, to, i, element);
}

// Copies a whole tensor, unless it already lies where it belongs.
inline void CopyTensor(graph::DataType type, const void* from, void* to, int64_t count) {
  if (from == to || count == 0) return;
  if (type == graph::DataType::kString) {
    const auto* strings = static_cast<const std::string*>(from);
    std::copy(strings, strings + count, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from, static_cast<size_t>(graph::SizeOf(type, count).value()));
  }
}

}  // namespace plimsoll::kernels::cpu
