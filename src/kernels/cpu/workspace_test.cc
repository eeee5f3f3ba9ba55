#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/random_nodes_for_tests.h"
#include "kernels/parallel.h"

// Workspaces: kernels keep to what a site allows them, give the same results then (a small one lies
// on the stack where there is no room), and need no more for longer sequences and larger images
// than for short and small ones.
namespace plimsoll::kernels::cpu {
namespace workspace_test {

using graph::DataType;

constexpr Bytes kUnlimited = Bytes(kSaturated);

struct Prepared {
  graph::Graph graph;
  HeapPackedWeights weights;
  std::vector<TensorInfo> outputs;
  KernelPointer kernel;
  Bytes read_and_written;
};

Result<std::unique_ptr<Prepared>> PrepareWithin(const Case& one, Bytes most) {
  auto prepared = std::make_unique<Prepared>();
  prepared->graph = one.node.Build(one.inputs);
  prepared->graph.nodes[0].version = one.node.version;
  graph::InferContext context(prepared->graph, graph::NodeId(0), nullptr);
  PLIMSOLL_TRY(graph::FindOperator(one.node.domain, one.node.op, one.node.version)->infer(context));
  KernelSite site{.graph = prepared->graph,
                  .id = graph::NodeId(0),
                  .inputs = {},
                  .outputs = {},
                  .packed_weights = &prepared->weights,
                  .most_workspace = most};
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const HostTensor& input = one.inputs[i];
    const bool known = one.constants.contains(i) || input.type == DataType::kInt64;
    site.inputs.push_back({.type = input.type,
                           .dims = input.dims,
                           .data = known ? input.data.get() : nullptr,
                           .constant = one.constants.contains(i)});
    if (site.inputs.back().present()) prepared->read_and_written += site.inputs.back().size();
  }
  for (const graph::ValueId id : prepared->graph.nodes[0].outputs) {
    const graph::ValueType& type = prepared->graph[id].type;
    site.outputs.push_back({.type = type.data_type, .dims = graph::StaticDims(*type.shape)});
    prepared->read_and_written += site.outputs.back().size();
  }
  PLIMSOLL_ASSIGN(prepared->kernel, PrepareKernel(site));
  prepared->outputs = site.outputs;
  return prepared;
}

// All elements of all outputs; the workspace is full of ones before the run, and so is what lies
// behind it, which must stay so.
Result<std::vector<double>> RunWithin(const Case& one, const Prepared& prepared) {
  constexpr int64_t kGuard = 256;
  std::vector<const void*> from;
  for (const HostTensor& input : one.inputs) from.push_back(input.data.get());
  std::vector<HostTensor> made;
  std::vector<void*> to;
  for (const TensorInfo& output : prepared.outputs) {
    made.push_back(*AllocateOnHeap(output.type, output.dims));
    to.push_back(made.back().data.get());
  }
  const int64_t size = prepared.kernel->workspace().value();
  const HostTensor workspace = *AllocateOnHeap(DataType::kUint8, {size + kGuard});
  auto* const bytes = static_cast<uint8_t*>(workspace.data.get());
  std::fill_n(bytes, size + kGuard, uint8_t{0xff});
  PLIMSOLL_TRY(prepared.kernel->Run({.inputs = from, .outputs = to, .workspace = bytes}));
  EXPECT_TRUE(std::all_of(bytes + size, bytes + size + kGuard, [](uint8_t b) { return b == 0xff; }))
      << one.name;
  std::vector<double> elements;
  for (const HostTensor& tensor : made) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      elements.push_back(LoadDouble(tensor.type, tensor.data.get(), i));
    }
  }
  return elements;
}

using Maker = Case (*)(Dice&);
struct Family {
  std::string name;
  Maker make;
  double tolerance;  // of sums that may be added in another order; 0: to the last bit
};

class WorkspaceOf : public testing::TestWithParam<Family> {};

TEST_P(WorkspaceOf, ShrinksWithoutChangingResults) {
  Dice dice(2026);
  for (int turn = 0; turn < 25; ++turn) {
    const ThreadScope threads(std::vector{3, 16, 1, 1, 1}[static_cast<size_t>(turn % 5)]);
    const Case one = GetParam().make(dice);
    const auto free = PrepareWithin(one, kUnlimited);
    ASSERT_TRUE(free.ok()) << one.name << ": " << free.error().Text();
    const Bytes wanted = (**free).kernel->workspace();
    const auto expected = RunWithin(one, **free);
    ASSERT_TRUE(expected.ok()) << one.name << ": " << expected.error().Text();
    for (const Bytes most : {Bytes(wanted.value() / 2), Bytes(4096), Bytes(0)}) {
      const auto bound = PrepareWithin(one, most);
      ASSERT_TRUE(bound.ok()) << one.name << ": " << bound.error().Text();
      const Bytes taken = (**bound).kernel->workspace();
      const std::string place =
          StrCat(one.name, " turn ", turn, " within ", most.value(), " by ",
                 (**bound).kernel->implementation(), ", else ", (**free).kernel->implementation());
      EXPECT_LE(taken, wanted) << place;
      if (most == Bytes(0)) {
        const int64_t whole = (**bound).read_and_written.value();
        EXPECT_LE(taken.value(), whole * one.least / 16) << place;
      }
      const auto made = RunWithin(one, **bound);
      ASSERT_TRUE(made.ok()) << one.name << ": " << made.error().Text();
      ASSERT_EQ(made->size(), expected->size());
      for (size_t i = 0; i < made->size(); ++i) {
        ASSERT_NEAR((*made)[i], (*expected)[i],
                    GetParam().tolerance * std::max(1.0, std::abs((*expected)[i])))
            << place << " element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, WorkspaceOf,
    testing::Values(Family{"Conv", RandomConv, 1e-4}, Family{"FusedConv", RandomFusedConv, 1e-4},
                    Family{"ConvTranspose", RandomConvTranspose, 2e-5},
                    Family{"Recurrent", RandomRecurrent, 2e-5}, Family{"MatMul", RandomMatMul, 0},
                    Family{"Gemm", RandomGemm, 0}, Family{"Einsum", RandomEinsum, 0},
                    Family{"Resize", RandomResize, 0}, Family{"TopK", RandomTopK, 0},
                    Family{"Attention", RandomAttention, 2e-5},
                    Family{"IntegerProduct", RandomIntegerProduct, 0},
                    Family{"IntegerConv", RandomIntegerConv, 0}, Family{"Loss", RandomLoss, 0}),
    [](const auto& family) { return family.param.name; });

// The same node over float64, which is convolved by the definition.
Case InDouble(Case one) {
  for (HostTensor& input : one.inputs) {
    HostTensor wide = *AllocateOnHeap(DataType::kFloat64, input.dims);
    const auto* const from = static_cast<const float*>(input.data.get());
    std::copy_n(from, input.elements(), static_cast<double*>(wide.data.get()));
    input = wide;
  }
  return one;
}

// A matrix in float64: 12,800 bytes, which may lie on the stack, and 80,000, which may not.
TEST(Workspace, ThatJustFitsIsTakenFromThePlanAndOneByteLessLiesOnTheStack) {
  const auto taken = [](int64_t side, Bytes most) {
    const Case one{"Det", {"Det", {}}, {Wavy({side, side}, 1)}};
    const auto prepared = PrepareWithin(one, most);
    if (!prepared.ok()) return Bytes(-1);
    const auto made = RunWithin(one, **prepared);
    const auto free = RunWithin(one, **PrepareWithin(one, kUnlimited));
    EXPECT_TRUE(made.ok() && free.ok() && *made == *free);
    return (**prepared).kernel->workspace();
  };
  EXPECT_EQ(taken(40, kUnlimited), Bytes(12800));
  EXPECT_EQ(taken(40, Bytes(12800)), Bytes(12800));
  EXPECT_EQ(taken(40, Bytes(12799)), Bytes(0));
  EXPECT_EQ(taken(40, Bytes(0)), Bytes(0));
  EXPECT_EQ(taken(100, Bytes(0)), Bytes(80000)) << "the least that it can do with";
}

TEST(Workspace, OfConvolutionsIsNoPriceForTheirDefinition) {
  Dice dice(11);
  for (int turn = 0; turn < 40; ++turn) {
    const Case one = turn % 2 == 0 ? RandomConvTranspose(dice) : RandomConv(dice);
    const Case wide = InDouble(one);
    const auto expected = RunWithin(wide, **PrepareWithin(wide, kUnlimited));
    ASSERT_TRUE(expected.ok()) << expected.error().Text();
    for (const Bytes most : {kUnlimited, Bytes(0)}) {
      const auto made = RunWithin(one, **PrepareWithin(one, most));
      ASSERT_TRUE(made.ok()) << made.error().Text();
      ASSERT_EQ(made->size(), expected->size());
      for (size_t i = 0; i < made->size(); ++i) {
        ASSERT_NEAR((*made)[i], (*expected)[i], 1e-4) << one.name << " turn " << turn;
      }
    }
  }
}

Bytes WorkspaceWithin(const Case& one, Bytes most) {
  const auto prepared = PrepareWithin(one, most);
  EXPECT_TRUE(prepared.ok()) << one.name;
  return prepared.ok() ? (**prepared).kernel->workspace() : kUnlimited;
}

Case Lstm(int64_t sequence) {
  return {"LSTM",
          {"LSTM", {{"hidden_size", int64_t{64}}}},
          {Wavy({sequence, 2, 32}), Wavy({1, 256, 32}, 1), Wavy({1, 256, 64}, 2)},
          {1, 2}};
}

TEST(Workspace, OfARecurrentLayerDoesNotGrowWithTheSequence) {
  EXPECT_LE(WorkspaceWithin(Lstm(20000), kUnlimited).value(), 384 << 10);
  EXPECT_EQ(WorkspaceWithin(Lstm(20000), Bytes(0)), Bytes(0));
}

Case UpConvolution(int64_t size) {
  return {"ConvTranspose",
          {"ConvTranspose", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
          {Wavy({1, 32, size, size}, 1), Wavy({32, 16, 2, 2}, 2)},
          {1}};
}

TEST(Workspace, OfATransposedConvolutionDoesNotGrowWithTheImage) {
  for (const int threads : {1, 2, 5, 16}) {
    const ThreadScope scope(threads);
    EXPECT_EQ(WorkspaceWithin(UpConvolution(256), kUnlimited),
              WorkspaceWithin(UpConvolution(32), kUnlimited));
    EXPECT_LE(WorkspaceWithin(UpConvolution(256), kUnlimited).value(), 512 << 10);
  }
}

Case PlainConvolution(int64_t size) {
  return {"Conv",
          {"Conv", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
          {Wavy({1, 16, size, size}, 1), Wavy({64, 16, 3, 3}, 2)},
          {1}};
}

TEST(Workspace, OfAConvolutionIsSmallWhereThatIsAskedFor) {
  // oneDNN takes more for each thread.
  const ThreadScope one(1);
  EXPECT_EQ(WorkspaceWithin(PlainConvolution(128), Bytes(0)), Bytes(0));
  // By default no more than the data itself in another form.
  const auto prepared = PrepareWithin(PlainConvolution(128), kUnlimited);
  ASSERT_TRUE(prepared.ok());
  EXPECT_LT((**prepared).kernel->workspace(), (**prepared).read_and_written);
}

TEST(Workspace, OfAProductIsBounded) {
  const Case one{"MatMul", {"MatMul", {}}, {Wavy({20, 3000}, 1), Wavy({3000, 2000}, 2)}};
  EXPECT_LE(WorkspaceWithin(one, kUnlimited).value(), 1 << 20);
  EXPECT_EQ(WorkspaceWithin(one, Bytes(0)), Bytes(0));
}

TEST(Workspace, OfAResizedImageIsAFewRows) {
  const Case one{"Resize",
                 {"Resize", {{"mode", std::string("linear")}}},
                 {Wavy({1, 1, 300, 200}), HostTensor(), Numbers<float>({4}, {1, 1, 2, 2})},
                 {2}};
  constexpr int64_t kRow = 400 * 4;
  EXPECT_LE(WorkspaceWithin(one, kUnlimited).value(), 4 * kRow);
}

// Keys of 4000 places: a row of scores for each of many queries is more than a stack holds.
TEST(Workspace, OfAttentionShrinksStepByStep) {
  const Case one{"Attention",
                 {"Attention", {}, 1, "", 23},
                 {Wavy({1, 1, 50, 8}, 1), Wavy({1, 1, 4000, 8}, 2), Wavy({1, 1, 4000, 8}, 3)}};
  const Bytes panels = WorkspaceWithin(one, kUnlimited);
  const Bytes pieces = WorkspaceWithin(one, panels - Bytes(1));
  EXPECT_LT(pieces, panels);
  EXPECT_GT(pieces, Bytes(0));
  EXPECT_EQ(WorkspaceWithin(one, Bytes(0)), Bytes(0));
}

TEST(Workspace, HasAPurposeWhereItGrowsWithTheNode) {
  const auto prepared = PrepareWithin(Lstm(64), kUnlimited);
  ASSERT_TRUE(prepared.ok());
  EXPECT_FALSE((**prepared).kernel->workspace_purpose().empty());
}

}  // namespace workspace_test
}  // namespace plimsoll::kernels::cpu
