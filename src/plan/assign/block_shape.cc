#include "plan/assign/block_shape.h"

#include <algorithm>

namespace plimsoll::plan {
namespace {

// The lives of the pieces that cover one band, joined where they touch.
std::vector<Piece> JoinLives(const std::vector<const Piece*>& covering, int64_t low, int64_t high) {
  bool mixed = false;
  for (const Piece* piece : covering) mixed |= piece->batch != covering.front()->batch;
  std::vector<Piece> joined;
  for (const Piece* piece : covering) {  // ascending begin
    if (!joined.empty() && piece->begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, piece->end);
      joined.back().exclusive |= piece->exclusive;
      continue;
    }
    joined.push_back(*piece);
    joined.back().low = low;
    joined.back().high = high;
    joined.back().overstated = mixed;
    if (mixed) joined.back().batch = BatchId();
  }
  return joined;
}

bool SameLives(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Piece& x, const Piece& y) {
           return x.begin == y.begin && x.end == y.end && x.batch == y.batch &&
                  x.exclusive == y.exclusive && x.overstated == y.overstated;
         });
}

}  // namespace

std::vector<Piece> DisjointPieces(std::vector<Piece> overlapping) {
  std::vector<int64_t> bounds;
  for (const Piece& piece : overlapping) {
    bounds.push_back(piece.low);
    bounds.push_back(piece.high);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::sort(overlapping.begin(), overlapping.end(),
            [](const Piece& a, const Piece& b) { return a.low < b.low; });

  std::vector<Piece> result;
  std::vector<Piece> band;  // the last one, not yet in `result`
  std::vector<const Piece*> covering;
  size_t next = 0;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::erase_if(covering, [&](const Piece* piece) { return piece->high <= bounds[i]; });
    for (; next < overlapping.size() && overlapping[next].low <= bounds[i]; ++next) {
      if (overlapping[next].high > bounds[i]) covering.push_back(&overlapping[next]);
    }
    std::stable_sort(covering.begin(), covering.end(),
                     [](const Piece* a, const Piece* b) { return a->begin < b->begin; });
    std::vector<Piece> joined = JoinLives(covering, bounds[i], bounds[i + 1]);
    if (!band.empty() && band.front().high == bounds[i] && SameLives(band, joined)) {
      for (Piece& piece : band) piece.high = bounds[i + 1];
      continue;
    }
    result.insert(result.end(), band.begin(), band.end());
    band = std::move(joined);
  }
  result.insert(result.end(), band.begin(), band.end());
  return result;
}

}  // namespace plimsoll::plan
