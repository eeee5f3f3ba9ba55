#include "pack_shapes.h"

#include <algorithm>
#include <random>

namespace plimsoll::bench {
namespace {

using plan::Packing;

constexpr int kItems = 300;

class Builder {
 public:
  explicit Builder(uint64_t seed) : engine_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  void Add(int64_t begin, int64_t end, int64_t size) {
    plan::PackingItem item;
    item.begin = static_cast<int32_t>(std::max<int64_t>(begin, 0));
    item.end = static_cast<int32_t>(end);
    item.size = size;
    packing_.items.push_back(item);
  }
  Packing Take() { return std::move(packing_); }

 private:
  std::mt19937_64 engine_;
  Packing packing_;
};

// Each begins after the one before, and few live together.
Packing Staircase(uint64_t seed) {
  Builder builder(seed);
  for (int i = 0; i < kItems; ++i) {
    builder.Add(i, i + builder.Between(4, 16), builder.Between(1, 1000));
  }
  return builder.Take();
}

// What begins later ends earlier, with short lives next to it.
Packing Nested(uint64_t seed) {
  Builder builder(seed);
  for (int i = 0; i < kItems / 3; ++i) {
    builder.Add(i, 2 * kItems / 3 - i, builder.Between(1, 200));
    for (const int64_t at : {builder.Between(0, kItems / 2), builder.Between(0, kItems / 2)}) {
      builder.Add(at, at + builder.Between(1, 12), builder.Between(1, 1000));
    }
  }
  return builder.Take();
}

Packing PowersOfTwo(uint64_t seed) {
  Builder builder(seed);
  for (int i = 0; i < kItems; ++i) {
    const int64_t begin = builder.Between(0, 120);
    builder.Add(begin, begin + builder.Between(1, 30), int64_t{1} << builder.Between(0, 10));
  }
  return builder.Take();
}

// Every life holds the moment in the middle, so that one stack must do for all.
Packing Centre(uint64_t seed) {
  Builder builder(seed);
  for (int i = 0; i < kItems / 3; ++i) {
    builder.Add(100 - builder.Between(0, 100), 101 + builder.Between(0, 100),
                builder.Between(1, 500));
    const int64_t side = builder.Between(0, 1) * 120;
    const int64_t begin = side + builder.Between(0, 60);
    builder.Add(begin, begin + builder.Between(1, 20), builder.Between(1, 500));
  }
  return builder.Take();
}

// A residual stream, three projections and scores per head group, and a wide inner layer.
Packing Transformer(uint64_t seed) {
  Builder builder(seed);
  const int64_t width = builder.Between(48, 96);
  const int64_t tokens = builder.Between(16, 200);
  for (int64_t layer = 0; layer < kItems / 10; ++layer) {
    const int64_t now = 10 * layer;
    builder.Add(now, now + 11, width * tokens);
    for (int64_t head = 0; head < 3; ++head) {
      builder.Add(now + head, now + 5 + builder.Between(0, 1), width * tokens);
    }
    builder.Add(now + 3, now + 5, tokens * tokens * builder.Between(1, 4));
    builder.Add(now + 4, now + 6, tokens * tokens);
    builder.Add(now + 5, now + 8, width * tokens);
    builder.Add(now + 7, now + 9, 4 * width * tokens);
    builder.Add(now + 8, now + 10, 4 * width * tokens);
    builder.Add(now + 9, now + 11, builder.Between(1, width));
  }
  return builder.Take();
}

// Down and up again: every level's output waits for its partner on the way back.
Packing SkipConnections(uint64_t seed) {
  Builder builder(seed);
  constexpr int64_t kLevels = kItems / 10;
  for (int64_t level = 0; level < kLevels; ++level) {
    const int64_t back = 6 * kLevels - 3 * level;
    const int64_t size = builder.Between(500, 1000) >> (level % 6);
    builder.Add(3 * level, back, size);
    for (int i = 0; i < 4; ++i) {
      const int64_t forward = 3 * level + builder.Between(0, 2);
      builder.Add(forward, forward + builder.Between(1, 4), size * builder.Between(1, 3));
      const int64_t later = back + builder.Between(0, 2);
      builder.Add(later, later + builder.Between(1, 4), size * builder.Between(1, 3));
    }
  }
  return builder.Take();
}

}  // namespace

std::vector<PackShape> PackShapes() {
  return {{"staircase", Staircase},       {"nested", Nested},
          {"powers of two", PowersOfTwo}, {"centre", Centre},
          {"transformer", Transformer},   {"skip connections", SkipConnections}};
}

}  // namespace plimsoll::bench
