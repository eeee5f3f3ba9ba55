#include "compile/order/schedule_builder.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "compile/memory/storage/storage_parts.h"
#include "compile/passes/bodies.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

class Builder {
 public:
  Builder(const Graph& graph, const Storages& storages, const std::vector<bool>& constant,
          bool in_place, const std::vector<Bytes>& workspaces, const kernels::Backend& backend)
      : graph_(graph),
        storages_(storages),
        constant_(constant),
        in_place_(in_place),
        backend_(backend),
        workspaces_(workspaces),
        parts_(DivideStorages(graph, storages)) {
    AddPartValues();
  }

  BodySchedule Build(SubgraphId body) {
    BodySchedule built;
    Schedule& schedule = built.schedule;
    schedule.storages = static_cast<StorageRow>(storages_.storages.size() + parts_.count);
    schedule.pinned.resize(static_cast<size_t>(schedule.storages));
    schedule.values.resize(graph_.values.size());
    for (size_t i = 0; i < storages_.storages.size(); ++i) {
      schedule.pinned[i] = storages_.storages[i].home != Home::kFeatureMap;
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const StorageId storage = storages_.places[i].storage;
      if (!storage.valid()) continue;
      const bool whole = !schedule.pinned[storage.index()] && parts_.Of(i) == nullptr;
      schedule.values[i] = {whole ? storages_.fresh[i].RoundUp(kRounding).value() : 0,
                            static_cast<StorageRow>(storage.index())};
    }
    schedule.values.insert(schedule.values.end(), part_values_.begin(), part_values_.end());
    built.written_by_part = written_by_part_;
    std::map<StorageId, std::vector<NodeRow>> readers;  // so far
    built.nodes = NodesOfSchedule(graph_, constant_, body);
    for (const NodeId id : built.nodes) {
      schedule.nodes.push_back(Row(id, static_cast<NodeRow>(schedule.nodes.size()), readers));
    }
    if (body != Graph::kRoot) PinForeign(body, schedule);
    return built;
  }

 private:
  // What the planner rounds sizes to in the feature map.
  static constexpr int64_t kRounding = 512;

  // One value per part that nobody writes, which nodes read to hold the part; then one per part
  // that a value brings.
  void AddPartValues() {
    const auto row_of = [&](StoragePartId part) {
      return static_cast<StorageRow>(storages_.storages.size() + part.index());
    };
    for (size_t part = 0; part < parts_.count; ++part) {
      part_values_.push_back({0, row_of(StoragePartId(part))});
      written_by_part_.emplace_back();
    }
    first_brought_.resize(parts_.rows.size());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const StorageParts::Row* row = parts_.Of(i);
      if (row == nullptr) continue;
      first_brought_[parts_.row_of[i].index()] = PartValue(part_values_.size());
      for (const auto& [part, bytes] : row->brought) {
        part_values_.push_back({bytes.RoundUp(kRounding).value(), row_of(part)});
        written_by_part_.emplace_back(i);
      }
    }
  }

  ValueRow PartValue(size_t index) const {
    return static_cast<ValueRow>(graph_.values.size() + index);
  }

  // The value that stands for what writing this one brings.
  ValueRow BroughtBy(ValueId value, size_t index) const {
    return first_brought_[parts_.row_of[value.index()].index()] + static_cast<ValueRow>(index);
  }

  void AddParts(ScheduleNode& row) const {
    std::vector<ValueRow> held;
    const auto hold = [&](ValueRow value) {
      const StorageParts::Row* parts = parts_.Of(static_cast<size_t>(value));
      if (parts == nullptr) return;
      for (const StoragePartId part : parts->covered) held.push_back(PartValue(part.index()));
    };
    for (const ValueRow value : row.reads) hold(value);
    const size_t writes = row.writes.size();
    for (size_t i = 0; i < writes; ++i) {
      hold(row.writes[i]);
      const ValueId value(static_cast<size_t>(row.writes[i]));
      const StorageParts::Row* parts = parts_.Of(value.index());
      for (size_t k = 0; parts != nullptr && k < parts->brought.size(); ++k) {
        row.writes.push_back(BroughtBy(value, k));
      }
    }
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    row.reads.insert(row.reads.end(), held.begin(), held.end());
  }

  // Inside a body, what comes from outside or leaves it is not the body's to overwrite: a loop
  // reads it again, and the world around still may.
  void PinForeign(SubgraphId body, Schedule& schedule) const {
    const auto pin = [&](ValueId value) {
      if (value.valid() && storages_.places[value.index()].storage.valid()) {
        schedule.pinned[storages_.places[value.index()].storage.index()] = true;
      }
    };
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].home != body) pin(ValueId(i));
    }
    for (const ValueId input : graph_[body].inputs) pin(input);
    for (const ValueId output : graph_[body].outputs) pin(output);
  }

  ScheduleNode Row(NodeId id, NodeRow number, std::map<StorageId, std::vector<NodeRow>>& readers) {
    const Node& node = graph_[id];
    ScheduleNode row;
    for (const ValueId value : ReadsOf(graph_, id)) {
      if (storages_.places[value.index()].storage.valid()) {
        row.reads.push_back(static_cast<ValueRow>(value.index()));
      }
    }
    for (const ValueId value : node.outputs) {
      if (value.valid() && storages_.places[value.index()].storage.valid()) {
        row.writes.push_back(static_cast<ValueRow>(value.index()));
      }
    }
    AddOverwritten(node, row, readers);
    if (in_place_) AddInPlace(id, row);
    if (!workspaces_.empty()) {
      row.workspace = workspaces_[id.index()].RoundUp(kRounding).value();
    }
    for (const SubgraphId body : SubgraphsOf(node)) {
      const BodySchedule inner = Build(body);
      Order order(inner.nodes.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<NodeRow>(i);
      row.workspace = std::max(row.workspace, WalkOrder(inner.schedule, order).peak);
    }
    for (const ValueRow value : row.reads) {
      readers[storages_.places[static_cast<size_t>(value)].storage].push_back(number);
    }
    AddParts(row);
    return row;
  }

  // A node that writes into its input's own memory, or over a variable, runs after everybody else
  // who reads it.
  void AddOverwritten(const Node& node, ScheduleNode& row,
                      const std::map<StorageId, std::vector<NodeRow>>& readers) const {
    const auto wait_for_readers_of = [&](ValueId value) {
      const auto found = readers.find(storages_.places[value.index()].storage);
      if (found == readers.end()) return;
      row.after.insert(row.after.end(), found->second.begin(), found->second.end());
    };
    for (const auto& reference : node.memory.reference_outputs) {
      const auto input = static_cast<size_t>(reference.input);
      if (input < node.inputs.size() && node.inputs[input].valid()) {
        wait_for_readers_of(node.inputs[input]);
      }
    }
    if (storages_.overwrites.empty()) return;
    for (const ValueId output : node.outputs) {
      if (output.valid() && storages_.overwrites[output.index()]) wait_for_readers_of(output);
    }
  }

  void AddInPlace(NodeId id, ScheduleNode& row) const {
    const Node& node = graph_[id];
    if (!IsOrdinary(node.memory)) return;
    const std::vector<kernels::InPlacePair> pairs = backend_.InPlacePairs(graph_, id);
    for (const kernels::InPlacePair& pair : pairs) {
      const ValueId output = node.outputs[static_cast<size_t>(pair.output)];
      const ValueId input = node.inputs[static_cast<size_t>(pair.input)];
      if (!IsAllOfItsStorage(input) || storages_.fresh[output.index()] == Bytes(0)) continue;
      if (!SameStreamThroughout(input, node.memory.stream)) continue;
      if (ReadsItElsewhere(node, pair, pairs)) continue;
      auto written = static_cast<ValueRow>(output.index());
      if (const StorageParts::Row* parts = parts_.Of(output.index())) {
        if (parts->brought.size() != 1) continue;
        written = BroughtBy(output, 0);
      }
      row.in_place.push_back({written, static_cast<ValueRow>(input.index())});
    }
  }

  // Whether an operand other than the one to be overwritten lies in the same memory and is not read
  // in step with it: a row of x in `x - x[0]` would be gone before the next row needs it.
  bool ReadsItElsewhere(const Node& node, const kernels::InPlacePair& over,
                        const std::vector<kernels::InPlacePair>& pairs) const {
    const ValuePlace& place = PlaceOf(node.inputs[static_cast<size_t>(over.input)]);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || static_cast<int>(i) == over.input) continue;
      const ValuePlace& other = PlaceOf(node.inputs[i]);
      if (other.storage != place.storage) continue;
      const bool in_step =
          other.offset == place.offset &&
          std::any_of(pairs.begin(), pairs.end(), [&](const kernels::InPlacePair& pair) {
            return pair.output == over.output && pair.input == static_cast<int>(i);
          });
      if (!in_step) return true;
    }
    return false;
  }

  bool IsAllOfItsStorage(ValueId value) const {
    const ValuePlace& place = PlaceOf(value);
    return place.storage.valid() && parts_.Of(value.index()) == nullptr &&
           place.offset == Bytes(0) &&
           place.bytes == storages_.storages[place.storage.index()].bytes;
  }

  const ValuePlace& PlaceOf(ValueId value) const { return storages_.places[value.index()]; }

  // "Nobody reads it any more" follows from the order only where one stream does all the work on
  // it.
  bool SameStreamThroughout(ValueId value, int stream) const {
    if (streams_.empty()) FillStreams();
    return streams_[PlaceOf(value).storage.index()] == stream;
  }

  void FillStreams() const {
    streams_.assign(storages_.storages.size(), kNone);
    const auto touch = [&](ValueId value, int stream, bool ordinary) {
      if (!value.valid() || !storages_.places[value.index()].storage.valid()) return;
      int& only = streams_[storages_.places[value.index()].storage.index()];
      only = (only == kNone || only == stream) && ordinary ? stream : kMixed;
    };
    for (const Node& node : graph_.nodes) {
      const bool ordinary = IsOrdinary(node.memory);
      for (const ValueId value : node.inputs) touch(value, node.memory.stream, ordinary);
      for (const ValueId value : node.outputs) touch(value, node.memory.stream, ordinary);
    }
  }

  static constexpr int kNone = -1;
  static constexpr int kMixed = -2;

  const Graph& graph_;
  const Storages& storages_;
  const std::vector<bool>& constant_;
  bool in_place_;
  const kernels::Backend& backend_;
  const std::vector<Bytes>& workspaces_;
  const StorageParts parts_;
  std::vector<ScheduleValue> part_values_;
  std::vector<ValueId> written_by_part_;  // by part value; not valid: nobody writes it
  std::vector<ValueRow> first_brought_;   // by row of parts_
  mutable std::vector<int> streams_;
};

}  // namespace

std::vector<NodeId> NodesOfSchedule(const Graph& graph, const std::vector<bool>& constant,
                                    SubgraphId body) {
  const auto is_folded = [&](NodeId id) {
    const std::vector<ValueId>& outputs = graph[id].outputs;
    return !outputs.empty() && std::ranges::all_of(outputs, [&](ValueId output) {
      return !output.valid() || constant[output.index()];
    });
  };
  std::vector<NodeId> nodes;
  std::ranges::remove_copy_if(graph[body].nodes, std::back_inserter(nodes), is_folded);
  return nodes;
}

BodySchedule BuildSchedule(const Graph& graph, const Storages& storages,
                           const std::vector<bool>& constant, SubgraphId body, bool in_place,
                           const std::vector<Bytes>& workspaces, const kernels::Backend& backend) {
  return Builder(graph, storages, constant, in_place, workspaces, backend).Build(body);
}

}  // namespace plimsoll::compile
