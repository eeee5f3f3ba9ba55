#include "pack_generator.h"

#include <algorithm>
#include <map>
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

// A multiple of `step` within (low, high), `middle` of the way from either; 0: there is none.
int64_t CutPoint(int64_t low, int64_t high, int64_t step, double middle, Draw& draw) {
  const auto margin = static_cast<int64_t>(middle * static_cast<double>(high - low));
  const int64_t first = (low + std::max<int64_t>(margin, 1) + step - 1) / step;
  const int64_t last = (high - std::max<int64_t>(margin, 1)) / step;
  return first > last ? 0 : draw.Between(first, last) * step;
}

// A piece of the rectangle: a life, and where it lies.
struct Piece {
  int64_t begin;
  int64_t end;
  int64_t low;
  int64_t high;

  double area() const { return static_cast<double>(end - begin) * static_cast<double>(high - low); }
};

bool CutStraight(const CutShape& shape, std::vector<Piece>& pieces, size_t chosen, Draw& draw) {
  Piece& piece = pieces[chosen];
  Piece rest = piece;
  if (draw.Chance(shape.cut_time)) {
    const int64_t at = CutPoint(piece.begin, piece.end, shape.time_step, shape.middle, draw);
    if (at == 0) return false;
    piece.end = rest.begin = at;
  } else {
    const int64_t at = CutPoint(piece.low, piece.high, shape.size_step, shape.middle, draw);
    if (at == 0) return false;
    piece.high = rest.low = at;
  }
  pieces.push_back(rest);
  return true;
}

// Four pieces around a fifth.
void CutPinwheel(const CutShape& shape, std::vector<Piece>& pieces, size_t chosen, Draw& draw) {
  const Piece piece = pieces[chosen];
  int64_t t1 = CutPoint(piece.begin, piece.end, shape.time_step, shape.middle, draw);
  int64_t t2 = CutPoint(piece.begin, piece.end, shape.time_step, shape.middle, draw);
  int64_t a1 = CutPoint(piece.low, piece.high, shape.size_step, shape.middle, draw);
  int64_t a2 = CutPoint(piece.low, piece.high, shape.size_step, shape.middle, draw);
  if (t1 == 0 || a1 == 0 || t1 == t2 || a1 == a2) return;
  if (t1 > t2) std::swap(t1, t2);
  if (a1 > a2) std::swap(a1, a2);
  pieces[chosen] = {piece.begin, t2, piece.low, a1};
  pieces.push_back({t2, piece.end, piece.low, a2});
  pieces.push_back({t1, piece.end, a2, piece.high});
  pieces.push_back({piece.begin, t1, a1, piece.high});
  pieces.push_back({t1, t2, a1, a2});
}

void Shuffle(plan::Packing& packing, Draw& draw) {
  for (auto i = static_cast<int64_t>(packing.items.size()) - 1; i > 0; --i) {
    std::swap(packing.items[i], packing.items[draw.Between(0, i)]);
  }
}

}  // namespace

plan::Packing CutPacking(const CutShape& shape, uint64_t seed) {
  Draw draw(seed);
  std::vector<Piece> pieces = {{0, shape.sections, 0, shape.capacity}};
  const int64_t attempts = int64_t{100} * shape.items;
  for (int64_t i = 0; i < attempts && static_cast<int>(pieces.size()) < shape.items; ++i) {
    const auto last = static_cast<int64_t>(pieces.size()) - 1;
    auto chosen = static_cast<size_t>(draw.Between(0, last));
    for (int other = 0; other < 8 && draw.Chance(shape.largest); ++other) {
      const auto rival = static_cast<size_t>(draw.Between(0, last));
      if (pieces[rival].area() > pieces[chosen].area()) chosen = rival;
    }
    if (shape.pinwheel > 0 && draw.Chance(shape.pinwheel)) {
      CutPinwheel(shape, pieces, chosen, draw);
    } else {
      CutStraight(shape, pieces, chosen, draw);
    }
  }
  plan::Packing packing;
  for (const Piece& piece : pieces) {
    plan::PackingItem item;
    item.begin = static_cast<int32_t>(piece.begin);
    item.end = static_cast<int32_t>(piece.end);
    item.size = piece.high - piece.low;
    if (draw.Chance(shape.shrink)) item.size = draw.Between((item.size + 1) / 2, item.size);
    item.size *= shape.unit;
    if (shape.removed == 0 || !draw.Chance(shape.removed)) packing.items.push_back(item);
  }
  Shuffle(packing, draw);
  return packing;
}

plan::Packing ScratchpadPacking(const ScratchpadShape& shape, uint64_t seed) {
  Draw draw(seed);
  plan::Packing packing;
  std::map<int64_t, std::pair<int64_t, int32_t>> held;  // from low: high, end
  const int64_t largest = shape.capacity / 8;
  for (int32_t now = 0; static_cast<int>(packing.items.size()) < shape.items; ++now) {
    std::erase_if(held, [&](const auto& range) { return range.second.second <= now; });
    for (int added = 0; added < 6; ++added) {
      // The gaps that are there now.
      std::vector<std::pair<int64_t, int64_t>> gaps;
      int64_t low = 0;
      for (const auto& [begin, range] : held) {
        if (begin > low) gaps.emplace_back(low, begin);
        low = range.first;
      }
      if (low < shape.capacity) gaps.emplace_back(low, shape.capacity);
      if (gaps.empty()) break;
      const auto gap = gaps[draw.Between(0, static_cast<int64_t>(gaps.size()) - 1)];
      int64_t size = gap.second - gap.first;
      if (size > largest || !draw.Chance(shape.filling)) {
        size = draw.Between(1, std::min(size, largest));
      }
      const bool lasting = draw.Chance(shape.long_lives);
      plan::PackingItem item;
      item.begin = now;
      item.end = static_cast<int32_t>(now + (lasting ? draw.Between(16, 64) : draw.Between(1, 8)));
      item.size = size * shape.unit;
      held[gap.first] = {gap.first + size, item.end};
      packing.items.push_back(item);
    }
  }
  Shuffle(packing, draw);
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
