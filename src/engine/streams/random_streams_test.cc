#include <gtest/gtest.h>

#include <random>

#include "engine/streams/stream_races_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"

// Random graphs on random streams give what they give without.
namespace plimsoll::engine {
namespace random_streams_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

// Graphs drawn at random: every node on a stream of its own choice.
Graph RandomStreams(uint32_t seed, int streams) {
  std::mt19937 random(seed);
  GraphBuilder builder;
  Graph& graph = builder.graph();
  std::vector<ValueId> values = {builder.Input("x", FloatTensor({8, 16})),
                                 builder.Input("z", FloatTensor({8, 16}))};
  const ValueId c = builder.Input("c", graph::ValueType::Tensor(DataType::kBool, graph::Shape{}));
  const ValueId w = RandomWeights(builder, "w", {16, 16}, seed);
  const auto any = [&] { return values[random() % values.size()]; };
  const auto place = [&](ValueId value) {
    graph::MemoryAttributes& memory = MakerOf(graph, value).memory;
    memory.stream = static_cast<int>(random() % static_cast<uint32_t>(streams));
    if (random() % 10 == 0) memory.no_address_refresh = true;
    if (random() % 12 == 0) memory.fixed_address = true;
    return value;
  };
  int names = 0;
  const auto number = [&] { return std::to_string(names++); };
  const int nodes = 6 + static_cast<int>(random() % 20);
  for (int i = 0; i < nodes; ++i) {
    switch (random() % 8) {
      case 0:
        values.push_back(place(builder.Node("MatMul", {any(), w})));
        break;
      case 1:
        values.push_back(
            place(builder.Node("Reshape", {any(), builder.Int64s("s" + number(), {8, 16})})));
        break;
      case 2: {
        const ValueId both =
            place(builder.Node("Concat", {any(), any()}, With("axis", int64_t{0})));
        values.push_back(place(builder.Node("Slice", {both, builder.Int64s("b" + number(), {4}),
                                                      builder.Int64s("e" + number(), {12})})));
        break;
      }
      case 3: {
        const std::vector<ValueId> halves =
            builder.Nodes("Split", {any()}, 2, With("num_outputs", int64_t{2}));
        place(halves[0]);
        values.push_back(
            place(builder.Node("Concat", {halves[1], halves[0]}, With("axis", int64_t{0}))));
        break;
      }
      case 4: {
        graph::Attributes attributes;
        for (const char* branch : {"then_branch", "else_branch"}) {
          const graph::SubgraphId body = builder.BeginBody(branch + number());
          const ValueId inner = builder.Node("Sub", {any(), any()});
          builder.EndBody({random() % 2 == 0 ? inner : builder.Node("Sin", {inner}),
                           random() % 2 == 0 ? any() : inner});
          attributes.Set(branch, graph::Attribute(body));
        }
        for (const ValueId value : builder.Nodes("If", {c}, 2, std::move(attributes))) {
          values.push_back(value);
        }
        MakerOf(graph, values.back()).memory.stream =
            static_cast<int>(random() % static_cast<uint32_t>(streams));
        break;
      }
      default:
        values.push_back(place(builder.Node(random() % 2 == 0 ? "Mul" : "Sub", {any(), any()})));
    }
  }
  for (int i = 0; i < 2; ++i) builder.Output(place(builder.Node("Abs", {any()})));
  // The last reader of a value may write over it.
  const ValueId over = builder.Node("Neg", {values.back()});
  MakerOf(graph, over).memory.stream = static_cast<int>(random() % static_cast<uint32_t>(streams));
  if (graph[values.back()].producer.valid()) {
    MakerOf(graph, over).memory.reference_outputs = {{0, 0}};
  }
  builder.Output(place(builder.Node("Tanh", {over})));
  return builder.Build();
}

constexpr config::StaticMemoryPolicy kPolicies[] = {
    config::StaticMemoryPolicy::kByGraph, config::StaticMemoryPolicy::kSharedStatic,
    config::StaticMemoryPolicy::kExpandableDynamic,
    config::StaticMemoryPolicy::kSharedAndExpandable};

TEST(RandomStreamsTest, RandomGraphsGiveTheSameOnAnyStreams) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (uint32_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomStreams(seed, 2 + static_cast<int>(seed % 5));
    const std::vector<HostTensor> inputs = {Random({8, 16}, seed), Random({8, 16}, seed + 1),
                                            Bool(seed % 3 == 0)};
    const auto plain = MakeSession(WithoutPasses());
    const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(graph)), CopiesOf(inputs));
    SessionOptions options = WithoutPasses();
    options.threads = 1 + static_cast<int>(seed % 2);
    options.config.memory_config.static_memory_policy = kPolicies[seed % 4];
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, graph);
    const auto got = MustRun(*session, id, CopiesOf(inputs));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
    const auto compiled = session->Compile(id, Views(inputs));
    ASSERT_TRUE(compiled.ok() && *compiled != nullptr);
    EXPECT_EQ(RacesOf(**compiled), std::vector<std::string>());
    ExpectSameInAnySchedule(*compiled, inputs, expected);
    const auto passes = MakeSession();
    const auto close = MustRun(*passes, MustAdd(*passes, graph), CopiesOf(inputs));
    ASSERT_EQ(close.size(), expected.size());
    for (size_t i = 0; i < close.size(); ++i) ExpectClose(close[i], expected[i]);
  }
}

}  // namespace random_streams_test
}  // namespace plimsoll::engine
