#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/device/watched_device.h"

// Values that keep their addresses from the first run until the graph is unloaded: outputs of nodes
// with fixed_address, and everything around nodes that cannot take new addresses.
namespace plimsoll::engine {
namespace stable_addresses_test {

using compile::FloatTensor;
using compile::With;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using Policy = config::StaticMemoryPolicy;

constexpr int64_t kColumns = 40;
constexpr Policy kPolicies[] = {Policy::kByGraph, Policy::kSharedStatic, Policy::kExpandableDynamic,
                                Policy::kSharedAndExpandable};

// x[rows, 40]: a value of fixed address in the middle, a node that reads an input of the model, a
// part of a Split and a value of its own and can take no new address, and outputs of both kinds.
Graph Marked(Dim rows, bool marked) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, kColumns}));
  const ValueId wide =
      builder.Node("Concat", {x, builder.Node("Tanh", {x})}, With("axis", int64_t{0}));
  const ValueId fixed = builder.Node("Sin", {wide});
  const ValueId later = builder.Node("Sigmoid", {builder.Node("Cos", {fixed})});
  const ValueId half = builder.Node(
      "Slice",
      {later, builder.Int64s("from", {0}), builder.Int64s("to", {1}), builder.Int64s("axis", {0})});
  const ValueId held = builder.Node("Sum", {x, half, builder.Node("Neg", {x})});
  const ValueId last = builder.Node("Mul", {held, held});
  builder.Output(held);
  builder.Output(builder.Node("Tanh", {last}));
  builder.Output(fixed);
  Graph graph = builder.Build();
  if (!marked) return graph;
  graph[graph[fixed].producer].memory.fixed_address = true;
  graph[graph[held].producer].memory.no_address_refresh = true;
  return graph;
}

std::map<std::string, const void*> StableOf(const Session& session, GraphId id) {
  std::map<std::string, const void*> places;
  const RunRecord record = *session.LastRun(id);
  for (const auto& stable : record.stable) places[stable.operand] = stable.address;
  return places;
}

void ExpectEqual(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
}

SessionOptions UnderPolicy(Policy policy, bool refreshable = false) {
  config::RunConfig config;
  config.memory_config.static_memory_policy = policy;
  config.feature_base_refreshable = refreshable;
  return Under(config);
}

TEST(StableAddressesTest, R59_AddressesAreTheSameInEveryRunWhateverTheShapesUnderEveryPolicy) {
  const auto plain = MakeSession();
  const GraphId unmarked = MustAdd(*plain, Marked(Dim::Symbol("rows"), false));
  for (const Policy policy : kPolicies) {
    for (const bool refreshable : {false, true}) {
      const auto session = MakeSession(UnderPolicy(policy, refreshable));
      const GraphId other = MustAdd(*session, Marked(Dim::Symbol("n"), false));
      const GraphId id = MustAdd(*session, Marked(Dim::Symbol("rows"), true));
      std::map<std::string, const void*> first;
      for (int run = 0; run < 100; ++run) {
        const int64_t rows = 1 + (run * 37) % 11 * 8;
        MustRun(*session, other, {Random({1 + (run * 13) % 7 * 30, kColumns}, 1)});
        const std::vector<HostTensor> inputs = {
            Random({rows, kColumns}, static_cast<uint32_t>(run))};
        const auto got = MustRun(*session, id, inputs);
        ExpectEqual(got, MustRun(*plain, unmarked, inputs));
        const auto now = StableOf(*session, id);
        EXPECT_EQ(now.size(), 5U) << "one made by Sin; three read and one made by Sum";
        if (first.empty()) first = now;
        ASSERT_EQ(now, first) << "run " << run << " under policy " << static_cast<int>(policy);
      }
    }
  }
}

TEST(StableAddressesTest, R59_StaticGraphsKeepThemWhileTheArenaOfAllGraphsGrows) {
  const std::vector<HostTensor> inputs = {Random({7, kColumns}, 3)};
  for (const Policy policy : kPolicies) {
    const auto session = MakeSession(UnderPolicy(policy));
    const GraphId id = MustAdd(*session, Marked(Dim(7), true));
    const auto expected = MustRun(*session, id, inputs);
    const auto first = StableOf(*session, id);
    for (const int64_t rows : {100, 1000, 9000}) {
      const GraphId larger = MustAdd(*session, Marked(Dim(rows), false));
      MustRun(*session, larger, {Random({rows, kColumns}, 4)});
      ExpectEqual(MustRun(*session, id, inputs), expected);
      EXPECT_EQ(StableOf(*session, id), first);
    }
  }
}

TEST(StableAddressesTest, R59_TheCallersTensorsAreCopiedAndTheRecordSaysWhy) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Marked(Dim(7), true));
  MustRun(*session, id, {Random({7, kColumns}, 3)});
  const RunRecord record = *session->LastRun(id);
  EXPECT_FALSE(record.ports.inputs[0].in_place());
  EXPECT_NE(record.ports.inputs[0].reason.find("cannot take a new address"), std::string::npos);
  EXPECT_FALSE(record.ports.outputs[0].in_place());
  EXPECT_TRUE(record.ports.outputs[1].in_place());
  EXPECT_FALSE(record.ports.outputs[2].in_place());
  EXPECT_NE(record.ports.outputs[2].reason.find("keeps the address"), std::string::npos);
}

TEST(StableAddressesTest, R59_AnInputThatIsCopiedAndGivenBackIsHeldToTheEnd) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({64, kColumns}));
  const ValueId held = builder.Node("Softmax", {x});
  ValueId y = held;
  for (int i = 0; i < 6; ++i) y = builder.Node("Transpose", {builder.Node("Softmax", {y})});
  builder.Output(builder.Node("Neg", {y}));
  builder.Output(x);
  Graph graph = builder.Build();
  graph[graph[held].producer].memory.no_address_refresh = true;
  const auto session = MakeSession();
  const HostTensor input = Random({64, kColumns}, 5);
  const auto got = MustRun(*session, MustAdd(*session, std::move(graph)), {input});
  EXPECT_EQ(BytesOf(got[1]), BytesOf(input));
}

TEST(StableAddressesTest, R62_R63_ARefreshableBaseMovesTheFeatureMapAndNothingThatIsStable) {
  const auto plain = MakeSession();
  const std::vector<HostTensor> inputs = {Random({7, kColumns}, 3)};
  const auto expected = MustRun(*plain, MustAdd(*plain, Marked(Dim(7), false)), inputs);
  const auto fixed_base = MakeSession(UnderPolicy(Policy::kByGraph));
  const auto session = MakeSession(UnderPolicy(Policy::kByGraph, true));
  const GraphId id = MustAdd(*session, Marked(Dim(7), true));
  const Bytes with = *session->FeatureMapSize(id, Views(inputs));
  const Bytes without =
      *fixed_base->FeatureMapSize(MustAdd(*fixed_base, Marked(Dim(7), true)), Views(inputs));
  EXPECT_LT(with, without) << "what is stable needs no room in a feature map that moves";
  std::map<std::string, const void*> first;
  for (int run = 0; run < 4; ++run) {
    const HostTensor base =
        *kernels::AllocateOnHeap(graph::DataType::kUint8, {with.value() + 1024});
    auto* const begin = static_cast<std::byte*>(base.data.get());
    auto* const aligned = begin + (512 - reinterpret_cast<uintptr_t>(begin) % 512) % 512;
    ASSERT_TRUE(session->SetFeatureMapBase(id, aligned, with).ok());
    ExpectEqual(MustRun(*session, id, inputs), expected);
    const auto now = StableOf(*session, id);
    if (first.empty()) first = now;
    EXPECT_EQ(now, first);
    for (const auto& [key, address] : now) {
      const auto* const at = static_cast<const std::byte*>(address);
      EXPECT_TRUE(at < begin || at >= begin + base.size().value()) << key;
    }
  }
}

TEST(StableAddressesTest, R61_BytesOfAFixedAddressServeOtherValuesAtOtherTimes) {
  GraphBuilder builder;
  ValueId y = builder.Node("Tanh", {builder.Input("x", FloatTensor({64, kColumns}))});
  const ValueId fixed = builder.Node("Transpose", {y});
  y = builder.Node("Transpose", {fixed});
  for (int i = 0; i < 6; ++i) y = builder.Node("Transpose", {builder.Node("Softmax", {y})});
  builder.Output(builder.Node("Transpose", {y}));
  Graph graph = builder.Build();
  graph[graph[fixed].producer].memory.fixed_address = true;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  MustRun(*session, id, {Random({64, kColumns}, 5)});
  EXPECT_LE(session->Memory(id)->planned_peak, Bytes(3 * 64 * kColumns * 4))
      << "the fixed value's bytes are not held for the whole run";
}

std::shared_ptr<device::Device> WithoutVirtualMemory() {
  device::CpuOptions options;
  options.granularity = kSessionGranularity;
  options.reserves_addresses = false;
  return std::make_shared<device::CpuDevice>(options);
}

TEST(StableAddressesTest, R59_R80_WithoutVirtualMemoryAValueThatMustGrowIsRefusedAndTheRestRunsOn) {
  SessionOptions options = UnderPolicy(Policy::kExpandableDynamic);
  options.device = WithoutVirtualMemory();
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Marked(Dim::Symbol("rows"), true));
  MustRun(*session, id, {Random({20, kColumns}, 1)});
  const auto first = StableOf(*session, id);
  const auto larger = session->RunValues(id, Values({Random({400, kColumns}, 1)}));
  ASSERT_FALSE(larger.ok());
  EXPECT_EQ(larger.error().code, "run.stable_address");
  EXPECT_FALSE(larger.error().remedy.empty());
  MustRun(*session, id, {Random({5, kColumns}, 1)});
  EXPECT_EQ(StableOf(*session, id), first);
}

TEST(StableAddressesTest, R59_GearsKeepThemAlsoWithoutVirtualMemory) {
  SessionOptions options = UnderPolicy(Policy::kByGraph);
  options.device = WithoutVirtualMemory();
  options.config.dynamic_dims = "20;400;7";
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Marked(Dim::Symbol("rows"), true));
  std::map<std::string, const void*> first;
  for (const int64_t rows : {20, 400, 7, 20}) {
    MustRun(*session, id, {Random({rows, kColumns}, 1)});
    const auto now = StableOf(*session, id);
    if (first.empty()) first = now;
    EXPECT_EQ(now, first);
  }
}

TEST(StableAddressesTest, AGraphThatRunsNodeByNodeIsRefusedWithTheReason) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId fixed = builder.Node("Tanh", {x});
  builder.Output(builder.Node("NonZero", {fixed}));
  Graph graph = builder.Build();
  graph[graph[fixed].producer].memory.fixed_address = true;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  const auto run = session->RunValues(id, Values({Random({8}, 1)}));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, "run.memory_attribute");
}

TEST(StableAddressesTest, EveryDeviceCallMayFailWhileAreasGrowAndNothingLeaks) {
  for (int skipped = 0; skipped < 45; ++skipped) {
    const std::shared_ptr<device::Device> cpu =
        *device::MakeDevice("cpu", {.capacity = GiB(1), .granularity = kSessionGranularity});
    const auto device = std::make_shared<device::WatchedDevice>(cpu);
    const auto before = cpu->memory().Info(device::DeviceId{0})->free;
    {
      SessionOptions options = UnderPolicy(Policy::kByGraph);
      options.device = device;
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, Marked(Dim::Symbol("rows"), true));
      device->FailAfter(skipped, ErrorKind::kRunFailed);
      std::map<std::string, const void*> first;
      for (const int64_t rows : {3, 300, 900}) {
        const auto run = session->RunValues(id, Values({Random({rows, kColumns}, 1)}));
        if (run.ok() && first.empty()) first = StableOf(*session, id);
      }
      device->FailNoMore();
      MustRun(*session, id, {Random({1000, kColumns}, 1)});
      const auto last = StableOf(*session, id);
      EXPECT_TRUE(first.empty() || last == first) << skipped;
    }
    EXPECT_EQ(cpu->memory().Info(device::DeviceId{0})->free, before) << skipped;
  }
}

}  // namespace stable_addresses_test
}  // namespace plimsoll::engine
