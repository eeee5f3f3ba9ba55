#include "compile/memory/storage/views.h"

#include "compile/passes/fold/fold_constants.h"
#include "compile/passes/inline_branches.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace views_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

// "1 of 0 at 64": windows by operand, inputs numbered from the left and outputs behind them.
template <typename Build>
std::string Windows(const Build& build) {
  GraphBuilder builder;
  const ValueId made = build(builder);
  builder.Output(made);
  const Graph graph = Inferred(builder);
  const NodeId id = graph[made].producer;
  std::vector<ValueId> operands = graph[id].inputs;
  operands.insert(operands.end(), graph[id].outputs.begin(), graph[id].outputs.end());
  const auto number = [&](ValueId value) {
    return std::find(operands.begin(), operands.end(), value) - operands.begin();
  };
  std::vector<std::string> texts;
  for (const WindowOf& window : WindowsOf(graph, id)) {
    texts.push_back(
        StrCat(number(window.part), " of ", number(window.whole), " at ", window.offset.value()));
  }
  return Join(texts, ", ");
}

ValueId X(GraphBuilder& b, graph::Shape shape = {1, 6, 4}, DataType type = DataType::kFloat32) {
  return b.Input("x", ValueType::Tensor(type, std::move(shape)));
}

TEST(ViewsTest, AConcatOrSplitAlongTheOuterAxisMovesNoByte) {
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Node("Concat", {X(b), b.Input("y", FloatTensor({1, 2, 4}))},
                            With("axis", int64_t{1}));
            }),
            "0 of 2 at 0, 1 of 2 at 96");
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Node("Concat", {X(b), b.Input("y", FloatTensor({1, 2, 4}))},
                            With("axis", int64_t{-2}));
            }),
            "0 of 2 at 0, 1 of 2 at 96");
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Node("Concat", {X(b), b.Input("y", FloatTensor({1, 6, 1}))},
                            With("axis", int64_t{2}));
            }),
            "");
  EXPECT_EQ(
      Windows([](GraphBuilder& b) {
        return b.Nodes("Split", {X(b), b.Int64s("s", {1, 3, 2})}, 3, With("axis", int64_t{1}))[0];
      }),
      "2 of 0 at 0, 3 of 0 at 16, 4 of 0 at 64");
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Nodes("Split", {X(b, {2, 6, 4}), b.Int64s("s", {1, 5})}, 2,
                             With("axis", int64_t{1}))[0];
            }),
            "");
}

// Slice of [1, 6, 4] or another shape.
std::string Cut(const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps = {},
                graph::Shape shape = {1, 6, 4}, DataType type = DataType::kFloat32) {
  return Windows([&](GraphBuilder& b) {
    std::vector<ValueId> inputs = {X(b, std::move(shape), type), b.Int64s("starts", starts),
                                   b.Int64s("ends", ends), b.Int64s("axes", axes)};
    if (!steps.empty()) inputs.push_back(b.Int64s("steps", steps));
    return b.Node("Slice", inputs);
  });
}

TEST(ViewsTest, ASliceOfRowsIsAWindow) {
  EXPECT_EQ(Cut({2}, {5}, {1}), "4 of 0 at 32");
  EXPECT_EQ(Cut({-2}, {6}, {1}), "4 of 0 at 64") << "counted from the end";
  EXPECT_EQ(Cut({-9}, {3}, {1}), "4 of 0 at 0") << "no further than the start";
  EXPECT_EQ(Cut({2}, {99}, {-2}), "4 of 0 at 32");
  EXPECT_EQ(Cut({2}, {5}, {1}, {1}), "5 of 0 at 32");
  EXPECT_EQ(Cut({0, 2}, {1, 5}, {0, 1}), "4 of 0 at 32") << "the first axis is whole";
  EXPECT_EQ(Cut({2, 0}, {5, 1}, {1, 0}), "4 of 0 at 32");
  EXPECT_EQ(Cut({2}, {5}, {1}, {}, {1, 6, 4}, DataType::kInt8), "4 of 0 at 8");
}

TEST(ViewsTest, ASliceThatSkipsOrMixesRowsIsNone) {
  EXPECT_EQ(Cut({0}, {6}, {1}, {2}), "");
  EXPECT_EQ(Cut({5}, {-9}, {1}, {-1}), "");
  EXPECT_EQ(Cut({1}, {3}, {2}), "") << "columns";
  EXPECT_EQ(Cut({1, 1}, {3, 3}, {1, 2}), "") << "rows and columns";
  EXPECT_EQ(Cut({1}, {3}, {1}, {}, {2, 6, 4}), "") << "of each of two";
  EXPECT_EQ(Cut({0}, {2}, {1}, {}, {1, 6, 4}, DataType::kInt4), "") << "halves of bytes";
}

std::string Gathered(ValueId (*indices)(GraphBuilder&), int64_t axis,
                     graph::Shape shape = {1, 6, 4}) {
  return Windows([&](GraphBuilder& b) {
    return b.Node("Gather", {X(b, std::move(shape)), indices(b)}, With("axis", axis));
  });
}

TEST(ViewsTest, OneKnownRowIsAWindow) {
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64("i", 2); }, 1), "2 of 0 at 32");
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64s("i", {2}); }, -2), "2 of 0 at 32");
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64("i", -1); }, 1), "2 of 0 at 80");
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64s("i", {1, 2}); }, 1), "");
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64("i", 2); }, 2), "");
  EXPECT_EQ(Gathered([](GraphBuilder& b) { return b.Int64("i", 2); }, 1, {2, 6, 4}), "");
}

TEST(ViewsTest, ATransposeIsAViewWhereOnlyOnesMove) {
  const auto turned = [](const Ints& perm, graph::Shape shape) {
    return Windows([&](GraphBuilder& b) {
      return b.Node("Transpose", {X(b, std::move(shape))}, With("perm", perm));
    });
  };
  EXPECT_EQ(turned({1, 0, 2}, {1, 6, 4}), "1 of 0 at 0");
  EXPECT_EQ(turned({1, 2, 0}, {1, 6, 4}), "1 of 0 at 0");
  EXPECT_EQ(turned({0, 2, 1}, {1, 6, 4}), "");
  EXPECT_EQ(turned({2, 1, 0}, {1, 6, 1}), "1 of 0 at 0");
  EXPECT_EQ(turned({1, 0}, {6, 4}), "");
}

TEST(ViewsTest, NodesThatMayDoNothingAreViewsWhereTheyDo) {
  EXPECT_EQ(Windows([](GraphBuilder& b) { return b.Node("Cast", {X(b)}, With("to", int64_t{1})); }),
            "1 of 0 at 0");
  EXPECT_EQ(
      Windows([](GraphBuilder& b) { return b.Node("Cast", {X(b)}, With("to", int64_t{11})); }), "");
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Node("Expand", {X(b), b.Int64s("to", {1, 6, 4})});
            }),
            "2 of 0 at 0");
  EXPECT_EQ(Windows([](GraphBuilder& b) {
              return b.Node("Expand", {X(b), b.Int64s("to", {2, 6, 4})});
            }),
            "");
  EXPECT_EQ(Windows([](GraphBuilder& b) { return b.Node("Relu", {X(b)}); }), "");
  EXPECT_EQ(Windows([](GraphBuilder& b) { return b.Node("Dropout", {X(b)}); }), "1 of 0 at 0");
  EXPECT_EQ(Windows([](GraphBuilder& b) { return b.Nodes("Dropout", {X(b)}, 2)[0]; }), "")
      << "its mask is made too";
}

TEST(ViewsTest, AReferenceIsAWindowOfTheInputItNames) {
  const auto referred = [](std::vector<graph::MemoryAttributes::Reference> references) {
    return Windows([&](GraphBuilder& b) {
      const ValueId y = b.Node("Add", {X(b), b.Input("y", FloatTensor({1, 6, 4}))});
      b.graph()[b.graph()[y].producer].memory.reference_outputs = references;
      return y;
    });
  };
  EXPECT_EQ(referred({{0, 1}}), "2 of 1 at 0");
  EXPECT_EQ(referred({{0, 0}}), "2 of 0 at 0");
  EXPECT_EQ(referred({{1, 0}}), "") << "there is no second output";
  EXPECT_EQ(referred({{0, 2}}), "") << "nor a third input";
}

// An If over a known condition whose branch returns what `branch` makes of x.
template <typename Branch>
Graph KnownIf(bool taken, const Branch& branch, size_t outputs = 1, bool returned = true) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  Attributes attributes;
  for (const bool then : {true, false}) {
    const graph::SubgraphId body = builder.BeginBody(then ? "then" : "else");
    std::vector<ValueId> made = branch(builder, x, then);
    builder.EndBody(made);
    attributes.Set(then ? "then_branch" : "else_branch", body);
  }
  const ValueId condition =
      builder.Node("Greater", {builder.Int64("one", 1), builder.Int64("limit", taken ? 0 : 2)});
  const auto chosen = builder.Nodes("If", {condition}, outputs, attributes);
  for (const ValueId value : chosen) {
    builder.Output(returned ? value : builder.Node("Neg", {value}));
  }
  Graph graph = Inferred(builder);
  FoldConstants(graph);
  return graph;
}

TEST(InlineBranchesRulesTest, WhatABranchReturnsMustBeItsOwnWhereTheModelReturnsIt) {
  const auto outer = [](GraphBuilder&, ValueId x, bool) { return std::vector<ValueId>{x}; };
  Graph returned = KnownIf(true, outer);
  EXPECT_EQ(InlineBranches(returned).effects(), 0) << "an input of the model would be its output";
  Graph read = KnownIf(true, outer, 1, false);
  EXPECT_EQ(InlineBranches(read).effects(), 1);
  EXPECT_EQ(OperatorsOf(read), "Neg");
  EXPECT_EQ(MakerOfOutput(read).inputs[0], read.root().inputs[0]);
}

TEST(InlineBranchesRulesTest, AValueReturnedTwiceCannotBeTwoOutputs) {
  const auto twice = [](GraphBuilder& b, ValueId x, bool) {
    const ValueId y = b.Node("Relu", {x});
    return std::vector<ValueId>{y, y};
  };
  Graph returned = KnownIf(true, twice, 2);
  EXPECT_EQ(InlineBranches(returned).effects(), 0);
  Graph read = KnownIf(true, twice, 2, false);
  EXPECT_EQ(InlineBranches(read).effects(), 1);
  EXPECT_EQ(OperatorsOf(read), "Relu Neg Neg");
}

TEST(InlineBranchesRulesTest, EachOutputIsThatOfTheTakenBranch) {
  const auto two = [](GraphBuilder& b, ValueId x, bool then) {
    return std::vector<ValueId>{b.Node(then ? "Relu" : "Tanh", {x}),
                                b.Node(then ? "Abs" : "Sin", {x})};
  };
  for (const bool taken : {false, true}) {
    Graph graph = KnownIf(taken, two, 2);
    const std::string first = graph[graph.root().outputs[0]].name;
    EXPECT_EQ(InlineBranches(graph).effects(), 1);
    EXPECT_EQ(MakerOfOutput(graph, 0).op, taken ? "Relu" : "Tanh");
    EXPECT_EQ(MakerOfOutput(graph, 1).op, taken ? "Abs" : "Sin");
    EXPECT_EQ(graph[graph.root().outputs[0]].name, first);
  }
}

TEST(InlineBranchesRulesTest, AConditionOfARunAndAnIfWithRequestsStay) {
  const auto relu = [](GraphBuilder& b, ValueId x, bool) {
    return std::vector<ValueId>{b.Node("Relu", {x})};
  };
  Graph requests = KnownIf(true, relu);
  for (graph::Node& node : requests.nodes) {
    if (node.op == "If") node.memory.stream = 1;
  }
  EXPECT_EQ(InlineBranches(requests).effects(), 0);
  Graph unknown = KnownIf(true, relu);
  for (graph::Node& node : unknown.nodes) {
    if (node.op == "If") unknown[node.inputs[0]].constant = graph::ConstantId();
  }
  EXPECT_EQ(InlineBranches(unknown).effects(), 0);
}

}  // namespace views_test
}  // namespace plimsoll::compile
