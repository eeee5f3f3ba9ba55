#include "compile/memory/caller_memory.h"

#include <algorithm>
#include <optional>

#include "compile/memory/zero_copy.h"
#include "compile/passes/bodies.h"
#include "compile/shapes/batch_labels.h"
#include "kernels/catalogue.h"
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

// A block's place in an input or output of the caller's.
struct LentPlace {
  int32_t block = -1;
  Home home = Home::kInput;
  int port = 0;  // number of the input or output
  Bytes offset;
};

struct Lodger {
  Span life;
  Bytes begin;
  Bytes end;
};

// Memory of the caller's, and when it is free.
struct Lender {
  Home home = Home::kInput;
  int port = 0;
  int32_t block = -1;
  Bytes bytes;
  Span free;
  std::vector<Lodger> lodgers;  // by begin
};

class Lending {
 public:
  Lending(const Graph& graph, const Blocks& blocks, const Timeline& timeline,
          const StableValues& stable, const ReuseOptions& options, const ReuseRules& rules)
      : graph_(graph),
        blocks_(blocks),
        timeline_(timeline),
        stable_(stable),
        options_(options),
        rules_(rules) {}

  void AddInput(int port) { AddLender(Home::kInput, port, graph_.root().inputs); }
  void AddOutput(int port) { AddLender(Home::kOutput, port, graph_.root().outputs); }

  std::vector<LentPlace> Lend() {
    std::vector<int32_t> order;
    for (size_t i = 0; i < blocks_.blocks.size(); ++i) {
      if (MayMove(blocks_.blocks[i])) order.push_back(static_cast<int32_t>(i));
    }
    std::vector<LentPlace> places;
    for (Lender& lender : lenders_) {
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return ComesFirst(lender, At(a), At(b)); });
      std::erase_if(order, [&](int32_t block) {
        const std::optional<Bytes> offset = Fit(lender, At(block));
        if (offset) places.push_back({block, lender.home, lender.port, *offset});
        return offset.has_value();
      });
    }
    return places;
  }

 private:
  const Block& At(int32_t block) const { return blocks_.blocks[static_cast<size_t>(block)]; }

  // The largest, and of equals the one that leaves no gap beside the caller's own use.
  bool ComesFirst(const Lender& lender, const Block& a, const Block& b) const {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return lender.home == Home::kInput ? LifeOf(a).begin < LifeOf(b).begin
                                       : LifeOf(a).end > LifeOf(b).end;
  }

  void AddLender(Home home, int port, const std::vector<ValueId>& ports) {
    const ValueId value = ports[static_cast<size_t>(port)];
    const int32_t index = blocks_.block_of[value.index()];
    if (index < 0 || At(index).home != home) return;
    if (!JudgeZeroCopy(graph_, stable_, At(index), options_).allowed) return;
    if (PortsIn(At(index)) != 1 || Lends(index)) return;
    // An output that only one batch makes is not there in runs of the others.
    if (home == Home::kOutput && !BatchOf(graph_, value).empty()) return;
    const auto steps = static_cast<int64_t>(timeline_.steps.size());
    const Span free =
        home == Home::kInput ? Span{At(index).end, steps} : Span{0, LifeOf(At(index)).begin};
    lenders_.push_back({home, port, index, At(index).bytes, free, {}});
  }

  bool Lends(int32_t block) const {
    return std::any_of(lenders_.begin(), lenders_.end(),
                       [&](const Lender& lender) { return lender.block == block; });
  }

  // How often the block is an input or an output of the model: one that is both is read at the end.
  int PortsIn(const Block& block) const {
    int count = 0;
    for (const auto* ports : {&graph_.root().inputs, &graph_.root().outputs}) {
      for (const ValueId port : *ports) {
        count += static_cast<int>(std::count(block.values.begin(), block.values.end(), port));
      }
    }
    return count;
  }

  Span LifeOf(const Block& block) const {
    Span life{block.end, block.end};
    for (const Access& access : block.accesses) life.begin = std::min(life.begin, access.step);
    return life;
  }

  bool MayMove(const Block& block) const {
    if (block.home != Home::kFeatureMap || block.bytes == Bytes(0)) return false;
    return std::all_of(block.values.begin(), block.values.end(), [&](ValueId value) {
      const NodeId producer = graph_[value].producer;
      return producer.valid() && IsOrdinary(graph_[producer].memory) && !stable_.Contains(value) &&
             !rules_.Keeps(producer);
    });
  }

  std::optional<Bytes> Fit(Lender& lender, const Block& block) {
    const Span life = LifeOf(block);
    if (life.begin < lender.free.begin || life.end > lender.free.end) {
      return lender.home == Home::kInput && life.begin == lender.free.begin - 1
                 ? FitInPlace(lender, block, life)
                 : std::nullopt;
    }
    Bytes at;
    for (const Lodger& lodger : lender.lodgers) {
      if (!Meet(lodger.life, life)) continue;
      if (at + block.bytes <= lodger.begin) break;
      at = std::max(at, lodger.end.RoundUp(plan::kZeroCopyAlignment));
    }
    if (!plan::IsRealSizeReuseBlock(lender.bytes, at + block.bytes)) return std::nullopt;
    return Lodge(lender, block, life, at);
  }

  // The block is what the last reader of the input makes, and goes where that reads.
  std::optional<Bytes> FitInPlace(Lender& lender, const Block& block, const Span& life) {
    const Step& step = timeline_.steps[static_cast<size_t>(life.begin)];
    const Node& node = graph_[step.node];
    if (step.kind != Step::Kind::kRun || !IsOrdinary(node.memory)) return std::nullopt;
    const auto reads = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && blocks_.block_of[input.index()] == lender.block;
    });
    for (const kernels::InPlacePair& pair : kernels::InPlacePairs(graph_, step.node)) {
      const ValueId input = node.inputs[static_cast<size_t>(pair.input)];
      const ValueId output = node.outputs[static_cast<size_t>(pair.output)];
      const bool from_here = blocks_.block_of[input.index()] == lender.block && reads == 1;
      const bool whole = &At(blocks_.block_of[output.index()]) == &block &&
                         block.pieces.size() == 1 &&
                         block.bytes == PlannedSize(graph_[output].type);
      const Bytes at = blocks_.offset_of[input.index()];
      const bool aligned = at.value() % plan::kZeroCopyAlignment == 0;
      const bool fits = plan::IsRealSizeReuseBlock(lender.bytes, at + block.bytes) &&
                        IsFree(lender, life, at, block.bytes);
      if (from_here && whole && aligned && fits) {
        return Lodge(lender, block, life, at);
      }
    }
    return std::nullopt;
  }

  static bool IsFree(const Lender& lender, const Span& life, Bytes at, Bytes bytes) {
    return std::none_of(lender.lodgers.begin(), lender.lodgers.end(), [&](const Lodger& lodger) {
      return Meet(lodger.life, life) && lodger.begin < at + bytes && at < lodger.end;
    });
  }

  static Bytes Lodge(Lender& lender, const Block& block, const Span& life, Bytes at) {
    lender.lodgers.push_back({life, at, at + block.bytes});
    std::stable_sort(lender.lodgers.begin(), lender.lodgers.end(),
                     [](const Lodger& a, const Lodger& b) { return a.begin < b.begin; });
    return at;
  }

  const Graph& graph_;
  const Blocks& blocks_;
  const Timeline& timeline_;
  const StableValues& stable_;
  const ReuseOptions& options_;
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

void Settle(const Graph& graph, const Blocks& blocks, const LentPlace& place,
            PlannedBuffers& planned) {
  const Block& block = blocks.blocks[static_cast<size_t>(place.block)];
  plan::Buffer buffer;
  buffer.name = graph[block.values[0]].name;
  buffer.size = block.bytes;
  buffer.region = RegionOf(graph, place, planned);
  buffer.fixed_offset = Offset(place.offset.value());
  const auto born =
      std::min_element(block.pieces.begin(), block.pieces.end(),
                       [](const Piece& a, const Piece& b) { return a.birth < b.birth; });
  buffer.life = {plan::StreamId(0), born->birth, block.end};
  const plan::BufferId id = planned.problem.AddBuffer(std::move(buffer));
  for (const ValueId value : block.values) {
    planned.buffer_of[value.index()] = id;
    planned.offset_in_buffer[value.index()] = blocks.offset_of[value.index()];
  }
}

}  // namespace

std::vector<bool> LendCallerMemory(const Graph& graph, const Blocks& blocks,
                                   const Timeline& timeline, const StableValues& stable,
                                   const ReuseOptions& options, const ReuseRules& rules,
                                   PlannedBuffers& planned) {
  std::vector<bool> lent(blocks.blocks.size());
  if (timeline.steps_of_stream.size() > 1) {
    const auto note = [&](graph::ValueId port) {
      planned.notes.push_back(
          {graph[port].name, "is not used as memory of the run: that runs on several streams"});
    };
    for (const int port : options.inputs) note(graph.root().inputs[static_cast<size_t>(port)]);
    for (const int port : options.outputs) note(graph.root().outputs[static_cast<size_t>(port)]);
    return lent;
  }
  Lending lending(graph, blocks, timeline, stable, options, rules);
  for (const int port : options.inputs) lending.AddInput(port);
  for (const int port : options.outputs) lending.AddOutput(port);
  for (const LentPlace& place : lending.Lend()) {
    Settle(graph, blocks, place, planned);
    lent[static_cast<size_t>(place.block)] = true;
  }
  return lent;
}

}  // namespace plimsoll::compile
