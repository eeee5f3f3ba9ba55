#include "pack_generator.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace plimsoll::bench {
namespace {

// Uniform in [low, high]; the standard's distributions differ from library to library.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(double share) {
    return static_cast<double>(engine_() >> 11) < share * static_cast<double>(1ll << 53);
  }

 private:
  std::mt19937_64 engine_;
};

bool Cut(plan::PackingItem& piece, bool across_time, Draw& draw, plan::PackingItem& rest) {
  rest = piece;
  if (across_time) {
    if (piece.end - piece.begin < 2) return false;
    piece.end = static_cast<int32_t>(draw.Between(piece.begin + 1, piece.end - 1));
    rest.begin = piece.end;
  } else {
    if (piece.size < 2) return false;
    piece.size = draw.Between(1, piece.size - 1);
    rest.size -= piece.size;
  }
  return true;
}

double Area(const plan::PackingItem& item) {
  return static_cast<double>(item.size) * (item.end - item.begin);
}

}  // namespace

plan::Packing CutPacking(const CutShape& shape, uint64_t seed) {
  Draw draw(seed);
  plan::Packing packing;
  plan::PackingItem whole;
  whole.size = shape.capacity;
  whole.end = shape.sections;
  packing.items.push_back(whole);
  const int64_t attempts = int64_t{100} * shape.items;
  for (int64_t i = 0; i < attempts && static_cast<int>(packing.items.size()) < shape.items; ++i) {
    const auto last = static_cast<int64_t>(packing.items.size()) - 1;
    int64_t chosen = draw.Between(0, last);
    for (int other = 0; other < 8 && draw.Chance(shape.largest); ++other) {
      const int64_t rival = draw.Between(0, last);
      if (Area(packing.items[rival]) > Area(packing.items[chosen])) chosen = rival;
    }
    plan::PackingItem rest;
    if (Cut(packing.items[chosen], draw.Chance(shape.cut_time), draw, rest)) {
      packing.items.push_back(rest);
    }
  }
  for (plan::PackingItem& item : packing.items) {
    if (draw.Chance(shape.shrink)) item.size = draw.Between((item.size + 1) / 2, item.size);
    item.size *= shape.unit;
  }
  for (auto i = static_cast<int64_t>(packing.items.size()) - 1; i > 0; --i) {
    std::swap(packing.items[i], packing.items[draw.Between(0, i)]);
  }
  return packing;
}

plan::Packing TrainingPacking(int64_t items, uint64_t seed) {
  constexpr int64_t kItemsPerLayer = 12;
  constexpr int32_t kLayersPerGroup = 16;
  Draw draw(seed);
  plan::Packing packing;
  const auto layers = static_cast<int32_t>(std::max<int64_t>(items / kItemsPerLayer, 1));
  // Forward steps 2 per layer, then backward steps 3 per layer in reverse order.
  const int32_t turn = 2 * layers;
  const auto backward = [&](int32_t layer) { return turn + 3 * (layers - 1 - layer); };
  const auto add = [&](int32_t begin, int32_t end, int64_t size) {
    plan::PackingItem item;
    item.begin = begin;
    item.end = end;
    item.size = size * 512;
    packing.items.push_back(item);
  };
  for (int32_t layer = 0; layer < layers; ++layer) {
    const int32_t forward = 2 * layer;
    const int32_t back = backward(layer);
    const int64_t width = draw.Between(1, 8) * 64;
    for (int activation = 0; activation < 3; ++activation) {
      add(forward + activation % 2, back + 1 + activation % 3, width * draw.Between(1, 4));
    }
    add(forward, forward + 2, width * draw.Between(1, 8));
    add(forward + 1, forward + 2, draw.Between(1, 4096));
    add(forward + 1, back + 2, draw.Between(1, 4));
    const int32_t update = backward(layer / kLayersPerGroup * kLayersPerGroup) + 3;
    add(back + 1, update, width * draw.Between(1, 2));
    add(back + 2, update, draw.Between(1, 8));
    for (int scratch = 0; scratch < 3; ++scratch) {
      add(back + scratch, back + scratch + 1, width * draw.Between(1, 8));
    }
    add(back, back + 4, width * draw.Between(1, 4));
  }
  return packing;
}

}  // namespace plimsoll::bench
