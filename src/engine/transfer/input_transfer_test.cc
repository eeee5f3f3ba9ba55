#include "engine/transfer/input_transfer.h"

#include <gtest/gtest.h>

#include "engine/random/configured_runs_for_tests.h"

// input_fusion_size, by the transfers of runs.
namespace plimsoll::engine {
namespace input_transfer_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using Sizes = std::vector<int64_t>;

constexpr int64_t kKilobyte = 1024;
constexpr int64_t kDefault = 131072;
constexpr int64_t kMost = 33554432;

// Bytes one after the other, joined by a node that reads no memory of the caller's.
Graph Joined(const Sizes& sizes) {
  GraphBuilder builder;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto type = graph::ValueType::Tensor(graph::DataType::kUint8, graph::Shape{sizes[i]});
    inputs.push_back(builder.Input("x" + std::to_string(i), type));
  }
  const ValueId joined = builder.Node("Concat", inputs, compile::With("axis", int64_t{0}));
  builder.Output(joined);
  Graph graph = builder.Build();
  graph[graph[joined].producer].memory.no_address_refresh = true;
  return graph;
}

std::vector<HostTensor> InputsOf(const Sizes& sizes) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    inputs.push_back(*kernels::AllocateOnHeap(graph::DataType::kUint8, {sizes[i]}));
    std::fill_n(static_cast<uint8_t*>(inputs[i].data.get()), sizes[i], static_cast<uint8_t>(i + 1));
  }
  return inputs;
}

SessionOptions Fusing(int64_t input_fusion_size) {
  config::RunConfig config;
  config.input_fusion_size = input_fusion_size;
  return Under(config);
}

std::vector<std::byte> Join(const std::vector<HostTensor>& inputs) {
  std::vector<std::byte> all;
  for (const HostTensor& input : inputs) {
    const auto* const begin = static_cast<const std::byte*>(input.data.get());
    all.insert(all.end(), begin, begin + input.size().value());
  }
  return all;
}

// The bytes of each transfer that the tasks of a run make, in order. The run joins its inputs as it
// should, and its record counts the same transfers.
Sizes Transfers(const Sizes& sizes, int64_t input_fusion_size) {
  const auto session = MakeSession(Fusing(input_fusion_size));
  const GraphId id = MustAdd(*session, Joined(sizes));
  const std::vector<HostTensor> inputs = InputsOf(sizes);
  const auto outputs = MustRun(*session, id, inputs);
  EXPECT_TRUE(outputs.size() == 1 && BytesOf(outputs[0]) == Join(inputs));

  const auto executable = *session->Compile(id, Views(inputs));
  const HostTensor memory =
      *kernels::AllocateOnHeap(graph::DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, memory);
  std::vector<const void*> from;
  for (const HostTensor& input : inputs) from.push_back(input.data.get());
  const std::vector<void*> to = {outputs[0].data.get()};
  Sizes made;
  const auto look = [&](const Task& task) {
    if (task.kind == Task::Kind::kTransfer) made.push_back(task.bytes);
  };
  EXPECT_TRUE(executable->Run(addresses, {.inputs = from, .outputs = to}, look).ok());
  const InputTransfers record = session->LastRun(id)->transfers;
  EXPECT_EQ(record.transfers, static_cast<int64_t>(made.size()));
  EXPECT_EQ(record.inputs, static_cast<int64_t>(sizes.size()));
  EXPECT_EQ(record.bytes.value(), static_cast<int64_t>(Join(inputs).size()));
  return made;
}

TEST(InputTransferTest, R120_EveryLegalThresholdActsFromOneByteToThirtyTwoMegabytes) {
  EXPECT_EQ(Transfers({1, 1}, 1), (Sizes{2}));
  EXPECT_EQ(Transfers({2, 1}, 1), (Sizes{1, 2}));
  EXPECT_EQ(Transfers({kDefault, 32, kDefault + 1}, kDefault),
            (Sizes{kDefault + 32, kDefault + 1}));
  EXPECT_EQ(Transfers({kMost, 32, kMost + 1}, kMost), (Sizes{kMost + 32, kMost + 1}));
}

TEST(InputTransferTest, R120_ASessionThatIsGivenNothingFusesUpTo131072Bytes) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Joined({kDefault, kDefault, kDefault + 1}));
  MustRun(*session, id, InputsOf({kDefault, kDefault, kDefault + 1}));
  EXPECT_EQ(session->LastRun(id)->transfers.transfers, 2);
  EXPECT_EQ(session->LastRun(id)->transfers.fused_inputs, 2);
}

TEST(InputTransferTest, R121_EachInputIsComparedByItsOwnSizeAndEqualIsFused) {
  EXPECT_EQ(Transfers({4096, 4097, 4096}, 4096), (Sizes{8192, 4097}));
  EXPECT_EQ(Transfers({4096, 4096, 4096}, 4096), (Sizes{12288})) << "their sum does not count";
  EXPECT_EQ(Transfers({4097, 4098}, 4096), (Sizes{4097, 4098}));
}

TEST(InputTransferTest, R122_ZeroSwitchesFusingOffForEmptyInputsToo) {
  EXPECT_EQ(Transfers({64, 0, 32}, 0), (Sizes{64, 0, 32}));
  EXPECT_EQ(Transfers({64, 0, 32}, 64), (Sizes{96}));
}

TEST(InputTransferTest, R123_TenInputsOfTheDocumentsExample) {
  Sizes sizes = {100, 101, 50, 200, 100, 300, 50, 150, 110, 120};
  for (int64_t& size : sizes) size *= kKilobyte;
  EXPECT_EQ(Transfers(sizes, 100 * kKilobyte),
            (Sizes{300 * kKilobyte, 101 * kKilobyte, 200 * kKilobyte, 300 * kKilobyte,
                   150 * kKilobyte, 110 * kKilobyte, 120 * kKilobyte}));
  EXPECT_EQ(Transfers(sizes, 0), sizes);
}

TEST(InputTransferTest, InputsThatAreUsedInPlaceNeedNoTransfer) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({4}));
  MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(session->LastRun(id)->transfers.transfers, 0);
  EXPECT_EQ(session->LastRun(id)->transfers.inputs, 0);
}

}  // namespace input_transfer_test
}  // namespace plimsoll::engine
