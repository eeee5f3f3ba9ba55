#include "compile/memory/stream_waits.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/memory/streams.h"
#include "compile/plan_model.h"

namespace plimsoll::compile {
namespace stream_waits_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

void Put(Graph& graph, ValueId value, int stream) {
  graph[graph[value].producer].memory.stream = stream;
}

// "Exp>Neg": operators that wait, by the one they wait for.
std::vector<std::string> WaitsOf(GraphBuilder& builder) {
  Graph graph = Inferred(builder);
  EXPECT_TRUE(SettleStreams(graph).ok());
  PlanOptions options;
  options.search_order = false;
  const auto planned = PlanModel(graph, options);
  EXPECT_TRUE(planned.ok()) << (planned.ok() ? "" : planned.error().Text());
  std::vector<std::string> waits;
  if (!planned.ok()) return waits;
  const Timeline& timeline = planned->timeline;
  EXPECT_EQ(planned->buffers.problem.synchronisations.size(), timeline.waits.size());
  const auto op = [&](int64_t step) {
    return graph[timeline.steps[static_cast<size_t>(step)].node].op;
  };
  for (const StreamWait& wait : timeline.waits) {
    waits.push_back(op(wait.before) + ">" + op(wait.after));
  }
  return waits;
}

using Waits = std::vector<std::string>;

TEST(StreamWaitsTest, AReaderWaitsForTheLastMakerOnEachOtherStream) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId a = builder.Node("Exp", {x});
  const ValueId b = builder.Node("Tanh", {a});
  const ValueId c = builder.Node("Sin", {x});
  const ValueId d = builder.Node("Add", {builder.Node("Mul", {a, b}), c});
  Put(builder.graph(), c, 1);
  Put(builder.graph(), d, 2);
  builder.Output(d);
  EXPECT_EQ(WaitsOf(builder), (Waits{"Mul>Add", "Sin>Add"}));
}

TEST(StreamWaitsTest, AWriterWaitsForThoseWhoReadWhatItWritesOver) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Exp", {builder.Input("x", FloatTensor({8}))});
  const ValueId read = builder.Node("Tanh", {x});
  const ValueId over = builder.Node("Neg", {x});
  Graph& graph = builder.graph();
  Put(graph, read, 1);
  Put(graph, over, 2);
  graph[graph[over].producer].memory.reference_outputs = {{0, 0}};
  builder.Output(read);
  builder.Output(builder.Node("Sin", {over}));
  EXPECT_EQ(WaitsOf(builder), (Waits{"Exp>Tanh", "Tanh>Neg", "Exp>Neg", "Neg>Sin"}));
}

TEST(StreamWaitsTest, AViewWritesNothingSoNobodyWaitsToBeRead) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Exp", {builder.Input("x", FloatTensor({8}))});
  Graph& graph = builder.graph();
  for (int stream = 1; stream <= 2; ++stream) {
    const std::string name = "shape" + std::to_string(stream);
    const ValueId view = builder.Node("Reshape", {x, builder.Int64s(name, {2, 4})});
    const ValueId made = builder.Node(stream == 1 ? "Sin" : "Cos", {view});
    Put(graph, view, stream);
    Put(graph, made, stream);
    builder.Output(made);
  }
  EXPECT_EQ(WaitsOf(builder), (Waits{"Exp>Reshape", "Exp>Reshape"}));
}

TEST(StreamWaitsTest, ANodeWithBodiesWaitsAndIsWaitedForAsAWhole) {
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId given = builder.Input("x", FloatTensor({8}));
  const ValueId c =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  const ValueId x = builder.Node("Exp", {given});
  graph::Attributes attributes;
  for (const char* branch : {"then_branch", "else_branch"}) {
    const graph::SubgraphId body = builder.BeginBody(branch);
    builder.EndBody({builder.Node("Sin", {builder.Node("Cos", {x})})});
    attributes.Set(branch, graph::Attribute(body));
  }
  const ValueId chosen = builder.Node("If", {c}, std::move(attributes));
  const ValueId over = builder.Node("Neg", {x});
  Put(graph, chosen, 1);
  Put(graph, over, 2);
  graph[graph[over].producer].memory.reference_outputs = {{0, 0}};
  builder.Output(builder.Node("Add", {chosen, over}));
  EXPECT_EQ(WaitsOf(builder), (Waits{"Exp>If", "If>Neg", "Exp>Neg", "Neg>Add", "If>Add"}));
}

}  // namespace stream_waits_test
}  // namespace plimsoll::compile
