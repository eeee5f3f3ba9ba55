#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/variables/training_for_tests.h"
#include "onnx/model_reader.h"

// Training steps: what the caller gives and gets, and what happens to variables.
namespace plimsoll::engine {
namespace training_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

using Elements = std::vector<float>;

TEST(TrainingTest, R106_TrainingTakesTheModelsStateAsVariables) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, MomentumStep());
  EXPECT_EQ(NamesOf(session->Inputs(id)), "x");
  EXPECT_EQ(session->Outputs(id)->size(), 1U);
  EXPECT_EQ(session->variables().List().size(), 2U);
  EXPECT_EQ(session->variables().bytes(), Bytes(32));

  MomentumModel model{{1, 2, 3, 4}, {0, 0, 0, 0}};
  MustSet(*session, "w", Floats({4}, model.w));
  for (int step = 1; step <= 5; ++step) {
    const Elements x = ElementsOf(Random({4}, static_cast<uint32_t>(step)));
    const auto outputs = MustRun(*session, id, {Floats({4}, x)});
    EXPECT_FLOAT_EQ(ElementsOf(outputs[0])[0], model.Step(x));
    EXPECT_EQ(VariableOf(*session, "w"), model.w);
    EXPECT_EQ(VariableOf(*session, "m"), model.m);
    EXPECT_EQ(session->variables().steps(), step);
  }
}

TEST(TrainingTest, R106_InferenceLeavesEveryInputToTheCaller) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, MomentumStep());
  EXPECT_EQ(NamesOf(session->Inputs(id)), "w m x");
  EXPECT_EQ(session->Outputs(id)->size(), 3U);
  EXPECT_TRUE(session->variables().List().empty());
}

TEST(TrainingTest, VariablesThatTheCallerNamesNeedNoTraining) {
  const auto session = MakeSession();
  const auto id = session->Add(MomentumStep(), {{"m", "next_m", ""}});
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(NamesOf(session->Inputs(*id)), "w x");
  MustRun(*session, *id, {Floats({4}, {0, 0, 0, 0}), Floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(VariableOf(*session, "m"), (Elements{1, 2, 3, 4}));
}

TEST(TrainingTest, R209_ARunIsAsManyStepsAsALoopHas) {
  SessionOptions options = Training();
  options.config.iterations_per_loop = 3;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{Elements(4, 0), Elements(4, 0)};
  float loss = 0;
  for (int step = 0; step < 3; ++step) loss = model.Step({1, 2, 3, 4});
  const auto outputs = MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  EXPECT_FLOAT_EQ(ElementsOf(outputs[0])[0], loss);
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
  EXPECT_EQ(session->variables().steps(), 3);
}

TEST(TrainingTest, AListedInputIsThereForEveryStepOfALoop) {
  SessionOptions options = Training();
  options.config.iterations_per_loop = 3;
  options.config.input_reuse_mem_indexes = {0};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{Elements(4, 0), Elements(4, 0)};
  float loss = 0;
  for (int step = 0; step < 3; ++step) loss = model.Step({1, 2, 3, 4});
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const auto outputs = MustRun(*session, id, {x});
  EXPECT_FLOAT_EQ(ElementsOf(outputs[0])[0], loss);
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
  EXPECT_EQ(ElementsOf(x), (Elements{1, 2, 3, 4}));

  options.config.input_reuse_mem_indexes = {1};
  EXPECT_EQ(CodeOf(MakeSession(options)->Add(MomentumStep()).status()), "config.index");
}

TEST(TrainingTest, AFeedGivesAGraphWithoutVariablesItsOneStep) {
  SessionOptions options;
  options.config.iterations_per_loop = 3;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, AddOne({2}));
  const HostTensor x = Floats({2}, {1, 2});
  const HostTensor made = Floats({2}, {0, 0});
  const std::vector<TensorView> from = Views({x});
  int calls = 0;
  RunOptions run;
  run.feed = [&](int64_t) -> Result<std::span<const TensorView>> {
    ++calls;
    return std::span<const TensorView>(from);
  };
  EXPECT_EQ(CodeOf(session->Run(id, {}, Views({made}), run)), "");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ElementsOf(made), (Elements{2, 3}));
  EXPECT_EQ(CodeOf(session->Run(id, from, Views({made}), run)), "run.inputs") << "given twice";
}

TEST(TrainingTest, R209_AFeedGivesEachStepOfALoopItsInputs) {
  SessionOptions options = Training();
  options.config.iterations_per_loop = 4;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  const HostTensor loss = *kernels::AllocateOnHeap(DataType::kFloat32, {});
  const std::vector<TensorView> to = {View(loss)};
  MomentumModel model{Elements(4, 0), Elements(4, 0)};
  std::vector<HostTensor> batches;
  std::vector<TensorView> batch(1);
  RunOptions run;
  run.feed = [&](int64_t step) -> Result<std::span<const TensorView>> {
    batches.push_back(Random({4}, static_cast<uint32_t>(step)));
    batch[0] = View(batches.back());
    return std::span<const TensorView>(batch);
  };
  ASSERT_EQ(CodeOf(session->Run(id, {}, to, run)), "");
  float expected = 0;
  for (const HostTensor& one : batches) expected = model.Step(ElementsOf(one));
  ASSERT_EQ(batches.size(), 4U);
  EXPECT_FLOAT_EQ(ElementsOf(loss)[0], expected);
  EXPECT_EQ(VariableOf(*session, "w"), model.w);

  const std::vector<TensorView> too = {View(batches[0])};
  EXPECT_EQ(CodeOf(session->Run(id, too, to, run)), "run.inputs");
  run.feed = [](int64_t) -> Result<std::span<const TensorView>> {
    return Error{ErrorKind::kRunFailed, "no.data", "the well is dry", "", "", ""};
  };
  EXPECT_EQ(CodeOf(session->Run(id, {}, to, run)), "no.data");
  EXPECT_EQ(session->variables().steps(), 4);
}

TEST(TrainingTest, AddressesNeverChangeAndNothingIsCopied) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, MomentumStep(1000));
  const std::vector<Variable> before = session->variables().List();
  for (uint32_t step = 0; step < 4; ++step) MustRun(*session, id, {Random({1000}, step)});
  ASSERT_EQ(CodeOf(session->Unload(id)), "");
  const GraphId again = MustAdd(*session, MomentumStep(1000));
  MustRun(*session, again, {Random({1000}, 9)});
  const std::vector<Variable> after = session->variables().List();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].address, before[i].address);
  const UpdateReport report = *session->Updates(again);
  EXPECT_EQ(report.in_place, 2U);
  EXPECT_EQ(report.in_place_bytes, Bytes(8000));
  EXPECT_EQ(report.copied, 0U);
  EXPECT_EQ(session->variables().steps(), 5);
}

// Two variables a and b that replace each other, and c that only gets what a was.
Graph Exchange() {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({3}));
  const ValueId b = builder.Input("b", FloatTensor({3}));
  builder.Input("c", FloatTensor({3}));
  for (const ValueId value : {b, a, a}) builder.Output(builder.Node("Identity", {value}));
  builder.Output(builder.Node("Add", {a, b}));
  Graph graph = builder.Build();
  for (const size_t i : {0, 1, 2}) {
    graph[graph.root().outputs[i]].name = std::string("next_") + "abc"[i];
  }
  graph.metadata.emplace_back("state", "a=next_a, b=next_b, c=next_c");
  return graph;
}

TEST(TrainingTest, VariablesMayReplaceEachOther) {
  for (const bool optimise : {true, false}) {
    SessionOptions options = Training();
    options.load.optimise = optimise;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Exchange());
    MustSet(*session, "a", Floats({3}, {1, 1, 1}));
    MustSet(*session, "b", Floats({3}, {2, 2, 2}));
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {})[0]), Elements(3, 3));
    EXPECT_EQ(VariableOf(*session, "a"), Elements(3, 2));
    EXPECT_EQ(VariableOf(*session, "b"), Elements(3, 1));
    EXPECT_EQ(VariableOf(*session, "c"), Elements(3, 1));
    MustRun(*session, id, {});
    EXPECT_EQ(VariableOf(*session, "a"), Elements(3, 1));
    EXPECT_EQ(VariableOf(*session, "c"), Elements(3, 2));
    EXPECT_GT(session->Updates(id)->copied, 0U);
  }
}

TEST(TrainingTest, AnOldValueThatIsStillNeededIsNotOverwritten) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  const ValueId next = builder.Node("Add", {w, builder.Float32s("one", {}, {1})});
  const ValueId change = builder.Node("Sub", {next, w});
  builder.Output(next);
  builder.Output(change);
  builder.Output(w);
  const std::string name = builder.graph()[next].name;
  const auto session = MakeSession();
  const auto id = session->Add(builder.Build(), {{"w", name, ""}});
  ASSERT_TRUE(id.ok());
  for (float step = 0; step < 3; ++step) {
    const auto outputs = MustRun(*session, *id, {});
    EXPECT_EQ(ElementsOf(outputs[0]), Elements(4, 1));
    EXPECT_EQ(ElementsOf(outputs[1]), Elements(4, step));
    EXPECT_EQ(VariableOf(*session, "w"), Elements(4, step + 1));
  }
  const UpdateReport report = *session->Updates(*id);
  EXPECT_EQ(report.copied, 1U);
  ASSERT_EQ(report.copies.size(), 1U);
  EXPECT_NE(report.copies[0].reason.find("leaves the run as 'w'"), std::string::npos);
}

TEST(TrainingTest, OneNewValueForTwoVariablesAConstantAndAVariableThatStays) {
  GraphBuilder builder;
  std::vector<VariableName> names;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  for (const char* name : {"a", "b", "c", "d"}) builder.Input(name, FloatTensor({2}));
  const ValueId d = builder.graph().root().inputs.back();
  const ValueId sum = builder.Node("Add", {x, x});
  const ValueId seven = builder.Float32s("seven", {2}, {7, 7});
  for (const ValueId value : {sum, builder.Node("Identity", {sum}), seven, d}) {
    builder.Output(builder.Node("Identity", {value}));
  }
  Graph graph = builder.Build();
  for (const size_t i : {0, 1, 2, 3}) {
    const std::string name(1, "abcd"[i]);
    graph[graph.root().outputs[i]].name = "next_" + name;
    names.push_back({name, "next_" + name, ""});
  }
  const auto session = MakeSession();
  const auto id = session->Add(std::move(graph), names);
  ASSERT_TRUE(id.ok());
  MustSet(*session, "d", Floats({2}, {5, 6}));
  for (const float x_value : {1, 2}) {
    EXPECT_TRUE(MustRun(*session, *id, {Floats({2}, {x_value, x_value})}).empty());
    EXPECT_EQ(VariableOf(*session, "a"), Elements(2, 2 * x_value));
    EXPECT_EQ(VariableOf(*session, "b"), Elements(2, 2 * x_value));
    EXPECT_EQ(VariableOf(*session, "c"), (Elements{7, 7}));
    EXPECT_EQ(VariableOf(*session, "d"), (Elements{5, 6}));
  }
}

TEST(TrainingTest, AConstantOfTheModelCanBeAVariableThatBeginsWithIt) {
  GraphBuilder builder;
  const ValueId w = builder.Float32s("w", {2}, {3, 4});
  const ValueId next = builder.Node("Add", {w, builder.Input("x", FloatTensor({2}))});
  builder.Output(next);
  const std::string name = builder.graph()[next].name;
  const auto session = MakeSession();
  const auto id = session->Add(builder.Build(), {{"w", name, ""}});
  ASSERT_TRUE(id.ok()) << id.error().Text();
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{3, 4}));
  for (int step = 0; step < 2; ++step) MustRun(*session, *id, {Floats({2}, {1, 2})});
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{5, 8}));
}

TEST(TrainingTest, GraphsOfASessionShareVariablesByName) {
  const auto session = MakeSession(Training());
  const GraphId train = MustAdd(*session, MomentumStep());
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  builder.Output(builder.Node("Add", {w, builder.Input("x", FloatTensor({4}))}));
  const auto evaluate = session->Add(builder.Build(), {{"w", "", ""}});
  ASSERT_TRUE(evaluate.ok());
  EXPECT_EQ(session->variables().List().size(), 2U);
  MustRun(*session, train, {Floats({4}, {4, 8, 12, 16})});
  const auto seen = MustRun(*session, *evaluate, {Floats({4}, {0, 0, 0, 0})});
  EXPECT_EQ(ElementsOf(seen[0]), (Elements{-1, -2, -3, -4}));
  EXPECT_EQ(session->variables().steps(), 1);

  const auto wider = session->Add(MomentumStep(5));
  ASSERT_FALSE(wider.ok());
  EXPECT_EQ(wider.error().Text(),
            "the variable was not touched: variable 'w': the session has it as float32[4], this "
            "graph as float32[5]; rename the input, or run the graph in a session of its own "
            "[variables.differs]");
  MustRun(*session, train, {Floats({4}, {0, 0, 0, 0})});
}

TEST(TrainingTest, AGraphThatRunsNodeByNodeUpdatesItsVariablesToo) {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({3}));
  const ValueId b = builder.Input("b", FloatTensor({3}));
  const ValueId x = builder.Input("x", FloatTensor({3}));
  builder.Output(builder.Node("NonZero", {x}));
  builder.Output(builder.Node("Identity", {b}));
  builder.Output(builder.Node("Add", {a, x}));
  builder.Output(a);
  Graph graph = builder.Build();
  graph[graph.root().outputs[1]].name = "next_a";
  graph[graph.root().outputs[2]].name = "next_b";
  graph.metadata.emplace_back("state", "a=next_a,b=next_b");
  SessionOptions options = Training();
  options.config.iterations_per_loop = 2;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, std::move(graph));
  MustSet(*session, "a", Floats({3}, {1, 1, 1}));
  MustSet(*session, "b", Floats({3}, {5, 5, 5}));
  const auto outputs = MustRun(*session, id, {Floats({3}, {0, 1, 2})});
  EXPECT_EQ(ElementsOf(outputs[0]), (Elements{1, 2}));
  EXPECT_EQ(ElementsOf(outputs[1]), Elements(3, 5));
  EXPECT_EQ(VariableOf(*session, "a"), (Elements{1, 2, 3}));
  EXPECT_EQ(VariableOf(*session, "b"), (Elements{5, 6, 7}));
  EXPECT_EQ(session->variables().steps(), 2);
  EXPECT_EQ(session->Updates(id)->copied, 2U);
}

TEST(TrainingTest, OptionsThatOpenSizesLeaveVariablesAsTheyAre) {
  SessionOptions options = Training();
  options.config.compile_dynamic_mode = true;
  options.config.dynamic_inputs_shape_range.emplace();
  options.config.dynamic_inputs_shape_range->data = {{{.least = 1, .most = 4}}};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  EXPECT_FALSE(graph::IsStatic(*(*session->Inputs(id))[0].type.shape));
  MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  MustRun(*session, id, {Floats({1}, {4})});
  EXPECT_EQ(VariableOf(*session, "m"), (Elements{4.5, 5, 5.5, 6}));
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Random({5}, 1)})).status()), "run.range");
}

TEST(TrainingTest, OptionsThatNumberInputsAndOutputsSpeakOfTheCallers) {
  SessionOptions options = Training();
  options.config.input_reuse_mem_indexes = {0};
  options.config.output_reuse_mem_indexes = {0};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{Elements(4, 0), Elements(4, 0)};
  for (uint32_t step = 0; step < 3; ++step) {
    const Elements x = ElementsOf(Random({4}, step));
    MustRun(*session, id, {Floats({4}, x)});
    model.Step(x);
    EXPECT_EQ(VariableOf(*session, "w"), model.w);
  }
  EXPECT_EQ(session->LastRun(id)->ports.inputs.size(), 1U);
  EXPECT_EQ(session->LastRun(id)->ports.outputs.size(), 1U);

  options.config.input_reuse_mem_indexes = {1};
  const auto refused = MakeSession(options)->Add(MomentumStep());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "config.index");
  EXPECT_NE(refused.error().why.find("the model has 1"), std::string::npos);
}

// A real step, with variables and with every tensor fed by hand.
TEST(TrainingTest, ARealModelLearnsTheSameAsWhenItIsFedByHand) {
  const char* folder = std::getenv("PLIMSOLL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "PLIMSOLL_MODELS does not name a folder";
  auto model = onnx::ReadModel((std::filesystem::path(folder) / "mlp_train.onnx").string());
  if (!model.ok()) GTEST_SKIP() << model.error().Text();
  const auto session = MakeSession(Training());
  const auto by_hand = MakeSession();
  const GraphId trained = MustAdd(*session, *model);
  const GraphId fed = MustAdd(*by_hand, *model);
  std::vector<HostTensor> state;
  const std::vector<VariableName> names = *VariablesInMetadata(*model);
  const std::vector<Port> ports = *by_hand->Inputs(fed);
  for (size_t i = 0; i < names.size(); ++i) {
    const kernels::Dims dims = graph::StaticDims(*ports[i].type.shape);
    const bool parameter = names[i].group == "parameters";
    HostTensor tensor = Random(dims, static_cast<uint32_t>(i));
    auto* elements = static_cast<float*>(tensor.data.get());
    for (int64_t e = 0; e < tensor.elements(); ++e) elements[e] *= parameter ? 0.05F : 0.0F;
    MustSet(*session, names[i].input, tensor);
    state.push_back(std::move(tensor));
  }
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<HostTensor> batch = {Random({64, 784}, 100 + step),
                                           Random({64}, 200 + step, DataType::kInt64)};
    std::vector<HostTensor> all = state;
    all.insert(all.end(), batch.begin(), batch.end());
    const std::vector<HostTensor> outputs = MustRun(*by_hand, fed, all);
    const float loss = ElementsOf(MustRun(*session, trained, batch)[0])[0];
    EXPECT_EQ(loss, ElementsOf(outputs[0])[0]) << "step " << step;
    state.assign(outputs.begin() + 1, outputs.end());
  }
  EXPECT_EQ(VariableOf(*session, names[0].input), ElementsOf(state[0]));
  EXPECT_EQ(session->Updates(trained)->copied, 0U);
}

}  // namespace training_test
}  // namespace plimsoll::engine
