#include "engine/graph/gears.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// Sets of shapes that are compiled when a model is loaded, in one arena.
namespace plimsoll::engine {
namespace gears_test {

using graph::Dim;
using graph::Graph;
using kernels::HostTensor;
using Lists = std::vector<std::vector<int64_t>>;

Graph Layer() { return TransformerLayer(Dim::Symbol("batch"), Dim::Symbol("rows")); }

HostTensor Rows(int64_t batch, int64_t rows) { return Random({batch, rows, kModelWidth}, 5); }

SessionOptions WithGears(const Lists& gears) {
  std::vector<std::string> texts;
  for (const auto& gear : gears) texts.push_back(Join(gear, ","));
  config::RunConfig config;
  config.dynamic_dims = Join(texts, ";");
  return Under(config);
}

const Lists kThree = {{1, 8}, {2, 40}, {4, 16}};

TEST(GearsTest, EveryGearIsCompiledWhenTheModelIsLoaded) {
  const auto session = MakeSession(WithGears(kThree));
  const GraphId id = MustAdd(*session, Layer());
  EXPECT_EQ(session->Memory(id)->plans, 3);
  for (const auto& gear : kThree)
    ExpectSameBytes(Layer(), {Rows(gear[0], gear[1])}, WithGears(kThree));
}

TEST(GearsTest, AllGearsRunInOneArenaAsLargeAsTheLargestOfThem) {
  Graph copied = Layer();
  copied.metadata.emplace_back("plimsoll.multi_batch_shape", "x");
  const auto alone = MakeSession();
  const GraphId free = MustAdd(*alone, std::move(copied));
  Bytes largest;
  for (const auto& gear : kThree) {
    MustRun(*alone, free, {Rows(gear[0], gear[1])});
    largest = std::max(largest, alone->Memory(free)->planned_peak);
  }
  const auto session = MakeSession(WithGears(kThree));
  const GraphId id = MustAdd(*session, Layer());
  Bytes reserved;
  for (const auto& gear : kThree) {
    MustRun(*session, id, {Rows(gear[0], gear[1])});
    EXPECT_EQ(session->Memory(id)->planned_peak, largest);
    const Bytes now = session->Memory().feature_maps_reserved;
    if (reserved == Bytes(0)) reserved = now;
    EXPECT_EQ(now, reserved) << "the first run took all that any gear needs";
  }
}

TEST(GearsTest, AShapeThatIsNoGearIsCompiledWhenItComes) {
  SessionOptions options = WithGears(kThree);
  options.load.kept_plans = 1;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Layer());
  const auto compiled = [&](int64_t batch, int64_t rows) {
    const HostTensor x = Rows(batch, rows);
    return *session->Compile(id, std::vector<TensorView>{View(x)});
  };
  const auto gear = compiled(2, 40);
  const auto other = compiled(2, 39);
  EXPECT_NE(other, gear) << "no padding";
  EXPECT_NE(compiled(3, 3), nullptr);
  EXPECT_EQ(session->Memory(id)->plans, 4) << "one in addition to the gears";
  EXPECT_EQ(compiled(2, 40), gear) << "gears stay";
  EXPECT_NE(compiled(2, 39), other);
  ExpectSameBytes(Layer(), {Rows(2, 39)}, options);
}

TEST(GearsTest, TheModelItselfMayListThem) {
  Graph graph = Layer();
  graph.metadata.emplace_back("plimsoll.dynamic_dims", "1,8;2,40;");
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  EXPECT_EQ(session->Memory(id)->plans, 2);
}

TEST(GearsTest, GearsThatClearMemoryOrShareNoneAreVerifiedTogetherToo) {
  SessionOptions options = WithGears(kThree);
  options.config.disable_reuse_memory = true;
  for (const auto& gear : kThree) ExpectSameBytes(Layer(), {Rows(gear[0], gear[1])}, options);
  Graph graph = Layer();
  graph[graph.root().nodes[0]].memory.needs_clearing = {0};
  for (const auto& gear : kThree)
    ExpectSameBytes(graph, {Rows(gear[0], gear[1])}, WithGears(kThree));
}

// x + bias, of which x has a shape in each gear and the bias has not.
Graph Biased() {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({Dim::Symbol("batch"), 64}));
  const graph::ValueId bias = builder.Input("bias", compile::FloatTensor({64}));
  const graph::ValueId sum = builder.Node("Add", {builder.Node("Tanh", {x}), bias});
  builder.Output(builder.Node("Softmax", {sum}, compile::With("axis", int64_t{-1})));
  return builder.Build();
}

std::vector<HostTensor> BiasedInputs(int64_t batch) {
  return {Random({batch, 64}, 1), Random({64}, 2)};
}

TEST(GearsTest, R58_InputsWhoseShapeDiffersBetweenGearsAreCopied) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(WithGears({{2}, {5}}));
  const GraphId id = MustAdd(*session, Biased());
  for (const int64_t batch : {2, 5, 3}) {
    const std::vector<HostTensor> inputs = BiasedInputs(batch);
    MustRun(*session, id, inputs);
    const auto ports = session->LastRun(id)->ports;
    EXPECT_EQ(ports.inputs[0].how, compile::PortUse::How::kCopied) << batch;
    EXPECT_EQ(ports.inputs[0].reason,
              "it carries multi-batch shapes: the gears determine its sizes");
    EXPECT_TRUE(ports.inputs[1].in_place());
    const auto executable = *session->Compile(id, Views(inputs));
    const auto& notes = executable->model().planned.buffers.notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
      return note.value == "x" && note.text.find("multi-batch") != std::string::npos;
    }));
    ExpectSameBytes(Biased(), inputs, WithGears({{2}, {5}}));
  }
}

TEST(GearsTest, R58_InputsThatTheModelNamesAreCopiedUnderGearsToo) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  Graph graph = Biased();
  graph.metadata.emplace_back("plimsoll.multi_batch_shape", "bias");
  const auto session = MakeSession(WithGears({{2}, {5}}));
  const GraphId id = MustAdd(*session, graph);
  MustRun(*session, id, BiasedInputs(5));
  const auto ports = session->LastRun(id)->ports;
  EXPECT_FALSE(ports.inputs[0].in_place());
  EXPECT_FALSE(ports.inputs[1].in_place());
  EXPECT_EQ(ports.inputs[1].reason, "it carries multi-batch shapes");
  ExpectSameBytes(graph, BiasedInputs(5), WithGears({{2}, {5}}));
}

TEST(GearsTest, R58_OneGearHasOneShapeAndNothingIsCopied) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(WithGears({{5}}));
  const GraphId id = MustAdd(*session, Biased());
  MustRun(*session, id, BiasedInputs(5));
  EXPECT_TRUE(session->LastRun(id)->ports.inputs[0].in_place());
}

TEST(GearsTest, LabelsNameTheSizes) {
  Graph graph = Layer();
  ASSERT_TRUE(compile::InferShapes(graph).ok());
  const auto gears = ReadGears(graph, "4,16");
  ASSERT_TRUE(gears.ok());
  ASSERT_EQ(gears->size(), 1U);
  EXPECT_EQ((*gears)[0].label, "batch=4,rows=16");
  EXPECT_EQ((*gears)[0].dims[0], (kernels::Dims{4, 16, kModelWidth}));
}

// dynamic_dims and dynamic_inputs_shape_range: the first rules.
TEST(GearsTest, R314_RangesHaveNoEffectWithGears) {
  SessionOptions options = WithGears(kThree);
  options.config.dynamic_inputs_shape_range =
      config::ShapeRanges{.getnext = {}, .data = {{{9, 9}, {9, 9}, {9, 9}}}};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Layer());
  MustRun(*session, id, {Rows(1, 8)});
}

TEST(GearsTest, AnInputThatDiffersInAnyGearDiffers) {
  const auto gear = [](std::vector<kernels::Dims> dims) {
    Gear made;
    made.dims = std::move(dims);
    return made;
  };
  EXPECT_EQ(InputsThatDiffer({}), std::vector<int>());
  EXPECT_EQ(InputsThatDiffer({gear({{1}, {2}})}), std::vector<int>());
  EXPECT_EQ(InputsThatDiffer({gear({{1}, {5, 3}, {7}, {}}), gear({{2}, {5, 3}, {7}, {}}),
                              gear({{1}, {5, 4}, {7}, {}})}),
            (std::vector<int>{0, 1}));
}

TEST(GearsTest, BadGearsAreRefusedAndNothingIsLoaded) {
  const auto refusal = [](Graph graph, const Lists& gears) {
    const auto session = MakeSession(WithGears(gears));
    const auto added = session->Add(std::move(graph));
    EXPECT_FALSE(added.ok());
    return added.ok() ? Error() : added.error();
  };
  EXPECT_NE(refusal(Layer(), {{1}}).why.find("batch, rows"), std::string::npos);
  EXPECT_NE(refusal(Layer(), {{1, -2}}).why.find("rows is -2"), std::string::npos);
  EXPECT_NE(refusal(Layer(), {{1, 2}, {1, 2}}).why.find("twice"), std::string::npos);
  EXPECT_EQ(refusal(AddOne({4}), {{1}}).code, "config.gears");
  EXPECT_EQ(refusal(Layer(), Lists(kMostGears + 1, {1, 2})).code, "config.gears");
  graph::GraphBuilder no_rank;
  const graph::ValueId open = no_rank.Input("open", compile::FloatTensor({Dim::Symbol("n")}));
  no_rank.Input("shapeless", graph::ValueType::Tensor(graph::DataType::kFloat32, std::nullopt));
  no_rank.Output(no_rank.Node("Neg", {open}));
  EXPECT_EQ(refusal(no_rank.Build(), {{1}}).why, "not even the rank of input 'shapeless' is known");
  graph::GraphBuilder places;
  const graph::ValueId x = places.Input("x", compile::FloatTensor({Dim::Symbol("n")}));
  places.Output(places.Node("NonZero", {x}));
  const Error unplanned = refusal(places.Build(), {{1}, {2}});
  EXPECT_EQ(unplanned.code, "config.gears");
  EXPECT_EQ(unplanned.where, "gear n=1");
  Graph graph = Layer();
  graph.metadata.emplace_back("plimsoll.dynamic_dims", "1,x");
  EXPECT_NE(refusal(std::move(graph), {}).why.find("'x'"), std::string::npos);
}

TEST(GearsTest, AGearThatLeavesNothingOfALaterAxisIsRefused) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({4, Dim::Symbol("n") - Dim(5)}));
  const graph::ValueId y = builder.Input("y", compile::FloatTensor({Dim::Symbol("n")}));
  builder.Output(builder.Node("Neg", {x}));
  builder.Output(builder.Node("Neg", {y}));
  const Graph graph = builder.Build();
  EXPECT_TRUE(MakeSession(WithGears({{8}, {5}}))->Add(Graph(graph)).ok());
  const auto refused = MakeSession(WithGears({{8}, {2}}))->Add(Graph(graph));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "config.gears");
  EXPECT_NE(refused.error().why.find("with n=2 the input 'x' has no shape"), std::string::npos)
      << refused.error().why;
}

}  // namespace gears_test
}  // namespace plimsoll::engine
