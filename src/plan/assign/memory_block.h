#pragma once

#include <cassert>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "plimsoll/plan/block_mem_assigner.h"

namespace plimsoll::plan {

// One stretch of memory that BlockMemAssigner lends to one tenant after the other.
class MemoryBlock {
 public:
  // From when to when the memory is needed at all. Each is set once: a second time is a mistake of
  // ours, which debug builds stop at and others ignore.
  void SetLifeTimeBegin(int32_t moment) { SetOnce(life_time_begin_, moment); }
  void SetLifeTimeEnd(int32_t moment) { SetOnce(life_time_end_, moment); }
  int32_t life_time_begin() const { return life_time_begin_; }
  int32_t life_time_end() const { return life_time_end_; }

  int64_t size = 0;
  int64_t alignment = 1;
  int64_t fixed = -1;             // its offset when settled; such a block does not grow
  std::vector<uint32_t> tenants;  // in the order of their lives

 private:
  static constexpr int32_t kUnset = -1;

  static void SetOnce(int32_t& moment, int32_t value) {
    assert(moment == kUnset && "a life time is set once");
    if (moment == kUnset) moment = value;
  }

  int32_t life_time_begin_ = kUnset;
  int32_t life_time_end_ = kUnset;
};

// The blocks that are free to be lent, in the order that the knobs ask for.
class FreeBlocks {
 public:
  explicit FreeBlocks(const BlockReuseKnobs& knobs) : knobs_(knobs) {}

  void Release(uint32_t index, const MemoryBlock& block);

  // Takes the block that serves a request best and returns its index, or -1.
  int64_t Take(int64_t size, int64_t alignment, const std::vector<MemoryBlock>& blocks);

 private:
  // Size or time of release, then index.
  using Entry = std::tuple<int64_t, uint32_t>;

  bool Serves(const MemoryBlock& block, int64_t size, int64_t alignment) const;
  bool MayGrow(const MemoryBlock& block, int64_t alignment) const;
  int64_t Remove(std::set<Entry>::iterator entry);

  BlockReuseKnobs knobs_;
  std::set<Entry> entries_;
  int64_t releases_ = 0;
};

}  // namespace plimsoll::plan
