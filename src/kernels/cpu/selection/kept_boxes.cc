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

// In as many columns as have some boxes each: to look into an empty one takes time too.
void KeptBoxes::Divide(int64_t boxes) {
  constexpr int64_t kOfAColumn = 16;
  columns_ = std::clamp<int64_t>(boxes / kOfAColumn, 1, kColumns);
  scale_ = static_cast<float>(columns_) / (most_ - least_);
  if (!std::isfinite(scale_) || !std::isfinite(widest_)) scale_ = 0;
  std::fill_n(ends_, kColumns, 0);
}

void KeptBoxes::MakeRoom() {
  int64_t next = 0;
  for (int64_t column = 0; column < columns_; ++column) {
    begins_[column] = next;
    next += ends_[column];
    ends_[column] = begins_[column];
  }
}

// Rises with `left`. What is no number is in the first.
int64_t KeptBoxes::ColumnOf(float left) const {
  const float place = (left - least_) * scale_;
  if (!(place > 0)) return 0;
  return place < static_cast<float>(columns_) ? static_cast<int64_t>(place) : columns_ - 1;
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
  const int64_t last = all ? columns_ - 1 : std::min(ColumnOf(box.right) + 1, columns_ - 1);
  for (int64_t column = first; column <= last; ++column) {
    if (OverlapsOne(box, limit, begins_[column], ends_[column])) return true;
  }
  return false;
}

// Most do not meet it at all, which is told soon.
bool KeptBoxes::OverlapsOne(const Box& box, float limit, int64_t begin, int64_t end) const {
  if (limit < 0 && begin < end) return true;
  const float area = (box.bottom - box.top) * (box.right - box.left);
  for (int64_t i = begin; i < end; ++i) {
    const float height = std::min(box.bottom, bottoms_[i]) - std::max(box.top, tops_[i]);
    const float width = std::min(box.right, rights_[i]) - std::max(box.left, lefts_[i]);
    if (!(std::min(height, width) > 0)) continue;
    const float shared = height * width;
    const float other = (bottoms_[i] - tops_[i]) * (rights_[i] - lefts_[i]);
    const float whole = area + other - shared;
    if (whole > 0 && shared / whole > limit) return true;
  }
  return false;
}

}  // namespace plimsoll::kernels::cpu
