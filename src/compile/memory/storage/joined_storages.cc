#include "compile/memory/storage/joined_storages.h"

#include <algorithm>

#include "compile/memory/storage/offset_forest.h"
#include "compile/memory/storage/painted_cells.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::ValueId;

// Bytes [begin, end) of a joined storage, touched at a step.
struct Touch {
  Bytes begin;
  Bytes end;
  int64_t step = 0;
  bool writes = false;
};

// Cuts the storage where what is touched begins and ends. `touches` are in the order of their
// steps.
std::vector<Piece> CutPieces(const JoinedStorage& storage, const std::vector<Touch>& touches) {
  const bool whole = std::ranges::all_of(touches, [&](const Touch& touch) {
    return touch.begin == Bytes(0) && touch.end >= storage.bytes;
  });
  if (whole && !touches.empty() && storage.bytes > Bytes(0)) {
    const auto first = std::ranges::find_if(touches, &Touch::writes);
    const int64_t birth = first == touches.end() ? 0 : first->step;
    return {{Bytes(0), storage.bytes, birth, std::max(touches.back().step + 1, birth + 1)}};
  }
  std::vector<Bytes> cuts = {Bytes(0), storage.bytes};
  for (const Touch& touch : touches) {
    cuts.push_back(std::min(touch.begin, storage.bytes));
    cuts.push_back(std::min(touch.end, storage.bytes));
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

JoinedStorages JoinStorages(const Graph& graph, const Storages& storages, const Timeline& timeline,
                            const std::vector<InPlaceJoin>& joins) {
  OffsetForest<StorageId> forest(storages.storages.size());
  for (const InPlaceJoin& join : joins) {
    const ValuePlace& output = storages.places[join.output.index()];
    const StorageId taken = forest.Root(storages.places[join.input.index()].storage).holder;
    const OffsetForest<StorageId>::Place into = forest.Root(output.storage);
    forest.Put(taken, into.holder, into.offset + output.offset);
  }
  JoinedStorages built;
  built.id_of.resize(graph.values.size());
  built.offset_of.resize(graph.values.size());
  std::vector<JoinedStorageId> number(storages.storages.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const ValuePlace& place = storages.places[i];
    if (!place.storage.valid()) continue;
    const OffsetForest<StorageId>::Place at = forest.Root(place.storage);
    JoinedStorageId& id = number[at.holder.index()];
    if (!id.valid()) {
      id = JoinedStorageId(built.all.size());
      const Storage& storage = storages[at.holder];
      built.all.push_back({storage.home, storage.bytes, {}, {}, {}, 0});
    }
    built.id_of[i] = id;
    built.offset_of[i] = at.offset + place.offset;
    built[id].values.push_back(ValueId(i));
  }
  std::vector<std::vector<Touch>> touches(built.all.size());
  for (const Access& access : timeline.accesses) {
    const size_t value = access.value.index();
    const JoinedStorageId id = built.id_of[value];
    built[id].accesses.push_back(access);
    built[id].end = std::max(built[id].end, access.step + 1);
    const Bytes begin = built.offset_of[value];
    touches[id.index()].push_back(
        {begin, begin + storages.places[value].bytes, access.step, access.writes});
  }
  for (size_t i = 0; i < built.all.size(); ++i) {
    built.all[i].pieces = CutPieces(built.all[i], touches[i]);
  }
  return built;
}

Bytes LiveBound(const JoinedStorages& joined, const Timeline& timeline, int64_t rounding) {
  std::vector<Bytes> change(timeline.steps.size() + 2);
  for (const JoinedStorage& storage : joined.all) {
    if (storage.home != Home::kFeatureMap) continue;
    Bytes counted;
    for (const Piece& piece : storage.pieces) {
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
