#include "engine/transfer/staged_ports.h"

#include <gtest/gtest.h>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// What a run did with the caller's memory, and why.
namespace plimsoll::engine {
namespace staged_ports_test {

using compile::FloatTensor;
using compile::PortUse;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kCount = 64;

// Room for a tensor at `shift` bytes beyond an aligned address.
struct Shifted {
  HostTensor room = *kernels::AllocateOnHeap(graph::DataType::kFloat32, {kCount + 16});
  TensorView At(int64_t shift) const {
    return {graph::DataType::kFloat32, {kCount}, static_cast<std::byte*>(room.data.get()) + shift};
  }
};

RunRecord RunAt(Session& session, GraphId id, int64_t input_shift, int64_t output_shift) {
  const Shifted x;
  const Shifted y;
  const HostTensor elements = Random({kCount}, 5);
  std::memcpy(x.At(input_shift).data, elements.data.get(), kCount * sizeof(float));
  const std::vector<TensorView> from = {x.At(input_shift)};
  const std::vector<TensorView> to = {y.At(output_shift)};
  const Status done = session.Run(id, from, to);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().Text());
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(static_cast<const float*>(to[0].data)[i],
              static_cast<const float*>(elements.data.get())[i] + 1);
  }
  return *session.LastRun(id);
}

TEST(StagedPortsTest, R56_MemoryOfTheCallersAtMultiplesOf32IsUsedInPlace) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({kCount}));
  EXPECT_TRUE(session->LastRun(id)->ports.inputs.empty()) << "nothing has run";
  for (const int64_t shift : {0, 32}) {
    const RunRecord record = RunAt(*session, id, shift, shift);
    EXPECT_TRUE(record.ports.inputs[0].in_place());
    EXPECT_TRUE(record.ports.outputs[0].in_place());
    EXPECT_EQ(record.ports.inputs[0].reason, "");
  }
}

TEST(StagedPortsTest, R56_MemoryThatIsNotAlignedIsCopiedOnceAndTheRecordSaysWhy) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({kCount}));
  const RunRecord both = RunAt(*session, id, 4, 16);
  for (const PortUse& use : {both.ports.inputs[0], both.ports.outputs[0]}) {
    EXPECT_EQ(use.how, PortUse::How::kCopied);
    EXPECT_EQ(use.reason, "its address is not a multiple of 32 bytes");
  }
  const RunRecord input_only = RunAt(*session, id, 4, 0);
  EXPECT_FALSE(input_only.ports.inputs[0].in_place());
  EXPECT_TRUE(input_only.ports.outputs[0].in_place());
  EXPECT_TRUE(RunAt(*session, id, 0, 0).ports.inputs[0].in_place()) << "of that run only";
}

TEST(StagedPortsTest, R55_ANodeThatCannotTakeNewAddressesHasItsPortsCopiedByThePlan) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kCount}));
  builder.Output(builder.Node("Add", {x, builder.Float32s("one", {}, {1})}));
  Graph graph = builder.Build();
  graph.nodes[0].memory.no_address_refresh = true;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  for (const int64_t shift : {0, 4}) {
    const RunRecord record = RunAt(*session, id, shift, shift);
    for (const PortUse& use : {record.ports.inputs[0], record.ports.outputs[0]}) {
      EXPECT_EQ(use.how, PortUse::How::kCopied);
      EXPECT_NE(use.reason.find("cannot take a new address"), std::string::npos) << use.reason;
    }
  }
}

TEST(StagedPortsTest, WhatAnyPlanMustCopyIsSaidInThePlan) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kCount}));
  const ValueId y = builder.Node("Add", {x, builder.Float32s("one", {}, {1})});
  builder.Output(x);
  builder.Output(y);
  builder.Output(y);
  builder.Output(builder.Float32s("fixed", {2}, {1, 2}));
  const auto executable = ExpectSameBytes(builder.Build(), {Random({kCount}, 1)}, {});
  ASSERT_NE(executable, nullptr);
  const std::vector<PortUse>& outputs = executable->port_uses().outputs;
  EXPECT_EQ(outputs[0].reason, "it is the input 'x' as it is");
  EXPECT_TRUE(outputs[1].in_place());
  EXPECT_NE(outputs[2].reason.find("once more"), std::string::npos) << outputs[2].reason;
  EXPECT_EQ(outputs[3].reason, "it is a constant of the model");
}

TEST(StagedPortsTest, R57_ABranchesResultIsCopiedIntoTheOutputAndTheRootsIsNot) {
  GraphBuilder builder;
  const ValueId condition =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  const ValueId x = builder.Input("x", FloatTensor({kCount}));
  graph::Attributes bodies;
  const auto then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Neg", {x})});
  bodies.Set("then_branch", then_branch);
  const auto else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Exp", {x})});
  bodies.Set("else_branch", else_branch);
  builder.Output(builder.Node("If", {condition}, std::move(bodies)));
  builder.Output(builder.Node("Exp", {x}));
  const auto executable = ExpectSameBytes(builder.Build(), {Bool(true), Random({kCount}, 1)}, {});
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(executable->port_uses().outputs[0].how, PortUse::How::kBranchCopy);
  EXPECT_TRUE(executable->port_uses().outputs[1].in_place());
}

TEST(StagedPortsTest, R56_EveryPortThatIsNotAlignedHasACopyOfItsOwn) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kCount}));
  const ValueId y = builder.Input("y", FloatTensor({kCount}));
  builder.Output(builder.Node("Sub", {x, y}));
  builder.Output(builder.Node("Mul", {x, y}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const Shifted memory[4];
  const std::vector<TensorView> from = {memory[0].At(4), memory[1].At(8)};
  const std::vector<TensorView> to = {memory[2].At(4), memory[3].At(8)};
  const auto element = [](const TensorView& tensor, int64_t i) -> float& {
    return static_cast<float*>(tensor.data)[i];
  };
  for (int64_t i = 0; i < kCount; ++i) {
    element(from[0], i) = static_cast<float>(i);
    element(from[1], i) = static_cast<float>(2 * i + 1);
  }
  const Status done = session->Run(id, from, to);
  ASSERT_TRUE(done.ok()) << done.error().Text();
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(element(to[0], i), static_cast<float>(-i - 1));
    EXPECT_EQ(element(to[1], i), static_cast<float>(i * (2 * i + 1)));
  }
}

}  // namespace staged_ports_test
}  // namespace plimsoll::engine
