#pragma once

#include <cstdint>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// A run of bytes of a block with a life of its own: from the first step that writes any of it to
// the last that touches any.
struct Piece {
  Bytes offset;
  Bytes bytes;
  int64_t birth = 0;  // step
  int64_t end = 0;    // one past the last step
};

// Storages that share bytes once in-place decisions are made: what the planner places as one. Its
// pieces lie side by side and cover it.
struct Block {
  Home home = Home::kFeatureMap;
  Bytes bytes;
  std::vector<Piece> pieces;
  std::vector<graph::ValueId> values;
  std::vector<Access> accesses;
  int64_t end = 0;  // one past the last step that touches it
};

struct Blocks {
  std::vector<Block> blocks;
  std::vector<int32_t> block_of;  // by value; -1: no memory
  std::vector<Bytes> offset_of;   // by value, in its block
};

// An output that was written into the bytes of an input.
struct InPlaceJoin {
  graph::ValueId output;
  graph::ValueId input;
};

Blocks BuildBlocks(const graph::Graph& graph, const Storages& storages, const Timeline& timeline,
                   const std::vector<InPlaceJoin>& joins);

// The largest sum of bytes that live at one moment, each block's pieces rounded up together to
// `rounding`: only what is ours to plan counts.
Bytes LiveBound(const Blocks& blocks, const Timeline& timeline, int64_t rounding);

}  // namespace plimsoll::compile
