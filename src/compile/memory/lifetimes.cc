#include "compile/memory/lifetimes.h"

#include <algorithm>
#include <map>

#include "compile/bodies/loops.h"
#include "compile/memory/caller_memory.h"
#include "compile/memory/storage/groups.h"
#include "compile/memory/zero_copy.h"
#include "compile/passes/bodies.h"
#include "compile/passes/constants.h"
#include "compile/shapes/batch_labels.h"
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

// What the nodes around a storage ask of its memory.
struct MemoryRequests {
  plan::MemoryType type = plan::MemoryType::kDevice;
  std::string stable_key;  // empty: it may move
  bool clearing = false;
  bool repeatedly = false;  // in one run: it is zeroed each time, and not before all else
};

plan::MemoryType TypeOf(MemoryAttributes::Type type) {
  switch (type) {
    case MemoryAttributes::Type::kP2P:
      return plan::MemoryType::kP2pDdr;
    case MemoryAttributes::Type::kHost:
      return plan::MemoryType::kHost;
    default:
      return plan::MemoryType::kDevice;
  }
}

MemoryRequests RequestsOf(const Graph& graph, const StableValues& stable,
                          const JoinedStorage& storage) {
  MemoryRequests requests;
  for (const ValueId value : storage.values) {
    if (stable.Contains(value)) requests.stable_key = stable.keys[value.index()];
    const NodeId producer = graph[value].producer;
    if (!producer.valid()) continue;
    const Node& node = graph[producer];
    if (node.memory.memory_type != MemoryAttributes::Type::kDevice) {
      requests.type = TypeOf(node.memory.memory_type);
    }
    for (const int output : node.memory.needs_clearing) {
      const auto index = static_cast<size_t>(output);
      if (index >= node.outputs.size() || node.outputs[index] != value) continue;
      requests.clearing = true;
      requests.repeatedly |= RunsRepeatedly(graph, node.home);
    }
  }
  return requests;
}

// What is the memory of an input cannot be zero when the node reads that input.
Status CheckClearing(const Graph& graph, NodeId id) {
  const MemoryAttributes& memory = graph[id].memory;
  for (const auto& reference : memory.reference_outputs) {
    const bool cleared = std::find(memory.needs_clearing.begin(), memory.needs_clearing.end(),
                                   reference.output) != memory.needs_clearing.end();
    if (!cleared) continue;
    return Error{ErrorKind::kBadFile,
                 "graph.clearing",
                 "the output cannot be cleared",
                 Describe(graph, id),
                 StrCat("output ", reference.output, " is the memory of input ", reference.input,
                        ", which the node still reads"),
                 "leave needs_clearing or reference_output out"};
  }
  return {};
}

bool KeepsAddressesInOwnRegion(const LifetimeOptions& options) {
  return options.feature_base_refreshable || options.feature_map_moves;
}

class ProblemBuilder {
 public:
  ProblemBuilder(const Graph& graph, const JoinedStorages& joined, const Timeline& timeline,
                 const StableValues& stable, const ReuseRules& rules,
                 const LifetimeOptions& options)
      : graph_(graph),
        joined_(joined),
        timeline_(timeline),
        stable_(stable),
        options_(options),
        rules_(rules) {
    is_input_.resize(graph.values.size());
    is_output_.resize(graph.values.size());
    for (const ValueId input : graph.root().inputs) is_input_[input.index()] = true;
    for (const ValueId output : graph.root().outputs) is_output_[output.index()] = true;
    planned_.buffer_of.resize(graph.values.size());
    planned_.offset_in_buffer.resize(graph.values.size());
    planned_.feature_map = AddRegion("feature map", plan::RegionKind::kFeatureMap, {});
    planned_.zero_copy = AddRegion("zero copy", plan::RegionKind::kZeroCopy, {});
    planned_.weights = AddRegion("weights", plan::RegionKind::kWeights, {});
    AddStreams();
  }

  Result<PlannedBuffers> Build(const std::vector<bool>& constant) {
    for (const Step& step : timeline_.steps) PLIMSOLL_TRY(CheckClearing(graph_, step.node));
    const std::vector<bool> lent =
        LendCallerMemory(graph_, joined_, timeline_, stable_, options_, rules_, planned_);
    for (size_t i = 0; i < joined_.all.size(); ++i) {
      if (!lent[i]) AddStorage(joined_.all[i]);
    }
    AddWeights(constant);
    PLIMSOLL_TRY(AddGroups(graph_, joined_, timeline_, planned_));
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

  RegionId RegionFor(const JoinedStorage& storage, const MemoryRequests& requests) {
    if (!IsNoNeedAssignMemory(graph_, stable_, storage, options_)) return planned_.feature_map;
    PlannedBuffers::SeparateRegion like;
    like.stable = !requests.stable_key.empty() && KeepsAddressesInOwnRegion(options_);
    like.grows = like.stable && !options_.one_shape;
    if (like.grows) like.key = requests.stable_key;
    return SeparateRegionFor(requests.type, like, planned_);
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
  void SetLife(plan::Buffer& buffer, const JoinedStorage& storage, int64_t birth,
               int64_t end) const {
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
    for (const Access& access : storage.accesses) {
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

  void AddStorage(const JoinedStorage& storage) {
    if (storage.home == Home::kFeatureMap || storage.home == Home::kStaged) {
      AddPlanned(storage, storage.home == Home::kStaged, {});
      return;
    }
    const ZeroCopyVerdict verdict = JudgeZeroCopy(graph_, stable_, storage, options_.reuse);
    for (const ValueId value : Ports(storage)) {
      plan::Buffer buffer;
      buffer.name = graph_[value].name;
      buffer.size = PlannedSize(graph_[value].type);
      buffer.region = planned_.zero_copy;
      buffer.zero_copy = true;
      buffer.life = {plan::StreamId(0), 0, std::max<int64_t>(1, FirstStreamSteps())};
      const BufferId id = planned_.problem.AddBuffer(std::move(buffer));
      if (verdict.allowed) Settle(storage, id);
    }
    if (verdict.allowed) return;
    planned_.notes.push_back({PortNames(storage), "is copied: " + verdict.reason});
    const bool read_at_the_end = storage.home != Home::kInput || HoldsOutput(storage);
    AddPlanned(storage, read_at_the_end, verdict.reason);
  }

  // An input that the model gives back as it is.
  bool HoldsOutput(const JoinedStorage& storage) const {
    return std::any_of(storage.values.begin(), storage.values.end(),
                       [&](ValueId value) { return is_output_[value.index()]; });
  }

  int64_t FirstStreamSteps() const {
    return timeline_.steps_of_stream.empty() ? 0 : timeline_.steps_of_stream[0];
  }

  std::vector<ValueId> Ports(const JoinedStorage& storage) const {
    const std::vector<bool>& is_port = storage.home == Home::kOutput ? is_output_ : is_input_;
    std::vector<ValueId> found;
    for (const ValueId value : storage.values) {
      if (is_port[value.index()]) found.push_back(value);
    }
    return found;
  }

  std::string PortNames(const JoinedStorage& storage) const {
    std::vector<std::string> names;
    for (const ValueId value : Ports(storage)) names.push_back(graph_[value].name);
    return Join(names, ", ");
  }

  void Settle(const JoinedStorage& storage, BufferId buffer) {
    for (const ValueId value : storage.values) {
      planned_.buffer_of[value.index()] = buffer;
      planned_.offset_in_buffer[value.index()] = joined_.OffsetOf(value);
    }
  }

  void AddPlanned(const JoinedStorage& storage, bool read_at_the_end,
                  const std::string& no_zero_copy) {
    const MemoryRequests requests = RequestsOf(graph_, stable_, storage);
    const bool together = requests.clearing && options_.clear_together && !requests.repeatedly;
    const std::vector<Piece> pieces = together ? InOnePiece(storage) : storage.pieces;
    const bool one_piece = pieces.size() == 1;
    const RegionId region = RegionFor(storage, requests);
    const bool kept = IsKept(storage);
    const plan::BatchId batch = BatchNamed(BatchOf(graph_, storage));
    const std::map<Bytes, ValueId> starts = StartsIn(storage);
    std::vector<BufferId> members;
    for (const Piece& piece : pieces) {
      plan::Buffer buffer;
      const auto starting = starts.find(piece.offset);
      buffer.name = graph_[starting == starts.end() ? storage.values[0] : starting->second].name;
      buffer.size = piece.bytes;
      buffer.region = region;
      buffer.is_fixed_addr_prior = !requests.stable_key.empty();
      buffer.no_zero_copy_reason = no_zero_copy;
      buffer.exclusive = kept;
      if (together && one_piece) buffer.atomic_addr_clean_id = 0;
      buffer.batch = batch;
      const bool given = storage.home == Home::kInput || storage.home == Home::kVariable;
      SetLife(buffer, storage, given ? 0 : piece.birth, read_at_the_end ? LastStep() : piece.end);
      members.push_back(planned_.problem.AddBuffer(std::move(buffer)));
    }
    if (members.empty()) return;
    Settle(storage, members[0]);
    if (!one_piece) {
      planned_.problem.contiguous.push_back(
          {.members = members, .padded = false, .merge_batches = false});
    }
  }

  // What comes to life at once is cleared at once, and held as a whole.
  static std::vector<Piece> InOnePiece(const JoinedStorage& storage) {
    const bool at_once = std::all_of(
        storage.pieces.begin(), storage.pieces.end(),
        [&](const Piece& piece) { return piece.birth == storage.pieces.front().birth; });
    if (!at_once || storage.pieces.empty()) return storage.pieces;
    return {{Bytes(0), storage.bytes, storage.pieces.front().birth, storage.end}};
  }

  bool IsKept(const JoinedStorage& storage) const {
    return options_.reuse.disabled ||
           std::any_of(storage.values.begin(), storage.values.end(),
                       [&](ValueId value) { return rules_.Keeps(graph_[value].producer); });
  }

  // By offset: the first value of the storage that starts there.
  std::map<Bytes, ValueId> StartsIn(const JoinedStorage& storage) const {
    std::map<Bytes, ValueId> starts;
    for (const ValueId value : storage.values) {
      starts.try_emplace(joined_.OffsetOf(value), value);
    }
    return starts;
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
      buffer.region = options_.target.RunsOnHost(graph_[id])
                          ? SeparateRegionFor(plan::MemoryType::kHost, {}, planned_)
                          : planned_.feature_map;
      buffer.exclusive = rules_.Keeps(id);
      buffer.batch = BatchNamed(graph_[id].memory.batch_label);
      buffer.life = LifeAt(timeline_, i);
      planned_.workspace_of[id.index()] = planned_.problem.AddBuffer(std::move(buffer));
    }
  }

  void NoteBodyOutputs() {
    for (const Node& node : graph_.nodes) {
      for (const ValueId output : node.outputs) {
        if (!output.valid() || !is_output_[output.index()] || SubgraphsOf(node).empty()) continue;
        planned_.notes.push_back(
            {graph_[output].name,
             "is copied out of the body: a subgraph's NetOutput has no zero copy"});
      }
    }
  }

  const Graph& graph_;
  const JoinedStorages& joined_;
  const Timeline& timeline_;
  const StableValues& stable_;
  const LifetimeOptions& options_;
  const ReuseRules& rules_;
  std::vector<bool> is_input_;   // by value: of the model
  std::vector<bool> is_output_;  // likewise
  PlannedBuffers planned_;
};

}  // namespace

Result<PlannedBuffers> BuildProblem(const Graph& graph, const JoinedStorages& joined,
                                    const Timeline& timeline, const StableValues& stable,
                                    const ReuseRules& rules, const std::vector<bool>& constant,
                                    const LifetimeOptions& options) {
  return ProblemBuilder(graph, joined, timeline, stable, rules, options).Build(constant);
}

bool IsNoNeedAssignMemory(const Graph& graph, const StableValues& stable,
                          const JoinedStorage& storage, const LifetimeOptions& options) {
  const bool planned = storage.home == Home::kFeatureMap || storage.home == Home::kStaged;
  if (!planned && JudgeZeroCopy(graph, stable, storage, options.reuse).allowed) return true;
  const MemoryRequests requests = RequestsOf(graph, stable, storage);
  if (requests.type != plan::MemoryType::kDevice) return true;
  return !requests.stable_key.empty() && KeepsAddressesInOwnRegion(options);
}

RegionId SeparateRegionFor(plan::MemoryType type, const PlannedBuffers::SeparateRegion& like,
                           PlannedBuffers& planned) {
  for (const PlannedBuffers::SeparateRegion& known : planned.separate_regions) {
    const bool same = known.stable == like.stable && known.key == like.key;
    if (same && planned.problem.region(known.region).memory_type == type) return known.region;
  }
  plan::Region region;
  region.memory_type = type;
  region.kind = type == plan::MemoryType::kP2pDdr ? plan::RegionKind::kP2p
                : type == plan::MemoryType::kHost ? plan::RegionKind::kWorkspace
                                                  : plan::RegionKind::kVariables;
  region.name = type == plan::MemoryType::kP2pDdr ? "p2p"
                : type == plan::MemoryType::kHost ? "host"
                                                  : "fixed addresses";
  if (!like.key.empty()) region.name += StrCat(" (", like.key, ")");
  PlannedBuffers::SeparateRegion added = like;
  added.region = planned.problem.AddRegion(std::move(region));
  planned.separate_regions.push_back(added);
  return added.region;
}

plan::Use LifeAt(const Timeline& timeline, size_t step) {
  const bool one_stream = timeline.steps_of_stream.size() < 2;
  const Step& at = timeline.steps[step];
  const int64_t place = one_stream ? static_cast<int64_t>(step) : at.place;
  return {plan::StreamId(one_stream ? 0 : static_cast<size_t>(at.stream)), place, place + 1};
}

}  // namespace plimsoll::compile
