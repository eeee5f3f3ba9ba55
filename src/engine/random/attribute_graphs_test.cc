#include "engine/random/attribute_graphs_for_tests.h"

// Streams, cleared values and kinds of memory, at random.
namespace plimsoll::engine {
namespace attribute_graphs_test {

using graph::MemoryAttributes;

AttributeCase Drawn(uint32_t seed, const std::function<void(RandomGraph&, AttributeCase&)>& mark) {
  AttributeCase drawn(seed);
  RandomGraph drawing(seed, drawn.columns, drawn.open_rows);
  drawn.graph = drawing.Draw();
  mark(drawing, drawn);
  AddRuns(drawn, {6, 9, 6});
  return drawn;
}

// Each root node on one of 2 to 6 streams.
AttributeCase Streamed(uint32_t seed) {
  return Drawn(seed, [](RandomGraph& random, AttributeCase& drawn) {
    const int streams = 2 + random.Below(5);
    for (const graph::NodeId id : drawn.graph.root().nodes) {
      drawn.graph[id].memory.stream = random.Below(streams);
    }
    drawn.config.ac_parallel_enable = random.Below(3) > 0;
  });
}

// A third of the root nodes find their outputs zero, a third put them in memory of another kind.
AttributeCase Cleared(uint32_t seed) {
  return Drawn(seed, [](RandomGraph& random, AttributeCase& drawn) {
    for (const graph::NodeId id : drawn.graph.root().nodes) {
      graph::Node& node = drawn.graph[id];
      std::vector<int>& cleared = node.memory.needs_clearing;
      for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
        const bool already = std::find(cleared.begin(), cleared.end(), i) != cleared.end();
        if (!already && random.Below(3) == 0) cleared.push_back(i);
      }
      if (random.Below(3) == 0) {
        node.memory.memory_type =
            random.Below(2) == 0 ? MemoryAttributes::Type::kP2P : MemoryAttributes::Type::kHost;
      }
    }
    drawn.config.memory_config.clear_separately = random.Below(2) == 0;
    drawn.config.feature_base_refreshable = random.Below(4) == 0;
  });
}

// Whether each kernel whose outputs are to be zero before it runs finds them so.
std::string NotCleared(const AttributeCase& drawn, std::shared_ptr<const Executable> executable) {
  ObservedRun run(drawn, std::move(executable));
  const graph::Graph& graph = run.executable().model().graph;
  std::string wrong;
  const Status ran = run.Run([&](const Task& task) {
    if (task.kind != Task::Kind::kRun) return;
    const graph::Node& node = graph[task.node];
    for (const int output : node.memory.needs_clearing) {
      const auto index = static_cast<uint32_t>(output);
      const std::byte* const begin = run.Operand(task.first + task.inputs + index);
      const int64_t size = compile::PlannedSize(graph[node.outputs[index]].type).value();
      const bool zero =
          std::all_of(begin, begin + size, [](std::byte byte) { return byte == std::byte{0}; });
      if (!zero) wrong = StrCat(graph::Describe(graph, task.node), " found no zeros");
    }
  });
  return ran.ok() ? wrong : ran.error().Text();
}

void CheckKind(const std::string& kind, const std::set<std::string>& codes,
               AttributeCase (*draw)(uint32_t seed), bool cleared) {
  AttributeTally tally(kind, codes);
  for (const uint32_t seed : AttributeSeeds()) {
    const AttributeCase drawn = draw(seed);
    if (testing::Test::HasFatalFailure()) return;
    UnderEveryPolicy(drawn, tally, [&](Session& session, GraphId id, const Setting& setting) {
      Result<std::string> wrong = RunInTurn(drawn, session, id, setting);
      if (!wrong.ok() || !wrong->empty() || !setting.looked_at()) return wrong;
      wrong = PoisonedWrong(drawn, session, id, setting);
      if (!wrong.ok() || !wrong->empty() || !cleared) return wrong;
      return Result<std::string>(NotCleared(drawn, *session.Compile(id, Views(drawn.inputs[0]))));
    });
  }
}

TEST(AttributeGraphsTest, StreamedGraphsGiveWhatTheyGiveOnOneStream) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  CheckKind("streamed", {"graph.stream"}, &Streamed, false);
}

TEST(AttributeGraphsTest, ClearedAndP2PValuesChangeNoResult) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  CheckKind("cleared and p2p", {"graph.clearing", "graph.memory_type"}, &Cleared, true);
}

}  // namespace attribute_graphs_test
}  // namespace plimsoll::engine
