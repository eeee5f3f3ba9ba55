#pragma once

#include <cstdint>
#include <vector>

#include "memory/pool/extent_space.h"
#include "plimsoll/device/device.h"

namespace plimsoll::memory {

using ChunkSlot = uint32_t;

// The chunks of a pool by stable slots.
struct ChunkMap {
  struct Chunk {
    device::Address home = 0;
    int64_t size = 0;     // 0: the slot is unused
    bool begins = false;  // the first of those that came together
  };
  std::vector<Chunk> chunks;
  std::vector<ChunkSlot> by_address;

  ChunkSlot Add(device::Address home, int64_t size, bool begins = true);
  void Remove(ChunkSlot slot);
  // Position in by_address of the chunk that holds the address.
  size_t PositionOf(device::Address at) const;
};

// Stretches of free bytes that one range can show side by side.
struct StitchPlan {
  struct Piece {
    device::Address start = 0;  // at home
    int64_t size = 0;
    ExtentIndex extent = kNoExtent;  // the free extent around it, where that is known
  };
  std::vector<Piece> pieces;      // in the order of the block's bytes
  std::vector<ChunkSlot> chunks;  // that the range maps, in order
  int64_t offset = 0;             // of the block in the range
  int64_t missing = 0;            // bytes that new memory has to add at the end
  uint32_t range = 0xffffffff;    // the stitched range, once there is one
  bool found = false;
};

// A look at a pool's free bytes chunk by chunk, to plan a new stitched range. Plans depend on the
// free bytes alone: a program that repeats itself makes the same choices again, and makes no device
// call for them once the ranges are there.
class StitchSurvey {
 public:
  struct Free {
    device::Address start;
    int64_t size;
  };
  StitchSurvey(const ChunkMap& map, std::vector<Free> free);

  // Uses the fewest chunks: one that is free at its end first, then whole free chunks, largest runs
  // first, last the tightest start of a chunk. Not exhaustive: pieces that are not worth a mapping
  // are left out.
  StitchPlan PlanStitch(int64_t size, bool exhaustive) const;
  bool WholeFree(ChunkSlot slot) const { return state_[slot].whole; }

 private:
  struct State {
    int64_t free_start = 0;  // free bytes from the chunk's start on
    int64_t free_end = 0;    // free bytes up to its end
    bool whole = false;
  };
  void AddChunks(StitchPlan& plan, device::Address start, int64_t size) const;

  const ChunkMap& map_;
  std::vector<Free> free_;    // by address
  std::vector<State> state_;  // by slot
  int64_t total_ = 0;         // of all chunks
};

}  // namespace plimsoll::memory
