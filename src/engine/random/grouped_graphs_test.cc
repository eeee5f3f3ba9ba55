#include <map>

#include "engine/random/attribute_graphs_for_tests.h"

// Groups at random: inputs of a node, outputs of a node, and outputs of several nodes lie side by
// side in their order when kernels run, or the graph is refused.
namespace plimsoll::engine {
namespace grouped_graphs_test {

using graph::Graph;
using graph::MemoryAttributes;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using Continuous = MemoryAttributes::Continuous;

// Nodes with several inputs that are tensors of the run.
bool TakesSeveral(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return false;
  return std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return !input.valid() || graph[input].constant.valid();
  });
}

// One group over outputs of 2 to 4 nodes; in one of eight two have the same index.
void DrawGroup(RandomGraph& random, Graph& graph, const std::string& name) {
  std::vector<NodeId> nodes;
  for (const NodeId id : NodesThatRun(graph)) {
    const bool ordinary = graph[id].memory.group.name.empty() && graph[id].op != "If" &&
                          graph[id].memory.continuous_output == Continuous::kNone;
    if (ordinary) nodes.push_back(id);
  }
  const int members = 2 + random.Below(3);
  const bool twice = random.Below(8) == 0;
  for (int i = 0; i < members && !nodes.empty(); ++i) {
    const auto chosen = nodes.begin() + random.Below(static_cast<int>(nodes.size()));
    graph[*chosen].memory.group = {name, twice && i == 1 ? 0 : i};
    nodes.erase(chosen);
  }
}

AttributeCase Grouped(uint32_t seed) {
  AttributeCase drawn(seed);
  RandomGraph random(seed, drawn.columns, drawn.open_rows);
  Graph graph = random.Draw();
  const auto how = [&] {
    return random.Below(2) == 0 ? Continuous::kPadded : Continuous::kUnpadded;
  };
  for (const NodeId id : graph.root().nodes) {
    Node& node = graph[id];
    if (TakesSeveral(graph, node) && random.Below(4) == 0) node.memory.continuous_input = how();
    if (node.outputs.size() > 1 && random.Below(2) == 0) node.memory.continuous_output = how();
  }
  for (int i = random.Below(3); i > 0; --i) DrawGroup(random, graph, StrCat("group", i));
  drawn.graph = std::move(graph);
  AddRuns(drawn, {6, 9, 6});
  return drawn;
}

// Follows where values lie in one run: where the kernel wrote them, and where they were copied.
class GroupsInARun {
 public:
  GroupsInARun(const AttributeCase& drawn, std::shared_ptr<const Executable> executable)
      : run_(drawn, std::move(executable)), graph_(run_.executable().model().graph) {}

  // What does not lie as its group says; empty: nothing.
  std::string Wrong() {
    const Status ran = run_.Run([&](const Task& task) { Before(task); });
    if (!ran.ok()) return ran.error().Text();
    std::map<std::string, std::map<int, NodeId>> groups;
    for (const NodeId id : run_.executable().model().planned.order) {
      const Node& node = graph_[id];
      Check(node.memory.continuous_output, node.outputs, Describe(graph_, id) + ", outputs");
      if (!node.memory.group.name.empty()) {
        groups[node.memory.group.name][node.memory.group.index] = id;
      }
    }
    for (const auto& [name, nodes] : groups) {
      std::vector<ValueId> values;
      for (const auto& [index, id] : nodes) {
        values.insert(values.end(), graph_[id].outputs.begin(), graph_[id].outputs.end());
      }
      const bool lie = LieSideBySide(values, false) || LieSideBySide(values, true);
      if (!lie) wrong_ = StrCat("group ", name, " does not lie side by side");
    }
    return wrong_;
  }

 private:
  using Address = const std::byte*;

  void Before(const Task& task) {
    if (task.kind == Task::Kind::kCopy) {
      for (auto& [value, places] : places_) {
        const bool here =
            std::find(places.begin(), places.end(), run_.Operand(task.first)) != places.end() &&
            SizeOf(value) == task.bytes;
        if (here) places.push_back(run_.Operand(task.first + 1));
      }
    }
    if (task.kind != Task::Kind::kRun) return;
    const Node& node = graph_[task.node];
    for (uint32_t i = 0; i < task.outputs; ++i) {
      if (!node.outputs[i].valid()) continue;
      places_[node.outputs[i]].push_back(run_.Operand(task.first + task.inputs + i));
    }
    if (node.memory.continuous_input == Continuous::kNone) return;
    const bool padded = node.memory.continuous_input == Continuous::kPadded;
    for (uint32_t i = 1; i < task.inputs; ++i) {
      const Address expected = Behind(run_.Operand(task.first), run_.Operand(task.first + i - 1),
                                      node.inputs[i - 1], padded);
      if (run_.Operand(task.first + i) == expected) continue;
      wrong_ = StrCat(Describe(graph_, task.node), ", input ", i, " is ",
                      run_.Operand(task.first + i) - expected, " bytes from its place");
    }
  }

  int64_t SizeOf(ValueId value) const { return compile::PlannedSize(graph_[value].type).value(); }

  // Where the member behind `value` must be, which lies at `at` in a group that starts at `start`.
  Address Behind(Address start, Address at, ValueId value, bool padded) const {
    const Bytes end(at - start + SizeOf(value));
    return start + (padded ? end.RoundUp(plan::kDefaultAlignment) : end).value();
  }

  bool LieSideBySide(const std::vector<ValueId>& values, bool padded) {
    const std::vector<Address>& starts = places_[values[0]];
    return std::any_of(starts.begin(), starts.end(), [&](Address start) {
      Address at = start;
      for (size_t i = 1; i < values.size(); ++i) {
        at = Behind(start, at, values[i - 1], padded);
        const std::vector<Address>& places = places_[values[i]];
        if (std::find(places.begin(), places.end(), at) == places.end()) return false;
      }
      return true;
    });
  }

  void Check(Continuous how, const std::vector<ValueId>& values, const std::string& which) {
    if (how == Continuous::kNone || LieSideBySide(values, how == Continuous::kPadded)) return;
    wrong_ = which + " do not lie side by side";
  }

  ObservedRun run_;
  const Graph& graph_;
  std::map<ValueId, std::vector<Address>> places_;
  std::string wrong_;
};

TEST(AttributeGraphsTest, GroupsLieSideBySideAndChangeNoResult) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  AttributeTally tally("grouped", {"graph.group", "graph.continuous"});
  for (const uint32_t seed : AttributeSeeds()) {
    const AttributeCase drawn = Grouped(seed);
    UnderEveryPolicy(drawn, tally, [&](Session& session, GraphId id, const Setting& setting) {
      Result<std::string> wrong = RunInTurn(drawn, session, id, setting);
      if (!wrong.ok() || !wrong->empty()) return wrong;
      const auto executable = session.Compile(id, Views(drawn.inputs[0]));
      if (!executable.ok()) return Result<std::string>(executable.error());
      if (*executable == nullptr) return Result<std::string>("there is no plan");
      const std::string misplaced = GroupsInARun(drawn, *executable).Wrong();
      if (!misplaced.empty() || !setting.looked_at()) return Result<std::string>(misplaced);
      return PoisonedWrong(drawn, session, id, setting);
    });
  }
}

}  // namespace grouped_graphs_test
}  // namespace plimsoll::engine
