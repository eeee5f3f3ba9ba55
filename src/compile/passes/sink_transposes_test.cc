#include "compile/passes/sink_transposes.h"

#include "compile/passes/common_subexpressions.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/no_ops.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace sink_transposes_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

ValueId Turned(GraphBuilder& b, ValueId value, const Ints& perm) {
  return b.Node("Transpose", {value}, With("perm", perm));
}

TEST(SinkTransposesTest, ATransposeMovesBehindAnElementwiseNode) {
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                     return b.Node("Relu", {Turned(b, x, {2, 0, 1})});
                   }),
            "Relu Transpose");
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                     return b.Node("Softmax", {Turned(b, x, {2, 0, 1})}, With("axis", int64_t{0}));
                   }),
            "Transpose Softmax")
      << "an axis means another one then";
}

// x turned by one permutation, y by another, and their sum.
std::string Sum(const Ints& first, const Ints& second) {
  return LeftOf(SinkTransposes, [&](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({3, 3, 3}));
    const ValueId y = b.Input("y", FloatTensor({3, 3, 3}));
    const ValueId left = Turned(b, x, first);
    return b.Node("Sub", {left, second.empty() ? y : Turned(b, y, second)});
  });
}

TEST(SinkTransposesTest, BothOperandsMustBeTurnedAlike) {
  EXPECT_EQ(Sum({2, 0, 1}, {2, 0, 1}), "Sub Transpose");
  EXPECT_EQ(Sum({2, 0, 1}, {1, 2, 0}), "Transpose Transpose Sub");
  EXPECT_EQ(Sum({2, 0, 1}, {}), "Transpose Sub");
}

// Two turned values joined along an axis, and what `then` makes of it.
template <typename Then>
std::string Joined(int64_t axis, const Then& then) {
  return LeftOf(SinkTransposes, [&](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
    const ValueId y = b.Input("y", FloatTensor({2, 3, 4}));
    return then(b, b.Node("Concat", {Turned(b, x, {2, 0, 1}), Turned(b, y, {2, 0, 1})},
                          With("axis", axis)));
  });
}

TEST(SinkTransposesTest, ATransposeMovesBehindAJoinWhereItMeetsAnother) {
  for (const int64_t axis : {0, 1, -1}) {
    EXPECT_EQ(Joined(axis,
                     [](GraphBuilder& b, ValueId v) {
                       return Turned(b, v, {1, 2, 0});
                     }),
              "Concat Transpose Transpose");
  }
  EXPECT_EQ(Joined(0, [](GraphBuilder& b, ValueId v) { return b.Node("Relu", {v}); }),
            "Concat Relu Transpose");
  EXPECT_EQ(Joined(0, [](GraphBuilder&, ValueId v) { return v; }), "Transpose Transpose Concat");
}

TEST(SinkTransposesTest, BytesMoveWhereOneScaleIsForAllOfThem) {
  const auto left = [](std::vector<float> scales) {
    return LeftOf(SinkTransposes, [&](GraphBuilder& b) {
      const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
      const Ints dims = scales.size() == 1 ? Ints{} : Ints{static_cast<int64_t>(scales.size())};
      const ValueId scale = b.Float32s("s", dims, scales);
      return b.Node("QuantizeLinear", {Turned(b, x, {2, 0, 1}), scale});
    });
  };
  EXPECT_EQ(left({0.5F}), "QuantizeLinear Transpose");
  EXPECT_EQ(left({0.5F, 0.25F}), "Transpose QuantizeLinear");
}

TEST(SinkTransposesTest, AConstantIsTurnedBack) {
  for (const Ints& dims : {Ints{4, 1, 3}, Ints{2, 3}, Ints{3}, Ints{4, 2, 3}}) {
    EXPECT_EQ(LeftOf(SinkTransposes,
                     [&](GraphBuilder& b) {
                       const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                       const ValueId c = Weights(b, "c", dims);
                       return b.Node("Div", {c, Turned(b, x, {2, 0, 1})});
                     }),
              "Transpose Div Transpose")
        << dims.size();
  }
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                     return b.Node("Mul", {Turned(b, x, {2, 0, 1}), Scalar(b, "c", 3)});
                   }),
            "Mul Transpose");
}

// Each constant that is turned is a node more: the join's own attributes are read all the same.
TEST(SinkTransposesTest, AJoinWithManyConstantsKeepsItsAxis) {
  constexpr int kConstants = 16;
  std::string left;
  for (int i = 0; i < kConstants; ++i) left += "Transpose ";
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                     std::vector<ValueId> parts = {Turned(b, x, {0, 2, 1})};
                     for (int i = 0; i < kConstants; ++i) {
                       parts.push_back(Weights(b, "c" + std::to_string(i), {2, 1, 3}));
                     }
                     return b.Node("Relu", {b.Node("Concat", parts, With("axis", int64_t{1}))});
                   }),
            left + "Concat Relu Transpose");
}

TEST(SinkTransposesTest, WhereNoTransposeWouldVanishNothingMoves) {
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 4}));
                     const ValueId turned = Turned(b, x, {2, 0, 1});
                     b.Output(turned);
                     return b.Node("Relu", {turned});
                   }),
            "Transpose Relu");
}

TEST(SinkTransposesTest, AnOperandOfAnotherRankStays) {
  EXPECT_EQ(LeftOf(SinkTransposes,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({2, 3, 3}));
                     const ValueId y = b.Input("y", FloatTensor({3, 2}));
                     return b.Node("Add", {Turned(b, x, {1, 2, 0}), Turned(b, y, {0, 1})});
                   }),
            "Transpose Transpose Add");
}

// What one pass leaves of a chain of views over [2, 3, 4].
template <typename Build>
std::string Views(const Build& build) {
  return LeftOf(MergeViews, [&](GraphBuilder& b) {
    return build(b, b.Input("x", FloatTensor({2, 3, 4})));
  });
}

TEST(MergeViewsRulesTest, TransposesMultiply) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              return Turned(b, Turned(b, x, {1, 2, 0}), {2, 1, 0});
            }),
            "Transpose");
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              return b.Node("Transpose", {b.Node("Transpose", {Turned(b, x, {1, 2, 0})})});
            }),
            "Transpose")
      << "without a permutation the order is reversed";
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              const ValueId first = Turned(b, x, {1, 2, 0});
              b.Output(first);
              return Turned(b, first, {2, 1, 0});
            }),
            "Transpose Transpose")
      << "the first is needed by others";
}

TEST(MergeViewsRulesTest, ViewsOfViewsAreOne) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              const ValueId flat = b.Node("Flatten", {x}, With("axis", int64_t{1}));
              const ValueId more = b.Node("Unsqueeze", {flat, b.Int64s("a", {0})});
              return b.Node("Reshape", {more, b.Int64s("b", {4, 6})});
            }),
            "Reshape");
}

TEST(MergeViewsRulesTest, ATransposeThatMovesElementsIsNoView) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) { return Turned(b, x, {0, 2, 1}); }), "Transpose");
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              return b.Node("Reshape", {Turned(b, x, {0, 2, 1}), b.Int64s("a", {4, 6})});
            }),
            "Transpose Reshape")
      << "rows and columns are mixed";
}

TEST(MergeViewsRulesTest, AViewThatKeepsTheLastTwoGoesBeforeTheirSwap) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              return b.Node("Reshape", {Turned(b, x, {0, 2, 1}), b.Int64s("a", {1, 2, 4, 3})});
            }),
            "Reshape Transpose");
  EXPECT_EQ(LeftOf(MergeViews,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 3, 5}));
                     const ValueId swapped = Turned(b, x, {0, 2, 1});
                     return b.Node("Reshape", {swapped, b.Int64s("a", {2, 2, 5, 3})});
                   }),
            "Reshape Transpose");
}

TEST(MergeViewsRulesTest, LeadingOnesGoBeforeAnyTranspose) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              return b.Node("Unsqueeze", {Turned(b, x, {2, 0, 1}), b.Int64s("a", {0, 1})});
            }),
            "Reshape Transpose");
}

TEST(MergeViewsRulesTest, ATransposeThatOthersReadStaysBeforeItsView) {
  EXPECT_EQ(Views([](GraphBuilder& b, ValueId x) {
              const ValueId turned = Turned(b, x, {2, 0, 1});
              b.Output(turned);
              return b.Node("Unsqueeze", {turned, b.Int64s("a", {0})});
            }),
            "Transpose Unsqueeze");
}

TEST(NoOpsRulesTest, ArithmeticIsLeftOutOnlyWithItsNeutralElementOnTheRightSide) {
  const auto left = [](const char* op, float number, bool first) {
    return LeftOf(RemoveNoOps, [&](GraphBuilder& b) {
      const ValueId x = b.Node("Relu", {b.Input("x", FloatTensor({2, 3}))});
      const ValueId c = b.Float32s("c", {3}, {number, number, number});
      return b.Node("Neg", {first ? b.Node(op, {c, x}) : b.Node(op, {x, c})});
    });
  };
  EXPECT_EQ(left("Add", 0, true), "Relu Neg");
  EXPECT_EQ(left("Mul", 1, true), "Relu Neg");
  EXPECT_EQ(left("Sub", 0, false), "Relu Neg");
  EXPECT_EQ(left("Sub", 0, true), "Relu Sub Neg");
  EXPECT_EQ(left("Div", 1, true), "Relu Div Neg");
  EXPECT_EQ(left("Add", 1, false), "Relu Add Neg");
  EXPECT_EQ(left("Mul", 0, false), "Relu Mul Neg");
  EXPECT_EQ(left("Sub", 1, false), "Relu Sub Neg");
  EXPECT_EQ(LeftOf(RemoveNoOps,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Node("Relu", {b.Input("x", FloatTensor({2, 3}))});
                     return b.Node("Neg", {b.Node("Mul", {x, b.Float32s("c", {3}, {1, 1, 2})})});
                   }),
            "Relu Mul Neg")
      << "every element counts";
}

TEST(NoOpsRulesTest, ViewsAndCastsStayWhereTheyChangeSomething) {
  const auto left = [](const char* op, const Ints& numbers) {
    return LeftOf(RemoveNoOps, [&](GraphBuilder& b) {
      const ValueId x = b.Node("Relu", {b.Input("x", FloatTensor({1, 3}))});
      return b.Node("Neg", {b.Node(op, {x, b.Int64s("n", numbers)})});
    });
  };
  EXPECT_EQ(left("Reshape", {1, 3}), "Relu Neg");
  EXPECT_EQ(left("Reshape", {3, 1}), "Relu Reshape Neg");
  EXPECT_EQ(left("Expand", {1, 3}), "Relu Neg");
  EXPECT_EQ(left("Expand", {2, 3}), "Relu Expand Neg");
  EXPECT_EQ(left("Squeeze", {0}), "Relu Squeeze Neg");
  EXPECT_EQ(left("Unsqueeze", {0}), "Relu Unsqueeze Neg");
  EXPECT_EQ(LeftOf(RemoveNoOps,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Node("Relu", {b.Input("x", FloatTensor({1, 3}))});
                     return b.Node("Neg", {b.Node("Cast", {x}, With("to", int64_t{11}))});
                   }),
            "Relu Cast Neg");
}

TEST(NoOpsRulesTest, ADropoutWhoseMaskIsReadStays) {
  const auto left = [](bool read, bool returned) {
    GraphBuilder builder;
    const ValueId x = builder.Node("Relu", {builder.Input("x", FloatTensor({4}))});
    const auto made = builder.Nodes("Dropout", {x}, 2);
    builder.Output(builder.Node("Neg", {made[0]}));
    if (read) builder.Output(builder.Node("Not", {made[1]}));
    if (returned) builder.Output(made[1]);
    Graph graph = Inferred(builder);
    RemoveNoOps(graph);
    return OperatorsOf(graph);
  };
  EXPECT_EQ(left(false, false), "Relu Neg");
  EXPECT_EQ(left(true, false), "Relu Dropout Neg Not");
  EXPECT_EQ(left(false, true), "Relu Dropout Neg");
}

TEST(NoOpsRulesTest, NodesWithRequestsForTheirMemoryStay) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Relu", {builder.Input("x", FloatTensor({4}))});
  const ValueId same = builder.Node("Identity", {x});
  builder.graph()[builder.graph()[same].producer].memory.fixed_address = true;
  builder.Output(builder.Node("Neg", {same}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(RemoveNoOps(graph).effects(), 0);
}

// Two nodes of one input that differ in one thing only.
template <typename Build>
std::string Merged(const Build& build) {
  return LeftOf(MergeCommonSubexpressions, [&](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({2, 4}));
    return b.Node("Sub", {build(b, x, 0), build(b, x, 1)});
  });
}

TEST(CommonSubexpressionsRulesTest, NodesAreMergedOnlyWhereEverythingIsTheSame) {
  EXPECT_EQ(Merged([](GraphBuilder& b, ValueId x, int) {
              return b.Node("LeakyRelu", {x}, With("alpha", 0.3));
            }),
            "LeakyRelu Sub");
  EXPECT_EQ(Merged([](GraphBuilder& b, ValueId x, int i) {
              return b.Node("LeakyRelu", {x}, With("alpha", i == 0 ? 0.3 : 0.4));
            }),
            "LeakyRelu LeakyRelu Sub");
  EXPECT_EQ(Merged([](GraphBuilder& b, ValueId x, int i) {
              return b.Node(i == 0 ? "Relu" : "Abs", {x});
            }),
            "Relu Abs Sub");
  EXPECT_EQ(Merged([](GraphBuilder& b, ValueId x, int i) {
              return b.Node("Gelu", {x},
                            With("approximate", std::string(i == 0 ? "none" : "tanh")));
            }),
            "Gelu Gelu Sub");
  EXPECT_EQ(Merged([](GraphBuilder& b, ValueId x, int i) {
              return b.Node("ReduceMax", {x}, With("axes", i == 0 ? Ints{0} : Ints{1}));
            }),
            "ReduceMax ReduceMax Sub");
}

TEST(CommonSubexpressionsRulesTest, OperandsCountInTheirOrder) {
  EXPECT_EQ(LeftOf(MergeCommonSubexpressions,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4}));
                     const ValueId y = b.Input("y", FloatTensor({4}));
                     return b.Node("Mul", {b.Node("Sub", {x, y}), b.Node("Sub", {y, x})});
                   }),
            "Sub Sub Mul");
}

TEST(CommonSubexpressionsRulesTest, ConstantsAreMergedByTypeShapeAndElements) {
  const auto merged = [](const Ints& first, const Ints& second, int64_t to) {
    return LeftOf(MergeCommonSubexpressions, [&](GraphBuilder& b) {
      const ValueId x = b.Input("x", FloatTensor({2, 4}));
      const ValueId one = b.Node("Reshape", {x, b.Int64s("one", first)});
      const ValueId other = b.Node("Reshape", {x, b.Int64s("other", second)});
      return b.Node("Sub", {one, b.Node("Reshape", {other, b.Int64s("to", {to, 8 / to})})});
    });
  };
  EXPECT_EQ(merged({4, 2}, {4, 2}, 4), "Reshape Reshape Sub");
  EXPECT_EQ(merged({4, 2}, {8, 1}, 4), "Reshape Reshape Reshape Sub");
}

TEST(CommonSubexpressionsRulesTest, NodesOfOtherBatchesOrStreamsAreNotMerged) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId a = builder.Node("Relu", {x});
  const ValueId b = builder.Node("Relu", {x});
  builder.graph()[builder.graph()[b].producer].memory.stream = 1;
  builder.Output(builder.Node("Add", {a, b}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 0);
}

TEST(CommonSubexpressionsRulesTest, OutputsLeftOutCount) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId k = builder.Int64s("k", {2});
  const auto first = builder.Nodes("TopK", {x, k}, 2);
  const auto second = builder.Nodes("TopK", {x, k}, 2);
  builder.Output(builder.Node("Neg", {first[0]}));
  builder.Output(builder.Node("Abs", {second[0]}));
  Graph graph = Inferred(builder);
  graph.nodes[graph[second[1]].producer.index()].outputs[1] = ValueId();
  EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 0);
}

TEST(CommonSubexpressionsRulesTest, AReturnedValueAmongSeveralKeepsItsNode) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId k = builder.Int64s("k", {2});
  const auto first = builder.Nodes("TopK", {x, k}, 2);
  const auto second = builder.Nodes("TopK", {x, k}, 2);
  builder.Output(builder.Node("Neg", {first[0]}));
  builder.Output(second[1]);
  builder.Output(builder.Node("Abs", {second[0]}));
  EXPECT_EQ(Left(MergeCommonSubexpressions, Inferred(builder)), "TopK TopK Neg Abs");
}

}  // namespace sink_transposes_test
}  // namespace plimsoll::compile
