#include <gtest/gtest.h>

#include <random>
#include <set>

#include "compile/passes/bodies.h"
#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/plan/verifier.h"

// Branches of small operators run at once: the same results, no byte of one branch touched by
// another, and no higher peak.
namespace plimsoll::engine {
namespace side_by_side_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kRows = 24;
constexpr int64_t kWidth = 48;

ValueId Product(GraphBuilder& builder, ValueId value, uint32_t seed) {
  return builder.Node("MatMul", {value, RandomWeights(builder, "w" + std::to_string(seed),
                                                      {kWidth, kWidth}, seed)});
}

// Through a layer that is so wide that it makes the peak, as models have it before what is small.
// Softmax looks at whole rows, so the layer does not come in slices.
ValueId ThroughWideLayer(GraphBuilder& builder, ValueId value, int64_t times = 16) {
  const int64_t wide_width = times * kWidth;
  const ValueId wide =
      builder.Node("MatMul", {value, RandomWeights(builder, "out", {kWidth, wide_width}, 201)});
  return builder.Node("MatMul", {builder.Node("Softmax", {wide}),
                                 RandomWeights(builder, "back", {wide_width, kWidth}, 202)});
}

// Heads that each multiply what all of them read, twice, and meet at the end.
Graph Heads(int heads) {
  GraphBuilder builder;
  const ValueId x = ThroughWideLayer(builder, builder.Input("x", FloatTensor({kRows, kWidth})));
  std::vector<ValueId> made;
  for (int head = 0; head < heads; ++head) {
    const auto seed = static_cast<uint32_t>(2 * head + 1);
    made.push_back(Product(builder, builder.Node("Tanh", {Product(builder, x, seed)}), seed + 1));
  }
  builder.Output(builder.Node("Concat", made, With("axis", int64_t{1})));
  return builder.Build();
}

// Values made from one or two of those before; what nobody reads is an output.
Graph Drawn(uint32_t seed, int64_t wide = 16) {
  std::mt19937 random(seed);
  GraphBuilder builder;
  std::vector<ValueId> values = {
      ThroughWideLayer(builder, builder.Input("x", FloatTensor({kRows, kWidth})), wide)};
  std::set<size_t> unread = {};
  const size_t nodes = 10 + random() % 25;
  for (size_t i = 0; i < nodes; ++i) {
    const auto any = [&] {
      const size_t from = random() % 3 == 0 ? values.size() : std::min<size_t>(values.size(), 6);
      const size_t index = values.size() - 1 - random() % from;
      unread.erase(index);
      return values[index];
    };
    switch (random() % 6) {
      case 0:
        values.push_back(builder.Node("Add", {any(), any()}));
        break;
      case 1:
        values.push_back(builder.Node("Mul", {any(), any()}));
        break;
      case 2:
        values.push_back(builder.Node("Relu", {any()}));
        break;
      case 3:
        values.push_back(builder.Node("Tanh", {any()}));
        break;
      default:
        values.push_back(Product(builder, any(), static_cast<uint32_t>(100 + i)));
    }
    unread.insert(values.size() - 1);
  }
  for (const size_t index : unread) builder.Output(values[index]);
  return builder.Build();
}

std::unique_ptr<Session> SessionWith(int threads, bool deterministic = false) {
  config::RunConfig config;
  config.deterministic = deterministic;
  SessionOptions options = Under(config);
  options.threads = threads;
  return MakeSession(options);
}

std::shared_ptr<const Executable> MustCompile(Session& session, GraphId id, const HostTensor& x) {
  auto made = session.Compile(id, Views({x}));
  EXPECT_TRUE(made.ok() && *made != nullptr);
  return *made;
}

// Bytes of the feature map or of a port that a node touches, as the plan has them.
struct Bytewise {
  plan::RegionId region;
  int64_t begin;
  int64_t end;
  bool writes;
};

std::vector<Bytewise> TouchedBy(const compile::CompiledModel& model, graph::NodeId id) {
  const compile::PlannedBuffers& buffers = model.planned.buffers;
  std::vector<Bytewise> touched;
  const auto add = [&](plan::BufferId buffer, Bytes offset, Bytes size, bool writes) {
    if (!buffer.valid() || size == Bytes(0)) return;
    const int64_t begin =
        (Bytes(model.planned.plan.offsets[buffer.index()].value()) + offset).value();
    touched.push_back({buffers.problem.buffer(buffer).region, begin, begin + size.value(), writes});
  };
  const auto add_value = [&](ValueId value, bool writes) {
    if (!value.valid() || model.graph[value].constant.valid()) return;
    add(buffers.buffer_of[value.index()], buffers.offset_in_buffer[value.index()],
        compile::PlannedSize(model.graph[value].type), writes);
  };
  for (const ValueId value : model.graph[id].inputs) add_value(value, false);
  for (const ValueId value : model.graph[id].outputs) add_value(value, true);
  add(buffers.workspace_of[id.index()], Bytes(0), model.kernels[id.index()]->workspace(), true);
  return touched;
}

// Tasks that run in different shares of one place; how many pairs there were.
int ExpectApart(const Executable& executable, const std::string& what) {
  int pairs = 0;
  const Program& program = executable.program();
  for (const TasksAtOnce& place : program.side_by_side) {
    for (size_t a = 0; a < place.shares.size(); ++a) {
      for (size_t b = a + 1; b < place.shares.size(); ++b) {
        for (const uint32_t one : place.shares[a]) {
          for (const uint32_t other : place.shares[b]) {
            ++pairs;
            for (const Bytewise& left : TouchedBy(executable.model(), program.tasks[one].node)) {
              for (const Bytewise& right :
                   TouchedBy(executable.model(), program.tasks[other].node)) {
                const bool meet = left.region == right.region && left.begin < right.end &&
                                  right.begin < left.end && (left.writes || right.writes);
                EXPECT_FALSE(meet) << what << ": tasks " << one << " and " << other;
              }
            }
          }
        }
      }
    }
  }
  return pairs;
}

TEST(SideBySideTest, SmallBranchesRunAtOnce) {
  const HostTensor x = Random({kRows, kWidth}, 1);
  const Graph graph = Heads(6);
  const auto alone = SessionWith(1);
  const std::vector<HostTensor> expected = MustRun(*alone, MustAdd(*alone, graph), {x});
  for (const int threads : {2, 3, 8}) {
    const auto session = SessionWith(threads);
    const GraphId id = MustAdd(*session, graph);
    const auto executable = MustCompile(*session, id, x);
    ASSERT_EQ(executable->program().side_by_side.size(), 1U) << threads;
    const TasksAtOnce& place = executable->program().side_by_side[0];
    EXPECT_EQ(place.shares.size(), static_cast<size_t>(std::min(threads, 6)));
    EXPECT_GT(ExpectApart(*executable, "heads"), 0);
    for (int run = 0; run < 20; ++run) ExpectClose(MustRun(*session, id, {x})[0], expected[0]);
  }
}

TEST(SideBySideTest, OneBranchAndLargeBranchesDoNot) {
  const HostTensor x = Random({kRows, kWidth}, 1);
  const auto session = SessionWith(4);
  const GraphId one = MustAdd(*session, Heads(1));
  EXPECT_TRUE(MustCompile(*session, one, x)->program().side_by_side.empty());

  GraphBuilder builder;
  const ValueId wide = builder.Input("x", FloatTensor({512, 512}));
  std::vector<ValueId> made;
  for (uint32_t i = 1; i < 3; ++i) {
    made.push_back(builder.Node(
        "MatMul", {wide, RandomWeights(builder, "w" + std::to_string(i), {512, 512}, i)}));
  }
  builder.Output(builder.Node("Concat", made, With("axis", int64_t{1})));
  const GraphId large = MustAdd(*session, builder.Build());
  EXPECT_TRUE(MustCompile(*session, large, Random({512, 512}, 1))->program().side_by_side.empty());
}

TEST(SideBySideTest, DrawnGraphsGiveWhatOneThreadGives) {
  int pairs = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Graph graph = Drawn(seed);
    const HostTensor x = Random({kRows, kWidth}, seed);
    const auto alone = SessionWith(1, true);
    const std::vector<HostTensor> expected = MustRun(*alone, MustAdd(*alone, graph), {x});
    const int threads = 2 + static_cast<int>(seed % 4);
    const auto session = SessionWith(threads, true);
    const GraphId id = MustAdd(*session, graph);
    pairs += ExpectApart(*MustCompile(*session, id, x), "seed " + std::to_string(seed));
    for (int run = 0; run < 5; ++run) {
      const std::vector<HostTensor> made = MustRun(*session, id, {x});
      for (size_t i = 0; i < made.size(); ++i) {
        EXPECT_TRUE(BytesOf(made[i]) == BytesOf(expected[i])) << "seed " << seed << " output " << i;
      }
    }
  }
  EXPECT_GT(pairs, 100);
}

TEST(SideBySideTest, ThePeakStaysWhereItWas) {
  int places = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const HostTensor x = Random({kRows, kWidth}, seed);
    const auto session = SessionWith(1);
    const GraphId id = MustAdd(*session, Drawn(seed, 1 + seed % 8));
    const compile::CompiledModel& plain = MustCompile(*session, id, x)->model();
    EXPECT_TRUE(plain.side_by_side.empty());
    compile::CompiledModel other;
    other.graph = plain.graph;
    other.planned = plain.planned;
    other.plan_options = plain.plan_options;
    other.threads = 4;
    for (const kernels::KernelPointer& kernel : plain.kernels) {
      other.kernels.push_back(
          kernel == nullptr
              ? nullptr
              : kernels::MakeKernel([](const kernels::KernelCall&) {}, kernel->workspace()));
    }
    ASSERT_TRUE(compile::PlanSideBySide(other).ok());
    EXPECT_LE(FeatureMapPeak(other.planned), FeatureMapPeak(plain.planned)) << seed;
    EXPECT_TRUE(plan::Verify(other.planned.buffers.problem, other.planned.plan).ok()) << seed;
    places += static_cast<int>(other.side_by_side.size());
  }
  EXPECT_GT(places, 5);
}

// A branch that fails says so, and the next run begins as any other.
TEST(SideBySideTest, AFailureInABranchIsTheRuns) {
  GraphBuilder builder;
  const ValueId x = ThroughWideLayer(builder, builder.Input("x", FloatTensor({kRows, kWidth})));
  const ValueId index =
      builder.Input("index", graph::ValueType::Tensor(graph::DataType::kInt64, {}));
  std::vector<ValueId> made;
  for (uint32_t i = 1; i < 4; ++i) made.push_back(Product(builder, Product(builder, x, i), 10 + i));
  const ValueId row = builder.Node("Gather", {x, index});
  const ValueId rows = builder.Node("Add", {Product(builder, x, 30), row});
  made.push_back(Product(builder, rows, 31));
  builder.Output(builder.Node("Concat", made, With("axis", int64_t{1})));
  const Graph graph = builder.Build();
  const auto session = SessionWith(4);
  const GraphId id = MustAdd(*session, graph);
  const HostTensor data = Random({kRows, kWidth}, 1);
  const auto good = session->RunValues(id, Values({data, Integer(3)}));
  ASSERT_TRUE(good.ok()) << good.error().Text();
  EXPECT_FALSE((*session->Compile(id, Views({data, Integer(3)})))->program().side_by_side.empty());
  const auto bad = session->RunValues(id, Values({data, Integer(kRows)}));
  ASSERT_FALSE(bad.ok());
  const auto alone = SessionWith(1);
  const auto same = alone->RunValues(MustAdd(*alone, graph), Values({data, Integer(kRows)}));
  EXPECT_EQ(bad.error().Text(), same.error().Text());
  const auto again = session->RunValues(id, Values({data, Integer(3)}));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(BytesOf((*again)[0].tensor) == BytesOf((*good)[0].tensor));
}

}  // namespace side_by_side_test
}  // namespace plimsoll::engine
