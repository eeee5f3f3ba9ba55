#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "plan/packing/packing.h"

namespace plimsoll::plan {

// What a random packing for tests may contain. Small enough for LeastHeight.
struct RandomShape {
  int items = 6;
  int moments = 6;
  int64_t largest = 4;
  bool alignments = false;
  bool fixed = false;
};

inline bool LiveTogether(const PackingItem& a, const PackingItem& b) {
  return a.size > 0 && b.size > 0 && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// Fixed items never collide with each other.
inline Packing RandomPacking(const RandomShape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  Packing packing;
  for (int i = 0; i < shape.items; ++i) {
    PackingItem item;
    item.size = 1 + below(shape.largest);
    item.begin = static_cast<int32_t>(below(shape.moments));
    item.end = static_cast<int32_t>(item.begin + 1 + below(shape.moments - item.begin));
    if (shape.alignments) item.alignment = int64_t{1} << below(3);
    if (shape.fixed && below(4) == 0) {
      item.fixed = below(6);
      for (const PackingItem& other : packing.items) {
        const bool collide = other.fixed >= 0 && LiveTogether(item, other) &&
                             item.fixed < other.fixed + other.size &&
                             other.fixed < item.fixed + item.size;
        if (collide) {
          item.fixed = -1;
          break;
        }
      }
    }
    packing.items.push_back(item);
  }
  return packing;
}

// A packing that is full at every moment: at each, some of the items die and others, as large
// together, are born. Often its least height is above its largest live sum.
inline Packing RefilledPacking(int64_t height, int32_t moments, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  Packing packing;
  int64_t missing = height;
  for (int32_t moment = 0; moment < moments; ++moment) {
    for (PackingItem& item : packing.items) {
      if (item.end != moments || below(3) > 0) continue;
      item.end = moment;
      missing += item.size;
    }
    while (missing > 0) {
      PackingItem item;
      item.size = std::min<int64_t>(missing, 2 + below(4));
      item.begin = moment;
      item.end = moments;
      missing -= item.size;
      packing.items.push_back(item);
    }
  }
  return packing;
}

// Whether `offsets` keep every rule, within `height`.
inline bool IsPlacement(const Packing& packing, const std::vector<int64_t>& offsets,
                        int64_t height) {
  if (offsets.size() != packing.items.size()) return false;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const PackingItem& item = packing.items[i];
    if (item.fixed >= 0 ? offsets[i] != item.fixed : offsets[i] % item.alignment != 0) return false;
    if (offsets[i] < 0 || (item.size > 0 && offsets[i] + item.size > height)) return false;
    for (size_t j = 0; j < i; ++j) {
      const PackingItem& other = packing.items[j];
      if (LiveTogether(item, other) && offsets[i] < offsets[j] + other.size &&
          offsets[j] < offsets[i] + item.size) {
        return false;
      }
    }
  }
  return true;
}

inline bool FitsInto(const Packing& packing, int64_t height, std::vector<int64_t>& offsets) {
  const size_t next = offsets.size();
  if (next == packing.items.size()) return true;
  const PackingItem& item = packing.items[next];
  for (int64_t offset = 0; offset + item.size <= height; ++offset) {
    bool allowed = item.fixed >= 0 ? offset == item.fixed : offset % item.alignment == 0;
    for (size_t i = 0; i < next && allowed; ++i) {
      const PackingItem& other = packing.items[i];
      allowed = !LiveTogether(item, other) || offset >= offsets[i] + other.size ||
                offsets[i] >= offset + item.size;
    }
    if (!allowed) continue;
    offsets.push_back(offset);
    if (FitsInto(packing, height, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

// The bytes that live at one moment, where these are most: no placement is lower.
inline int64_t MostAtOnce(const Packing& packing) {
  int64_t most = 0;
  for (const PackingItem& moment : packing.items) {
    int64_t live = 0;
    for (const PackingItem& item : packing.items) {
      if (item.begin <= moment.begin && moment.begin < item.end) live += item.size;
    }
    most = std::max(most, live);
  }
  return most;
}

// The least height of any placement, by trying every offset of every item: no idea of the packers
// is shared. For a handful of small items.
inline int64_t LeastHeight(const Packing& packing) {
  int64_t height = MostAtOnce(packing);
  for (std::vector<int64_t> offsets; !FitsInto(packing, height, offsets); ++height) offsets.clear();
  return height;
}

}  // namespace plimsoll::plan
