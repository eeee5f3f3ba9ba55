#include "engine/graph/input_ranges.h"

#include <gtest/gtest.h>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/base/log.h"

// compile_dynamic_mode and dynamic_inputs_shape_range.
namespace plimsoll::engine {
namespace input_ranges_test {

using compile::FloatTensor;
using compile::With;
using config::DimRange;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr DimRange kAny = {0, std::nullopt};
constexpr DimRange Exactly(int64_t size) { return {size, size}; }

config::RunConfig Dynamic() {
  config::RunConfig config;
  config.compile_dynamic_mode = true;
  return config;
}

config::RunConfig Ranges(std::vector<std::vector<DimRange>> getnext,
                         std::vector<std::vector<DimRange>> data) {
  config::RunConfig config;
  config.dynamic_inputs_shape_range =
      config::ShapeRanges{.getnext = std::move(getnext), .data = std::move(data)};
  return config;
}

// A graph for x[4,6]: rows scaled by their number, which Shape works out and passes would fold.
Graph ByItsOwnSize() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4, 6}));
  const ValueId shape = builder.Node("Shape", {x});
  const ValueId rows = builder.Node("Gather", {shape, builder.Int64("first", 0)});
  const ValueId factor = builder.Node("Cast", {rows}, With("to", int64_t{1}));
  builder.Output(builder.Node("Mul", {builder.Node("Relu", {x}), factor}));
  return builder.Build();
}

TEST(InputRangesTest, R126_AStaticGraphRunsWithAnyShapeOnceAllSizesAreOpen) {
  const auto session = MakeSession(Under(Dynamic()));
  const GraphId id = MustAdd(*session, ByItsOwnSize());
  const std::vector<Port> inputs = *session->Inputs(id);
  for (const Dim& dim : *inputs[0].type.shape) EXPECT_FALSE(dim.is_number());
  for (const int64_t rows : {4, 1, 9}) {
    for (const int64_t columns : {6, 2}) {
      const HostTensor x = Random({rows, columns}, 3);
      const HostTensor y = MustRun(*session, id, {x})[0];
      EXPECT_EQ(y.dims, (kernels::Dims{rows, columns}));
      const std::vector<float> in = ElementsOf(x);
      const std::vector<float> out = ElementsOf(y);
      for (size_t i = 0; i < in.size(); ++i) {
        EXPECT_EQ(out[i], std::max(in[i], 0.0F) * static_cast<float>(rows)) << rows;
      }
    }
  }
  EXPECT_EQ(session->Memory(id)->plans, 6);
}

TEST(InputRangesTest, R126_WholeNetworksGiveWhatTheyGaveWithFixedSizes) {
  const auto near = [](const HostTensor& got, const HostTensor& expected) {
    const std::vector<float> a = ElementsOf(got);
    const std::vector<float> b = ElementsOf(expected);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
  };
  const HostTensor image = Random({1, 3, 20, 20}, 4);
  const auto fixed = MakeSession();
  const auto session = MakeSession(Under(Dynamic()));
  near(MustRun(*session, MustAdd(*session, ConvolutionalNetwork()), {image})[0],
       MustRun(*fixed, MustAdd(*fixed, ConvolutionalNetwork()), {image})[0]);
  const GraphId id = MustAdd(*session, TransformerLayer(2, 12));
  for (const int64_t rows : {5, 12, 30}) {
    const HostTensor x = Random({3, rows, kModelWidth}, 7);
    const auto open = MakeSession();
    const GraphId same = MustAdd(*open, TransformerLayer(Dim::Symbol("b"), Dim::Symbol("r")));
    near(MustRun(*session, id, {x})[0], MustRun(*open, same, {x})[0]);
  }
}

TEST(InputRangesTest, R127_WithoutItShapesStayAsTheyAre) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, ByItsOwnSize());
  EXPECT_EQ(Text((*session->Inputs(id))[0].type), "float32[4,6]");
  const auto refused = session->RunValues(id, Values({Random({5, 6}, 1)}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.shape");
}

TEST(InputRangesTest, R126_ConstantsMadeForTheOldShapeAreNamedWhenTheyRefuseAnother) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4, 6}));
  builder.Output(
      builder.Node("Reshape", {builder.Node("Relu", {x}), builder.Int64s("baked", {2, 12})}));
  const auto session = MakeSession(Under(Dynamic()));
  const GraphId id = MustAdd(*session, builder.Build());
  MustRun(*session, id, {Random({4, 6}, 1)});
  const auto refused = session->RunValues(id, Values({Random({5, 6}, 1)}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.shape_refused");
  EXPECT_NE(refused.error().where.find("Reshape"), std::string::npos) << refused.error().Text();
  EXPECT_NE(refused.error().why.find("x float32[4,6]"), std::string::npos);
  MustRun(*session, id, {Random({6, 4}, 1)});
}

TEST(InputRangesTest, R304_R306_ARunOutsideTheRangeIsRefusedWithTheRangeNamed) {
  const auto session = MakeSession(Under(Ranges({}, {{{3, 5}, kAny}})));
  const GraphId id = MustAdd(*session, ByItsOwnSize());
  for (const int64_t rows : {3, 4, 5}) MustRun(*session, id, {Random({rows, 11}, 1)});
  for (const int64_t rows : {0, 2, 6}) {
    const auto refused = session->RunValues(id, Values({Random({rows, 6}, 1)}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, "run.range");
    EXPECT_NE(refused.error().why.find("[3~5,-1]"), std::string::npos) << refused.error().why;
    const HostTensor given = Random({rows, 6}, 1);
    EXPECT_EQ(session->Compile(id, std::vector<TensorView>{View(given)}).error().code, "run.range");
  }
}

TEST(InputRangesTest, R306_ASizeGivenAsANumberIsFixed) {
  const auto session = MakeSession(Under(Ranges({}, {{Exactly(4), {1, 6}}})));
  const GraphId id = MustAdd(*session, ByItsOwnSize());
  EXPECT_EQ((*(*session->Inputs(id))[0].type.shape)[0], Dim(4));
  MustRun(*session, id, {Random({4, 2}, 1)});
  EXPECT_FALSE(session->RunValues(id, Values({Random({3, 2}, 1)})).ok());
}

// b[n] and a[m], in that order in the model.
Graph TwoInputs() {
  GraphBuilder builder;
  const ValueId b = builder.Input("b", FloatTensor({4}));
  const ValueId a = builder.Input("a", FloatTensor({4}));
  builder.Output(builder.Node("Concat", {b, a}, With("axis", int64_t{0})));
  return builder.Build();
}

TEST(InputRangesTest,
     R309_R311_PlaceholdersAreMeantInAlphabeticalOrderAndDatasetInputsInTheModels) {
  const auto accepts = [](const config::RunConfig& config, int64_t b, int64_t a) {
    const auto session = MakeSession(Under(config));
    const GraphId id = MustAdd(*session, TwoInputs());
    return session->RunValues(id, Values({Random({b}, 1), Random({a}, 1)})).ok();
  };
  const std::vector<DimRange> small = {{1, 2}};
  const std::vector<DimRange> large = {{7, 8}};
  EXPECT_TRUE(accepts(Ranges({}, {small, large}), 7, 2)) << "the first is of 'a'";
  EXPECT_FALSE(accepts(Ranges({}, {small, large}), 2, 7));
  EXPECT_TRUE(accepts(Ranges({small, large}, {}), 2, 7)) << "the first is of 'b'";
  EXPECT_FALSE(accepts(Ranges({small, large}, {}), 7, 2));
  EXPECT_TRUE(accepts(Ranges({small}, {large}), 2, 7)) << "the dataset's inputs come first";
}

// A constant shape in the model contradicts the opened input when the model is loaded.
TEST(InputRangesTest, ARangeThatTheModelCannotTakeIsToldWhenItIsLoaded) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({2, 3}));
  const graph::ValueId w = builder.Float32s("w", {3, 1}, {1, 2, 3});
  builder.Output(builder.Node("MatMul", {x, w}));
  config::RunConfig config;
  config.dynamic_inputs_shape_range.emplace();
  config.dynamic_inputs_shape_range->data = {{{.least = 1, .most = 4}, {.least = 5, .most = 5}}};
  const auto session = MakeSession(Under(config));
  const auto added = session->Add(builder.Build());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "run.shape_refused");
  EXPECT_NE(added.error().why.find("x float32[2,3]"), std::string::npos) << added.error().why;
}

TEST(InputRangesTest, R313_RangesActOnOneGraphAndTheNextIsWarnedOf) {
  const auto session = MakeSession(Under(Ranges({}, {{{2, 8}, Exactly(6)}})));
  const GraphId first = MustAdd(*session, ByItsOwnSize());
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const GraphId second = MustAdd(*session, ByItsOwnSize());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("dynamic_inputs_shape_range acts on one graph"), std::string::npos);
  EXPECT_NE(lines[0].find("set_graph_exec_config"), std::string::npos);
  EXPECT_EQ(*session->Shapes(first), GraphShapes::kDynamic);
  EXPECT_EQ(*session->Shapes(second), GraphShapes::kStatic);
}

TEST(InputRangesTest, R307_RangesThatDoNotFitTheModelAreRefused) {
  struct Case {
    config::RunConfig config;
    const char* why;
  };
  for (const Case& bad :
       {Case{Ranges({}, {{kAny, kAny}, {kAny}}), "1 inputs"}, Case{Ranges({}, {}), "0 shapes"},
        Case{Ranges({}, {{kAny}}), "float32[4,6]"},
        Case{Ranges({{kAny, kAny, kAny}}, {}), "[-1,-1,-1]"}}) {
    const auto session = MakeSession(Under(bad.config));
    const auto added = session->Add(ByItsOwnSize());
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, "config.shape_range");
    EXPECT_NE(added.error().why.find(bad.why), std::string::npos) << added.error().why;
  }
}

}  // namespace input_ranges_test
}  // namespace plimsoll::engine
