#pragma once

#include <cstdint>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"
#include "plimsoll/base/ids.h"

namespace plimsoll::compile {

// A run of bytes of a joined storage with a life of its own: from the first step that writes any of
// it to the last that touches any.
struct Piece {
  Bytes offset;
  Bytes bytes;
  int64_t birth = 0;  // step
  int64_t end = 0;    // one past the last step
};

// Storages that share bytes once in-place decisions are made: what the planner places as one. Its
// pieces lie side by side and cover it.
struct JoinedStorage {
  Home home = Home::kFeatureMap;
  Bytes bytes;
  std::vector<Piece> pieces;
  std::vector<graph::ValueId> values;
  std::vector<Access> accesses;
  int64_t end = 0;  // one past the last step that touches it
};

using JoinedStorageId = Id<struct JoinedStorageTag>;

struct JoinedStorages {
  std::vector<JoinedStorage> all;
  std::vector<JoinedStorageId> id_of;  // by value; not valid: no memory
  std::vector<Bytes> offset_of;        // by value, in its joined storage

  JoinedStorageId IdOf(graph::ValueId value) const { return id_of[value.index()]; }
  Bytes OffsetOf(graph::ValueId value) const { return offset_of[value.index()]; }
  JoinedStorage& operator[](JoinedStorageId id) { return all[id.index()]; }
  const JoinedStorage& operator[](JoinedStorageId id) const { return all[id.index()]; }
};

// An output that was written into the bytes of an input.
struct InPlaceJoin {
  graph::ValueId output;
  graph::ValueId input;
};

JoinedStorages JoinStorages(const graph::Graph& graph, const Storages& storages,
                            const Timeline& timeline, const std::vector<InPlaceJoin>& joins);

// The largest sum of bytes that live at one moment, the pieces of each joined storage rounded up
// together to `rounding`: only what is ours to plan counts.
Bytes LiveBound(const JoinedStorages& joined, const Timeline& timeline, int64_t rounding);

}  // namespace plimsoll::compile
