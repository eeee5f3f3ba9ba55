#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <thread>

#include "engine/hooked_allocator_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/typed_graphs_for_tests.h"
#include "engine/variables/training_for_tests.h"

// Every call of a session: what it refuses, that a refusal changes nothing, and what it tells of
// runs and memory.
namespace plimsoll::engine {
namespace session_calls_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

using Inputs = std::vector<TensorView>;
using Call = std::function<Status(Session&, GraphId, const Inputs&)>;

// The calls that look at inputs, by name.
std::map<std::string, Call> CallsWithInputs() {
  return {
      {"Compile", [](Session& session, GraphId id,
                     const Inputs& inputs) { return session.Compile(id, inputs).status(); }},
      {"Reserve", [](Session& session, GraphId id,
                     const Inputs& inputs) { return session.Reserve(id, inputs); }},
      {"FeatureMapSize",
       [](Session& session, GraphId id, const Inputs& inputs) {
         return session.FeatureMapSize(id, inputs).status();
       }},
      {"BatchFor", [](Session& session, GraphId id,
                      const Inputs& inputs) { return session.BatchFor(id, inputs).status(); }},
      {"Run",
       [](Session& session, GraphId id, const Inputs& inputs) {
         const HostTensor made = *kernels::AllocateOnHeap(DataType::kFloat32, {});
         return session.Run(id, inputs, Views({made}));
       }},
      {"RunValues",
       [](Session& session, GraphId id, const Inputs& inputs) {
         std::vector<kernels::HostValue> values;
         for (const TensorView& input : inputs) {
           values.push_back(kernels::HostValue::Of(
               {input.type, input.dims, std::shared_ptr<void>(input.data, [](void*) {})}));
         }
         return session.RunValues(id, std::move(values)).status();
       }},
  };
}

TEST(SessionCallsTest, AnUnknownIdIsToldByEveryCall) {
  const auto session = MakeSession();
  const GraphId kept = MustAdd(*session, AddOne({2}));
  const GraphId gone = MustAdd(*session, AddOne({2}));
  ASSERT_TRUE(session->Unload(gone).ok());
  const HostTensor x = Floats({2}, {1, 2});
  for (const GraphId id : {gone, GraphId(77), GraphId()}) {
    for (const auto& [name, call] : CallsWithInputs()) {
      const Status refused = call(*session, id, Views({x}));
      ASSERT_FALSE(refused.ok()) << name;
      EXPECT_EQ(refused.error().code, "session.graph") << name;
      EXPECT_EQ(refused.error().why, "the session holds 1 graphs, and not this one") << name;
    }
    EXPECT_EQ(CodeOf(session->Unload(id)), "session.graph");
    EXPECT_EQ(CodeOf(session->Shapes(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, nullptr, Bytes(0))), "session.graph");
    EXPECT_EQ(CodeOf(session->Inputs(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->Outputs(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->Batches(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->Updates(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->Memory(id).status()), "session.graph");
    EXPECT_EQ(CodeOf(session->LastRun(id).status()), "session.graph");
  }
  EXPECT_EQ(ElementsOf(MustRun(*session, kept, {x})[0]), (std::vector<float>{2, 3}));
}

// A graph with variables and one without, each given what it cannot take by every call.
TEST(SessionCallsTest, WrongInputsAreRefusedByEveryCallAndTheNextRunIsRight) {
  const auto session = MakeSession(Training());
  const GraphId trained = MustAdd(*session, MomentumStep());
  const GraphId plain = MustAdd(*session, AddOne({4}));
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const HostTensor wide = Floats({5}, {1, 2, 3, 4, 5});
  const HostTensor whole = Random({4}, 1, DataType::kInt32);
  const std::pair<Inputs, std::string> mistakes[] = {{{}, "run.inputs"},
                                                     {Views({x, x}), "run.inputs"},
                                                     {Views({wide}), "run.shape"},
                                                     {Views({whole}), "run.type"}};
  for (const auto& [name, call] : CallsWithInputs()) {
    for (const auto& [inputs, code] : mistakes) {
      for (const GraphId id : {trained, plain}) {
        // Sizes alone choose a batch.
        const bool looks = name != "BatchFor" || code == "run.inputs";
        EXPECT_EQ(CodeOf(call(*session, id, inputs)), looks ? code : "") << name;
      }
    }
  }
  EXPECT_EQ(session->variables().steps(), 0);
  EXPECT_EQ(VariableOf(*session, "m"), std::vector<float>(4, 0));
  EXPECT_EQ(session->Memory().feature_maps_reserved, Bytes(0)) << "no refusal takes memory";
  MustRun(*session, trained, {x});
  EXPECT_EQ(VariableOf(*session, "m"), ElementsOf(x));
  EXPECT_EQ(ElementsOf(MustRun(*session, plain, {x})[0]), (std::vector<float>{2, 3, 4, 5}));
}

TEST(SessionCallsTest, WhatHasNoPlanSaysWhyToEveryCallThatNeedsOne) {
  GraphBuilder builder;
  builder.Output(builder.Node("NonZero", {builder.Input("x", FloatTensor({4}))}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor x = Floats({4}, {0, 2, 0, 4});
  std::string reason;
  const auto compiled = session->Compile(id, Views({x}), &reason);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(*compiled, nullptr);
  EXPECT_FALSE(reason.empty());
  const HostTensor made = *kernels::AllocateOnHeap(DataType::kInt64, {1, 2});
  const Inputs from = Views({x});
  const Inputs to = Views({made});
  for (const Status& refused :
       {session->Reserve(id, from), session->FeatureMapSize(id, from).status(),
        session->Run(id, from, to)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, "run.dynamic");
    EXPECT_NE(refused.error().why.find(reason), std::string::npos) << refused.error().why;
  }
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {x})[0]), (std::vector<float>{1, 3}));
  EXPECT_EQ(session->LastRun(id)->ports.inputs.size(), 0U) << "of runs inside a plan";
}

TEST(SessionCallsTest, AGraphTellsItsMemoryAtEachStageOfItsLife) {
  SessionOptions options;
  options.load.optimise = false;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TwoTypes(Dim::Symbol("rows")).graph);
  EXPECT_EQ(*session->Shapes(id), GraphShapes::kDynamic);
  const auto expect = [&](Bytes peak, Bytes feature_map, int plans) {
    const GraphMemory memory = *session->Memory(id);
    EXPECT_EQ(memory.planned_peak, peak);
    EXPECT_EQ(memory.feature_map, feature_map);
    EXPECT_EQ(memory.plans, plans);
    EXPECT_EQ(memory.weights, Bytes(0)) << "the graph has no constants";
    EXPECT_EQ(memory.merged_blocks, Bytes(0));
  };
  expect(Bytes(0), Bytes(0), 0);
  const Inputs small = Views({Random({4, 32}, 1)});
  const Inputs large = Views({Random({40, 32}, 1)});
  const Bytes size = *session->FeatureMapSize(id, small);
  const auto executable = *session->Compile(id, small);
  expect(size, Bytes(0), 1);
  const Bytes areas = executable->program().area_bytes();
  // Out of the host's reach it also has a copy of what its own node reads.
  const int64_t values = HostReachesDefaultDevice() ? 2 : 3;
  EXPECT_EQ(areas, Bytes(values * 4 * 32 * 4)) << "one value in P2P memory, one in the host's";
  ASSERT_TRUE(session->Reserve(id, small).ok());
  expect(size, size + areas, 1);
  const Bytes larger = *session->FeatureMapSize(id, large);
  EXPECT_GT(larger, size);
  expect(larger, size + areas, 2);
  MustRun(*session, id, {Random({40, 32}, 1)});
  expect(larger, larger + Bytes(values * 40 * 32 * 4), 2);
  MustRun(*session, id, {Random({4, 32}, 1)});
  expect(size, size + areas, 2);
}

// What a step takes can be asked for and taken ahead, without a step being made.
TEST(SessionCallsTest, ATrainedGraphReservesWhatItsStepTakes) {
  SessionOptions options = Training();
  options.load.optimise = false;
  const auto ahead = MakeSession(options);
  const auto running = MakeSession(options);
  const GraphId reserved = MustAdd(*ahead, MomentumStep(1000));
  const GraphId run = MustAdd(*running, MomentumStep(1000));
  const HostTensor x = Random({1000}, 1);
  const auto size = ahead->FeatureMapSize(reserved, Views({x}));
  ASSERT_TRUE(size.ok());
  EXPECT_GE(*size, Bytes(4000));
  EXPECT_EQ(ahead->Memory().feature_maps_reserved, Bytes(0));
  ASSERT_TRUE(ahead->Reserve(reserved, Views({x})).ok());
  EXPECT_EQ(ahead->Memory().feature_maps_reserved, *size);
  EXPECT_EQ(ahead->variables().steps(), 0);
  MustRun(*running, run, {x});
  EXPECT_EQ(running->Memory().feature_maps_reserved, *size);
  const DeviceBytes told = ahead->Memory().device;
  const DeviceBytes taken = running->Memory().device;
  EXPECT_EQ(told.variables, Bytes(8000));
  EXPECT_EQ(told.total(), taken.total());
}

// Two variables of 4000 bytes, each rounded up to 4096.
TEST(SessionCallsTest, VariablesCountWhereTheyLie) {
  for (const bool of_host : {false, true}) {
    SessionOptions options = Training();
    options.load.optimise = false;
    options.config.mix_compile_mode = of_host;
    options.config.variable_placement =
        of_host ? config::VariablePlacement::kHost : config::VariablePlacement::kDevice;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, MomentumStep(1000));
    const SessionMemory added = session->Memory();
    EXPECT_EQ(added.variables, Bytes(8000));
    EXPECT_GE(added.variables_reserved, Bytes(8192));
    EXPECT_EQ(added.device.variables, of_host ? Bytes(0) : Bytes(8000));
    EXPECT_EQ(added.device.total(), of_host ? Bytes(0) : added.variables_reserved);
    MustRun(*session, id, {Random({1000}, 1)});
    const SessionMemory held = session->Memory();
    EXPECT_EQ(held.device.feature_maps, held.feature_maps_reserved);
    EXPECT_EQ(held.device.granularity,
              of_host ? Bytes(0) : held.variables_reserved - held.variables);
    EXPECT_EQ(held.device.total(), held.feature_maps_reserved + held.device.ports + held.weights +
                                       (of_host ? Bytes(0) : held.variables_reserved));
  }
}

// Constants that kernels read as they are.
TEST(SessionCallsTest, WeightsOfAllGraphsAddUp) {
  SessionOptions options;
  options.load.optimise = false;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TwoProducts());
  EXPECT_EQ(session->Memory().weights, Bytes(0)) << "nothing is compiled yet";
  MustRun(*session, id, {Random({16, 32}, 1)});
  EXPECT_EQ(session->Memory(id)->weights, Bytes(32 * 32 * 4));
  const GraphId other = MustAdd(*session, AddOne({4}));
  MustRun(*session, other, {Random({4}, 1)});
  EXPECT_EQ(session->Memory(other)->weights, Bytes(4));
  EXPECT_EQ(session->Memory().weights, Bytes(32 * 32 * 4 + 4));
  EXPECT_EQ(session->Memory().device.weights, Bytes(32 * 32 * 4 + 4));
  ASSERT_TRUE(session->Unload(id).ok());
  EXPECT_EQ(session->Memory().weights, Bytes(4));
}

// The record is of the last run: what an unaligned address cost does not stay in it.
TEST(SessionCallsTest, TheRecordOfARunIsOfThatRunAlone) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({16}));
  const HostTensor memory = Floats({64}, std::vector<float>(64, 1));
  auto* const aligned = static_cast<float*>(memory.data.get());
  ASSERT_EQ(reinterpret_cast<uintptr_t>(aligned) % 64, 0U);
  const auto run = [&](float* x, float* y) {
    const Inputs from = {{.type = DataType::kFloat32, .dims = {16}, .data = x}};
    const Inputs to = {{.type = DataType::kFloat32, .dims = {16}, .data = y}};
    ASSERT_EQ(CodeOf(session->Run(id, from, to)), "");
    const RunRecord record = *session->LastRun(id);
    ASSERT_EQ(record.ports.inputs.size(), 1U);
    ASSERT_EQ(record.ports.outputs.size(), 1U);
    EXPECT_EQ(record.ports.inputs[0].in_place(), x == aligned);
    EXPECT_EQ(record.ports.outputs[0].in_place(), y == aligned + 32);
    EXPECT_EQ(*y, 2);
    *y = 0;
  };
  run(aligned + 1, aligned + 32);
  run(aligned, aligned + 33);
  run(aligned + 1, aligned + 33);
  run(aligned, aligned + 32);
}

// Two inputs and two outputs, none at a multiple of 32 bytes: each is copied on its way.
TEST(SessionCallsTest, EveryUnalignedTensorIsCopied) {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({8}));
  const ValueId b = builder.Input("b", FloatTensor({8}));
  builder.Output(builder.Node("Add", {a, b}));
  builder.Output(builder.Node("Sub", {a, b}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor memory = Floats({128}, std::vector<float>(128, 0));
  auto* const first = static_cast<float*>(memory.data.get()) + 1;
  std::fill_n(first, 8, 5.0F);
  std::fill_n(first + 32, 8, 2.0F);
  const auto at = [&](int64_t place) {
    return TensorView{.type = DataType::kFloat32, .dims = {8}, .data = first + place};
  };
  ASSERT_EQ(CodeOf(session->Run(id, Inputs{at(0), at(32)}, Inputs{at(64), at(96)})), "");
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(first[64 + i], 7) << i;
    EXPECT_EQ(first[96 + i], 3) << i;
  }
  EXPECT_EQ(first[64 + 8], 0);
  EXPECT_EQ(first[96 + 8], 0);
}

TEST(SessionCallsTest, AGraphThatIsUnloadedInTheMiddleOfARunGoesWhenItEnds) {
  Session* unloading = nullptr;
  GraphId id;
  std::string code = "not called";
  const auto allocator = std::make_shared<HookedAllocator>([&] {
    if (unloading == nullptr) return;
    Session& session = *std::exchange(unloading, nullptr);
    std::thread([&] { code = CodeOf(session.Unload(id)); }).join();
  });
  SessionOptions options;
  options.allocator = allocator;
  const auto session = MakeSession(options);
  id = MustAdd(*session, TwoProducts());
  const auto expected = MustRun(*session, id, {Random({16, 32}, 1)});
  ASSERT_TRUE(session->Unload(id).ok());
  EXPECT_EQ(allocator->statistics().allocated, Bytes(0));
  id = MustAdd(*session, TwoProducts());
  unloading = session.get();
  const auto got = MustRun(*session, id, {Random({16, 32}, 1)});
  EXPECT_EQ(code, "");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(BytesOf(got[0]), BytesOf(expected[0]));
  EXPECT_EQ(CodeOf(session->Memory(id).status()), "session.graph");
  EXPECT_EQ(allocator->statistics().allocated, Bytes(0));
}

// A graph of one shape hands its constants to its one plan; where that cannot be made, every call
// says why, the second as the first.
TEST(SessionCallsTest, APlanThatCannotBeMadeIsToldTheSameEveryTime) {
  GraphBuilder builder;
  const ValueId x =
      builder.Input("x", graph::ValueType::Tensor(DataType::kInt32, graph::Shape{1, 1, 4, 4}));
  const ValueId pool =
      builder.Node("MaxPool", {x}, compile::With("kernel_shape", std::vector<int64_t>{2, 2}));
  const ValueId y = builder.Node("Cast", {pool}, compile::With("to", int64_t{1}));
  builder.Output(builder.Node("Add", {y, builder.Float32s("w", {3}, {1, 2, 3})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor given = Random({1, 1, 4, 4}, 1, DataType::kInt32);
  std::vector<std::string> texts;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Status failed = session->RunValues(id, Values({given})).status();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, "kernel.unsupported");
    texts.push_back(failed.error().Text());
    texts.push_back(session->Compile(id, Views({given})).error().Text());
  }
  EXPECT_EQ(texts, std::vector<std::string>(6, texts[0]));
}

// Options of the call and of the configuration ask for different things; both are done.
TEST(SessionCallsTest, WhatTheCallerAskedForStaysNextToTheConfiguration) {
  SessionOptions options;
  options.load.open_shapes = true;
  const auto open = MakeSession(options);
  const GraphId any = MustAdd(*open, AddOne({4}));
  EXPECT_EQ(*open->Shapes(any), GraphShapes::kDynamic);
  const auto wider = MustRun(*open, any, {Random({7}, 1)});
  ASSERT_EQ(wider.size(), 1U);
  EXPECT_EQ(wider[0].dims, (kernels::Dims{7}));

  options = {};
  options.load.dynamic_dims = "3;5";
  options.config.dynamic_dims = "9";
  const auto gears = MakeSession(options);
  const GraphId two = MustAdd(*gears, AddOne({Dim::Symbol("n")}));
  EXPECT_EQ(gears->Memory(two)->plans, 2) << "the caller's gears, not the configuration's";

  options = {};
  options.load.plan.lifetimes.feature_base_refreshable = true;
  options.load.plan.lifetimes.reuse.disabled = true;
  const auto separate = MakeSession(options);
  const GraphId id = MustAdd(*separate, TwoProducts());
  MustRun(*separate, id, {Random({16, 32}, 1)});
  const auto memory = kernels::AllocateBytes(MiB(1));
  const auto rest = reinterpret_cast<uintptr_t>(memory.get()) % 512;
  auto* const base = static_cast<std::byte*>(memory.get()) + (512 - rest) % 512;
  EXPECT_EQ(CodeOf(separate->SetFeatureMapBase(id, base, KiB(512))), "");
}

// A graph that could not be added leaves no variable and no id behind.
TEST(SessionCallsTest, AGraphThatIsRefusedLeavesNothing) {
  const auto session = MakeSession(Training());
  const GraphId first = MustAdd(*session, AddOne({4}));
  Graph bad = MomentumStep();
  bad.metadata.clear();
  bad.metadata.emplace_back("state", "w=nowhere");
  EXPECT_NE(CodeOf(session->Add(bad).status()), "");
  EXPECT_NE(
      CodeOf(session->Add(MomentumStep(), {{"w", "next_w", ""}, {"w", "next_m", ""}}).status()),
      "");
  EXPECT_EQ(session->variables().List().size(), 0U);
  EXPECT_EQ(session->variables().bytes(), Bytes(0));
  const GraphId second = MustAdd(*session, MomentumStep());
  EXPECT_NE(first, second);
  EXPECT_EQ(session->variables().List().size(), 2U);
  MustRun(*session, first, {Random({4}, 1)});
  MustRun(*session, second, {Random({4}, 1)});
}

}  // namespace session_calls_test
}  // namespace plimsoll::engine
