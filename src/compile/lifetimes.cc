#include "compile/lifetimes.h"

#include <algorithm>
#include <map>

#include "compile/batch_labels.h"
#include "compile/bodies.h"
#include "compile/caller_memory.h"
#include "compile/constants.h"
#include "compile/zero_copy.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::MemoryAttributes;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using plan::BufferId;
using plan::RegionId;

// What the nodes that write a block ask of its memory.
struct Wishes {
  MemoryAttributes::Type type = MemoryAttributes::Type::kDevice;
  bool fixed_address = false;
  bool clearing = false;
};

Wishes WishesOf(const Graph& graph, const Block& block) {
  Wishes wishes;
  for (const ValueId value : block.values) {
    const NodeId producer = graph[value].producer;
    if (!producer.valid()) continue;
    const Node& node = graph[producer];
    if (node.memory.memory_type != MemoryAttributes::Type::kDevice) {
      wishes.type = node.memory.memory_type;
    }
    wishes.fixed_address |= node.memory.fixed_address;
    for (const int output : node.memory.needs_clearing) {
      const auto index = static_cast<size_t>(output);
      if (index < node.outputs.size() && node.outputs[index] == value) wishes.clearing = true;
    }
  }
  return wishes;
}

class ProblemBuilder {
 public:
  ProblemBuilder(const Graph& graph, const Blocks& blocks, const Timeline& timeline,
                 const LifetimeOptions& options)
      : graph_(graph),
        blocks_(blocks),
        timeline_(timeline),
        options_(options),
        rules_(MakeReuseRules(graph, options.reuse)) {
    planned_.buffer_of.resize(graph.values.size());
    planned_.offset_in_buffer.resize(graph.values.size());
    planned_.feature_map = AddRegion("feature map", plan::RegionKind::kFeatureMap, {});
    planned_.zero_copy = AddRegion("zero copy", plan::RegionKind::kZeroCopy, {});
    planned_.weights = AddRegion("weights", plan::RegionKind::kWeights, {});
    AddStreams();
  }

  PlannedBuffers Build(const std::vector<bool>& constant) {
    const std::vector<bool> lent =
        LendCallerMemory(graph_, blocks_, timeline_, options_.reuse, rules_, planned_);
    for (size_t i = 0; i < blocks_.blocks.size(); ++i) {
      if (!lent[i]) AddBlock(blocks_.blocks[i]);
    }
    AddWeights(constant);
    for (const Step& step : timeline_.steps) {
      if (step.kind != Step::Kind::kEnd) AddContinuous(step.node);
    }
    AddWorkspaces();
    NoteBodyOutputs();
    for (const std::string& name : rules_.unknown) {
      planned_.notes.push_back({name,
                                "is to share no memory (OP_NO_REUSE_MEM), but no node of the "
                                "compiled graph has that name or type"});
    }
    return std::move(planned_);
  }

 private:
  RegionId AddRegion(std::string name, plan::RegionKind kind, plan::MemoryType type) {
    plan::Region region;
    region.name = std::move(name);
    region.kind = kind;
    region.memory_type = type;
    if (kind == plan::RegionKind::kZeroCopy) region.alignment = plan::kZeroCopyAlignment;
    return planned_.problem.AddRegion(std::move(region));
  }

  RegionId Lazily(RegionId& region, std::string name, plan::RegionKind kind,
                  plan::MemoryType type) {
    if (!region.valid()) region = AddRegion(std::move(name), kind, type);
    return region;
  }

  RegionId RegionFor(const Wishes& wishes) {
    if (wishes.type == MemoryAttributes::Type::kP2P) {
      return Lazily(planned_.p2p, "p2p", plan::RegionKind::kP2p, plan::MemoryType::kP2pDdr);
    }
    if (wishes.type == MemoryAttributes::Type::kHost) {
      return Lazily(planned_.host, "host", plan::RegionKind::kWorkspace, plan::MemoryType::kHost);
    }
    if (wishes.fixed_address && options_.feature_base_refreshable) {
      return Lazily(planned_.fixed, "fixed addresses", plan::RegionKind::kVariables,
                    plan::MemoryType::kDevice);
    }
    return planned_.feature_map;
  }

  void AddStreams() {
    if (timeline_.steps_of_stream.size() < 2) return;
    for (size_t i = 0; i < timeline_.steps_of_stream.size(); ++i) {
      planned_.problem.AddStream({StrCat("stream ", i), timeline_.steps_of_stream[i]});
    }
    for (const StreamWait& wait : timeline_.waits) {
      const Step& before = timeline_.steps[static_cast<size_t>(wait.before)];
      const Step& after = timeline_.steps[static_cast<size_t>(wait.after)];
      planned_.problem.synchronisations.push_back(
          {plan::StreamId(static_cast<size_t>(before.stream)), before.place,
           plan::StreamId(static_cast<size_t>(after.stream)), after.place});
    }
  }

  // The steps from `birth` to `end`, stream by stream. What lives from the first step of all is
  // there before any stream begins, and what lives to the last step when all streams have ended.
  void SetLife(plan::Buffer& buffer, const Block& block, int64_t birth, int64_t end) const {
    if (timeline_.steps_of_stream.size() < 2) {
      buffer.life = {plan::StreamId(0), birth, end};
      return;
    }
    std::map<int, plan::Use> uses;
    const auto touch = [&](int stream, int64_t place) {
      auto [use, added] = uses.try_emplace(
          stream, plan::Use{plan::StreamId(static_cast<size_t>(stream)), place, place + 1});
      use->second.begin = std::min(use->second.begin, place);
      use->second.end = std::max(use->second.end, place + 1);
    };
    for (const Access& access : block.accesses) {
      const Step& step = timeline_.steps[static_cast<size_t>(access.step)];
      touch(step.stream, step.place);
    }
    // The first step of all waits for nothing, so nothing is over before it.
    if (birth == 0) touch(timeline_.steps[0].stream, timeline_.steps[0].place);
    for (size_t i = 0; end == LastStep() && i < timeline_.steps_of_stream.size(); ++i) {
      touch(static_cast<int>(i), timeline_.steps_of_stream[i] - 1);
    }
    if (uses.empty()) return;
    buffer.life = uses.begin()->second;
    for (auto use = std::next(uses.begin()); use != uses.end(); ++use) {
      buffer.elsewhere.push_back(use->second);
    }
  }

  int64_t LastStep() const { return static_cast<int64_t>(timeline_.steps.size()); }

  void AddBlock(const Block& block) {
    if (block.home == Home::kFeatureMap || block.home == Home::kStaged) {
      AddPlanned(block, block.home == Home::kStaged ? LastStep() : block.end, {});
      return;
    }
    const ZeroCopyVerdict verdict = JudgeZeroCopy(graph_, block);
    for (const ValueId value : Ports(block)) {
      plan::Buffer buffer;
      buffer.name = graph_[value].name;
      buffer.size = PlannedSize(graph_[value].type);
      buffer.region = planned_.zero_copy;
      buffer.zero_copy = true;
      buffer.life = {plan::StreamId(0), 0, std::max<int64_t>(1, FirstStreamSteps())};
      const BufferId id = planned_.problem.AddBuffer(std::move(buffer));
      if (verdict.allowed) Settle(block, id);
    }
    if (verdict.allowed) return;
    planned_.notes.push_back({PortNames(block), "is copied: " + verdict.reason});
    AddPlanned(block, block.home == Home::kInput ? block.end : LastStep(), verdict.reason);
  }

  int64_t FirstStreamSteps() const {
    return timeline_.steps_of_stream.empty() ? 0 : timeline_.steps_of_stream[0];
  }

  std::vector<ValueId> Ports(const Block& block) const {
    const graph::Subgraph& root = graph_.root();
    const auto& ports = block.home == Home::kOutput ? root.outputs : root.inputs;
    std::vector<ValueId> found;
    for (const ValueId value : block.values) {
      if (std::find(ports.begin(), ports.end(), value) != ports.end()) found.push_back(value);
    }
    return found;
  }

  std::string PortNames(const Block& block) const {
    std::vector<std::string> names;
    for (const ValueId value : Ports(block)) names.push_back(graph_[value].name);
    return Join(names, ", ");
  }

  void Settle(const Block& block, BufferId buffer) {
    for (const ValueId value : block.values) {
      planned_.buffer_of[value.index()] = buffer;
      planned_.offset_in_buffer[value.index()] = blocks_.offset_of[value.index()];
    }
  }

  void AddPlanned(const Block& block, int64_t end, const std::string& no_zero_copy) {
    const Wishes wishes = WishesOf(graph_, block);
    const bool one_piece = block.pieces.size() == 1;
    std::vector<BufferId> members;
    for (const Piece& piece : block.pieces) {
      plan::Buffer buffer;
      buffer.name = NameOf(block, piece);
      buffer.size = piece.bytes;
      buffer.region = RegionFor(wishes);
      buffer.is_fixed_addr_prior = wishes.fixed_address;
      buffer.no_zero_copy_reason = no_zero_copy;
      buffer.exclusive = IsKept(block);
      if (wishes.clearing && one_piece && options_.clear_together) buffer.atomic_addr_clean_id = 0;
      buffer.batch = BatchNamed(BatchOf(graph_, block));
      const bool given = block.home == Home::kInput || block.home == Home::kVariable;
      SetLife(buffer, block, given ? 0 : piece.birth, std::max(end, piece.birth + 1));
      members.push_back(planned_.problem.AddBuffer(std::move(buffer)));
    }
    if (members.empty()) return;
    Settle(block, members[0]);
    if (!one_piece) planned_.problem.contiguous.push_back({members, false});
  }

  bool IsKept(const Block& block) const {
    return options_.reuse.disabled ||
           std::any_of(block.values.begin(), block.values.end(),
                       [&](ValueId value) { return rules_.Keeps(graph_[value].producer); });
  }

  std::string NameOf(const Block& block, const Piece& piece) const {
    for (const ValueId value : block.values) {
      if (blocks_.offset_of[value.index()] == piece.offset) return graph_[value].name;
    }
    return graph_[block.values[0]].name;
  }

  plan::BatchId BatchNamed(const std::string& label) {
    if (label.empty()) return {};
    const auto& labels = planned_.problem.batches;
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) return plan::BatchId(static_cast<size_t>(found - labels.begin()));
    return planned_.problem.AddBatch(label);
  }

  void AddWeights(const std::vector<bool>& constant) {
    const std::vector<ValueId> kept = KeptConstants(graph_, constant);
    for (const ValueId value : kept) {
      plan::Buffer buffer;
      buffer.name = graph_[value].name;
      buffer.size = PlannedSize(graph_[value].type);
      buffer.region = planned_.weights;
      buffer.is_fixed_addr_prior = true;
      buffer.life = {plan::StreamId(0), 0, std::max<int64_t>(1, FirstStreamSteps())};
      planned_.buffer_of[value.index()] = planned_.problem.AddBuffer(std::move(buffer));
    }
  }

  // Inputs or outputs that must lie side by side, where they do not already.
  void AddContinuous(NodeId id) {
    const Node& node = graph_[id];
    Group(id, node.inputs, node.memory.continuous_input, "inputs");
    Group(id, node.outputs, node.memory.continuous_output, "outputs");
  }

  void Group(NodeId id, const std::vector<ValueId>& values, MemoryAttributes::Continuous how,
             std::string_view what) {
    if (how == MemoryAttributes::Continuous::kNone || values.size() < 2) return;
    std::vector<BufferId> members;
    bool one_block = true;
    for (const ValueId value : values) {
      const int32_t block = value.valid() ? blocks_.block_of[value.index()] : -1;
      one_block &= block >= 0 && block == blocks_.block_of[values[0].index()];
      const bool alone =
          block >= 0 && blocks_.blocks[static_cast<size_t>(block)].pieces.size() == 1 &&
          blocks_.blocks[static_cast<size_t>(block)].home == Home::kFeatureMap &&
          PlannedSize(graph_[value].type) == blocks_.blocks[static_cast<size_t>(block)].bytes;
      if (alone && !Grouped(planned_.buffer_of[value.index()], members)) {
        members.push_back(planned_.buffer_of[value.index()]);
      } else {
        members.push_back(Stage(id, value));
      }
    }
    if (one_block) return;
    planned_.problem.contiguous.push_back({members, how == MemoryAttributes::Continuous::kPadded});
    planned_.notes.push_back({Describe(graph_, id), StrCat("its ", what, " lie side by side")});
  }

  bool Grouped(BufferId buffer, const std::vector<BufferId>& open) const {
    const auto holds = [&](const std::vector<BufferId>& members) {
      return std::find(members.begin(), members.end(), buffer) != members.end();
    };
    return holds(open) ||
           std::any_of(planned_.problem.contiguous.begin(), planned_.problem.contiguous.end(),
                       [&](const plan::Contiguous& group) { return holds(group.members); });
  }

  // The life of memory that a node needs only while it runs.
  plan::Use LifeAt(size_t at) const {
    const Step& step = timeline_.steps[at];
    const bool one_stream = timeline_.steps_of_stream.size() < 2;
    const int64_t place = one_stream ? static_cast<int64_t>(at) : step.place;
    return {plan::StreamId(one_stream ? 0 : static_cast<size_t>(step.stream)), place, place + 1};
  }

  void AddWorkspaces() {
    planned_.workspace_of.resize(graph_.nodes.size());
    if (options_.workspaces.empty()) return;
    for (size_t i = 0; i < timeline_.steps.size(); ++i) {
      const NodeId id = timeline_.steps[i].node;
      const Bytes size = options_.workspaces[id.index()];
      if (timeline_.steps[i].kind != Step::Kind::kRun || size == Bytes(0)) continue;
      plan::Buffer buffer;
      buffer.name = graph_[id].name + " (workspace)";
      buffer.size = size;
      buffer.region = planned_.feature_map;
      buffer.exclusive = rules_.Keeps(id);
      buffer.batch = BatchNamed(graph_[id].memory.batch_label);
      buffer.life = LifeAt(i);
      planned_.workspace_of[id.index()] = planned_.problem.AddBuffer(std::move(buffer));
    }
  }

  // A value that cannot lie in the group itself is copied there for the node.
  BufferId Stage(NodeId id, ValueId value) {
    plan::Buffer buffer;
    buffer.name = value.valid() ? graph_[value].name + " (copy)" : "nothing";
    buffer.size = value.valid() ? PlannedSize(graph_[value].type) : Bytes(0);
    buffer.region = planned_.feature_map;
    for (size_t i = 0; i < timeline_.steps.size(); ++i) {
      if (timeline_.steps[i].node == id) buffer.life = LifeAt(i);
    }
    return planned_.problem.AddBuffer(std::move(buffer));
  }

  void NoteBodyOutputs() {
    for (const Node& node : graph_.nodes) {
      for (const ValueId output : node.outputs) {
        const auto& outputs = graph_.root().outputs;
        const bool leaves = std::find(outputs.begin(), outputs.end(), output) != outputs.end();
        if (!leaves || SubgraphsOf(node).empty()) continue;
        planned_.notes.push_back(
            {graph_[output].name,
             "is copied out of the body: a subgraph's NetOutput has no zero copy"});
      }
    }
  }

  const Graph& graph_;
  const Blocks& blocks_;
  const Timeline& timeline_;
  const LifetimeOptions& options_;
  const ReuseRules rules_;
  PlannedBuffers planned_;
};

}  // namespace

PlannedBuffers BuildProblem(const Graph& graph, const Blocks& blocks, const Timeline& timeline,
                            const std::vector<bool>& constant, const LifetimeOptions& options) {
  return ProblemBuilder(graph, blocks, timeline, options).Build(constant);
}

bool IsNoNeedAssignMemory(const Graph& graph, const Block& block, const LifetimeOptions& options) {
  const bool planned = block.home == Home::kFeatureMap || block.home == Home::kStaged;
  if (!planned) return JudgeZeroCopy(graph, block).allowed;
  return options.feature_base_refreshable && WishesOf(graph, block).fixed_address;
}

}  // namespace plimsoll::compile
