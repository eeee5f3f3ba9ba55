#include "kernels/cpu/selection/kept_boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::kernels::cpu {

KeptBoxes::KeptBoxes(float* memory, int64_t boxes)
    : tops_(memory),
      lefts_(memory + boxes),
      bottoms_(memory + 2 * boxes),
      rights_(memory + 3 * boxes) {}

void KeptBoxes::Measure() {
  least_ = std::numeric_limits<float>::infinity();
  most_ = -least_;
  widest_ = 0;
}

void KeptBoxes::Include(const Box& box) {
  least_ = std::min(least_, box.left);
  most_ = std::max(most_, box.left);
  widest_ = std::max(widest_, box.right - box.left);
}

void KeptBoxes::Divide() {
  scale_ = static_cast<float>(kColumns) / (most_ - least_);
  if (!std::isfinite(scale_) || !std::isfinite(widest_)) scale_ = 0;
  std::fill_n(ends_, kColumns, 0);
}

void KeptBoxes::MakeRoom() {
  int64_t next = 0;
  for (int64_t column = 0; column < kColumns; ++column) {
    begins_[column] = next;
    next += ends_[column];
    ends_[column] = begins_[column];
  }
}

// Rises with `left`. What is no number is in the first.
int64_t KeptBoxes::ColumnOf(float left) const {
  const float place = (left - least_) * scale_;
  if (!(place > 0)) return 0;
  return place < static_cast<float>(kColumns) ? static_cast<int64_t>(place) : kColumns - 1;
}

void KeptBoxes::Add(const Box& box) {
  const int64_t at = ends_[ColumnOf(box.left)]++;
  tops_[at] = box.top;
  lefts_[at] = box.left;
  bottoms_[at] = box.bottom;
  rights_[at] = box.right;
}

bool KeptBoxes::Overlaps(const Box& box, float limit) const {
  // Rounding must not leave out a column: one more on each side.
  const bool all = scale_ == 0 || limit < 0;
  const int64_t first = all ? 0 : std::max<int64_t>(ColumnOf(box.left - widest_) - 1, 0);
  const int64_t last = all ? kColumns - 1 : std::min(ColumnOf(box.right) + 1, kColumns - 1);
  for (int64_t column = first; column <= last; ++column) {
    if (OverlapsOne(box, limit, begins_[column], ends_[column])) return true;
  }
  return false;
}

// In stretches without branches, which the compiler makes vectors of.
bool KeptBoxes::OverlapsOne(const Box& box, float limit, int64_t begin, int64_t end) const {
  constexpr int64_t kStretch = 64;
  if (limit < 0 && begin < end) return true;
  const float area = (box.bottom - box.top) * (box.right - box.left);
  for (int64_t from = begin; from < end; from += kStretch) {
    const int64_t to = std::min(from + kStretch, end);
    int found = 0;
    for (int64_t i = from; i < to; ++i) {
      const float height = std::min(box.bottom, bottoms_[i]) - std::max(box.top, tops_[i]);
      const float width = std::min(box.right, rights_[i]) - std::max(box.left, lefts_[i]);
      const float shared = height * width;
      const float other = (bottoms_[i] - tops_[i]) * (rights_[i] - lefts_[i]);
      const float whole = area + other - shared;
      found |= static_cast<int>(height > 0) & static_cast<int>(width > 0) &
               static_cast<int>(whole > 0) & static_cast<int>(shared / whole > limit);
    }
    if (found != 0) return true;
  }
  return false;
}

}  // namespace plimsoll::kernels::cpu
