#include "compile/memory/streams.h"
#include "compile/planned_run_for_tests.h"

namespace plimsoll::compile {
namespace planned_run_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kWidth = 128;

// What nodes of a random graph may ask for.
struct Asks {
  int streams = 1;
  bool attributes = false;
  bool updates = false;  // outputs are new values of inputs
};

// Small graphs of nodes that work in place, of views, joins and cuts, over [1, n, 128]: a row is as
// large as the alignment of the feature map.
class RandomGraph {
 public:
  RandomGraph(uint32_t seed, const Asks& asks) : random_(seed), asks_(asks) {}

  Graph Make() {
    const int inputs = Between(1, 3);
    for (int i = 0; i < inputs; ++i) {
      const std::string name = "x" + std::to_string(i);
      values_.push_back({builder_.Input(name, FloatTensor({1, Between(1, 4), kWidth})), 0});
      values_.back().rows = RowsOf(values_.back().id);
    }
    const int nodes = Between(3, 14);
    for (int i = 0; i < nodes; ++i) AddNode();
    for (const Made& made : values_) {
      if (made.readers == 0 && builder_.graph()[made.id].producer.valid()) {
        builder_.Output(made.id);
      }
    }
    if (builder_.graph().root().outputs.empty()) {
      builder_.Output(builder_.Node("Relu", {values_.back().id}));
    }
    if (Chance(30)) ReturnAnother();
    Ask();
    return Inferred(builder_);
  }

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(0, 99) < percent; }

 private:
  struct Made {
    ValueId id;
    int64_t rows = 0;
    int readers = 0;
  };

  int64_t RowsOf(ValueId value) { return (*builder_.graph()[value].type.shape)[1].number(); }

  // One of the latest, mostly.
  Made& Some() {
    const int last = static_cast<int>(values_.size()) - 1;
    Made& some =
        values_[static_cast<size_t>(Between(Chance(70) ? std::max(0, last - 3) : 0, last))];
    ++some.readers;
    return some;
  }
  void Keep(ValueId value, int64_t rows) { values_.push_back({value, rows}); }

  void AddNode() {
    switch (Between(0, 7)) {
      case 0:
      case 1: {
        const Made from = Some();
        static constexpr const char* kOps[] = {"Relu", "Tanh", "Neg", "Sigmoid"};
        return Keep(builder_.Node(kOps[Between(0, 3)], {from.id}), from.rows);
      }
      case 2: {
        const Made a = Some();
        Made b = a;
        for (Made& other : values_) {
          if (other.rows != a.rows || Chance(50)) continue;
          ++other.readers;
          b = other;
          break;
        }
        return Keep(builder_.Node(Chance(50) ? "Add" : "Mul", {a.id, b.id}), a.rows);
      }
      case 3: {
        std::vector<ValueId> parts;
        int64_t rows = 0;
        for (int i = Between(2, 3); i > 0; --i) {
          const Made part = Some();
          if (rows + part.rows > 12) break;
          parts.push_back(part.id);
          rows += part.rows;
        }
        if (parts.empty()) return;
        return Keep(builder_.Node("Concat", parts, With("axis", int64_t{1})), rows);
      }
      case 4: {
        const Made from = Some();
        if (from.rows < 2) return;
        const int64_t first = Between(1, static_cast<int>(from.rows) - 1);
        const auto parts = builder_.Nodes(
            "Split", {from.id, builder_.Int64s(NewName(), {first, from.rows - first})}, 2,
            With("axis", int64_t{1}));
        Keep(parts[0], first);
        return Keep(parts[1], from.rows - first);
      }
      case 5: {
        const Made from = Some();
        const ValueId flat =
            builder_.Node("Reshape", {from.id, builder_.Int64s(NewName(), {from.rows, kWidth})});
        const ValueId bent = Chance(50) ? builder_.Node("Abs", {flat}) : flat;
        return Keep(
            builder_.Node("Reshape", {bent, builder_.Int64s(NewName(), {1, from.rows, kWidth})}),
            from.rows);
      }
      case 6: {
        const Made from = Some();
        if (from.rows < 2) return;
        const int64_t begin = Between(0, static_cast<int>(from.rows) - 2);
        return Keep(builder_.Node("Slice", {from.id, builder_.Int64s(NewName(), {begin}),
                                            builder_.Int64s(NewName(), {from.rows}),
                                            builder_.Int64s(NewName(), {1})}),
                    from.rows - begin);
      }
      default: {
        const Made from = Some();
        return Keep(builder_.Node("ReduceMax", {from.id}, With("axes", Ints{1})), 1);
      }
    }
  }

  // A value that is read inside is an output of the model too.
  void ReturnAnother() {
    const Graph& graph = builder_.graph();
    for (const Made& made : values_) {
      const auto& outputs = graph.root().outputs;
      if (made.readers == 0 || !graph[made.id].producer.valid()) continue;
      if (std::find(outputs.begin(), outputs.end(), made.id) != outputs.end()) continue;
      return builder_.Output(made.id);
    }
  }

  void Ask() {
    Graph& graph = builder_.graph();
    for (graph::Node& node : graph.nodes) {
      node.memory.stream = Chance(60) ? 0 : Between(0, asks_.streams - 1);
      if (!asks_.attributes) continue;
      if (Chance(8)) node.memory.needs_clearing = {0};
      if (Chance(6)) node.memory.fixed_address = true;
      if (Chance(6)) node.memory.no_address_refresh = true;
      if (Chance(6)) node.memory.memory_type = MemoryAttributes::Type::kHost;
      if (Chance(6)) node.memory.continuous_input = MemoryAttributes::Continuous::kPadded;
      if (Chance(6)) node.memory.continuous_output = MemoryAttributes::Continuous::kUnpadded;
    }
  }

  std::string NewName() { return "n" + std::to_string(names_++); }

  std::mt19937 random_;
  const Asks asks_;
  GraphBuilder builder_;
  std::vector<Made> values_;
  int names_ = 0;
};

// Outputs that are new values of inputs of their type, each of both at most once.
std::vector<VariableUpdate> RandomUpdates(RandomGraph& dice, const Graph& graph) {
  std::vector<VariableUpdate> updates;
  std::set<size_t> taken;
  for (size_t i = 0; i < graph.root().inputs.size(); ++i) {
    for (size_t j = 0; j < graph.root().outputs.size(); ++j) {
      const bool fits = graph[graph.root().inputs[i]].type == graph[graph.root().outputs[j]].type;
      if (!fits || taken.contains(j) || dice.Chance(20)) continue;
      taken.insert(j);
      updates.push_back({i, j});
      break;
    }
  }
  return updates;
}

PlanOptions RandomOptions(RandomGraph& dice, const Graph& graph, const Asks& asks) {
  PlanOptions options;
  if (asks.updates) options.updates = RandomUpdates(dice, graph);
  options.threads = 1;
  options.search_order = dice.Chance(50);
  options.in_place = dice.Chance(80);
  options.effort.steps = 200;
  options.order_effort.steps = 200;
  options.lifetimes.clear_together = dice.Chance(50);
  options.lifetimes.feature_map_moves = dice.Chance(20);
  options.lifetimes.one_shape = dice.Chance(50);
  options.lifetimes.reuse.disabled = dice.Chance(5);
  if (dice.Chance(20)) options.lifetimes.reuse.not_of = {"Tanh"};
  if (dice.Chance(30)) options.lifetimes.reuse.inputs = {0};
  if (dice.Chance(30)) options.lifetimes.reuse.outputs = {0};
  if (dice.Chance(50)) {
    options.lifetimes.workspaces.resize(graph.nodes.size());
    for (Bytes& size : options.lifetimes.workspaces) {
      if (dice.Chance(40)) size = Bytes(64 * dice.Between(1, 10));
    }
  }
  return options;
}

// Sums over all plans. A plan that takes more than it did, or other copies, shows here; who makes
// planning better enters what it reaches.
struct Reached {
  int64_t feature_map = 0;
  int64_t total = 0;
  int64_t buffers = 0;
  int64_t waits = 0;
  int64_t group_copies = 0;
  int64_t notes = 0;
  int64_t lent = 0;
  int64_t file_order_lower_bound = 0;
  int64_t order_lower_bound = 0;
  int64_t in_place_updates = 0;
  bool operator==(const Reached&) const = default;
};

void PrintTo(const Reached& r, std::ostream* out) {
  *out << '{' << r.feature_map << ", " << r.total << ", " << r.buffers << ", " << r.waits << ", "
       << r.group_copies << ", " << r.notes << ", " << r.lent << ", " << r.file_order_lower_bound
       << ", " << r.order_lower_bound << ", " << r.in_place_updates << '}';
}

// Plans random graphs and runs each inside its plan, in orders that the streams allow.
Reached RunPlanned(uint32_t seeds, const Asks& asks) {
  Reached reached;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    RandomGraph dice(seed, asks);
    Graph graph = dice.Make();
    EXPECT_TRUE(SettleStreams(graph).ok());
    const PlanOptions options = RandomOptions(dice, graph, asks);
    const auto planned = PlanModel(graph, options);
    EXPECT_TRUE(planned.ok()) << "seed " << seed << (planned.ok() ? "" : planned.error().Text());
    if (!planned.ok()) continue;
    reached.feature_map += FeatureMapPeak(*planned).value();
    reached.total += planned->plan.total().value();
    reached.buffers += static_cast<int64_t>(planned->buffers.problem.buffers.size());
    reached.waits += static_cast<int64_t>(planned->timeline.waits.size());
    reached.group_copies += static_cast<int64_t>(planned->buffers.group_copies.size());
    reached.notes += static_cast<int64_t>(planned->buffers.notes.size());
    reached.lent += static_cast<int64_t>(planned->buffers.lent.size());
    reached.file_order_lower_bound += planned->file_order_lower_bound.value();
    reached.order_lower_bound += planned->order_lower_bound.value();
    for (const PlannedUpdate& update : planned->updates) {
      reached.in_place_updates += update.in_place ? 1 : 0;
    }
    const auto expected = ResultsOf(graph);
    std::mt19937 random(seed);
    for (int again = 0; again < (asks.streams > 1 ? 4 : 1); ++again) {
      PlannedRun run(graph, *planned);
      for (const size_t step : AnyOrder(planned->timeline, random)) run.Step(step);
      run.ExpectResults(expected);
    }
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      break;
    }
  }
  return reached;
}

TEST(PlannedRunTest, OneStreamComputesTheSameInsideItsPlan) {
  EXPECT_EQ(RunPlanned(600, {}),
            (Reached{1225728, 7791104, 8885, 0, 0, 142, 64, 2183168, 268288, 0}));
}

TEST(PlannedRunTest, StreamsComputeTheSameInWhateverOrderTheyMeet) {
  EXPECT_EQ(RunPlanned(400, {.streams = 3}),
            (Reached{1148416, 5440512, 6099, 1147, 0, 270, 1, 1445376, 8704, 0}));
}

TEST(PlannedRunTest, NodesThatAskForSpecialMemoryComputeTheSame) {
  EXPECT_EQ(RunPlanned(600, {.attributes = true}),
            (Reached{2003968, 9287680, 10648, 0, 404, 917, 38, 2233344, 57856, 0}));
}

TEST(PlannedRunTest, VariablesHoldTheirNewValuesInTheEnd) {
  EXPECT_EQ(RunPlanned(500, {.attributes = true, .updates = true}),
            (Reached{1897984, 7447040, 8695, 0, 334, 680, 30, 1845248, 76288, 149}));
}

TEST(PlannedRunTest, StreamsAndSpecialMemoryTogether) {
  EXPECT_EQ(RunPlanned(400, {.streams = 3, .attributes = true}),
            (Reached{1597952, 6377472, 7165, 1178, 263, 756, 2, 1483264, 14848, 0}));
}

}  // namespace planned_run_test
}  // namespace plimsoll::compile
