#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Runs of bytes between neighbouring cuts, each of which takes the first value that is painted over
// it. Almost linear in what is painted.
class PaintedCells {
 public:
  explicit PaintedCells(const std::vector<Bytes>& cuts)
      : cuts_(cuts), value_(cuts.size() - 1, kNone), next_(cuts.size()) {
    std::iota(next_.begin(), next_.end(), size_t{0});
  }

  static constexpr int64_t kNone = -1;

  void Paint(Bytes begin, Bytes end, int64_t value) {
    const auto at = std::lower_bound(cuts_.begin(), cuts_.end(), begin);
    for (size_t cell = Bare(static_cast<size_t>(at - cuts_.begin()));
         cell < value_.size() && cuts_[cell] < end; cell = Bare(cell)) {
      value_[cell] = value;
      next_[cell] = cell + 1;
    }
  }

  size_t size() const { return value_.size(); }
  int64_t operator[](size_t cell) const { return value_[cell]; }
  Bytes bytes(size_t cell) const { return cuts_[cell + 1] - cuts_[cell]; }

 private:
  // The first cell from this one that nothing was painted over.
  size_t Bare(size_t cell) {
    size_t bare = cell;
    while (next_[bare] != bare) bare = next_[bare];
    while (next_[cell] != cell) cell = std::exchange(next_[cell], bare);
    return bare;
  }

  const std::vector<Bytes>& cuts_;
  std::vector<int64_t> value_;
  std::vector<size_t> next_;
};

// Sorted, each once.
inline void TidyCuts(std::vector<Bytes>& cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

}  // namespace plimsoll::compile
