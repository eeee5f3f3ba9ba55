#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "engine/session_for_tests.h"

// Models whose sizes are the caller's choice: a plan for each set of shapes.
namespace plimsoll::engine {
namespace dynamic_shapes_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

constexpr int64_t kWidth = 8;

std::vector<float> Weights() { return ElementsOf(Random({kWidth, kWidth}, 11)); }

// softmax(x w) joined with what came before along the second axis: [batch,past+rows,8].
Graph Joining() {
  GraphBuilder builder;
  const Dim batch = Dim::Symbol("batch");
  const ValueId x = builder.Input("x", FloatTensor({batch, Dim::Symbol("rows"), kWidth}));
  const ValueId past = builder.Input("past", FloatTensor({batch, Dim::Symbol("past"), kWidth}));
  const ValueId w = builder.Float32s("w", {kWidth, kWidth}, Weights());
  const ValueId y =
      builder.Node("Softmax", {builder.Node("MatMul", {x, w})}, With("axis", int64_t{-1}));
  builder.Output(builder.Node("Concat", {past, y}, With("axis", int64_t{1})));
  return builder.Build();
}

std::vector<float> Expected(const HostTensor& x, const HostTensor& past) {
  const std::vector<float> w = Weights();
  const std::vector<float> in = ElementsOf(x);
  const std::vector<float> before = ElementsOf(past);
  std::vector<float> out;
  const auto rows = static_cast<size_t>(x.dims[1]);
  const auto kept = static_cast<size_t>(past.dims[1]) * kWidth;
  for (size_t item = 0; item < static_cast<size_t>(x.dims[0]); ++item) {
    const auto first = before.begin() + static_cast<int64_t>(item * kept);
    out.insert(out.end(), first, first + static_cast<int64_t>(kept));
    for (size_t row = item * rows; row < (item + 1) * rows; ++row) {
      std::vector<double> sums(kWidth, 0);
      double total = 0;
      for (size_t j = 0; j < kWidth; ++j) {
        for (size_t k = 0; k < kWidth; ++k) sums[j] += in[row * kWidth + k] * w[k * kWidth + j];
        total += std::exp(sums[j]);
      }
      for (const double sum : sums) out.push_back(static_cast<float>(std::exp(sum) / total));
    }
  }
  return out;
}

void ExpectRight(Session& session, GraphId id, int64_t batch, int64_t rows, int64_t past) {
  const HostTensor x = Random({batch, rows, kWidth}, static_cast<uint32_t>(100 * batch + rows));
  const HostTensor before = Random({batch, past, kWidth}, static_cast<uint32_t>(past));
  const auto outputs = MustRun(session, id, {x, before});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].dims, (kernels::Dims{batch, past + rows, kWidth}));
  const std::vector<float> got = ElementsOf(outputs[0]);
  const std::vector<float> expected = Expected(x, before);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5) << i;
}

TEST(DynamicShapesTest, EverySetOfShapesGivesTheRightResults) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Joining());
  for (const int64_t batch : {1, 3}) {
    for (const int64_t rows : {1, 2, 17}) {
      for (const int64_t past : {0, 1, 30}) ExpectRight(*session, id, batch, rows, past);
    }
  }
  EXPECT_EQ(session->Memory(id)->plans, 18);
}

// People read min(1, n) as 1; a run with no rows still gets 0.
TEST(DynamicShapesTest, ASizeOfZeroRunsAlthoughSymbolsReadAsAtLeastOne) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), kWidth}));
  const ValueId rows =
      builder.Node("Gather", {builder.Node("Shape", {x}), builder.Int64s("first", {0})});
  const ValueId least = builder.Node("Min", {rows, builder.Int64s("one", {1})});
  const ValueId sevens = builder.Node("Expand", {builder.Float32s("seven", {1}, {7.0f}), least});
  builder.Output(sevens);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (const int64_t n : {3, 0, 1}) {
    const auto outputs = MustRun(*session, id, {Random({n, kWidth}, 5)});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].dims, (kernels::Dims{std::min<int64_t>(n, 1)})) << n << " rows";
  }
}

TEST(DynamicShapesTest, NoMorePlansAreKeptThanAskedFor) {
  for (const size_t kept : {0, 1, 3}) {
    SessionOptions options;
    options.load.kept_plans = kept;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Joining());
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t rows = 1; rows <= 6; ++rows) {
        ExpectRight(*session, id, 1, rows, 2);
        EXPECT_LE(session->Memory(id)->plans, static_cast<int>(std::max<size_t>(kept, 1)));
      }
    }
  }
}

TEST(DynamicShapesTest, ThePlanUnusedForLongestGoesFirst) {
  SessionOptions options;
  options.load.kept_plans = 2;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Joining());
  const auto compiled = [&](int64_t rows) {
    const HostTensor x = Random({1, rows, kWidth}, 1);
    const HostTensor past = Random({1, 1, kWidth}, 1);
    return *session->Compile(id, std::vector<TensorView>{View(x), View(past)});
  };
  const auto one = compiled(1);
  const auto two = compiled(2);
  EXPECT_EQ(compiled(1), one);
  const auto three = compiled(3);
  EXPECT_EQ(compiled(1), one) << "it was used after the plan for 2";
  EXPECT_NE(compiled(2), two);
}

TEST(DynamicShapesTest, MemoryIsThatOfTheLargestPlanAndDoesNotGrowOnceAllWereSeen) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Joining());
  Bytes largest;
  Bytes after_first_pass;
  for (int pass = 0; pass < 3; ++pass) {
    for (const int64_t rows : {64, 3, 200, 7, 100}) {
      ExpectRight(*session, id, 2, rows, 5);
      const GraphMemory memory = *session->Memory(id);
      largest = std::max(largest, memory.planned_peak);
      EXPECT_GE(session->Memory().feature_maps_reserved, memory.planned_peak);
    }
    const Bytes reserved = session->Memory().feature_maps_reserved;
    if (pass == 0) after_first_pass = reserved;
    EXPECT_EQ(reserved, after_first_pass);
  }
  EXPECT_GT(largest, Bytes(0));
  EXPECT_LE(after_first_pass.value() * 10, largest.value() * 11);
}

// A target shape that the model works out from the sizes of its input.
TEST(DynamicShapesTest, ShapesThatAreWorkedOutArePlannedToo) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("a"), Dim::Symbol("b")}));
  const ValueId shape = builder.Node("Shape", {x});
  const ValueId elements = builder.Node("ReduceProd", {shape}, With("keepdims", int64_t{1}));
  const ValueId flat = builder.Node("Reshape", {builder.Node("Relu", {x}), elements});
  builder.Output(builder.Node("Add", {flat, builder.Float32s("one", {}, {1})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({2, 2}, {1, -2, 3, -4})})[0]),
            (std::vector<float>{2, 1, 4, 1}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({1, 3}, {5, 6, -7})})[0]),
            (std::vector<float>{6, 7, 1}));
}

TEST(DynamicShapesTest, SizesThatOnlyDataTellsAreRunNodeByNode) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n")}));
  builder.Output(builder.Node("NonZero", {builder.Node("Relu", {x})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({4}, {1, -2, 3, 4})})[0]),
              (std::vector<float>{0, 2, 3}));
    EXPECT_EQ(MustRun(*session, id, {Floats({2}, {-1, -2})})[0].dims, (kernels::Dims{1, 0}));
  }
  const HostTensor given = Floats({1}, {1});
  std::string reason;
  const auto compiled = session->Compile(id, std::vector<TensorView>{View(given)}, &reason);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(*compiled, nullptr);
  EXPECT_NE(reason.find("NonZero"), std::string::npos) << reason;
}

// Two inputs share a symbol: sizes that contradict each other are an error, not a crash.
TEST(DynamicShapesTest, ContradictingSizesAreRefused) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Joining());
  const auto run = [&](int64_t batch, int64_t other) {
    return session->RunValues(
        id, Values({Random({batch, 1, kWidth}, 1), Random({other, 1, kWidth}, 1)}));
  };
  EXPECT_FALSE(run(2, 3).ok());
  EXPECT_FALSE(run(3, 2).ok());
  ExpectRight(*session, id, 2, 1, 1);
}

// How many of three convolutions in a row oneDNN runs.
int64_t ConvolutionsOfOnednn(const Dim& batch, const Dim& height) {
  GraphBuilder builder;
  ValueId y = builder.Input("x", FloatTensor({batch, 32, height, 16}));
  for (int i = 0; i < 3; ++i) {
    const std::string name = "w" + std::to_string(i);
    const ValueId w = builder.Float32s(name, {32, 32, 3, 3}, ElementsOf(Random({32, 32, 3, 3}, 3)));
    y = builder.Node("Conv", {y, w}, With("pads", Ints{1, 1, 1, 1}));
  }
  builder.Output(y);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor x = Random({1, 32, 16, 16}, 1);
  const auto executable = Must(session->Compile(id, std::vector<TensorView>{View(x)}));
  return std::ranges::count_if(executable->model().kernels, [](const auto& kernel) {
    return kernel != nullptr && kernel->implementation().starts_with("jit");
  });
}

TEST(DynamicShapesTest, OnlyOpenSizesBesidesTheBatchAskForKernelsThatAreSoonPrepared) {
  EXPECT_EQ(ConvolutionsOfOnednn(Dim::Symbol("batch"), 16), ConvolutionsOfOnednn(1, 16));
  EXPECT_LT(ConvolutionsOfOnednn(1, Dim::Symbol("height")), ConvolutionsOfOnednn(1, 16));
}

// A run that grows a tensor of `rows` rows; where its result lies.
const void* PlaceOfResult(Session& session, GraphId id, int64_t rows) {
  const HostTensor x = Random({1, 1, kWidth}, 1);
  const HostTensor past = Random({1, rows, kWidth}, 2);
  const auto made = Must(session.RunValues(id, Values({x, past})));
  const std::vector<float> elements = ElementsOf(made[0].tensor);
  const std::vector<float> before = ElementsOf(past);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), elements.begin()));
  return made[0].tensor.data.get();
}

TEST(DynamicShapesTest, PagesOfAResultThatNobodyHoldsServeTheNext) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Joining());
  const void* const first = PlaceOfResult(*session, id, 4000);
  EXPECT_EQ(PlaceOfResult(*session, id, 4001), first);
  EXPECT_EQ(PlaceOfResult(*session, id, 3999), first);
  unsigned char resident = 0;
  ASSERT_EQ(mincore(const_cast<void*>(first), 1, &resident), 0);
  ASSERT_TRUE(session->Trim().ok());
  EXPECT_EQ(mincore(const_cast<void*>(first), 1, &resident), -1) << "no memory is there any more";
}

}  // namespace dynamic_shapes_test
}  // namespace plimsoll::engine
