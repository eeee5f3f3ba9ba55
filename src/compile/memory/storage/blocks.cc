#include "compile/memory/storage/blocks.h"

#include <algorithm>

#include "compile/memory/storage/offset_forest.h"
#include "compile/memory/storage/painted_cells.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::ValueId;

// Bytes [begin, end) of a block, touched at a step.
struct Touch {
  Bytes begin;
  Bytes end;
  int64_t step = 0;
  bool writes = false;
};

// Cuts the block where what is touched begins and ends. `touches` are in the order of their steps.
std::vector<Piece> CutPieces(const Block& block, const std::vector<Touch>& touches) {
  std::vector<Bytes> cuts = {Bytes(0), block.bytes};
  for (const Touch& touch : touches) {
    cuts.push_back(std::min(touch.begin, block.bytes));
    cuts.push_back(std::min(touch.end, block.bytes));
  }
  TidyCuts(cuts);
  PaintedCells births(cuts);
  PaintedCells ends(cuts);
  for (const Touch& touch : touches) {
    if (touch.writes) births.Paint(touch.begin, touch.end, touch.step);
  }
  for (auto touch = touches.rbegin(); touch != touches.rend(); ++touch) {
    ends.Paint(touch->begin, touch->end, touch->step + 1);
  }
  std::vector<Piece> pieces;
  for (size_t i = 0; i < births.size(); ++i) {
    const int64_t birth = std::max<int64_t>(births[i], 0);
    const int64_t end = std::max(ends[i], birth + 1);
    if (!pieces.empty() && pieces.back().birth == birth && pieces.back().end == end) {
      pieces.back().bytes += births.bytes(i);
    } else {
      pieces.push_back({cuts[i], births.bytes(i), birth, end});
    }
  }
  return pieces;
}

}  // namespace

Blocks BuildBlocks(const Graph& graph, const Storages& storages, const Timeline& timeline,
                   const std::vector<InPlaceJoin>& joins) {
  OffsetForest forest(storages.storages.size());
  for (const InPlaceJoin& join : joins) {
    const ValuePlace& output = storages.places[join.output.index()];
    const int32_t taken = forest.Root(storages.places[join.input.index()].storage).holder;
    const OffsetForest::Place into = forest.Root(output.storage);
    forest.Put(taken, into.holder, into.offset + output.offset);
  }
  Blocks built;
  built.block_of.assign(graph.values.size(), -1);
  built.offset_of.resize(graph.values.size());
  std::vector<int32_t> number(storages.storages.size(), -1);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const ValuePlace& place = storages.places[i];
    if (place.storage < 0) continue;
    const OffsetForest::Place at = forest.Root(place.storage);
    int32_t& block = number[static_cast<size_t>(at.holder)];
    if (block < 0) {
      block = static_cast<int32_t>(built.blocks.size());
      const Storage& storage = storages.storages[static_cast<size_t>(at.holder)];
      built.blocks.push_back({storage.home, storage.bytes, {}, {}, {}, 0});
    }
    built.block_of[i] = block;
    built.offset_of[i] = at.offset + place.offset;
    built.blocks[static_cast<size_t>(block)].values.push_back(ValueId(i));
  }
  std::vector<std::vector<Touch>> touches(built.blocks.size());
  for (const Access& access : timeline.accesses) {
    const size_t value = access.value.index();
    const auto block = static_cast<size_t>(built.block_of[value]);
    built.blocks[block].accesses.push_back(access);
    built.blocks[block].end = std::max(built.blocks[block].end, access.step + 1);
    const Bytes begin = built.offset_of[value];
    touches[block].push_back(
        {begin, begin + storages.places[value].bytes, access.step, access.writes});
  }
  for (size_t i = 0; i < built.blocks.size(); ++i) {
    built.blocks[i].pieces = CutPieces(built.blocks[i], touches[i]);
  }
  return built;
}

Bytes LiveBound(const Blocks& blocks, const Timeline& timeline, int64_t rounding) {
  std::vector<Bytes> change(timeline.steps.size() + 2);
  for (const Block& block : blocks.blocks) {
    if (block.home != Home::kFeatureMap) continue;
    Bytes counted;
    for (const Piece& piece : block.pieces) {
      const Bytes rounded = (piece.offset + piece.bytes).RoundUp(rounding);
      change[static_cast<size_t>(piece.birth)] += rounded - counted;
      change[static_cast<size_t>(piece.end)] -= rounded - counted;
      counted = rounded;
    }
  }
  Bytes live;
  Bytes most;
  for (const Bytes bytes : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace plimsoll::compile
