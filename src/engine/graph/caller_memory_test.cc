#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <set>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// ge.exec.inputReuseMemIndexes and ge.exec.outputReuseMemIndexes: the caller's memory as ours, when
// it holds nothing.
namespace plimsoll::engine {
namespace caller_memory_test {

using compile::FloatTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = 64;
constexpr int64_t kProduct = kSide * kSide * 4;

// Products one after the other: three live tensors would do, x and the output being two of them.
Graph Chain(int count) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = x;
  for (int i = 0; i < count; ++i) y = builder.Node("MatMul", {y, w});
  builder.Output(y);
  return builder.Build();
}

// z = exp(x) w: the product reads what Exp made of the input.
Graph InPlace() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  builder.Output(builder.Node("MatMul", {builder.Node("Exp", {x}), w}));
  return builder.Build();
}

config::RunConfig Lending(std::vector<int> inputs, std::vector<int> outputs) {
  config::RunConfig config;
  config.input_reuse_mem_indexes = std::move(inputs);
  config.output_reuse_mem_indexes = std::move(outputs);
  return config;
}

std::vector<HostTensor> Square() { return {Random({kSide, kSide}, 8)}; }

TEST(CallerMemoryTest, AListedInputIsOverwrittenOnceItWasRead) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto usual = ExpectSameBytes(Chain(4), Square(), {});
  const auto lent = ExpectSameBytes(Chain(4), Square(), Under(Lending({0}, {})));
  EXPECT_EQ(PeakOf(*usual), Bytes(2 * kProduct));
  EXPECT_EQ(PeakOf(*lent), Bytes(kProduct));

  const auto session = MakeSession(Under(Lending({0}, {})));
  const GraphId id = MustAdd(*session, Chain(4));
  const HostTensor x = Square()[0];
  const auto before = BytesOf(x);
  MustRun(*session, id, {x});
  EXPECT_NE(BytesOf(x), before);
}

TEST(CallerMemoryTest, AnInputThatIsNotListedKeepsItsBytes) {
  for (const config::RunConfig& config : {Lending({}, {}), Lending({}, {0})}) {
    const auto session = MakeSession(Under(config));
    const GraphId id = MustAdd(*session, Chain(4));
    const HostTensor x = Square()[0];
    const auto before = BytesOf(x);
    MustRun(*session, id, {x});
    EXPECT_EQ(BytesOf(x), before);
  }
}

TEST(CallerMemoryTest, AnOperatorMayWorkInPlaceOnAListedInput) {
  const auto usual = ExpectSameBytes(InPlace(), Square(), {});
  const auto lent = ExpectSameBytes(InPlace(), Square(), Under(Lending({0}, {})));
  EXPECT_EQ(PeakOf(*usual), Bytes(kProduct));
  EXPECT_EQ(PeakOf(*lent), Bytes(0));
}

TEST(CallerMemoryTest, AListedOutputIsScratchUntilItIsWritten) {
  const auto usual = ExpectSameBytes(Chain(4), Square(), {});
  const auto lent = ExpectSameBytes(Chain(4), Square(), Under(Lending({}, {0})));
  EXPECT_EQ(PeakOf(*usual), Bytes(2 * kProduct));
  EXPECT_EQ(PeakOf(*lent), Bytes(kProduct));
  EXPECT_EQ(PeakOf(*ExpectSameBytes(Chain(3), Square(), Under(Lending({0}, {0})))), Bytes(0));
}

TEST(CallerMemoryTest, ListedTwiceIsListedOnce) {
  const auto lent = ExpectSameBytes(Chain(5), Square(), Under(Lending({0, 0}, {0, 0})));
  EXPECT_EQ(PeakOf(*lent), Bytes(0));
}

// x of 25 floats, 100 bytes: what follows fits into its real size or not at all, although memory of
// ours would round 101 to 128 bytes up alike.
TEST(CallerMemoryTest, R53_AListedInputServesOthersWithinItsRealSize) {
  for (const int64_t columns : {25, 26}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({1, 25}));
    const ValueId first = RandomWeights(builder, "first", {25, columns}, 3);
    const ValueId other = RandomWeights(builder, "other", {columns, columns}, 4);
    ValueId y = builder.Node("MatMul", {x, first});
    for (int i = 0; i < 3; ++i) y = builder.Node("MatMul", {y, other});
    builder.Output(builder.Node("Softmax", {y}));
    const auto lent =
        ExpectSameBytes(builder.Build(), {Random({1, 25}, 8)}, Under(Lending({0}, {})));
    EXPECT_EQ(lent->model().planned.buffers.lent.size(), columns == 25 ? 1U : 0U);
  }
}

// The model gives its input back as it is: overwriting it would spoil that output.
TEST(CallerMemoryTest, AnInputThatIsAnOutputTooIsLeftAlone) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = x;
  for (int i = 0; i < 4; ++i) y = builder.Node("MatMul", {y, w});
  builder.Output(y);
  builder.Output(x);
  ExpectSameBytes(builder.Build(), Square(), Under(Lending({0}, {0, 1})));
}

TEST(CallerMemoryTest, WholeNetworksGiveTheSameBytes) {
  const auto lending = Under(Lending({0}, {0}));
  const std::vector<HostTensor> image = {Random({1, 3, 20, 20}, 4)};
  const auto usual = ExpectSameBytes(ConvolutionalNetwork(), image, {});
  const auto lent = ExpectSameBytes(ConvolutionalNetwork(), image, lending);
  EXPECT_LE(PeakOf(*lent), PeakOf(*usual));
  const std::vector<HostTensor> rows = {Random({2, 24, kModelWidth}, 4)};
  EXPECT_LT(PeakOf(*ExpectSameBytes(TransformerLayer(2, 24), rows, lending)),
            PeakOf(*ExpectSameBytes(TransformerLayer(2, 24), rows, {})));
}

// Inputs of the model are a variable and x, outputs its new value and y: the caller's only input
// and only output have number 0.
TEST(CallerMemoryTest, TheNumbersOfInputsAndOutputsLeaveVariablesOut) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({kSide, kSide}));
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId next = builder.Node("Add", {w, builder.Float32s("one", {}, {1})});
  ValueId y = x;
  for (int i = 0; i < 5; ++i) y = builder.Node("MatMul", {y, w});
  builder.Output(next);
  builder.Output(y);
  const std::string name = builder.graph()[next].name;
  const Graph graph = builder.Build();
  const auto lent_ports = [&](const config::RunConfig& config) {
    const auto session = MakeSession(Under(config));
    const auto id = session->Add(graph, {{"w", name, ""}});
    EXPECT_TRUE(id.ok());
    std::set<std::pair<bool, int>> ports;
    if (!id.ok()) return ports;
    const auto executable = session->Compile(*id, Views(Square()));
    EXPECT_TRUE(executable.ok() && *executable != nullptr);
    if (!executable.ok() || *executable == nullptr) return ports;
    for (const auto& lent : (**executable).model().planned.buffers.lent) {
      ports.emplace(lent.home == compile::Home::kInput, lent.port);
    }
    return ports;
  };
  using Ports = std::set<std::pair<bool, int>>;
  EXPECT_EQ(lent_ports(Lending({}, {})), Ports());
  EXPECT_EQ(lent_ports(Lending({0}, {})), (Ports{{true, 1}}));
  EXPECT_EQ(lent_ports(Lending({}, {0})), (Ports{{false, 1}}));
}

TEST(CallerMemoryTest, IndexesThatTheModelDoesNotHaveAreRefused) {
  for (const config::RunConfig& config :
       {Lending({1}, {}), Lending({-1}, {}), Lending({}, {1}), Lending({0}, {7})}) {
    const auto session = MakeSession(Under(config));
    const auto added = session->Add(Chain(2));
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, "config.index");
    EXPECT_NE(added.error().where.find("ReuseMemIndexes"), std::string::npos);
    EXPECT_EQ(added.error().remedy, "use numbers from 0 to 0");
  }
}

// What a node keeps its address for cannot lie in memory that is another in the next run.
TEST(CallerMemoryTest, WhatKeepsItsAddressDoesNotLieInAListedInput) {
  Graph graph = Chain(4);
  const graph::NodeId third = graph.root().nodes[2];
  graph[third].memory.no_address_refresh = true;
  const auto session = MakeSession(Under(Lending({0}, {0})));
  const GraphId id = MustAdd(*session, graph);
  std::vector<RunRecord::StableAddress> before;
  for (int run = 0; run < 3; ++run) {
    const std::vector<HostTensor> x = Square();
    MustRun(*session, id, x);
    const auto record = session->LastRun(id);
    ASSERT_TRUE(record.ok());
    ASSERT_EQ(record->stable.size(), 2U) << "what it reads and what it makes";
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_NE(record->stable[i].address, nullptr);
      EXPECT_EQ(record->stable[i].address, before[i].address);
    }
    before = record->stable;
  }
}

// Pages that can be read and not written.
class ReadOnlyPages {
 public:
  explicit ReadOnlyPages(const HostTensor& tensor)
      : size_(static_cast<size_t>(tensor.size().value())),
        data_(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memcpy(data_, tensor.data.get(), size_);
    mprotect(data_, size_, PROT_READ);
  }
  ~ReadOnlyPages() { munmap(data_, size_); }
  ReadOnlyPages(const ReadOnlyPages&) = delete;
  ReadOnlyPages& operator=(const ReadOnlyPages&) = delete;
  void* data() const { return data_; }

 private:
  size_t size_;
  void* data_;
};

TEST(CallerMemoryTest, InputsMayLieInMemoryThatCannotBeWritten) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4, 8}));
  const ValueId first = builder.Int64s("first", {0});
  const auto use = [&](ValueId view) { builder.Output(builder.Node("Sin", {view})); };
  use(builder.Node("Identity", {x}));
  use(builder.Node("Dropout", {x}));
  use(builder.Node("Cast", {x}, compile::With("to", int64_t{1})));
  use(builder.Node("Reshape", {x, builder.Int64s("flat", {32})}));
  use(builder.Node("Expand", {x, builder.Int64s("same", {4, 8})}));
  use(builder.Node("Tile", {x, builder.Int64s("once", {1, 1})}));
  use(builder.Node("Slice", {x, first, builder.Int64s("two", {2}), first}));
  use(builder.Node("Gather", {x, builder.Int64("second", 1)}));
  use(builder.Node("Unsqueeze", {x, first}));
  for (const ValueId part : builder.Nodes("Split", {x, builder.Int64s("halves", {2, 2})}, 2)) {
    use(part);
  }
  const Graph graph = builder.Build();
  const HostTensor given = Random({4, 8}, 3);
  const ReadOnlyPages pages(given);
  const auto plain = MakeSession();
  const auto expected = MustRun(*plain, MustAdd(*plain, graph), {given});
  for (const SessionOptions& options : {SessionOptions(), WithoutPasses()}) {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, graph);
    const std::vector<HostTensor> made = CopiesOf(expected);
    const std::vector<TensorView> inputs = {{given.type, given.dims, pages.data()}};
    const Status ran = session->Run(id, inputs, Views(made));
    ASSERT_TRUE(ran.ok()) << ran.error().Text();
    for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(BytesOf(made[i]), BytesOf(expected[i]));
  }
}

}  // namespace caller_memory_test
}  // namespace plimsoll::engine
