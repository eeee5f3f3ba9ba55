#pragma once

#include <cstdint>
#include <vector>

#include "memory/pool/extent_space.h"

namespace plimsoll::memory {

// Stretches in which blocks of medium size are gathered. Such blocks often outlive the large ones
// around them, and each then keeps the chunk that it lies in from others; side by side they keep
// few. A tray guides where blocks are put and owns nothing: when a request finds no room, all trays
// are dissolved, and what is free in them counts as free around them.
//
// One thread, no lock. Take and Give are constant time; Dissolve costs the extents in trays.
class Trays {
 public:
  static constexpr int64_t kLargestBlock = int64_t{9} << 20;

  Trays(ExtentTable& table, ExtentSpace& around) : table_(table), around_(around), inside_(table) {}

  // A block in a tray, which is opened where there is room for one, else a block around them. A
  // tray is a fraction of the bytes reserved; while that is small there are none.
  ExtentIndex Take(int64_t size, int64_t reserved);
  // A block that lies in a tray. An empty tray goes back.
  void Give(ExtentIndex index);
  bool Holds(const Extent& extent) const { return table_[extent.slab].tray; }
  void Dissolve();

  const ExtentSpace& inside() const { return inside_; }

 private:
  void Open(ExtentIndex tray);
  void Close(ExtentIndex tray);

  ExtentTable& table_;
  ExtentSpace& around_;
  ExtentSpace inside_;
  std::vector<ExtentIndex> trays_;  // a tray's bin_previous is its place here
};

}  // namespace plimsoll::memory
