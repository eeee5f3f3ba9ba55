#include "engine/run/poisoned_run.h"

#include <gtest/gtest.h>

#include "engine/models_for_tests.h"
#include "engine/session_for_tests.h"

// Memory full of NaN patterns changes no result, and nothing beyond the plan is written.
namespace plimsoll::engine {
namespace poisoned_run_test {

using graph::DataType;
using graph::Dim;
using graph::Graph;
using kernels::HostTensor;

// Runs plainly and poisoned; gives what the poisoned run showed.
PoisonedRun ExpectUnchanged(Graph graph, const std::vector<HostTensor>& inputs) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  const std::vector<HostTensor> plain = MustRun(*session, id, inputs);
  const auto executable = session->Compile(id, Views(inputs));
  if (!executable.ok() || *executable == nullptr) {
    ADD_FAILURE() << "there is no plan";
    return {};
  }
  std::vector<const void*> from;
  for (const HostTensor& input : inputs) from.push_back(input.data.get());
  std::vector<HostTensor> made;
  std::vector<void*> to;
  for (const HostTensor& output : plain) {
    made.push_back(*kernels::AllocateOnHeap(output.type, output.dims));
    to.push_back(made.back().data.get());
  }
  const auto run = RunPoisoned(**executable, {.inputs = from, .outputs = to});
  if (!run.ok()) {
    ADD_FAILURE() << run.error().Text();
    return {};
  }
  for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(ElementsOf(made[i]), ElementsOf(plain[i]));
  const Bytes planned = session->Memory(id)->planned_peak;
  EXPECT_LE(run->actual_peak, planned);
  EXPECT_LE(run->live_peak, planned);
  EXPECT_FALSE(run->wrote_outside);
  return *run;
}

TEST(PoisonedRunTest, AConvolutionalNetwork) {
  const PoisonedRun run = ExpectUnchanged(ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 1)});
  EXPECT_GT(run.actual_peak, Bytes(0));
  EXPECT_GT(run.live_peak, Bytes(0));
}

TEST(PoisonedRunTest, ATransformerLayerOverSeveralShapes) {
  for (const int64_t rows : {1, 6, 33}) {
    ExpectUnchanged(TransformerLayer(Dim::Symbol("batch"), Dim::Symbol("rows")),
                    {Random({2, rows, kModelWidth}, 2)});
  }
}

TEST(PoisonedRunTest, BothBranchesOfAnIf) {
  for (const bool taken : {true, false}) {
    graph::GraphBuilder builder;
    const auto condition =
        builder.Input("c", graph::ValueType::Tensor(DataType::kBool, graph::Shape{}));
    const auto x = builder.Input("x", compile::FloatTensor({40}));
    const auto busy = builder.Node("Exp", {x});
    graph::Attributes attributes;
    const auto then_branch = builder.BeginBody("then");
    builder.EndBody({builder.Node("Neg", {builder.Node("Sqrt", {busy})})});
    attributes.Set("then_branch", then_branch);
    const auto else_branch = builder.BeginBody("else");
    builder.EndBody({builder.Node("Mul", {busy, x})});
    attributes.Set("else_branch", else_branch);
    const auto chosen = builder.Node("If", {condition}, std::move(attributes));
    builder.Output(builder.Node("Add", {chosen, busy}));
    ExpectUnchanged(builder.Build(), {Bool(taken), Random({40}, 3)});
  }
}

TEST(PoisonedRunTest, OneNodeBetweenTheCallersTensorsUsesNoMemory) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({2048}));
  const HostTensor x = Random({2048}, 4);
  const auto executable = *session->Compile(id, std::vector<TensorView>{View(x)});
  ASSERT_NE(executable, nullptr);
  const HostTensor y = *kernels::AllocateOnHeap(DataType::kFloat32, {2048});
  const std::vector<const void*> from = {x.data.get()};
  const std::vector<void*> to = {y.data.get()};
  const auto run = RunPoisoned(*executable, {.inputs = from, .outputs = to});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->actual_peak, Bytes(0));
  EXPECT_EQ(run->live_peak, Bytes(0));
}

}  // namespace poisoned_run_test
}  // namespace plimsoll::engine
