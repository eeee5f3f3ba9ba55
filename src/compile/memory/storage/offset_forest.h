#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Things that lie inside each other: each stands alone, or at an offset in another. Finding what
// finally holds a thing takes almost constant time, however long the chain to it was.
class OffsetForest {
 public:
  struct Place {
    int32_t holder = 0;
    Bytes offset;
  };

  explicit OffsetForest(size_t count = 0) : up_(count, {kAlone, Bytes(0)}) {}

  void Add() { up_.push_back({kAlone, Bytes(0)}); }

  // `inner`, which stands alone, lies at `offset` in `outer`, which does not lie in `inner`.
  void Put(int32_t inner, int32_t outer, Bytes offset) { At(inner) = {outer, offset}; }

  // What finally holds it, itself where it stands alone, and where it begins in that.
  Place Root(int32_t thing) {
    Place root{thing, Bytes(0)};
    while (At(root.holder).holder != kAlone) {
      const Place& up = At(root.holder);
      root = {up.holder, root.offset + up.offset};
    }
    // Everything on the way points to the root from now on.
    for (Bytes rest = root.offset; thing != root.holder;) {
      Place& step = At(thing);
      const Place next = std::exchange(step, Place{root.holder, rest});
      rest -= next.offset;
      thing = next.holder;
    }
    return root;
  }

 private:
  static constexpr int32_t kAlone = -1;
  Place& At(int32_t thing) { return up_[static_cast<size_t>(thing)]; }

  std::vector<Place> up_;
};

}  // namespace plimsoll::compile
