#include <map>

#include "engine/random/attribute_graphs_for_tests.h"

// Addresses that must not change, at random: they are equal in every run until the graph is
// unloaded, whatever the shapes of the runs, or the run is refused.
namespace plimsoll::engine {
namespace marked_addresses_test {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

std::set<std::string> MarkedValues(const Graph& graph) {
  std::set<std::string> marked;
  for (const NodeId id : NodesThatRun(graph)) {
    const graph::Node& node = graph[id];
    if (!node.memory.fixed_address && !node.memory.no_address_refresh) continue;
    for (const ValueId output : node.outputs) marked.insert(graph[output].name);
  }
  return marked;
}

AttributeCase Marked(uint32_t seed) {
  AttributeCase drawn(seed);
  RandomGraph random(seed, drawn.columns, drawn.open_rows);
  drawn.graph = random.Draw();
  for (const NodeId id : drawn.graph.root().nodes) {
    drawn.graph[id].memory.fixed_address = random.Below(6) == 0;
    drawn.graph[id].memory.no_address_refresh = random.Below(6) == 0;
  }
  drawn.config.feature_base_refreshable = random.Below(2) == 0;
  AddRuns(drawn, {6, 9, 4, 6, 12});
  return drawn;
}

// Compares the addresses of each run of a graph with those of the run before.
class AddressWatch {
 public:
  explicit AddressWatch(const Graph& graph) : marked_(MarkedValues(graph)) {}

  // What is wrong with the last run; empty: nothing.
  std::string Wrong(const Session& session, GraphId id) {
    const auto record = session.LastRun(id);
    if (!record.ok()) return record.error().Text();
    std::set<std::string> missing = marked_;
    for (const RunRecord::StableAddress& stable : record->stable) {
      missing.erase(stable.value);
      const auto [seen, first] = addresses_.emplace(stable.value, stable.address);
      if (!first && seen->second != stable.address) return stable.value + " has moved";
    }
    return missing.empty() ? "" : *missing.begin() + " is not among the stable addresses";
  }

 private:
  const std::set<std::string> marked_;
  std::map<std::string, const void*> addresses_;
};

// Runs in turn; between them another graph runs in the session, and where the base of the feature
// map may change, it does.
Result<std::string> RunWatched(const AttributeCase& drawn, Session& session, GraphId id,
                               const Setting& setting) {
  AddressWatch watch(drawn.graph);
  const GraphId neighbour = MustAdd(session, AddOne({graph::Dim::Symbol("n")}));
  std::vector<kernels::HostTensor> bases;
  const bool moves = drawn.config.feature_base_refreshable && !drawn.open_rows;
  for (size_t run = 0; run < drawn.inputs.size(); ++run) {
    if (moves && run % 2 == 1) {
      PLIMSOLL_ASSIGN(const Bytes size, session.FeatureMapSize(id, Views(drawn.inputs[run])));
      const int64_t room = size.value() + plan::kDefaultAlignment;
      bases.push_back(*kernels::AllocateOnHeap(graph::DataType::kUint8, {room}));
      auto* const memory = static_cast<std::byte*>(bases.back().data.get());
      const Bytes at(static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory)));
      PLIMSOLL_TRY(session.SetFeatureMapBase(
          id, memory + (at.RoundUp(plan::kDefaultAlignment) - at).value(), size));
    }
    PLIMSOLL_ASSIGN(const auto values, session.RunValues(id, Values(drawn.inputs[run])));
    std::vector<kernels::HostTensor> got;
    for (const kernels::HostValue& value : values) got.push_back(value.tensor);
    const std::string difference =
        DifferenceOf(got, drawn.Expected(run, setting.optimise), setting.rounding());
    if (!difference.empty()) return StrCat("run ", run, ", ", difference);
    const std::string moved = watch.Wrong(session, id);
    if (!moved.empty()) return StrCat("run ", run, ", ", moved);
    const auto rows = static_cast<int64_t>(1000 * (run + 1));
    PLIMSOLL_TRY(session.RunValues(neighbour, Values({Random({rows}, 1)})).status());
  }
  return std::string();
}

TEST(AttributeGraphsTest, MarkedValuesStayWhereTheyAreAndChangeNoResult) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  AttributeTally tally("addresses", {"run.stable_address"});
  for (const uint32_t seed : AttributeSeeds()) {
    const AttributeCase drawn = Marked(seed);
    UnderEveryPolicy(drawn, tally, [&](Session& session, GraphId id, const Setting& setting) {
      Result<std::string> wrong = RunWatched(drawn, session, id, setting);
      if (!wrong.ok() || !wrong->empty() || !setting.looked_at()) return wrong;
      return PoisonedWrong(drawn, session, id, setting);
    });
  }
}

// Nothing is refused here: every shape that comes is a small one.
TEST(AttributeGraphsTest, AddressesAreEqualInAHundredRunsOfChangingShapesUnderEveryPolicy) {
  for (const int policy : {0, 2, 3, 4}) {
    for (const bool refreshable : {false, true}) {
      SCOPED_TRACE(StrCat("policy ", policy, ", refreshable ", refreshable));
      AttributeCase drawn(7);
      RandomGraph random(drawn.seed, drawn.columns, true);
      Graph graph = random.Draw();
      for (const NodeId id : graph.root().nodes) {
        graph[id].memory.fixed_address = random.Below(3) == 0;
        graph[id].memory.no_address_refresh = random.Below(3) == 0;
      }
      SessionOptions options;
      options.config.feature_base_refreshable = refreshable;
      options.config.memory_config.static_memory_policy =
          static_cast<config::StaticMemoryPolicy>(policy);
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, graph);
      const auto plain = MakeSession();
      const GraphId same = MustAdd(*plain, WithoutAttributes(graph));
      AddressWatch watch(graph);
      for (uint32_t run = 0; run < 100; ++run) {
        const int64_t rows = RandomGraph::kLeastRows + random.Below(60);
        const auto inputs = RandomGraph::Inputs(rows, drawn.columns, run);
        const auto got = MustRun(*session, id, inputs);
        ASSERT_EQ(DifferenceOf(got, MustRun(*plain, same, inputs), true), "") << "run " << run;
        ASSERT_EQ(watch.Wrong(*session, id), "") << "run " << run;
      }
    }
  }
}

}  // namespace marked_addresses_test
}  // namespace plimsoll::engine
