#include "engine/debug/overwrite_check.h"

#include <gtest/gtest.h>

#include "engine/debug/debug_for_tests.h"
#include "engine/models_for_tests.h"
#include "engine/random/column_sums_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "engine/variables/training_for_tests.h"

// `oom` of op_debug_config (R140, R141, R153 to R156): kernels that touch memory outside of their
// tensors are caught.
namespace plimsoll::engine {
namespace overwrite_check_test {

using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

SessionOptions Checking(SessionOptions options = WithoutPasses()) {
  options.config.oom_check.enabled = true;
  return options;
}

Status RunOnce(Session& session, const Graph& graph, const std::vector<HostTensor>& inputs) {
  return session.RunValues(MustAdd(session, graph), Values(inputs)).status();
}

// A write of one byte, counted from one of the operands.
struct StrayWrite {
  enum class From { kOutput, kInput, kWorkspace } from;
  int64_t offset;
  std::string operand;  // that is named
};

decltype(Misdeed::act) Writes(const StrayWrite& stray) {
  return [stray](const OperatorCall& call, Bytes) -> Status {
    void* from = call.workspace;
    if (stray.from == StrayWrite::From::kOutput) from = call.outputs[0];
    if (stray.from == StrayWrite::From::kInput) from = const_cast<void*>(call.inputs[0]);
    static_cast<std::byte*>(from)[stray.offset] = std::byte{0x77};
    return {};
  };
}

// The tensor has 16 bytes, the workspace 64.
TEST(OverwriteCheckTest, R140_R141_AWriteOutsideIsCaughtByOperandAndOffset) {
  using From = StrayWrite::From;
  const std::vector<StrayWrite> strays = {
      {From::kOutput, 16, "output 0"},          {From::kOutput, -1, "output 0"},
      {From::kOutput, 4096, "output 0"},        {From::kOutput, -4096, "output 0"},
      {From::kWorkspace, 64, "workspace"},      {From::kWorkspace, -1, "workspace"},
      {From::kWorkspace, 64 + 511, "workspace"}};
  for (const char* device : {"cpu", "far"}) {
    SessionOptions options = Checking();
    options.device_name = device;
    const auto session = MakeSession(options);
    for (const StrayWrite& stray : strays) {
      SCOPED_TRACE(StrCat(device, ": ", stray.operand, " at ", stray.offset));
      const ScopedMisdeed misdeed(Writes(stray));
      const Status caught = RunOnce(*session, WithCopier(), {Random({4}, 1)});
      ASSERT_FALSE(caught.ok());
      const std::string text = caught.error().Text();
      EXPECT_NE(caught.error().code.find("EZ9999"), std::string::npos);
      EXPECT_NE(text.find("0X5A5A0001"), std::string::npos) << text;
      EXPECT_NE(text.find("'middle'"), std::string::npos) << text;
      EXPECT_NE(text.find(stray.operand), std::string::npos) << text;
      EXPECT_NE(text.find(StrCat("offset ", stray.offset, ",")), std::string::npos) << text;
    }
  }
}

// Also a byte that happens to be what the zone was filled with.
TEST(OverwriteCheckTest, R140_AnyByteIsSeen) {
  for (const int value : {0x5a, 0xa5, 0x00, 0xff}) {
    const auto session = MakeSession(Checking());
    const ScopedMisdeed misdeed([value](const OperatorCall& call, Bytes size) -> Status {
      static_cast<uint8_t*>(call.outputs[0])[size.value()] = static_cast<uint8_t>(value);
      return {};
    });
    EXPECT_EQ(CodeOf(RunOnce(*session, WithCopier(), {Random({4}, 1)})), "run.EZ9999") << value;
  }
}

TEST(OverwriteCheckTest, R140_WhatIsInsideIsNotCaught) {
  const auto session = MakeSession(Checking());
  const ScopedMisdeed misdeed([](const OperatorCall& call, Bytes size) -> Status {
    static_cast<std::byte*>(call.outputs[0])[0] = std::byte{0};
    static_cast<std::byte*>(call.outputs[0])[size.value() - 1] = std::byte{0};
    static_cast<std::byte*>(call.workspace)[63] = std::byte{1};
    return {};
  });
  EXPECT_EQ(CodeOf(RunOnce(*session, WithCopier(), {Random({4}, 1)})), "");
}

// Relu's output is read again later, so the operator cannot work in place.
Graph WithKeptInput() {
  Graph graph = WithCopier();
  graph.subgraphs[0].outputs.push_back(graph.nodes[0].outputs[0]);
  return graph;
}

TEST(OverwriteCheckTest, AWriteToAnInputIsCaught) {
  const auto session = MakeSession(Checking());
  const ScopedMisdeed misdeed(Writes({StrayWrite::From::kInput, 5, ""}));
  const Status caught = RunOnce(*session, WithKeptInput(), {Random({4}, 1)});
  EXPECT_EQ(CodeOf(caught), "run.EZ9999");
  EXPECT_NE(caught.error().Text().find("input 0"), std::string::npos) << caught.error().Text();
  EXPECT_NE(caught.error().Text().find("byte 5 "), std::string::npos) << caught.error().Text();
}

TEST(OverwriteCheckTest, R140_AReadOutsideThatMattersIsCaught) {
  const auto session = MakeSession(Checking());
  const ScopedMisdeed misdeed([](const OperatorCall& call, Bytes size) -> Status {
    static_cast<uint8_t*>(call.outputs[0])[0] =
        static_cast<const uint8_t*>(call.inputs[0])[size.value()];
    return {};
  });
  const Status caught = RunOnce(*session, WithKeptInput(), {Random({4}, 1)});
  EXPECT_EQ(CodeOf(caught), "run.EZ9999");
  EXPECT_NE(caught.error().Text().find("0X5A5A0002"), std::string::npos) << caught.error().Text();
}

// It gives something else each time: no judgement.
TEST(OverwriteCheckTest, AnOperatorThatCountsItsRunsIsNotCaught) {
  const auto session = MakeSession(Checking());
  int runs = 0;
  const ScopedMisdeed misdeed([&runs](const OperatorCall& call, Bytes) -> Status {
    static_cast<float*>(call.outputs[0])[0] = static_cast<float>(++runs);
    return {};
  });
  EXPECT_EQ(CodeOf(RunOnce(*session, WithCopier(), {Random({4}, 1)})), "");
}

TEST(OverwriteCheckTest, R153_R154_R156_OnlyOperatorsThatAreListed) {
  // Where it is not looked for, it hits the padding of the workspace.
  const ScopedMisdeed misdeed(Writes({StrayWrite::From::kWorkspace, 64, ""}));
  const auto code = [](config::OperatorList listed) {
    SessionOptions options = Checking();
    options.config.oom_check.operators = std::move(listed);
    return CodeOf(RunOnce(*MakeSession(options), WithKeptInput(), {Random({4}, 1)}));
  };
  EXPECT_EQ(code({.names = {"middle"}, .types = {}}), "run.EZ9999") << "by its name";
  EXPECT_EQ(code({.names = {}, .types = {"Copier"}}), "run.EZ9999") << "by its type";
  EXPECT_EQ(code({.names = {"last"}, .types = {"ReduceSum", "Copier"}}), "run.EZ9999") << "mixed";
  EXPECT_EQ(code({.names = {"first", "Copier"}, .types = {"middle"}}), "") << "no such name";
}

TEST(OverwriteCheckTest, AnErrorOfTheKernelPasses) {
  const auto session = MakeSession(Checking());
  const ScopedMisdeed misdeed([](const OperatorCall&, Bytes) -> Status {
    return Error{ErrorKind::kRunFailed, "test.refused", "no", "", "", ""};
  });
  EXPECT_EQ(CodeOf(RunOnce(*session, WithCopier(), {Random({4}, 1)})), "test.refused");
}

TEST(OverwriteCheckTest, TheNextRunIsRightAgain) {
  const auto session = MakeSession(Checking());
  const GraphId id = MustAdd(*session, WithCopier());
  {
    const ScopedMisdeed misdeed(Writes({StrayWrite::From::kOutput, 16, ""}));
    EXPECT_EQ(CodeOf(session->RunValues(id, Values({Random({4}, 1)})).status()), "run.EZ9999");
  }
  const auto outputs = MustRun(*session, id, {Floats({4}, {1, 2, -3, 4})});
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{-1, -2, 0, -4}));
}

TEST(OverwriteCheckTest, NodeByNodeToo) {
  const ScopedMisdeed misdeed([](const OperatorCall& call, Bytes size) -> Status {
    static_cast<uint8_t*>(call.outputs[0])[size.value()] = 1;
    return {};
  });
  RegisterCopier();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId copy =
      builder.Nodes("Copier", {builder.Node("NonZero", {x})}, 1, {}, kDebugDomain)[0];
  builder.Output(copy);
  Graph graph = builder.Build();
  MakerIn(graph, copy).version = 1;
  EXPECT_EQ(CodeOf(RunOnce(*MakeSession(Checking()), graph, {Random({4}, 1)})), "run.EZ9999");
}

TEST(OverwriteCheckTest, OperandsThatShareMemoryDoSoUnderTheCheck) {
  for (const bool checks : {false, true}) {
    int runs = 0;
    int in_place = 0;
    const ScopedMisdeed looks([&](const OperatorCall& call, Bytes) -> Status {
      ++runs;
      in_place += call.inputs[0] == call.outputs[0] ? 1 : 0;
      return {};
    });
    const auto session = MakeSession(checks ? Checking() : WithoutPasses());
    EXPECT_EQ(CodeOf(RunOnce(*session, WithCopier(), {Random({4}, 1)})), "");
    EXPECT_EQ(runs, checks ? 2 : 1);
    EXPECT_EQ(in_place, runs);
  }
}

// Our own kernels keep to their tensors, and what they give is the same to the bit.
TEST(OverwriteCheckTest, OwnKernelsAreClean) {
  struct Case {
    Graph graph;
    std::vector<HostTensor> inputs;
  };
  const std::vector<Case> cases = {{ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 1)}},
                                   {TransformerLayer(Dim::Symbol("batch"), Dim::Symbol("rows")),
                                    {Random({2, 5, kModelWidth}, 2)}},
                                   {Braid(3), {Random({kBraidSide, kBraidSide}, 3)}}};
  for (const char* device : {"cpu", "far"}) {
    for (const bool optimise : {true, false}) {
      for (const Case& item : cases) {
        SessionOptions options;
        options.device_name = device;
        options.load.optimise = optimise;
        const auto plain = MakeSession(options);
        const auto checking = MakeSession(Checking(options));
        const auto expected = MustRun(*plain, MustAdd(*plain, item.graph), item.inputs);
        const auto got = MustRun(*checking, MustAdd(*checking, item.graph), item.inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
      }
    }
  }
}

TEST(OverwriteCheckTest, TrainingIsTheSame) {
  const auto session = MakeSession(Checking(Training()));
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{std::vector<float>(4), std::vector<float>(4)};
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> x = {1, 2, static_cast<float>(step), 4};
    model.Step(x);
    MustRun(*session, id, {Floats({4}, x)});
    EXPECT_EQ(VariableOf(*session, "w"), model.w);
    EXPECT_EQ(VariableOf(*session, "m"), model.m);
  }
}

}  // namespace overwrite_check_test
}  // namespace plimsoll::engine
