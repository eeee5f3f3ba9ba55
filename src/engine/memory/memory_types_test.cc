#include <gtest/gtest.h>

#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/typed_graphs_for_tests.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/device/watched_device.h"

// Values in P2P memory and in memory of the host come from the device as such.
namespace plimsoll::engine {
namespace memory_types_test {

using compile::FloatTensor;
using device::MemoryType;
using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kRows = kTypedRows;
constexpr int64_t kTensor = kRows * 32 * 4;

struct Watched {
  std::shared_ptr<device::Device> cpu =
      *device::MakeDevice("cpu", {.granularity = kSessionGranularity});
  std::shared_ptr<device::WatchedDevice> device = std::make_shared<device::WatchedDevice>(cpu);

  std::unique_ptr<Session> MakeSessionHere(config::StaticMemoryPolicy policy) const {
    config::RunConfig config;
    config.memory_config.static_memory_policy = policy;
    SessionOptions options = Under(config);
    options.device = device;
    return MakeSession(options);
  }
};

TEST(MemoryTypesTest, R82_P2PMemoryComesFromTheDeviceAsP2PUnderEveryPolicy) {
  using Policy = config::StaticMemoryPolicy;
  const auto plain = MakeSession();
  Typed unmarked = TwoTypes();
  for (graph::Node& node : unmarked.graph.nodes) node.memory.memory_type = {};
  const std::vector<HostTensor> inputs = {Random({kRows, 32}, 3)};
  const auto expected = MustRun(*plain, MustAdd(*plain, unmarked.graph), inputs);
  for (const Policy policy : {Policy::kByGraph, Policy::kSharedStatic, Policy::kExpandableDynamic,
                              Policy::kSharedAndExpandable}) {
    const Watched watched;
    const auto session = watched.MakeSessionHere(policy);
    const GraphId id = MustAdd(*session, TwoTypes().graph);
    EXPECT_EQ(watched.device->taken(MemoryType::kP2P), Bytes(0)) << "not before the first run";
    for (int run = 0; run < 3; ++run) {
      const auto got = MustRun(*session, id, inputs);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
    }
    EXPECT_EQ(watched.device->taken(MemoryType::kP2P), Bytes(kTensor)) << "once, and no more";
    EXPECT_EQ(watched.device->taken(MemoryType::kHost), Bytes(kTensor));
    EXPECT_FALSE(session->LastRun(id)->ports.outputs[1].in_place())
        << "the caller's memory is no P2P memory";
  }
}

// One of two values in P2P memory keeps its address where the feature map moves; the other is
// larger, and comes later.
TEST(MemoryTypesTest, ValuesThatKeepTheirAddressesShareNothingWithOthersOfTheirType) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kRows, 32}));
  const ValueId kept = builder.Node("Tanh", {x});
  const ValueId larger = builder.Node("Concat", {kept, x}, compile::With("axis", int64_t{1}));
  builder.Output(builder.Node("Sin", {builder.Node("Neg", {larger})}));
  builder.Output(builder.Node("Sin", {kept}));
  Graph graph = builder.Build();
  const Watched plain;
  const std::vector<HostTensor> inputs = {Random({kRows, 32}, 3)};
  const auto before = plain.MakeSessionHere(config::StaticMemoryPolicy::kSharedStatic);
  const auto expected = MustRun(*before, MustAdd(*before, graph), inputs);
  for (const ValueId value : {kept, larger}) {
    graph[graph[value].producer].memory.memory_type = MemoryAttributes::Type::kP2P;
  }
  graph[graph[kept].producer].memory.fixed_address = true;
  const Watched watched;
  const auto session = watched.MakeSessionHere(config::StaticMemoryPolicy::kSharedStatic);
  const GraphId id = MustAdd(*session, graph);
  for (int run = 0; run < 3; ++run) {
    const auto got = MustRun(*session, id, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
  }
  EXPECT_EQ(watched.device->taken(MemoryType::kP2P), Bytes(3 * kTensor));
}

TEST(MemoryTypesTest, R52_P2PMemoryIsClearedOnItsOwn) {
  Typed made = TwoTypes();
  for (const ValueId value : {made.peer, made.plain}) {
    made.graph[made.graph[value].producer].memory.needs_clearing = {0};
  }
  const auto executable = ExpectSameBytes(made.graph, {Random({kRows, 32}, 3)}, {});
  ASSERT_NE(executable, nullptr);
  const Program& program = executable->program();
  std::vector<Place::Base> cleared;
  for (const Task& task : program.tasks) {
    if (task.kind == Task::Kind::kClear) cleared.push_back(program.operands[task.first].base);
  }
  ASSERT_EQ(cleared.size(), 2U);
  EXPECT_NE(cleared[0], cleared[1]) << "one fill each: their memories are not one";
}

TEST(MemoryTypesTest, DynamicGraphsTakeAsMuchAsTheLargestShapesNeed) {
  const Watched watched;
  const auto session = watched.MakeSessionHere(config::StaticMemoryPolicy::kByGraph);
  const GraphId id = MustAdd(*session, TwoTypes(graph::Dim::Symbol("rows")).graph);
  for (const int64_t rows : {4, 40, 8, 40}) {
    const auto got = MustRun(*session, id, {Random({rows, 32}, 3)});
    EXPECT_EQ(got[0].dims, (kernels::Dims{rows, 32}));
  }
  EXPECT_EQ(watched.device->taken(MemoryType::kP2P), Bytes((4 + 40) * 32 * 4));
  const Bytes with = session->Memory().feature_maps_reserved;
  EXPECT_EQ(session->Memory().host, Bytes(40 * 32 * 4))
      << "memory of the host is none of the device";
  ASSERT_TRUE(session->Unload(id).ok());
  EXPECT_EQ(session->Memory().feature_maps_reserved, with - Bytes(40 * 32 * 4))
      << "the areas went back with the graph";
  EXPECT_EQ(session->Memory().host, Bytes(0));
}

}  // namespace memory_types_test
}  // namespace plimsoll::engine
