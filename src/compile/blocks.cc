#include "compile/blocks.h"

#include <algorithm>
#include <limits>

#include "compile/offset_forest.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::ValueId;

// Bytes [offset, offset + bytes) of a block, written at a step.
struct Written {
  Bytes offset;
  Bytes bytes;
  int64_t step = 0;
};

// Cuts the block where pieces begin and end; each cut lives from the first write that covers it.
std::vector<Piece> CutPieces(Bytes bytes, const std::vector<Written>& written) {
  std::vector<Bytes> cuts = {Bytes(0), bytes};
  for (const Written& write : written) {
    cuts.push_back(write.offset);
    cuts.push_back(write.offset + write.bytes);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Piece> pieces;
  for (size_t i = 0; i + 1 < cuts.size() && cuts[i] < bytes; ++i) {
    int64_t birth = std::numeric_limits<int64_t>::max();
    for (const Written& write : written) {
      const bool covers = write.offset <= cuts[i] && cuts[i + 1] <= write.offset + write.bytes;
      if (covers) birth = std::min(birth, write.step);
    }
    if (birth == std::numeric_limits<int64_t>::max()) birth = 0;
    if (!pieces.empty() && pieces.back().birth == birth) {
      pieces.back().bytes += cuts[i + 1] - cuts[i];
    } else {
      pieces.push_back({cuts[i], cuts[i + 1] - cuts[i], birth});
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
  std::vector<std::vector<Written>> written(built.blocks.size());
  for (const Access& access : timeline.accesses) {
    const size_t value = access.value.index();
    const auto block = static_cast<size_t>(built.block_of[value]);
    built.blocks[block].accesses.push_back(access);
    built.blocks[block].end = std::max(built.blocks[block].end, access.step + 1);
    if (access.writes) {
      written[block].push_back({built.offset_of[value], storages.places[value].bytes, access.step});
    }
  }
  for (size_t i = 0; i < built.blocks.size(); ++i) {
    built.blocks[i].pieces = CutPieces(built.blocks[i].bytes, written[i]);
  }
  return built;
}

Bytes LiveBound(const Blocks& blocks, const Timeline& timeline, int64_t rounding) {
  std::vector<Bytes> change(timeline.steps.size() + 1);
  for (const Block& block : blocks.blocks) {
    if (block.home != Home::kFeatureMap) continue;
    const auto end = static_cast<size_t>(block.end);
    Bytes counted;
    for (const Piece& piece : block.pieces) {
      const Bytes rounded = (piece.offset + piece.bytes).RoundUp(rounding);
      change[static_cast<size_t>(piece.birth)] += rounded - counted;
      change[end] -= rounded - counted;
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
