#include "compile/passes/fuse/fuse_products.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_products_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;
using graph::ValueType;

const std::string kFused = "plimsoll::FusedMatMul";

// [2, 4, 6] x [6, 4], the right one a constant.
ValueId Product(GraphBuilder& b, const std::string& name = "w") {
  return b.Node("MatMul", {b.Input(name + " x", FloatTensor({2, 4, 6})), Weights(b, name, {6, 4})});
}

template <typename Build>
std::string Fused(const Build& build) {
  return LeftOf(FuseProducts, [&](GraphBuilder& b) { return build(b, Product(b)); });
}

// A product followed by `op` with a constant of these dimensions.
std::string FusedWith(const std::string& op, const Ints& dims, bool first = true) {
  return Fused([&](GraphBuilder& b, ValueId y) {
    const ValueId c = Weights(b, "c", dims);
    return first ? b.Node(op, {y, c}) : b.Node(op, {c, y});
  });
}

TEST(FuseProductsTest, AProductAloneStays) {
  EXPECT_EQ(Fused([](GraphBuilder&, ValueId y) { return y; }), "MatMul");
}

TEST(FuseProductsTest, AScalarFactorGoesInOnEitherSide) {
  for (const Ints& dims : {Ints{}, Ints{1}, Ints{1, 1}}) {
    EXPECT_EQ(FusedWith("Mul", dims), kFused);
    EXPECT_EQ(FusedWith("Mul", dims, false), kFused);
    EXPECT_EQ(FusedWith("Div", dims), kFused);
  }
  EXPECT_EQ(FusedWith("Div", {}, false), "MatMul Div") << "a constant divided by the product";
  EXPECT_EQ(FusedWith("Mul", {1, 1, 1, 1}), "MatMul Mul") << "it widens the result";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Mul", {y, b.Input("c", FloatTensor({}))});
            }),
            "MatMul Mul")
      << "only a run knows it";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Div", {y, Scalar(b, "zero", 0)});
            }),
            "MatMul Div");
}

TEST(FuseProductsTest, FactorsOfOperandsMultiply) {
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     const ValueId w = b.Input("w", FloatTensor({6, 4}));
                     const ValueId left = b.Node("Mul", {Scalar(b, "a", 3), x});
                     const ValueId right = b.Node("Div", {w, Scalar(b, "b", 7)});
                     const ValueId y = b.Node("MatMul", {left, right});
                     return b.Node("Mul", {y, Scalar(b, "c", 0.5F)});
                   }),
            kFused);
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     const ValueId left = b.Node("Div", {Scalar(b, "a", 3), x});
                     return b.Node("MatMul", {left, Weights(b, "w", {6, 4})});
                   }),
            "Div MatMul");
}

TEST(FuseProductsTest, AFactorOfAnOperandThatIsRoundedBeforeStays) {
  const std::string left = LeftOf(FuseProducts, [](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({4, 6}));
    const ValueId left = b.Node("Mul", {x, Scalar(b, "a", 3)}, With("float_steps", int64_t{1}));
    return b.Node("MatMul", {left, b.Input("w", FloatTensor({6, 4}))});
  });
  EXPECT_EQ(left, "Mul MatMul");
}

TEST(FuseProductsTest, ABiasIsOneElementAColumn) {
  EXPECT_EQ(FusedWith("Add", {4}), kFused);
  EXPECT_EQ(FusedWith("Add", {4}, false), kFused);
  EXPECT_EQ(FusedWith("Add", {1, 4}), kFused);
  EXPECT_EQ(FusedWith("Add", {1, 1, 4}), kFused);
  EXPECT_EQ(FusedWith("Add", {}), "MatMul Add");
  EXPECT_EQ(FusedWith("Add", {1}), "MatMul Add");
  EXPECT_EQ(FusedWith("Add", {4, 1}), "MatMul Add") << "one element per row";
  EXPECT_EQ(FusedWith("Add", {2, 1, 4}), "MatMul Add");
  EXPECT_EQ(FusedWith("Add", {1, 1, 1, 4}), "MatMul Add") << "it widens the result";
  EXPECT_EQ(FusedWith("Sub", {4}), "MatMul Sub");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("bias", FloatTensor({4}))});
            }),
            kFused)
      << "a vector need not be a constant";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("bias", FloatTensor({1, 4}))});
            }),
            "MatMul Add")
      << "but then it is one as it stands";
}

TEST(FuseProductsTest, AfterTheBiasAScalarFactorStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, Weights(b, "bias", {4})});
              return b.Node("Mul", {y, Scalar(b, "c", 3)});
            }),
            kFused + " Mul");
}

TEST(FuseProductsTest, TheSumWithAnotherTensorGoesInWithAndWithoutABias) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor({2, 4, 4}))});
            }),
            kFused)
      << "no bias";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, Weights(b, "bias", {4})});
              return b.Node("Add", {b.Input("s", FloatTensor({2, 4, 4})), y});
            }),
            kFused);
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, b.Input("s", FloatTensor({2, 4, 4}))});
              return b.Node("Add", {y, Weights(b, "bias", {4})});
            }),
            kFused + " Add")
      << "a bias comes before the sum";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, b.Input("s", FloatTensor({2, 4, 4}))});
              return b.Node("Add", {y, b.Input("t", FloatTensor({2, 4, 4}))});
            }),
            kFused + " Add")
      << "one sum";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, b.Input("s", FloatTensor({2, 4, 4}))});
              return b.Node("Mul", {y, Scalar(b, "c", 3)});
            }),
            kFused + " Mul");
}

TEST(FuseProductsTest, ASumThatBroadcastsOrDoublesStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor({2, 1, 4}))});
            }),
            "MatMul Add");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor({3, 2, 4, 4}))});
            }),
            "MatMul Add");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) { return b.Node("Add", {y, y}); }), "MatMul Add");
}

TEST(FuseProductsTest, OfTwoThatAreAddedTheLaterTakesTheSum) {
  GraphBuilder builder;
  const ValueId first = Product(builder, "first");
  const ValueId second = Product(builder, "second");
  builder.Output(builder.Node("Add", {first, second}));
  const Graph before = Inferred(builder);
  EXPECT_EQ(Left(FuseProducts, before), "MatMul " + kFused);
  Graph after = before;
  ASSERT_EQ(FuseProducts(after).effects(), 1);
  const Node& node = MakerOfOutput(after);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(after[node.inputs[1]].name, "second");
  EXPECT_FALSE(node.inputs[2].valid());
  EXPECT_EQ(node.inputs[3], first);
}

TEST(FuseProductsTest, AFactorAColumnGoesIntoConstantWeightsAndBias) {
  EXPECT_EQ(FusedWith("Mul", {4}), kFused);
  EXPECT_EQ(FusedWith("Mul", {1, 4}, false), kFused);
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, Weights(b, "bias", {4})});
              return b.Node("Mul", {y, Weights(b, "c", {4})});
            }),
            kFused)
      << "the bias is scaled too";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, b.Input("bias", FloatTensor({4}))});
              return b.Node("Mul", {y, Weights(b, "c", {4})});
            }),
            kFused + " Mul")
      << "a bias that only a run knows cannot be";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {y, b.Input("s", FloatTensor({2, 4, 4}))});
              return b.Node("Mul", {y, Weights(b, "c", {4})});
            }),
            kFused + " Mul");
  EXPECT_EQ(FusedWith("Mul", {4, 1}), "MatMul Mul") << "a factor per row";
  EXPECT_EQ(FusedWith("Div", {4}), "MatMul Div");
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId y = b.Node("MatMul", {b.Input("x", FloatTensor({4, 6})),
                                                         b.Input("w", FloatTensor({6, 4}))});
                     return b.Node("Mul", {y, Weights(b, "c", {4})});
                   }),
            "MatMul Mul");
}

TEST(FuseProductsTest, ATransposeOfTheLastTwoDimensionsGoesIn) {
  const auto fused = [](const Ints& perm, bool left) {
    return LeftOf(FuseProducts, [&](GraphBuilder& b) {
      const ValueId x = b.Input("x", FloatTensor({4, 4, 4}));
      const ValueId w = b.Input("w", FloatTensor({4, 4, 4}));
      const ValueId turned = b.Node("Transpose", {left ? x : w}, With("perm", perm));
      return b.Node("MatMul", {left ? turned : x, left ? w : turned});
    });
  };
  for (const bool left : {false, true}) {
    EXPECT_EQ(fused({0, 2, 1}, left), kFused);
    EXPECT_EQ(fused({1, 0, 2}, left), "Transpose MatMul");
    EXPECT_EQ(fused({2, 1, 0}, left), "Transpose MatMul");
    EXPECT_EQ(fused({1, 2, 0}, left), "Transpose MatMul");
    EXPECT_EQ(fused({2, 0, 1}, left), "Transpose MatMul");
  }
}

TEST(FuseProductsTest, ATransposeThatMovesABatchDimensionStays) {
  for (const Ints& perm : {Ints{0, 1, 3, 2}, Ints{0, 3, 1, 2}, Ints{1, 0, 3, 2}}) {
    EXPECT_EQ(LeftOf(FuseProducts,
                     [&](GraphBuilder& b) {
                       const ValueId x = b.Input("x", FloatTensor({3, 3, 3, 3}));
                       const ValueId w = b.Input("w", FloatTensor({3, 3, 3, 3}));
                       const ValueId turned = b.Node("Transpose", {w}, With("perm", perm));
                       return b.Node("MatMul", {x, turned});
                     }),
              perm[1] == 1 ? kFused : "Transpose MatMul");
  }
}

TEST(FuseProductsTest, TwoTransposesOfOneOperandCancel) {
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     ValueId w = b.Input("w", FloatTensor({6, 5}));
                     for (int i = 0; i < 2; ++i) {
                       w = b.Node("Transpose", {w}, With("perm", Ints{1, 0}));
                     }
                     return b.Node("MatMul", {x, w});
                   }),
            kFused);
}

TEST(FuseProductsTest, OperandsThatOthersNeedAreStillMade) {
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     const ValueId w = b.Input("w", FloatTensor({5, 6}));
                     const ValueId turned = b.Node("Transpose", {w}, With("perm", Ints{1, 0}));
                     b.Output(turned);
                     return b.Node("MatMul", {x, turned});
                   }),
            "Transpose MatMul");
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 4}));
                     const ValueId scaled = b.Node("Mul", {x, Scalar(b, "c", 3)});
                     return b.Node("MatMul", {scaled, scaled});
                   }),
            "Mul MatMul");
}

// Gemm with everything that it may carry.
std::string FusedGemm(const Attributes& attributes, const Ints& addend, bool relu = true) {
  return LeftOf(FuseProducts, [&](GraphBuilder& b) {
    std::vector<ValueId> inputs = {b.Input("x", FloatTensor({4, 4})), Weights(b, "w", {4, 4})};
    if (!addend.empty()) {
      graph::Shape shape(addend.begin(), addend.end());
      inputs.push_back(b.Input("c", FloatTensor(shape)));
    }
    const ValueId y = b.Node("Gemm", inputs, attributes);
    return relu ? b.Node("Relu", {y}) : y;
  });
}

TEST(FuseProductsTest, AGemmKeepsItsNumbers) {
  Attributes all = With("alpha", 0.3);
  all.Set("transA", int64_t{1});
  all.Set("transB", int64_t{1});
  EXPECT_EQ(FusedGemm(all, {4}), kFused);
  EXPECT_EQ(FusedGemm(With("transA", int64_t{1}), {}), kFused);
  EXPECT_EQ(FusedGemm(With("transB", int64_t{1}), {}), kFused);
  EXPECT_EQ(FusedGemm(With("alpha", 0.3), {}), kFused);
  EXPECT_EQ(FusedGemm({}, {4, 4}), kFused) << "a whole matrix is added";
  EXPECT_EQ(FusedGemm({}, {4, 1}), "Gemm Relu") << "one element per row";
  EXPECT_EQ(FusedGemm({}, {1}), "Gemm Relu");
  EXPECT_EQ(FusedGemm(With("beta", 0.5), {4}), "Gemm Relu");
  EXPECT_EQ(FusedGemm(With("beta", 0.5), {}), kFused) << "it weighs nothing";
  EXPECT_EQ(FusedGemm({}, {4}, false), "Gemm");
}

TEST(FuseProductsTest, AScaledGemmWithABiasStaysScaledBefore) {
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId y =
                         b.Node("Gemm", {b.Input("x", FloatTensor({4, 6})), Weights(b, "w", {6, 4}),
                                         Weights(b, "bias", {4})});
                     return b.Node("Mul", {y, Scalar(b, "c", 3)});
                   }),
            "Gemm Mul");
}

TEST(FuseProductsTest, AViewOfTheResultMovesToTheLeftOperand) {
  const auto fused = [](const Ints& target) {
    return Fused([&](GraphBuilder& b, ValueId y) {
      y = b.Node("Reshape", {y, b.Int64s("to", target)});
      return b.Node("Relu", {y});
    });
  };
  EXPECT_EQ(fused({8, 4}), "Reshape " + kFused);
  EXPECT_EQ(fused({4, 2, 4}), "Reshape " + kFused);
  EXPECT_EQ(fused({4, 8}), "MatMul Reshape Relu") << "the columns change";
  EXPECT_EQ(fused({32}), "MatMul Reshape Relu");
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     const ValueId y = b.Node("MatMul", {b.Input("x", FloatTensor({2, 4, 6})),
                                                         b.Input("w", FloatTensor({2, 6, 4}))});
                     return b.Node("Relu", {b.Node("Reshape", {y, b.Int64s("to", {8, 4})})});
                   }),
            "MatMul Reshape Relu")
      << "each of the batch has a right factor of its own";
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     Attributes turned = With("transA", int64_t{1});
                     const ValueId y = b.Node(
                         "Gemm", {b.Input("x", FloatTensor({6, 8})), Weights(b, "w", {6, 4})},
                         turned);
                     return b.Node("Relu", {b.Node("Reshape", {y, b.Int64s("to", {2, 4, 4})})});
                   }),
            "Gemm Reshape Relu")
      << "the left factor is turned";
}

TEST(FuseProductsTest, ActivationsEndIt) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("LeakyRelu", {y}, With("alpha", 0.3));
              return b.Node("Mul", {y, Scalar(b, "c", 3)});
            }),
            kFused + " Mul");
  EXPECT_EQ(
      Fused([](GraphBuilder& b, ValueId y) { return b.Node("Tanh", {b.Node("Sigmoid", {y})}); }),
      kFused + " Tanh");
}

TEST(FuseProductsTest, AResultThatOthersNeedStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              b.Output(y);
              return b.Node("Relu", {y});
            }),
            "MatMul Relu");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              const ValueId biased = b.Node("Add", {y, Weights(b, "bias", {4})});
              b.Output(b.Node("Neg", {biased}));
              return b.Node("Relu", {biased});
            }),
            kFused + " Neg Relu");
}

TEST(FuseProductsTest, VectorsAndDoublesStay) {
  EXPECT_EQ(LeftOf(FuseProducts,
                   [](GraphBuilder& b) {
                     return b.Node("Relu", {b.Node("MatMul", {b.Input("x", FloatTensor({6})),
                                                              Weights(b, "w", {6, 4})})});
                   }),
            "MatMul Relu");
  GraphBuilder builder;
  const ValueType doubles = ValueType::Tensor(DataType::kFloat64, graph::Shape{4, 4});
  const ValueId y =
      builder.Node("MatMul", {builder.Input("x", doubles), builder.Input("w", doubles)});
  builder.Output(builder.Node("Relu", {y}));
  EXPECT_EQ(Left(FuseProducts, Inferred(builder)), "MatMul Relu");
}

TEST(FuseProductsTest, NodesWithRequestsForTheirMemoryOrStreamStay) {
  for (const size_t node : {0, 1, 2}) {
    for (const bool stream : {false, true}) {
      GraphBuilder builder;
      const ValueId x = builder.Input("x", FloatTensor({4, 6}));
      const ValueId w = builder.Input("w", FloatTensor({5, 6}));
      const ValueId turned = builder.Node("Transpose", {w}, With("perm", Ints{1, 0}));
      builder.Output(builder.Node("Relu", {builder.Node("MatMul", {x, turned})}));
      graph::MemoryAttributes& memory = builder.graph().nodes[node].memory;
      memory.stream = stream ? 1 : 0;
      memory.fixed_address = !stream;
      const std::string left[] = {"Transpose " + kFused, "Transpose MatMul Relu", kFused + " Relu"};
      EXPECT_EQ(Left(FuseProducts, Inferred(builder)), left[node]) << node << stream;
    }
  }
}

}  // namespace fuse_products_test
}  // namespace plimsoll::compile
