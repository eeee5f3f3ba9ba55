#include <gtest/gtest.h>

#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/device/cpu_device.h"

// Memory of graphs that are run node by node: where their tensors come from under each policy, how
// much of it counts, and how long it stays.
namespace plimsoll::engine {
namespace node_by_node_memory_test {

using compile::FloatTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using Policy = config::StaticMemoryPolicy;

constexpr Policy kPolicies[] = {Policy::kByGraph, Policy::kSharedStatic, Policy::kExpandableDynamic,
                                Policy::kSharedAndExpandable};

bool FromRange(Policy policy) {
  return policy == Policy::kExpandableDynamic || policy == Policy::kSharedAndExpandable;
}

// The places where -x + 1 is not 0. Tensors of a run: -x and -x + 1 (1024 bytes each), then the
// places (2048 bytes where there is no 0).
Graph Places() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({256}));
  const ValueId turned = builder.Node("Neg", {x});
  const ValueId moved = builder.Node("Add", {turned, builder.Float32s("one", {1}, {1})});
  builder.Output(builder.Node("NonZero", {moved}));
  return builder.Build();
}

struct Placed {
  explicit Placed(Policy policy)
      : device(std::make_shared<device::CpuDevice>(device::CpuOptions{.capacity = MiB(64)})) {
    SessionOptions options;
    options.config.memory_config.static_memory_policy = policy;
    options.load.optimise = false;
    options.device = device;
    session = MakeSession(options);
    id = MustAdd(*session, Places());
  }
  Bytes used() const { return MiB(64) - device->memory().Info({0})->free; }

  std::shared_ptr<device::CpuDevice> device;
  std::unique_ptr<Session> session;
  GraphId id;
};

HostTensor AllTwos() { return Floats({256}, std::vector<float>(256, 2)); }

TEST(NodeByNodeMemoryTest, TensorsComeFromTheRangeUnderPolicies3And4AndFromTheHeapElse) {
  for (const Policy policy : kPolicies) {
    SCOPED_TRACE(static_cast<int>(policy));
    const Placed placed(policy);
    EXPECT_EQ(placed.session->Memory().device.feature_maps, Bytes(0));
    const auto outputs = MustRun(*placed.session, placed.id, {AllTwos()});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].dims, (kernels::Dims{1, 256}));
    EXPECT_EQ(ElementsOf(outputs[0])[255], 255);
    // The most that lived together: what was moved, and its places.
    EXPECT_EQ(placed.session->Memory().device.feature_maps, Bytes(1024 + 2048));
    EXPECT_EQ(placed.used() > Bytes(0), FromRange(policy));
    EXPECT_EQ(placed.session->Memory().feature_maps_reserved, placed.used());
  }
}

// The tensors of one run are gone when it ends, so the next one needs no more.
TEST(NodeByNodeMemoryTest, RunsOfTheSameSizeTakeNoMore) {
  for (const Policy policy : kPolicies) {
    SCOPED_TRACE(static_cast<int>(policy));
    const Placed placed(policy);
    MustRun(*placed.session, placed.id, {AllTwos()});
    const Bytes used = placed.used();
    for (int run = 0; run < 5; ++run) MustRun(*placed.session, placed.id, {AllTwos()});
    EXPECT_EQ(placed.used(), used);
    EXPECT_EQ(placed.session->Memory().device.feature_maps, Bytes(1024 + 2048));
    // The heap's share is what a process needed at most; the range goes back.
    ASSERT_TRUE(placed.session->Trim().ok());
    EXPECT_EQ(placed.used(), Bytes(0));
    EXPECT_EQ(placed.session->Memory().device.feature_maps,
              FromRange(policy) ? Bytes(0) : Bytes(1024 + 2048));
  }
}

TEST(NodeByNodeMemoryTest, AResultThatLivesOnStillCountsAndKeepsItsMemory) {
  for (const Policy policy : {Policy::kExpandableDynamic, Policy::kSharedAndExpandable}) {
    Placed placed(policy);
    std::vector<HostTensor> kept = MustRun(*placed.session, placed.id, {AllTwos()});
    ASSERT_TRUE(placed.session->Trim().ok());
    EXPECT_EQ(placed.session->Memory().device.feature_maps, Bytes(2048)) << "the result alone";
    EXPECT_GE(placed.used(), Bytes(2048));
    placed.session.reset();
    EXPECT_EQ(ElementsOf(kept[0])[7], 7) << "it outlives the session";
    kept.clear();
    EXPECT_EQ(placed.used(), Bytes(0));
  }
}

TEST(NodeByNodeMemoryTest, ConstantsThatARunReachedAreWeights) {
  const Placed placed(Policy::kByGraph);
  EXPECT_EQ(placed.session->Memory(placed.id)->weights, Bytes(0));
  MustRun(*placed.session, placed.id, {AllTwos()});
  EXPECT_EQ(placed.session->Memory(placed.id)->weights, Bytes(4));
  EXPECT_EQ(placed.session->Memory().weights, Bytes(4));
  EXPECT_EQ(placed.session->Memory(placed.id)->planned_peak, Bytes(0));
  EXPECT_EQ(placed.session->Memory(placed.id)->plans, 1);
}

// A range too small for the tensors of a run: the run is refused, the next smaller one goes on.
TEST(NodeByNodeMemoryTest, ARunThatDoesNotFitIsRefusedAndLeavesNothing) {
  const auto device = std::make_shared<device::CpuDevice>(device::CpuOptions{.capacity = MiB(2)});
  SessionOptions options;
  options.config.memory_config.static_memory_policy = Policy::kExpandableDynamic;
  options.load.optimise = false;
  options.device = device;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({graph::Dim::Symbol("n")}));
  builder.Output(builder.Node("NonZero", {builder.Node("Neg", {x})}));
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, builder.Build());
  const Status refused =
      session->RunValues(id, Values({Floats({1 << 20}, std::vector<float>(1 << 20, 1))})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(MustRun(*session, id, {Floats({3}, {1, 0, 1})})[0].dims, (kernels::Dims{1, 2}));
  ASSERT_TRUE(session->Trim().ok());
  EXPECT_EQ(device->memory().Info({0})->free, MiB(2));
}

}  // namespace node_by_node_memory_test
}  // namespace plimsoll::engine
