#pragma once

#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Things that lie inside each other: each stands alone, or at an offset in another. Finding what
// finally holds a thing takes almost constant time, however long the chain to it was.
template <typename ThingId>
class OffsetForest {
 public:
  struct Place {
    ThingId holder;
    Bytes offset;
  };

  explicit OffsetForest(size_t count = 0) : up_(count) {}

  void Add() { up_.emplace_back(); }

  // `inner`, which stands alone, lies at `offset` in `outer`, which does not lie in `inner`.
  void Put(ThingId inner, ThingId outer, Bytes offset) { At(inner) = {outer, offset}; }

  // What finally holds it, itself where it stands alone, and where it begins in that.
  Place Root(ThingId thing) {
    Place root{thing, Bytes(0)};
    while (At(root.holder).holder.valid()) {
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
  Place& At(ThingId thing) { return up_[thing.index()]; }

  std::vector<Place> up_;  // by thing; no valid holder: it stands alone
};

}  // namespace plimsoll::compile
