#include "compile/memory/storage/storage_parts.h"

#include <algorithm>
#include <map>

#include "compile/memory/storage/painted_cells.h"
#include "compile/memory/storage/views.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Beyond this a storage goes as a whole: what is gained by more is not worth the time.
constexpr size_t kMostParts = 256;

// A number that tells values from each other when those of several are added up.
uint64_t Scramble(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

class Divider {
 public:
  Divider(const Graph& graph, const Storages& storages) : graph_(graph), storages_(storages) {
    parts_.row_of.resize(graph.values.size());
  }

  StorageParts Divide() {
    if (!ListMembers()) return std::move(parts_);
    MarkRead();
    for (const std::vector<ValueId>& members : members_) {
      if (!members.empty()) DivideOne(members);
    }
    return std::move(parts_);
  }

 private:
  const ValuePlace& PlaceOf(ValueId value) const { return storages_.places[value.index()]; }

  // The values of storages that hold more than one run of bytes; false where there are none.
  bool ListMembers() {
    std::vector<bool> mixed(storages_.storages.size());
    bool any = false;
    for (const ValuePlace& place : storages_.places) {
      if (!place.storage.valid()) continue;
      const Storage& storage = storages_.storages[place.storage.index()];
      if (storage.home != Home::kFeatureMap || place.bytes == storage.bytes) continue;
      mixed[place.storage.index()] = true;
      any = true;
    }
    if (!any) return false;
    members_.resize(storages_.storages.size());
    for (size_t i = 0; i < storages_.places.size(); ++i) {
      const StorageId storage = storages_.places[i].storage;
      if (!storage.valid() || !mixed[storage.index()]) continue;
      if (storages_.places[i].bytes == Bytes(0)) continue;
      members_[storage.index()].push_back(ValueId(i));
    }
    return true;
  }

  bool IsMember(ValueId value) const {
    return value.valid() && PlaceOf(value).storage.valid() &&
           !members_[PlaceOf(value).storage.index()].empty();
  }

  void MarkRead() {
    read_.assign(graph_.values.size(), false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (std::none_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return IsMember(input); })) {
        continue;
      }
      const std::vector<WindowOf> windows = WindowsOf(graph_, NodeId(i));
      for (const ValueId input : node.inputs) {
        if (input.valid() && !LeftWhereItIs(input, windows)) read_[input.index()] = true;
      }
    }
    for (const graph::Subgraph& body : graph_.subgraphs) {
      for (const ValueId output : body.outputs) {
        if (output.valid()) read_[output.index()] = true;
      }
    }
  }

  // A node that moves none of the value's bytes needs them for as long as its readers do.
  bool LeftWhereItIs(ValueId value, const std::vector<WindowOf>& windows) const {
    bool left = false;
    for (const WindowOf& window : windows) {
      if (window.part != value && window.whole != value) continue;
      const ValuePlace& part = PlaceOf(window.part);
      const ValuePlace& whole = PlaceOf(window.whole);
      const bool inside =
          part.storage == whole.storage && part.offset == whole.offset + window.offset;
      if (!inside) return false;
      left = true;
    }
    return left;
  }

  void DivideOne(const std::vector<ValueId>& members) {
    std::vector<Bytes> cuts;
    for (const ValueId value : members) {
      cuts.push_back(PlaceOf(value).offset);
      cuts.push_back(PlaceOf(value).offset + PlaceOf(value).bytes);
    }
    TidyCuts(cuts);
    const std::vector<StoragePartId> part_of = PartsOfCells(members, cuts);
    if (part_of.empty()) return;
    for (const ValueId value : members) {
      parts_.row_of[value.index()] = PartRowId(parts_.rows.size());
      StorageParts::Row& row = parts_.rows.emplace_back();
      const auto first = std::lower_bound(cuts.begin(), cuts.end(), PlaceOf(value).offset);
      const Bytes end = PlaceOf(value).offset + PlaceOf(value).bytes;
      for (auto cell = static_cast<size_t>(first - cuts.begin()); cuts[cell] < end; ++cell) {
        row.covered.push_back(part_of[cell]);
      }
      std::sort(row.covered.begin(), row.covered.end());
      row.covered.erase(std::unique(row.covered.begin(), row.covered.end()), row.covered.end());
    }
    AddBrought(members, cuts, part_of);
  }

  // By cell; empty where all are of one part, or where there are too many.
  std::vector<StoragePartId> PartsOfCells(const std::vector<ValueId>& members,
                                          const std::vector<Bytes>& cuts) {
    std::vector<uint64_t> change(cuts.size());
    const auto at = [&](Bytes offset) {
      return static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), offset) - cuts.begin());
    };
    for (const ValueId value : members) {
      if (!read_[value.index()]) continue;
      const uint64_t number = Scramble(value.index());
      change[at(PlaceOf(value).offset)] += number;
      change[at(PlaceOf(value).offset + PlaceOf(value).bytes)] -= number;
    }
    std::map<uint64_t, StoragePartId> known;
    std::vector<StoragePartId> part_of;
    uint64_t covering = 0;
    for (size_t cell = 0; cell + 1 < cuts.size(); ++cell) {
      covering += change[cell];
      const StoragePartId next(parts_.count + known.size());
      part_of.push_back(known.try_emplace(covering, next).first->second);
    }
    if (known.size() < 2 || known.size() > kMostParts) return {};
    parts_.count += known.size();
    return part_of;
  }

  // A cell comes with the smallest value that is written there before it is anything else's.
  void AddBrought(std::vector<ValueId> members, const std::vector<Bytes>& cuts,
                  const std::vector<StoragePartId>& part_of) {
    std::stable_sort(members.begin(), members.end(),
                     [&](ValueId a, ValueId b) { return PlaceOf(a).bytes < PlaceOf(b).bytes; });
    PaintedCells bringer(cuts);
    for (const ValueId value : members) {
      if (storages_.fresh[value.index()] == Bytes(0)) continue;
      const ValuePlace& place = PlaceOf(value);
      bringer.Paint(place.offset, place.offset + place.bytes, static_cast<int64_t>(value.index()));
    }
    for (size_t cell = 0; cell < bringer.size(); ++cell) {
      if (bringer[cell] == PaintedCells::kNone) continue;
      const PartRowId row = parts_.row_of[static_cast<size_t>(bringer[cell])];
      std::vector<StorageParts::Brought>& brought = parts_.rows[row.index()].brought;
      const auto known =
          std::find_if(brought.begin(), brought.end(),
                       [&](const StorageParts::Brought& one) { return one.part == part_of[cell]; });
      if (known != brought.end()) {
        known->bytes += bringer.bytes(cell);
      } else {
        brought.push_back({part_of[cell], bringer.bytes(cell)});
      }
    }
  }

  const Graph& graph_;
  const Storages& storages_;
  std::vector<std::vector<ValueId>> members_;  // by storage; empty: goes as a whole
  std::vector<bool> read_;                     // by value: by a node that does more than place it
  StorageParts parts_;
};

}  // namespace

StorageParts DivideStorages(const Graph& graph, const Storages& storages) {
  return Divider(graph, storages).Divide();
}

}  // namespace plimsoll::compile
