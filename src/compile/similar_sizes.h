#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <vector>

#include "compile/passes/pass.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// What was found to be best for some sizes of a graph.
struct FoundWay {
  GroupedChannels layouts = GroupedChannels::kNowhere;
  std::vector<int64_t> cuts = {};  // into slices, one after the other
  double share = 1;                // of plain lives that the peak takes
  bool lasts = false;              // it can be taken for other sizes
};

// What a graph that runs with many sizes keeps of the search for the first of those whose plain
// lives are as large within a factor of two. Others of them are planned the same way without a
// search: as the first found, for as long as the graph is loaded, so that the same sizes are
// planned alike whenever they come. Not thread-safe.
class SimilarSizes {
 public:
  const FoundWay* Find(Bytes plain) const {
    const auto found = ways_.find(ClassOf(plain));
    return found == ways_.end() ? nullptr : &found->second;
  }
  void Keep(Bytes plain, FoundWay way) { ways_.emplace(ClassOf(plain), std::move(way)); }

 private:
  static int ClassOf(Bytes plain) { return std::bit_width(static_cast<uint64_t>(plain.value())); }

  std::map<int, FoundWay> ways_;
};

}  // namespace plimsoll::compile
