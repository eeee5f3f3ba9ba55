#include "kernels/cpu/product/letter_products.h"

#include <algorithm>

#include "kernels/cpu/elementwise/float32_arithmetic.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {

std::optional<LetterProducts> LetterProducts::Make(const Contraction& contraction) {
  if (!contraction.binary || contraction.summed_count() != 1) return {};
  const auto lacks = [&](int64_t ContractedAxis::*operand) {
    return std::ranges::any_of(contraction.kept, [&](const ContractedAxis& axis) {
      return axis.size > 1 && axis.*operand == 0;
    });
  };
  if (lacks(&ContractedAxis::a) && lacks(&ContractedAxis::b)) return {};
  LetterProducts made;
  made.multiply_ = Float32Pairs().multiply;
  // Letters whose places follow each other in all three tensors are one.
  for (const ContractedAxis& axis : contraction.kept) {
    if (axis.size == 1) continue;
    if (!made.axes_.empty()) {
      ContractedAxis& before = made.axes_.back();
      const bool joins = before.a == axis.a * axis.size && before.b == axis.b * axis.size &&
                         before.c == axis.c * axis.size;
      if (joins) {
        before = {before.size * axis.size, axis.a, axis.b, axis.c};
        continue;
      }
    }
    made.axes_.push_back(axis);
  }
  if (!made.axes_.empty()) {
    made.row_ = made.axes_.back();
    made.axes_.pop_back();
  }
  for (const ContractedAxis& axis : made.axes_) made.rows_ *= axis.size;
  const bool lies_in_rows =
      made.row_.size == 1 || (made.row_.a <= 1 && made.row_.b <= 1 && made.row_.c == 1);
  if (!lies_in_rows) return {};
  return made;
}

void LetterProducts::Run(const float* a, const float* b, float* c) const {
  const int64_t grain = kElementGrain / row_.size + 1;
  ParallelFor(rows_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t place = row;
      ContractedAxis at{1, 0, 0, 0};
      for (size_t i = axes_.size(); i-- > 0;) {
        const int64_t index = place % axes_[i].size;
        place /= axes_[i].size;
        at.a += index * axes_[i].a;
        at.b += index * axes_[i].b;
        at.c += index * axes_[i].c;
      }
      multiply_(a + at.a, row_.a, b + at.b, row_.b, c + at.c, row_.size);
    }
  });
}

}  // namespace plimsoll::kernels::cpu
