#include "compile/memory/caller_memory.h"

#include <algorithm>
#include <optional>

#include "compile/memory/zero_copy.h"
#include "compile/passes/bodies.h"
#include "compile/shapes/batch_labels.h"
#include "plan/assign/zero_copy.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Steps [begin, end) of the run.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

bool Meet(const Span& a, const Span& b) { return a.begin < b.end && b.begin < a.end; }

// A storage's place in an input or output of the caller's.
struct LentPlace {
  JoinedStorageId storage;
  Home home = Home::kInput;
  int port = 0;  // number of the input or output
  Bytes offset;
};

struct Occupant {
  Span life;
  Bytes begin;
  Bytes end;
};

// Memory of the caller's, and when it is free.
struct Lender {
  Home home = Home::kInput;
  int port = 0;
  JoinedStorageId storage;
  Bytes bytes;
  Span free;
  std::vector<Occupant> occupants;  // by begin
};

class Lending {
 public:
  Lending(const Graph& graph, const JoinedStorages& joined, const Timeline& timeline,
          const StableValues& stable, const LifetimeOptions& options, const ReuseRules& rules)
      : graph_(graph),
        joined_(joined),
        timeline_(timeline),
        stable_(stable),
        options_(options),
        rules_(rules) {}

  void AddInput(int port) { AddLender(Home::kInput, port, graph_.root().inputs); }
  void AddOutput(int port) { AddLender(Home::kOutput, port, graph_.root().outputs); }

  std::vector<LentPlace> Lend() {
    std::vector<JoinedStorageId> order;
    for (size_t i = 0; i < joined_.all.size(); ++i) {
      if (MayMove(joined_.all[i])) order.emplace_back(i);
    }
    std::vector<LentPlace> places;
    for (Lender& lender : lenders_) {
      std::stable_sort(order.begin(), order.end(), [&](JoinedStorageId a, JoinedStorageId b) {
        return ComesFirst(lender, joined_[a], joined_[b]);
      });
      std::erase_if(order, [&](JoinedStorageId storage) {
        const std::optional<Bytes> offset = Fit(lender, joined_[storage]);
        if (offset) places.push_back({storage, lender.home, lender.port, *offset});
        return offset.has_value();
      });
    }
    return places;
  }

 private:
  // The largest, and of equals the one that leaves no gap next to the caller's own use.
  bool ComesFirst(const Lender& lender, const JoinedStorage& a, const JoinedStorage& b) const {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return lender.home == Home::kInput ? LifeOf(a).begin < LifeOf(b).begin
                                       : LifeOf(a).end > LifeOf(b).end;
  }

  void AddLender(Home home, int port, const std::vector<ValueId>& ports) {
    const ValueId value = ports[static_cast<size_t>(port)];
    const JoinedStorageId id = joined_.IdOf(value);
    if (!id.valid() || joined_[id].home != home) return;
    if (!JudgeZeroCopy(graph_, stable_, joined_[id], options_.reuse).allowed) return;
    if (PortsIn(joined_[id]) != 1 || Lends(id)) return;
    // An output that only one batch makes is not there in runs of the others.
    if (home == Home::kOutput && !BatchOf(graph_, value).empty()) return;
    const auto steps = static_cast<int64_t>(timeline_.steps.size());
    const Span free =
        home == Home::kInput ? Span{joined_[id].end, steps} : Span{0, LifeOf(joined_[id]).begin};
    lenders_.push_back({home, port, id, joined_[id].bytes, free, {}});
  }

  bool Lends(JoinedStorageId storage) const {
    return std::any_of(lenders_.begin(), lenders_.end(),
                       [&](const Lender& lender) { return lender.storage == storage; });
  }

  // How often the storage is an input or an output of the model: one that is both is read at the
  // end.
  int PortsIn(const JoinedStorage& storage) const {
    int count = 0;
    for (const auto* ports : {&graph_.root().inputs, &graph_.root().outputs}) {
      for (const ValueId port : *ports) {
        count += static_cast<int>(std::count(storage.values.begin(), storage.values.end(), port));
      }
    }
    return count;
  }

  Span LifeOf(const JoinedStorage& storage) const {
    Span life{storage.end, storage.end};
    for (const Access& access : storage.accesses) life.begin = std::min(life.begin, access.step);
    return life;
  }

  bool MayMove(const JoinedStorage& storage) const {
    if (storage.home != Home::kFeatureMap || storage.bytes == Bytes(0)) return false;
    return std::all_of(storage.values.begin(), storage.values.end(), [&](ValueId value) {
      const NodeId producer = graph_[value].producer;
      return producer.valid() && IsOrdinary(graph_[producer].memory) && !stable_.Contains(value) &&
             !rules_.Keeps(producer);
    });
  }

  std::optional<Bytes> Fit(Lender& lender, const JoinedStorage& storage) {
    const Span life = LifeOf(storage);
    if (life.begin < lender.free.begin || life.end > lender.free.end) {
      return lender.home == Home::kInput && life.begin == lender.free.begin - 1
                 ? FitInPlace(lender, storage, life)
                 : std::nullopt;
    }
    Bytes at;
    for (const Occupant& occupant : lender.occupants) {
      if (!Meet(occupant.life, life)) continue;
      if (at + storage.bytes <= occupant.begin) break;
      at = std::max(at, occupant.end.RoundUp(plan::kZeroCopyAlignment));
    }
    if (!plan::IsRealSizeReuseBlock(lender.bytes, at + storage.bytes)) return std::nullopt;
    return Occupy(lender, storage, life, at);
  }

  // The storage is what the last reader of the input makes, and goes where that reads.
  std::optional<Bytes> FitInPlace(Lender& lender, const JoinedStorage& storage, const Span& life) {
    const Step& step = timeline_.steps[static_cast<size_t>(life.begin)];
    const Node& node = graph_[step.node];
    if (step.kind != Step::Kind::kRun || !IsOrdinary(node.memory)) return std::nullopt;
    const auto reads = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && joined_.IdOf(input) == lender.storage;
    });
    for (const kernels::InPlacePair& pair :
         options_.target.backend->InPlacePairs(graph_, step.node)) {
      const ValueId input = node.inputs[static_cast<size_t>(pair.input)];
      const ValueId output = node.outputs[static_cast<size_t>(pair.output)];
      const bool from_here = joined_.IdOf(input) == lender.storage && reads == 1;
      const bool whole = &joined_[joined_.IdOf(output)] == &storage && storage.pieces.size() == 1 &&
                         storage.bytes == PlannedSize(graph_[output].type);
      const Bytes at = joined_.OffsetOf(input);
      const bool aligned = at.value() % plan::kZeroCopyAlignment == 0;
      const bool fits = plan::IsRealSizeReuseBlock(lender.bytes, at + storage.bytes) &&
                        IsFree(lender, life, at, storage.bytes);
      if (from_here && whole && aligned && fits) {
        return Occupy(lender, storage, life, at);
      }
    }
    return std::nullopt;
  }

  static bool IsFree(const Lender& lender, const Span& life, Bytes at, Bytes bytes) {
    return std::none_of(
        lender.occupants.begin(), lender.occupants.end(), [&](const Occupant& occupant) {
          return Meet(occupant.life, life) && occupant.begin < at + bytes && at < occupant.end;
        });
  }

  static Bytes Occupy(Lender& lender, const JoinedStorage& storage, const Span& life, Bytes at) {
    lender.occupants.push_back({life, at, at + storage.bytes});
    std::stable_sort(lender.occupants.begin(), lender.occupants.end(),
                     [](const Occupant& a, const Occupant& b) { return a.begin < b.begin; });
    return at;
  }

  const Graph& graph_;
  const JoinedStorages& joined_;
  const Timeline& timeline_;
  const StableValues& stable_;
  const LifetimeOptions& options_;
  const ReuseRules& rules_;
  std::vector<Lender> lenders_;
};

plan::RegionId RegionOf(const Graph& graph, const LentPlace& place, PlannedBuffers& planned) {
  for (const PlannedBuffers::Lent& lent : planned.lent) {
    if (lent.home == place.home && lent.port == place.port) return lent.region;
  }
  const bool input = place.home == Home::kInput;
  const auto& ports = input ? graph.root().inputs : graph.root().outputs;
  const graph::Value& port = graph[ports[static_cast<size_t>(place.port)]];
  plan::Region region;
  region.name = StrCat(input ? "input '" : "output '", port.name, "', lent");
  region.kind = plan::RegionKind::kZeroCopy;
  region.alignment = plan::kZeroCopyAlignment;
  region.capacity = PlannedSize(port.type);
  const plan::RegionId id = planned.problem.AddRegion(std::move(region));
  planned.lent.push_back({id, place.home, place.port});
  planned.notes.push_back({port.name, input ? "is overwritten once it was read for the last time"
                                            : "is scratch until it is written"});
  return id;
}

void Settle(const Graph& graph, const JoinedStorages& joined, const LentPlace& place,
            PlannedBuffers& planned) {
  const JoinedStorage& storage = joined[place.storage];
  plan::Buffer buffer;
  buffer.name = graph[storage.values[0]].name;
  buffer.size = storage.bytes;
  buffer.region = RegionOf(graph, place, planned);
  buffer.fixed_offset = Offset(place.offset.value());
  const auto born =
      std::min_element(storage.pieces.begin(), storage.pieces.end(),
                       [](const Piece& a, const Piece& b) { return a.birth < b.birth; });
  buffer.life = {plan::StreamId(0), born->birth, storage.end};
  const plan::BufferId id = planned.problem.AddBuffer(std::move(buffer));
  for (const ValueId value : storage.values) {
    planned.buffer_of[value.index()] = id;
    planned.offset_in_buffer[value.index()] = joined.OffsetOf(value);
  }
}

}  // namespace

std::vector<bool> LendCallerMemory(const Graph& graph, const JoinedStorages& joined,
                                   const Timeline& timeline, const StableValues& stable,
                                   const LifetimeOptions& options, const ReuseRules& rules,
                                   PlannedBuffers& planned) {
  const std::vector<int>& inputs = options.reuse.inputs;
  const std::vector<int>& outputs = options.reuse.outputs;
  std::vector<bool> lent(joined.all.size());
  if (timeline.steps_of_stream.size() > 1) {
    const auto note = [&](graph::ValueId port) {
      planned.notes.push_back(
          {graph[port].name, "is not used as memory of the run: that runs on several streams"});
    };
    for (const int port : inputs) note(graph.root().inputs[static_cast<size_t>(port)]);
    for (const int port : outputs) note(graph.root().outputs[static_cast<size_t>(port)]);
    return lent;
  }
  Lending lending(graph, joined, timeline, stable, options, rules);
  for (const int port : inputs) lending.AddInput(port);
  for (const int port : outputs) lending.AddOutput(port);
  for (const LentPlace& place : lending.Lend()) {
    Settle(graph, joined, place, planned);
    lent[place.storage.index()] = true;
  }
  return lent;
}

}  // namespace plimsoll::compile
