#pragma once

#include <cstdint>

#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

struct Box {
  float top, left, bottom, right;
};

// Boxes that were kept so far, in columns by where they begin: a box is compared with those alone
// that lie in columns near it. Lives in memory of its caller.
class KeptBoxes {
 public:
  static Bytes Size(int64_t boxes) { return Bytes(boxes) * 4 * int64_t{sizeof(float)}; }
  // `memory` has room for Size(boxes), as floats.
  KeptBoxes(float* memory, int64_t boxes);

  // Forgets all boxes and makes room for `count` others, of which any may be added, each once.
  // `box_at(i)` gives them.
  template <typename BoxAt>
  void Begin(int64_t count, const BoxAt& box_at) {
    Measure();
    for (int64_t i = 0; i < count; ++i) Include(box_at(i));
    Divide(count);
    for (int64_t i = 0; i < count; ++i) ++ends_[ColumnOf(box_at(i).left)];
    MakeRoom();
  }

  void Add(const Box& box);
  // Whether a box was added of which and `box` more than `limit` is shared: as part of the area
  // that both cover together.
  bool Overlaps(const Box& box, float limit) const;

 private:
  static constexpr int64_t kColumns = 128;  // at most

  void Measure();
  void Include(const Box& box);
  void Divide(int64_t boxes);
  void MakeRoom();
  int64_t ColumnOf(float left) const;
  bool OverlapsOne(const Box& box, float limit, int64_t begin, int64_t end) const;

  float* tops_;
  float* lefts_;
  float* bottoms_;
  float* rights_;
  int64_t begins_[kColumns];  // of each column's boxes
  int64_t ends_[kColumns];
  int64_t columns_ = 1;
  float least_ = 0;  // where boxes begin
  float most_ = 0;
  float widest_ = 0;  // of them all
  float scale_ = 0;   // columns for each unit of length; 0: there is one
};

}  // namespace plimsoll::kernels::cpu
