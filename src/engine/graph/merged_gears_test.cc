#include <gtest/gtest.h>

#include <algorithm>

#include "engine/graph/gears.h"
#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/plan/dynamic_batch_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

// Gears as batches: continuous inputs in merged blocks, a strategy for each gear.
namespace plimsoll::engine {
namespace merged_gears_test {

using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kWidth = 64;
const std::vector<int64_t> kGears = {1, 4, 9};

// Two values that a difference needs side by side, then products, and the same once more.
Graph Differences(MemoryAttributes::Continuous continuous) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({Dim::Symbol("batch"), kWidth}));
  const ValueId w = RandomWeights(builder, "w", {kWidth, kWidth}, 3);
  const ValueId up = RandomWeights(builder, "up", {kWidth, 3 * kWidth}, 4);
  const ValueId down = RandomWeights(builder, "down", {3 * kWidth, kWidth}, 5);
  ValueId y = x;
  std::vector<ValueId> differences;
  for (int i = 0; i < 2; ++i) {
    const ValueId left = builder.Node("MatMul", {y, w});
    const ValueId right = builder.Node("Softmax", {y}, compile::With("axis", int64_t{-1}));
    y = builder.Node("Sub", {left, right});
    differences.push_back(y);
    for (int j = 0; j < 3; ++j) y = builder.Node("MatMul", {builder.Node("Tanh", {y}), w});
    const ValueId wide = builder.Node("Tanh", {builder.Node("MatMul", {y, up})});
    y = builder.Node("MatMul", {wide, down});
  }
  builder.Output(builder.Node("MatMul", {y, w}));
  Graph graph = builder.Build();
  for (const ValueId value : differences) {
    graph[graph[value].producer].memory.continuous_input = continuous;
  }
  return graph;
}

HostTensor Rows(int64_t batch) { return Random({batch, kWidth}, 5); }

config::RunConfig WithGears(const std::vector<int64_t>& batches = kGears) {
  config::RunConfig config;
  config.dynamic_dims = Join(batches, ";");
  return config;
}

std::vector<std::shared_ptr<const Executable>> Compiled(const Graph& graph,
                                                        const config::RunConfig& config) {
  const auto session = MakeSession(Under(config));
  const GraphId id = MustAdd(*session, graph);
  std::vector<std::shared_ptr<const Executable>> gears;
  for (const int64_t batch : kGears) {
    const HostTensor x = Rows(batch);
    gears.push_back(*session->Compile(id, std::vector<TensorView>{View(x)}));
  }
  return gears;
}

const plan::MemoryPlan& PlanOf(const Executable& executable) {
  return executable.model().planned.plan;
}

// One past the highest byte that a buffer of the gear's feature map uses.
int64_t TopOf(const Executable& executable) {
  const auto& planned = executable.model().planned;
  const auto& buffers = planned.buffers.problem.buffers;
  int64_t top = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].region != planned.buffers.feature_map) continue;
    top = std::max(top, (planned.plan.offsets[i] + buffers[i].size).value());
  }
  return top;
}

TEST(MergedGearsTest, R44_ContinuousInputsOfGearsFormOneBlockEachAlignedToItsStart) {
  const auto gears = Compiled(Differences(MemoryAttributes::Continuous::kPadded), WithGears());
  std::vector<std::vector<int64_t>> starts;
  for (const auto& gear : gears) {
    const auto& blocks = PlanOf(*gear).merged_blocks;
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].offset, PlanOf(*gears[0]).merged_blocks[0].offset);
    EXPECT_EQ(blocks[0].size, PlanOf(*gears[0]).merged_blocks[0].size);
    EXPECT_EQ(blocks[0].groups.size(), 2U);
    std::vector<int64_t>& own = starts.emplace_back();
    const auto& problem = gear->model().planned.buffers.problem;
    for (const uint32_t group : blocks[0].groups) {
      own.push_back(PlanOf(*gear).offsets[problem.contiguous[group].members[0].index()].value());
    }
  }
  EXPECT_EQ(starts[0], starts[1]) << "the first groups share a row, and so do the second";
  EXPECT_EQ(starts[0], starts[2]);
  EXPECT_EQ(PlanOf(*gears[0]).merged_blocks[0].size,
            Bytes(2 * 2 * Bytes(9 * kWidth * 4).RoundUp(512).value()));
}

TEST(MergedGearsTest, R45_TheMergedBlockIsNobodyElsesAndGraphMemoryTellsItsCost) {
  const Graph graph = Differences(MemoryAttributes::Continuous::kPadded);
  config::RunConfig unmerged = WithGears();
  unmerged.merge_continuous_batches = false;
  const auto merged = Compiled(graph, WithGears());
  const auto free = Compiled(graph, unmerged);
  EXPECT_TRUE(PlanOf(*free[0]).merged_blocks.empty());
  const Bytes cost = PeakOf(*merged[0]) - PeakOf(*free[0]);
  EXPECT_GT(cost, Bytes(0));
  for (const auto& gear : merged) {
    EXPECT_EQ(PlanOf(*gear).merged_cost(), cost);
    const auto& planned = gear->model().planned;
    ASSERT_EQ(planned.plan.merged_blocks.size(), 1U);
    const plan::MergedBlock& block = planned.plan.merged_blocks[0];
    std::vector<bool> member(planned.buffers.problem.buffers.size());
    for (const uint32_t group : block.groups) {
      for (const auto id : planned.buffers.problem.contiguous[group].members)
        member[id.index()] = true;
    }
    int others = 0;
    for (size_t i = 0; i < member.size(); ++i) {
      const plan::Buffer& buffer = planned.buffers.problem.buffers[i];
      if (member[i] || buffer.region != planned.buffers.feature_map) continue;
      ++others;
      const Offset at = planned.plan.offsets[i];
      EXPECT_TRUE(at + buffer.size <= block.offset || at >= block.offset + block.size)
          << buffer.name;
    }
    EXPECT_GT(others, 0);
  }
  const auto session = MakeSession(Under(WithGears()));
  const GraphId id = MustAdd(*session, graph);
  MustRun(*session, id, {Rows(4)});
  EXPECT_EQ(session->Memory(id)->merged_cost, cost);
  EXPECT_EQ(session->Memory(id)->merged_blocks, PlanOf(*merged[0]).merged_size());
  for (const int64_t batch : kGears) {
    ExpectSameBytes(graph, {Rows(batch)}, Under(WithGears()));
    ExpectSameBytes(graph, {Rows(batch)}, Under(unmerged));
  }
}

// A joined buffer's pieces form a group too, which no operator asked for.
TEST(MergedGearsTest, R44_PiecesOfAConcatAreNoContinuousInputs) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({Dim::Symbol("batch"), kWidth}));
  const ValueId w = RandomWeights(builder, "w", {kWidth, kWidth}, 3);
  const ValueId a = builder.Node("MatMul", {x, w});
  const ValueId b = builder.Node("MatMul", {builder.Node("Tanh", {a}), w});
  ValueId y = builder.Node("Concat", {a, b}, compile::With("axis", int64_t{0}));
  for (int i = 0; i < 3; ++i) y = builder.Node("MatMul", {builder.Node("Tanh", {y}), w});
  builder.Output(y);
  const Graph graph = builder.Build();
  config::RunConfig unmerged = WithGears();
  unmerged.merge_continuous_batches = false;
  const auto gears = Compiled(graph, WithGears());
  const auto free = Compiled(graph, unmerged);
  for (size_t i = 0; i < gears.size(); ++i) {
    EXPECT_FALSE(gears[i]->model().planned.buffers.problem.contiguous.empty());
    EXPECT_TRUE(PlanOf(*gears[i]).merged_blocks.empty());
    EXPECT_EQ(PeakOf(*gears[i]), PeakOf(*free[i]));
  }
}

// Groups of bytes: one of 1 MiB in every gear, and one of n + 1 bytes.
Graph Groups(int64_t first) {
  GraphBuilder builder;
  const auto bytes = [&](const char* name, const Dim& size) {
    const auto type = graph::ValueType::Tensor(graph::DataType::kInt8, graph::Shape{size});
    return builder.Node("Neg", {builder.Input(name, type)});
  };
  std::vector<ValueId> sums;
  for (const Dim& size : {Dim(first - 1), Dim::Symbol("n")}) {
    const std::string name = sums.empty() ? "first" : "second";
    const ValueId longer = bytes(name.c_str(), size);
    const ValueId shorter = bytes((name + "_byte").c_str(), Dim(1));
    sums.push_back(builder.Node("Add", {longer, shorter}));
  }
  for (const ValueId sum : sums) builder.Output(builder.Node("Neg", {sum}));
  Graph graph = builder.Build();
  for (const ValueId sum : sums) {
    graph[graph[sum].producer].memory.continuous_input = MemoryAttributes::Continuous::kUnpadded;
  }
  return graph;
}

TEST(MergedGearsTest, R46_AMergedBlockOfGearsHoldsAtMost400MB) {
  constexpr int64_t kFirst = int64_t{1} << 20;
  for (const int64_t difference : {-1, 0, 1}) {
    const int64_t n = plan::kMaxSplitSizeForDynamicBatch - kFirst + difference - 1;
    const auto session = MakeSession(Under(WithGears({1000, n})));
    const GraphId id = MustAdd(*session, Groups(kFirst));
    std::vector<TensorView> inputs;
    for (const int64_t size : {kFirst - 1, int64_t{1}, n, int64_t{1}}) {
      inputs.push_back({graph::DataType::kInt8, {size}, nullptr});
    }
    const auto gear = *session->Compile(id, inputs);
    ASSERT_NE(gear, nullptr);
    EXPECT_EQ(PlanOf(*gear).merged_blocks.size(), difference > 0 ? 2U : 1U) << difference;
  }
}

TEST(MergedGearsTest, R43_GearsMayUseDifferentStrategies) {
  const Graph graph = Differences(MemoryAttributes::Continuous::kNone);
  config::RunConfig config = WithGears();
  const auto same = Compiled(graph, config);
  config.batch_strategies["batch=4"] = config::BlockReuse{{}, {}, {}, false};
  config.batch_strategies["batch=9"] = std::nullopt;
  const auto different = Compiled(graph, config);
  EXPECT_EQ(TopOf(*different[0]), TopOf(*same[0]));
  EXPECT_GT(TopOf(*different[1]), TopOf(*same[1])) << "its blocks lie one behind the other";
  EXPECT_EQ(TopOf(*different[2]), TopOf(*same[2]));
  for (const int64_t batch : kGears) ExpectSameBytes(graph, {Rows(batch)}, Under(config));
  config.batch_strategies["batch=5"] = std::nullopt;
  const auto unknown = Compiled(graph, config);
  const auto& notes = unknown[0]->model().planned.buffers.notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const auto& note) { return note.value == "batch=5"; }));
}

TEST(MergedGearsTest, R43_TheKnobsOfAllBatchesReachGearsToo) {
  const Graph graph = Differences(MemoryAttributes::Continuous::kPadded);
  config::RunConfig config = WithGears();
  const auto same = Compiled(graph, config);
  config.block_reuse.memory_priority_mode = false;
  const auto blocks = Compiled(graph, config);
  for (size_t i = 0; i < kGears.size(); ++i) {
    EXPECT_GT(TopOf(*blocks[i]), TopOf(*same[i]));
    EXPECT_EQ(PlanOf(*blocks[i]).merged_blocks.size(), 1U);
    ExpectSameBytes(graph, {Rows(kGears[i])}, Under(config));
  }
}

TEST(MergedGearsTest, GearsThatShareNoMemoryAreSeparate) {
  const Graph graph = Differences(MemoryAttributes::Continuous::kNone);
  config::RunConfig config = WithGears();
  config.batches_share_memory = false;
  int64_t sum = 0;
  const auto gears = Compiled(graph, config);
  for (const auto& gear : gears) {
    const auto& planned = gear->model().planned;
    for (const plan::Buffer& buffer : planned.buffers.problem.buffers) {
      if (buffer.region == planned.buffers.feature_map) sum += buffer.size.RoundUp(512).value();
    }
  }
  EXPECT_EQ(PeakOf(*gears[0]), Bytes(sum));
  for (const int64_t batch : kGears) ExpectSameBytes(graph, {Rows(batch)}, Under(config));
}

// Labels inside a gear: what its nodes make counts as living together.
TEST(MergedGearsTest, R42_LabelsInsideAGearDoNotOverlay) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({Dim::Symbol("batch"), kWidth}));
  const ValueId w = RandomWeights(builder, "w", {kWidth, kWidth}, 3);
  const ValueId common = builder.Node("MatMul", {x, w});
  std::vector<std::pair<graph::NodeId, std::string>> labels;
  for (const char* label : {"b0", "b1"}) {
    ValueId y = common;
    for (int i = 0; i < 4; ++i) {
      y = builder.Node("MatMul", {y, w});
      labels.emplace_back(builder.graph()[y].producer, label);
    }
    builder.Output(y);
  }
  Graph graph = builder.Build();
  for (const auto& [node, label] : labels) graph[node].memory.batch_label = label;
  for (const auto& gear : Compiled(graph, WithGears())) {
    const auto& planned = gear->model().planned;
    plan::Problem unlabelled = planned.buffers.problem;
    for (plan::Buffer& buffer : unlabelled.buffers) buffer.batch = {};
    const Status verified = plan::Verify(unlabelled, planned.plan);
    EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().Text());
  }
}

}  // namespace merged_gears_test
}  // namespace plimsoll::engine
