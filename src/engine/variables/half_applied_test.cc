#include <gtest/gtest.h>

#include <atomic>

#include "engine/variables/training_for_tests.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/base/text.h"

// Where in a training step a failure comes: before the first variable is written nothing has
// happened, from there on the variables are half applied until each that the step writes is set.
namespace plimsoll::engine {
namespace half_applied_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

using Elements = std::vector<float>;

constexpr const char* kNames[] = {"a", "b", "c"};

HostTensor Row(int64_t row) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kInt64, {1});
  kernels::StoreInteger(tensor.type, tensor.data.get(), 0, row);
  return tensor;
}

// Variables a, b and c, each with 1 written over the element whose number the caller gives: three
// nodes one behind the other that write their variable in place and refuse a number that is none.
Graph ThreeUpdates() {
  GraphBuilder builder;
  ValueId written = builder.Float32s("one", {1}, {1});
  std::vector<ValueId> next;
  for (const std::string name : kNames) {
    const ValueId variable = builder.Input(name, FloatTensor({4}));
    const ValueId row =
        builder.Input(StrCat("row_", name), ValueType::Tensor(DataType::kInt64, graph::Shape{1}));
    next.push_back(builder.Node("ScatterElements", {variable, row, written}));
    // What is written next depends on what was written before, so the order is this one.
    written = builder.Node(
        "Slice", {builder.Node("Abs", {next.back()}), builder.Int64s(StrCat("from_", name), {0}),
                  builder.Int64s(StrCat("to_", name), {1})});
  }
  for (size_t i = 0; i < next.size(); ++i) {
    builder.Output(next[i]);
    builder.graph()[next[i]].name = StrCat("next_", kNames[i]);
  }
  builder.graph().metadata.emplace_back("state", "a=next_a,b=next_b,c=next_c");
  return builder.Build();
}

std::unique_ptr<Session> MakeTrained(GraphId& id) {
  SessionOptions options = Training();
  options.load.optimise = false;
  auto session = MakeSession(options);
  id = MustAdd(*session, ThreeUpdates());
  MustRun(*session, id, {Row(0), Row(0), Row(0)});
  EXPECT_EQ(session->Updates(id)->in_place, 3U);
  EXPECT_EQ(session->Updates(id)->in_place_bytes, Bytes(3 * 16));
  return session;
}

class HalfAppliedTest : public testing::TestWithParam<int> {};

// The first, the middle and the last of the nodes that write fail.
TEST_P(HalfAppliedTest, AFailureInAnyUpdatingNodeIsToldAndHealsOnceAllAreSet) {
  const int failing = GetParam();
  GraphId id;
  const auto session = MakeTrained(id);
  std::vector<HostTensor> rows = {Row(1), Row(1), Row(1)};
  rows[static_cast<size_t>(failing)] = Row(7);
  const Status failed = session->RunValues(id, Values(rows)).status();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, "variables.half_applied");
  EXPECT_NE(failed.error().Text().find("ScatterElements"), std::string::npos);
  EXPECT_EQ(session->variables().steps(), 1) << "the step that failed is none";
  for (int i = 0; i < 3; ++i) {
    const Elements expected = i < failing ? Elements{1, 1, 0, 0} : Elements{1, 0, 0, 0};
    EXPECT_EQ(VariableOf(*session, kNames[i]), expected) << kNames[i];
  }
  const HostTensor zeros = Floats({4}, {0, 0, 0, 0});
  for (int i = 0; i < 3; ++i) {
    const Status again = session->RunValues(id, Values({Row(2), Row(2), Row(2)})).status();
    ASSERT_EQ(CodeOf(again), "variables.half_applied") << "before " << kNames[i] << " is set";
    EXPECT_EQ(again.error().where, StrCat(3 - i, " variables, '", kNames[i], "' among them"));
    EXPECT_EQ(CodeOf(session->variables().Save(testing::TempDir() + "half.plv")),
              "variables.half_applied");
    MustSet(*session, kNames[i], zeros);
  }
  MustRun(*session, id, {Row(2), Row(2), Row(2)});
  EXPECT_EQ(VariableOf(*session, "a"), (Elements{0, 0, 1, 0}));
  EXPECT_EQ(session->variables().steps(), 2);
}

INSTANTIATE_TEST_SUITE_P(Nodes, HalfAppliedTest, testing::Values(0, 1, 2));

TEST(HalfAppliedGraphsTest, AGraphThatReadsThemIsRefusedToo) {
  GraphId id;
  const auto session = MakeTrained(id);
  GraphBuilder builder;
  builder.Output(builder.Node("Neg", {builder.Input("b", FloatTensor({4}))}));
  const auto reader = session->Add(builder.Build(), {{"b", "", ""}});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Row(1), Row(9), Row(1)})).status()),
            "variables.half_applied");
  EXPECT_EQ(CodeOf(session->RunValues(*reader, {}).status()), "variables.half_applied");
  for (const char* name : kNames) MustSet(*session, name, Floats({4}, {1, 2, 3, 4}));
  EXPECT_EQ(ElementsOf(MustRun(*session, *reader, {})[0]), (Elements{-1, -2, -3, -4}));
}

TEST(HalfAppliedGraphsTest, ASaveFromBeforeHealsThemAll) {
  GraphId id;
  const auto session = MakeTrained(id);
  const onnx::TemporaryFolder folder;
  const std::string file = (folder.path() / "before_half.plv").string();
  ASSERT_EQ(CodeOf(session->variables().Save(file)), "");
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Row(1), Row(1), Row(9)})).status()),
            "variables.half_applied");
  ASSERT_EQ(CodeOf(session->variables().Restore(file)), "");
  for (const char* name : kNames) EXPECT_EQ(VariableOf(*session, name), (Elements{1, 0, 0, 0}));
  EXPECT_EQ(session->variables().steps(), 1);
  MustRun(*session, id, {Row(3), Row(3), Row(3)});
}

TEST(HalfAppliedGraphsTest, ALoopSaysWhichStepFailedAndCountsThoseBefore) {
  SessionOptions options = Training();
  options.config.iterations_per_loop = 3;
  options.load.optimise = false;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, ThreeUpdates());
  std::vector<HostTensor> rows;
  std::vector<TensorView> given;
  RunOptions run;
  run.feed = [&](int64_t step) -> Result<std::span<const TensorView>> {
    rows = {Row(step), Row(step == 1 ? 8 : step), Row(step)};
    given = Views(rows);
    return std::span<const TensorView>(given);
  };
  const Status failed = session->Run(id, {}, {}, run);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, "variables.half_applied");
  EXPECT_EQ(failed.error().where.rfind("step 2 of 3: ", 0), 0U) << failed.error().where;
  EXPECT_EQ(session->variables().steps(), 1);
  EXPECT_EQ(VariableOf(*session, "a"), (Elements{1, 1, 0, 0}));
  EXPECT_EQ(VariableOf(*session, "c"), (Elements{1, 0, 0, 0}));
}

// Cancelled before the first write the step stops; behind it, it goes to its end.
TEST(HalfAppliedGraphsTest, ACancelledStepStopsBeforeItsFirstWriteOnly) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  SessionOptions options = Training();
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  const HostTensor x = Floats({4}, {4, 4, 4, 4});
  const auto executable = *session->Compile(id, Views({x}));
  const Program& program = executable->program();
  ASSERT_GT(program.first_update, 0U);
  ASSERT_LT(program.first_update, program.tasks.size());
  for (size_t stop = 0; stop < program.tasks.size(); ++stop) {
    const HostTensor w = Floats({4}, {0, 0, 0, 0});
    const HostTensor m = Floats({4}, {0, 0, 0, 0});
    const HostTensor loss = Floats({}, {0});
    const HostTensor arena = *kernels::AllocateOnHeap(DataType::kUint8, {program.total().value()});
    auto* const base = static_cast<std::byte*>(arena.data.get());
    auto addresses = executable->Bind(base, AreasBehind(program, base));
    const std::vector<const void*> from = {w.data.get(), m.data.get(), x.data.get()};
    const std::vector<void*> to = {loss.data.get(), w.data.get(), m.data.get()};
    std::atomic<bool> cancelled = false;
    bool half_applied = false;
    const Executable::Call call{
        .inputs = from, .outputs = to, .cancelled = &cancelled, .half_applied = &half_applied};
    const auto before = [&](const Task& task) {
      if (&task == &program.tasks[stop]) cancelled = true;
    };
    const bool stops = stop + 1 < program.first_update;
    EXPECT_EQ(CodeOf(executable->Run(addresses, call, before)), stops ? "run.cancelled" : "");
    EXPECT_EQ(ElementsOf(w), Elements(4, stops ? 0 : -1)) << "task " << stop;
    EXPECT_EQ(ElementsOf(m), Elements(4, stops ? 0 : 4)) << "task " << stop;
    EXPECT_FALSE(half_applied);
  }
}

// The old value leaves the run, so the new one is copied when all else is done; a failure before
// that changes nothing.
TEST(HalfAppliedGraphsTest, WhereEveryNewValueIsCopiedAFailureChangesNothing) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({3}));
  const ValueId row = builder.Input("row", ValueType::Tensor(DataType::kInt64, graph::Shape{}));
  const ValueId next = builder.Node("Add", {w, builder.Float32s("one", {}, {1})});
  builder.Output(next);
  builder.Output(w);
  builder.Output(builder.Node("Gather", {next, row}));
  Graph graph = builder.Build();
  graph[next].name = "next_w";
  graph.metadata.emplace_back("state", "w=next_w");
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, std::move(graph));
  MustSet(*session, "w", Floats({3}, {1, 2, 3}));
  const std::string failed = CodeOf(session->RunValues(id, Values({Integer(5)})).status());
  EXPECT_NE(failed, "");
  EXPECT_NE(failed, "variables.half_applied");
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{1, 2, 3}));
  const auto outputs = MustRun(*session, id, {Integer(1)});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(ElementsOf(outputs[0]), (Elements{1, 2, 3}));
  EXPECT_EQ(ElementsOf(outputs[1]), (Elements{3}));
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{2, 3, 4}));
  const UpdateReport report = *session->Updates(id);
  EXPECT_EQ(report.copied, 1U);
  EXPECT_EQ(report.copied_bytes, Bytes(12));
}

}  // namespace half_applied_test
}  // namespace plimsoll::engine
