#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/variables/training_for_tests.h"

// What a training step leaves that fails, is cancelled, is refused, or is looked at as it runs.
namespace plimsoll::engine {
namespace training_failure_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

using Elements = std::vector<float>;

// w' = w + x, then a row of w' whose number the caller gives.
Graph GatherAfterUpdate() {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId row = builder.Input("row", ValueType::Tensor(DataType::kInt64, graph::Shape{}));
  const ValueId next = builder.Node("Add", {w, x});
  builder.Output(next);
  builder.Output(builder.Node("Gather", {next, row}));
  builder.graph()[next].name = "next_w";
  builder.graph().metadata.emplace_back("state", "w=next_w");
  return builder.Build();
}

TEST(TrainingFailureTest, AStepThatFailsBehindItsFirstUpdateSaysSoAndStopsFurtherSteps) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, GatherAfterUpdate());
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {x, Integer(2)})[0])[0], 3);
  const Status failed = session->RunValues(id, Values({x, Integer(9)})).status();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, "variables.half_applied");
  EXPECT_NE(failed.error().Text().find("half applied"), std::string::npos);
  EXPECT_NE(failed.error().Text().find("Gather"), std::string::npos) << failed.error().Text();
  EXPECT_EQ(session->variables().steps(), 1);
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({x, Integer(2)})).status()),
            "variables.half_applied");
  EXPECT_EQ(CodeOf(session->variables().Save(testing::TempDir() + "half_applied.plv")),
            "variables.half_applied");
  MustSet(*session, "w", x);
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {x, Integer(0)})[0])[0], 2);
}

// Of a graph whose first output replaces a variable: the record tells of the caller's own.
TEST(TrainingFailureTest, TheRecordOfAStepIsOfTheCallersPorts) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, GatherAfterUpdate());
  const HostTensor memory = Floats({64}, Elements(64, 1));
  auto* const aligned = static_cast<float*>(memory.data.get());
  const HostTensor row = Integer(2);
  for (const int64_t shift : {0, 1}) {
    const std::vector<TensorView> from = {
        {.type = DataType::kFloat32, .dims = {4}, .data = aligned}, View(row)};
    const std::vector<TensorView> to = {
        {.type = DataType::kFloat32, .dims = {}, .data = aligned + 32 + shift}};
    ASSERT_EQ(CodeOf(session->Run(id, from, to)), "");
    const RunRecord record = *session->LastRun(id);
    ASSERT_EQ(record.ports.inputs.size(), 2U);
    ASSERT_EQ(record.ports.outputs.size(), 1U);
    EXPECT_EQ(record.ports.outputs[0].reason.find("32 bytes") != std::string::npos, shift == 1)
        << record.ports.outputs[0].reason;
    EXPECT_TRUE(record.ports.inputs[0].in_place());
  }
  EXPECT_EQ(aligned[33], 2) << "the second step's";
}

TEST(TrainingFailureTest, AStepThatFailsBeforeItsFirstUpdateChangesNothing) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  const ValueId row = builder.Input("row", ValueType::Tensor(DataType::kInt64, graph::Shape{}));
  const ValueId next = builder.Node("Add", {w, builder.Node("Gather", {w, row})});
  builder.Output(next);
  builder.graph()[next].name = "next_w";
  builder.graph().metadata.emplace_back("state", "w=next_w");
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, builder.Build());
  MustSet(*session, "w", Floats({4}, {1, 2, 3, 4}));
  const Status failed = session->RunValues(id, Values({Integer(4)})).status();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().code, "variables.half_applied");
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{1, 2, 3, 4}));
  MustRun(*session, id, {Integer(1)});
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{3, 4, 5, 6}));
}

TEST(TrainingFailureTest, ACancelledStepChangesNothing) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, MomentumStep());
  const std::atomic<bool> cancelled = true;
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({x}), {.cancelled = &cancelled}).status()),
            "run.cancelled");
  EXPECT_EQ(VariableOf(*session, "w"), Elements(4, 0));
  EXPECT_EQ(VariableOf(*session, "m"), Elements(4, 0));
  EXPECT_EQ(session->variables().steps(), 0);
  MustRun(*session, id, {x});
}

TEST(TrainingFailureTest, WrongNumbersOfInputsAndOutputsAreToldWithoutTheVariables) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, MomentumStep());
  const Status none = session->Run(id, {}, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().Text(),
            "the run was refused: inputs: besides its 2 variables the model has 1, given 0; they "
            "are x float32[4] [run.inputs]");
  const HostTensor x = Random({4}, 1);
  const std::vector<TensorView> from = {View(x)};
  EXPECT_EQ(CodeOf(session->Run(id, from, {})), "run.outputs");
  const HostTensor wide = Random({5}, 1);
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({wide})).status()), "run.shape");
  MustRun(*session, id, {x});
}

TEST(TrainingFailureTest, ReadersSeeWholeStepsWhileAThreadTrains) {
  const auto session = MakeSession(Training());
  const GraphId train = MustAdd(*session, MomentumStep(64));
  GraphBuilder builder;
  const ValueId m = builder.Input("m", FloatTensor({64}));
  builder.Output(builder.Node("Add", {m, builder.Float32s("zero", {}, {0})}));
  const auto read = session->Add(builder.Build(), {{"m", "", ""}});
  ASSERT_TRUE(read.ok());
  std::atomic<int> torn = 0;
  std::thread reader([&] {
    for (int i = 0; i < 50; ++i) {
      auto seen = session->RunValues(*read, {});
      const Elements elements = seen.ok() ? ElementsOf((*seen)[0].tensor) : Elements();
      if (elements.empty() || elements != Elements(64, elements[0])) ++torn;
    }
  });
  for (int i = 0; i < 50; ++i) MustRun(*session, train, {Floats({64}, Elements(64, 1))});
  reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace training_failure_test
}  // namespace plimsoll::engine
