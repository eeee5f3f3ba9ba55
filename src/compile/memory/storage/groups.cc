#include "compile/memory/storage/groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compile/passes/bodies.h"
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

// An operand of a node that has a place in a group.
struct Member {
  NodeId node;
  bool input = false;
  size_t index = 0;
  ValueId value;
  Bytes size;
};

struct Group {
  std::string where;  // how errors and notes name it
  std::string what;   // "its inputs"
  std::vector<Member> members = {};
  bool padded = false;
  bool lasting = false;  // kept as one until the last member was read
};

Error Refuse(std::string code, std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kBadFile, std::move(code), "the values cannot lie side by side",
          std::move(where),    std::move(why),  std::move(remedy)};
}

// The groups that the nodes of a run ask for.
class Requests {
 public:
  Requests(const Graph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {}

  Result<std::vector<Group>> Collect() {
    for (const Step& step : timeline_.steps) {
      if (step.kind == Step::Kind::kEnd) continue;
      PLIMSOLL_TRY(Visit(step.node));
    }
    for (auto& [name, members] : named_) {
      Group group{.where = StrCat("group '", name, "'"), .what = "its outputs", .lasting = true};
      for (auto& [index, outputs] : members) {
        group.members.insert(group.members.end(), outputs.begin(), outputs.end());
      }
      PLIMSOLL_TRY(CheckBatches(group));
      Add(std::move(group));
    }
    return std::move(groups_);
  }

 private:
  Status Visit(NodeId id) {
    const Node& node = graph_[id];
    const MemoryAttributes& memory = node.memory;
    const bool continuous = memory.continuous_input != MemoryAttributes::Continuous::kNone ||
                            memory.continuous_output != MemoryAttributes::Continuous::kNone;
    if ((continuous || !memory.group.name.empty()) && !SubgraphsOf(node).empty()) {
      return Refuse("graph.continuous", Describe(graph_, id),
                    "it is run by its bodies, and what they read and make lies where they have it",
                    "ask it of the nodes inside");
    }
    AddOperands(id, true, memory.continuous_input);
    if (memory.group.name.empty()) {
      AddOperands(id, false, memory.continuous_output);
      return {};
    }
    if (memory.continuous_output != MemoryAttributes::Continuous::kNone) {
      return Refuse("graph.group", Describe(graph_, id),
                    "its outputs are to lie side by side (continuous_output) and in a group",
                    "ask for one of the two");
    }
    auto& members = named_[memory.group.name];
    const auto [place, added] = members.try_emplace(memory.group.index, Operands(id, false));
    if (added) return {};
    return Refuse("graph.group", Describe(graph_, id),
                  StrCat("in group '", memory.group.name, "' the index ", memory.group.index,
                         " is also that of ", Describe(graph_, place->second.front().node)),
                  "give each node of a group an index of its own");
  }

  std::vector<Member> Operands(NodeId id, bool input) const {
    const Node& node = graph_[id];
    const std::vector<ValueId>& values = input ? node.inputs : node.outputs;
    std::vector<Member> members;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].valid()) continue;
      const Bytes size = PlannedSize(graph_[values[i]].type);
      if (size > Bytes(0)) members.push_back({id, input, i, values[i], size});
    }
    return members;
  }

  void AddOperands(NodeId id, bool input, MemoryAttributes::Continuous how) {
    if (how == MemoryAttributes::Continuous::kNone) return;
    Add({.where = Describe(graph_, id),
         .what = input ? "its inputs" : "its outputs",
         .members = Operands(id, input),
         .padded = how == MemoryAttributes::Continuous::kPadded});
  }

  void Add(Group group) {
    if (group.members.size() > 1) groups_.push_back(std::move(group));
  }

  Status CheckBatches(const Group& group) const {
    for (const Member& member : group.members) {
      const std::string& label = graph_[member.node].memory.batch_label;
      const std::string& first = graph_[group.members[0].node].memory.batch_label;
      if (label == first) continue;
      return Refuse("graph.group", group.where,
                    StrCat(Describe(graph_, member.node), " belongs to batch '", label,
                           "' and others to '", first, "', which never run together"),
                    "give each batch a group of its own");
    }
    return {};
  }

  const Graph& graph_;
  const Timeline& timeline_;
  std::map<std::string, std::map<int, std::vector<Member>>> named_;
  std::vector<Group> groups_;
};

// Finds a place for each group in the problem.
class Builder {
 public:
  Builder(const Graph& graph, const JoinedStorages& joined, const Timeline& timeline,
          PlannedBuffers& planned)
      : graph_(graph),
        joined_(joined),
        timeline_(timeline),
        planned_(planned),
        step_of_(graph.nodes.size()),
        grouped_(planned.problem.buffers.size()) {
    for (size_t i = timeline.steps.size(); i-- > 0;) step_of_[timeline.steps[i].node.index()] = i;
    for (const plan::Contiguous& group : planned.problem.contiguous) {
      for (const BufferId member : group.members) grouped_[member.index()] = true;
    }
  }

  Status Add(const Group& group) {
    PLIMSOLL_TRY(CheckAlignment(group));
    if (LiesSoAlready(group)) return {};
    const RegionId region = RegionOf(group);
    const bool cleared = ClearedTogether(group, region);
    std::vector<BufferId> members;
    std::vector<std::string> copied;
    Bytes bytes;
    for (const Member& member : group.members) {
      if (const auto buffer = Joined(member, region, cleared)) {
        members.push_back(*buffer);
        planned_.problem.buffers[buffer->index()].region = region;
        grouped_[buffer->index()] = true;
        continue;
      }
      members.push_back(AddCopy(member, region));
      copied.push_back(StrCat("'", graph_[member.value].name, "'"));
      bytes += member.size;
    }
    if (group.lasting) KeepTogether(members);
    planned_.problem.contiguous.push_back({members, group.padded});
    const std::string price =
        copied.empty()
            ? ""
            : StrCat("; ", bytes, " are copied for that in each run: ", Join(copied, ", "),
                     copied.size() == 1 ? " lies" : " lie", " elsewhere too");
    planned_.notes.push_back({group.where, StrCat(group.what, " lie side by side", price)});
    return {};
  }

 private:
  // Where a member would start, counted from the start of the group.
  std::vector<Bytes> Starts(const Group& group) const {
    std::vector<Bytes> starts;
    Bytes end;
    for (const Member& member : group.members) {
      starts.push_back(group.padded ? end.RoundUp(plan::kDefaultAlignment) : end);
      end = starts.back() + member.size;
    }
    return starts;
  }

  Status CheckAlignment(const Group& group) const {
    const std::vector<Bytes> starts = Starts(group);
    for (size_t i = 0; i < starts.size(); ++i) {
      const Member& member = group.members[i];
      const graph::DataType type = graph_[member.value].type.data_type;
      const int64_t element = std::max<int64_t>(1, graph::SizeOf(type, 1).value());
      if (starts[i].value() % element == 0) continue;
      return Refuse(
          "graph.continuous", group.where,
          StrCat("'", graph_[member.value].name, "' would start at byte ", starts[i].value(),
                 ", and its elements of ", element, " bytes cannot lie there"),
          "ask for padded, or put the larger elements first");
    }
    return {};
  }

  // One storage may hold them all, in this order: the parts of a Split.
  bool LiesSoAlready(const Group& group) const {
    const std::vector<Bytes> starts = Starts(group);
    const size_t first = group.members[0].value.index();
    const Bytes base = planned_.offset_in_buffer[first];
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t value = group.members[i].value.index();
      const bool same = planned_.buffer_of[value].valid() &&
                        planned_.buffer_of[value] == planned_.buffer_of[first];
      if (!same || planned_.offset_in_buffer[value] != base + starts[i]) return false;
    }
    const bool aligned = base.value() % plan::kDefaultAlignment == 0 || !group.padded;
    return aligned && !graph_[group.members[0].value].constant.valid();
  }

  bool IsOurs(BufferId buffer) const {
    const RegionId region = planned_.problem.buffer(buffer).region;
    return region == planned_.feature_map || FindSeparate(region) != nullptr;
  }

  const PlannedBuffers::SeparateRegion* FindSeparate(RegionId region) const {
    for (const PlannedBuffers::SeparateRegion& separate : planned_.separate_regions) {
      if (separate.region == region) return &separate;
    }
    return nullptr;
  }

  // The region that all members lie in; where they lie in several, one that keeps its address if
  // any of those does, else the feature map.
  RegionId RegionOf(const Group& group) {
    std::optional<RegionId> common;
    bool one = true;
    bool stable = false;
    bool grows = false;
    plan::MemoryType type = plan::MemoryType::kDevice;
    for (const Member& member : group.members) {
      const BufferId buffer = planned_.buffer_of[member.value.index()];
      if (!buffer.valid() || !IsOurs(buffer)) continue;
      const RegionId region = planned_.problem.buffer(buffer).region;
      one &= !common || *common == region;
      common = region;
      if (const auto* separate = FindSeparate(region)) {
        stable |= separate->stable;
        grows |= separate->grows;
      }
      if (!member.input) type = planned_.problem.region(region).memory_type;
    }
    if (!common) return planned_.feature_map;
    if (one && !grows) return *common;
    if (!stable && type == plan::MemoryType::kDevice) return planned_.feature_map;
    PlannedBuffers::SeparateRegion like;
    like.stable = stable;
    like.grows = grows;
    if (grows) {
      const Member& first = group.members[0];
      like.key = StrCat("group at ", OperandKey(graph_, first.node, first.input, first.index));
    }
    return SeparateRegionFor(type, like, planned_);
  }

  // A group is cleared as one or not at all: only where each member lies there itself.
  bool ClearedTogether(const Group& group, RegionId region) const {
    std::set<BufferId> joined;
    return std::all_of(group.members.begin(), group.members.end(), [&](const Member& member) {
      const auto buffer = Joined(member, region, true);
      return buffer && joined.insert(*buffer).second;
    });
  }

  // The buffer of a value that can lie in the group itself: all of its storage is the value, and
  // the storage is not bound to another place.
  std::optional<BufferId> Joined(const Member& member, RegionId region, bool cleared) const {
    const BufferId id = planned_.buffer_of[member.value.index()];
    const JoinedStorageId at = joined_.IdOf(member.value);
    if (!id.valid() || !at.valid() || !IsOurs(id) || grouped_[id.index()]) return std::nullopt;
    const JoinedStorage& storage = joined_[at];
    const plan::Buffer& buffer = planned_.problem.buffer(id);
    const PlannedBuffers::SeparateRegion* own = FindSeparate(buffer.region);
    const bool movable = buffer.region == region || (own != nullptr && own->grows);
    const bool all = storage.pieces.size() == 1 && storage.bytes == member.size;
    const bool clears = buffer.atomic_addr_clean_id != plan::kNoClearing;
    return movable && all && clears == cleared ? std::optional(id) : std::nullopt;
  }

  BufferId AddCopy(const Member& member, RegionId region) {
    plan::Buffer buffer;
    buffer.name = graph_[member.value].name + " (copy)";
    buffer.size = member.size;
    buffer.region = region;
    buffer.life = LifeAt(timeline_, step_of_[member.node.index()]);
    buffer.is_fixed_addr_prior = FindSeparate(region) != nullptr && FindSeparate(region)->stable;
    const BufferId id = planned_.problem.AddBuffer(std::move(buffer));
    grouped_.push_back(true);
    planned_.group_copies.push_back({member.node, member.input, member.index, id});
    return id;
  }

  // Each member is held until the last of them was read: every use that one has lengthens the lives
  // of the others.
  void KeepTogether(const std::vector<BufferId>& members) {
    std::map<plan::StreamId, int64_t> ends;
    const auto visit = [](plan::Buffer& buffer, const auto& look) {
      look(buffer.life);
      for (plan::Use& use : buffer.elsewhere) look(use);
    };
    for (const BufferId id : members) {
      visit(planned_.problem.buffers[id.index()], [&](const plan::Use& use) {
        int64_t& end = ends[use.stream];
        end = std::max(end, use.end);
      });
    }
    for (const BufferId id : members) {
      plan::Buffer& buffer = planned_.problem.buffers[id.index()];
      for (const auto& [stream, end] : ends) {
        bool known = false;
        visit(buffer, [&, stream = stream, end = end](plan::Use& use) {
          if (use.stream != stream) return;
          use.end = std::max(use.end, end);
          known = true;
        });
        if (!known) buffer.elsewhere.push_back({stream, end - 1, end});
      }
    }
  }

  const Graph& graph_;
  const JoinedStorages& joined_;
  const Timeline& timeline_;
  PlannedBuffers& planned_;
  std::vector<size_t> step_of_;  // by node: the first of its steps
  std::vector<bool> grouped_;    // by buffer: lies in a group already
};

}  // namespace

Status AddGroups(const Graph& graph, const JoinedStorages& joined, const Timeline& timeline,
                 PlannedBuffers& planned) {
  PLIMSOLL_ASSIGN(const std::vector<Group> groups, Requests(graph, timeline).Collect());
  if (groups.empty()) return {};
  Builder builder(graph, joined, timeline, planned);
  for (const Group& group : groups) PLIMSOLL_TRY(builder.Add(group));
  return {};
}

}  // namespace plimsoll::compile
