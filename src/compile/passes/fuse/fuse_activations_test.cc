#include "compile/passes/fuse/fuse_activations.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_activations_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

ValueId X(GraphBuilder& builder) { return builder.Input("x", FloatTensor({3, 5})); }

// What the pass leaves of the graph that `build` makes of an input x.
template <typename Build>
std::string Fused(const Build& build) {
  return LeftOf(FuseActivations, [&](GraphBuilder& b) { return build(b, X(b)); });
}

Attributes HardSigmoid(double alpha, double beta) {
  Attributes attributes = With("alpha", alpha);
  attributes.Set("beta", beta);
  return attributes;
}

TEST(FuseActivationsTest, AValueTimesItsSigmoidIsSwish) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, b.Node("Sigmoid", {x})});
            }),
            "Swish");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {b.Node("Sigmoid", {x}), x});
            }),
            "Swish");
}

TEST(FuseActivationsTest, AnotherValueTimesASigmoidStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              return b.Node("Mul", {y, b.Node("Sigmoid", {x})});
            }),
            "Sigmoid Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId gate = b.Node("Sigmoid", {x});
              return b.Node("Mul", {gate, gate});
            }),
            "Sigmoid Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, b.Node("Tanh", {x})});
            }),
            "Tanh Mul");
}

// ONNX Runtime takes the first two for a Gelu, which multiplies, and leaves the last as it is.
TEST(FuseActivationsTest, AGeluThatOnnxRuntimeWouldNotFindIsOneOfAQuotient) {
  const auto of_quotient = [](bool half_first, bool divides) {
    GraphBuilder b;
    const ValueId x = X(b), half = Scalar(b, "half", 0.5F);
    const ValueId scaled = divides ? b.Node("Div", {x, Scalar(b, "root", 1.41421356F)})
                                   : b.Node("Mul", {x, Scalar(b, "root", 0.70710678F)});
    const ValueId curve = b.Node("Add", {b.Node("Erf", {scaled}), Scalar(b, "one", 1)});
    b.Output(half_first ? b.Node("Mul", {x, b.Node("Mul", {half, curve})})
                        : b.Node("Mul", {b.Node("Mul", {x, curve}), half}));
    Graph graph = Inferred(b);
    EXPECT_EQ(FuseActivations(graph, {}).effects(), 1);
    return graph[graph[graph.root().outputs[0]].producer].attributes.Int("of_quotient", 0);
  };
  EXPECT_EQ(of_quotient(false, true), 0);
  EXPECT_EQ(of_quotient(true, false), 0);
  EXPECT_EQ(of_quotient(true, true), 1);
}

TEST(FuseActivationsTest, OnlyTheHardSigmoidOfHardSwishBecomesOne) {
  const auto fused = [](double alpha, double beta) {
    return Fused([=](GraphBuilder& b, ValueId x) {
      return b.Node("Mul", {x, b.Node("HardSigmoid", {x}, HardSigmoid(alpha, beta))});
    });
  };
  EXPECT_EQ(fused(1.0 / 6, 0.5), "HardSwish");
  EXPECT_EQ(fused(static_cast<double>(1.0F / 6), 0.5), "HardSwish") << "as a float writes it";
  EXPECT_EQ(fused(1.0 / 6, 0.4), "HardSigmoid Mul");
  EXPECT_EQ(fused(1.0 / 6, 0.6), "HardSigmoid Mul");
  EXPECT_EQ(fused(0.2, 0.5), "HardSigmoid Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, b.Node("HardSigmoid", {x})});
            }),
            "HardSigmoid Mul")
      << "its alpha is 0.2 where none is given";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, b.Node("HardSigmoid", {x}, With("alpha", 1.0 / 6))});
            }),
            "HardSwish")
      << "its beta is 0.5 where none is given";
}

TEST(FuseActivationsTest, AGateThatOthersNeedStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId gate = b.Node("Sigmoid", {x});
              b.Output(gate);
              return b.Node("Mul", {x, gate});
            }),
            "Sigmoid Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId gate = b.Node("HardSigmoid", {x}, HardSigmoid(1.0 / 6, 0.5));
              b.Output(b.Node("Neg", {gate}));
              return b.Node("Mul", {x, gate});
            }),
            "HardSigmoid Neg Mul");
}

// The parts of 0.5 * x * (1 + erf(x / sqrt 2)), each at its usual number.
struct GeluNumbers {
  float half = 0.5F;
  float one = 1;
  float root = 1.41421356F;
};

std::string FusedGelu(const GeluNumbers& numbers) {
  return Fused([&](GraphBuilder& b, ValueId x) {
    const ValueId erf = b.Node("Erf", {b.Node("Div", {x, Scalar(b, "root", numbers.root)})});
    const ValueId lifted = b.Node("Add", {erf, Scalar(b, "one", numbers.one)});
    return b.Node("Mul", {b.Node("Mul", {x, lifted}), Scalar(b, "half", numbers.half)});
  });
}

TEST(FuseActivationsTest, GeluIsWhatItsNumbersSay) {
  EXPECT_EQ(FusedGelu({}), "Gelu");
  EXPECT_EQ(FusedGelu({.half = 0.25F}), "Div Erf Add Mul Mul");
  EXPECT_EQ(FusedGelu({.one = 2}), "Div Erf Add Mul Mul");
  EXPECT_EQ(FusedGelu({.root = 1.5F}), "Div Erf Add Mul Mul");
}

// The curve 1 + erf(x / sqrt 2), with x times 1 / sqrt 2 and each sum and product turned round.
ValueId LiftedErf(GraphBuilder& b, ValueId x) {
  const ValueId scaled = b.Node("Mul", {Scalar(b, "inverse root", 0.70710678F), x});
  return b.Node("Add", {Scalar(b, "one", 1), b.Node("Erf", {scaled})});
}

TEST(FuseActivationsTest, GeluInEveryOrderOfItsProducts) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId halved = b.Node("Mul", {Scalar(b, "half", 0.5F), x});
              return b.Node("Mul", {LiftedErf(b, x), halved});
            }),
            "Gelu");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId half = b.Node("Mul", {Scalar(b, "half", 0.5F), LiftedErf(b, x)});
              return b.Node("Mul", {half, x});
            }),
            "Gelu");
}

TEST(FuseActivationsTest, GeluOfOneValueOnly) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              const ValueId half = b.Node("Mul", {Scalar(b, "half", 0.5F), LiftedErf(b, x)});
              return b.Node("Mul", {half, y});
            }),
            "Mul Erf Add Mul Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              const ValueId halved = b.Node("Mul", {Scalar(b, "half", 0.5F), y});
              return b.Node("Mul", {LiftedErf(b, x), halved});
            }),
            "Mul Mul Erf Add Mul");
}

TEST(FuseActivationsTest, AGeluThatIsNotWholeStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, LiftedErf(b, x)});
            }),
            "Mul Erf Add Mul")
      << "without the half";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {LiftedErf(b, x), Scalar(b, "half", 0.5F)});
            }),
            "Mul Erf Add Mul")
      << "without x";
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId twice = b.Node("Mul", {x, b.Node("Mul", {x, LiftedErf(b, x)})});
              return b.Node("Mul", {twice, Scalar(b, "half", 0.5F)});
            }),
            "Mul Erf Add Mul Mul Mul")
      << "times x twice";
}

TEST(FuseActivationsTest, PartsOfAGeluThatOthersNeedStay) {
  const auto fused = [](int needed) {
    return Fused([=](GraphBuilder& b, ValueId x) {
      const ValueId scaled = b.Node("Mul", {Scalar(b, "inverse root", 0.70710678F), x});
      const ValueId erf = b.Node("Erf", {scaled});
      const ValueId lifted = b.Node("Add", {Scalar(b, "one", 1), erf});
      const ValueId product = b.Node("Mul", {x, lifted});
      const ValueId parts[] = {erf, lifted, product};
      if (needed >= 0) b.Output(parts[needed]);
      return b.Node("Mul", {product, Scalar(b, "half", 0.5F)});
    });
  };
  EXPECT_EQ(fused(-1), "Gelu");
  for (const int needed : {0, 1, 2}) EXPECT_EQ(fused(needed), "Mul Erf Add Mul Mul") << needed;
}

TEST(FuseActivationsTest, AScalarOfHigherRankWidensTheResult) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId x) {
              const ValueId half = b.Float32s("half", {1, 1, 1}, {0.5F});
              return b.Node("Mul", {half, b.Node("Mul", {x, LiftedErf(b, x)})});
            }),
            "Mul Erf Add Mul Mul")
      << "the result has three dimensions and x two";
}

// The parts of 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
struct TanhNumbers {
  float exponent = 3;
  float share = 0.044715F;
  float scale = 0.7978845608F;
};

std::string FusedTanhGelu(const TanhNumbers& numbers) {
  return Fused([&](GraphBuilder& b, ValueId x) {
    const ValueId cube = b.Node("Pow", {x, Scalar(b, "three", numbers.exponent)});
    const ValueId bent = b.Node("Mul", {Scalar(b, "share", numbers.share), cube});
    const ValueId angle =
        b.Node("Mul", {Scalar(b, "scale", numbers.scale), b.Node("Add", {bent, x})});
    const ValueId lifted = b.Node("Add", {b.Node("Tanh", {angle}), Scalar(b, "one", 1)});
    return b.Node("Mul", {b.Node("Mul", {x, Scalar(b, "half", 0.5F)}), lifted});
  });
}

TEST(FuseActivationsTest, TheTanhFormIsWhatItsNumbersSay) {
  const std::string unfused = "Pow Mul Add Mul Tanh Add Mul Mul";
  EXPECT_EQ(FusedTanhGelu({}), "Gelu");
  EXPECT_EQ(FusedTanhGelu({.exponent = 2}), unfused);
  EXPECT_EQ(FusedTanhGelu({.share = 0.05F}), unfused);
  EXPECT_EQ(FusedTanhGelu({.scale = 0.8F}), unfused);
}

// The tanh form with the cube as products of these factors.
std::string FusedProducts(const std::function<ValueId(GraphBuilder&, ValueId)>& cube) {
  return Fused([&](GraphBuilder& b, ValueId x) {
    const ValueId bent = b.Node("Mul", {cube(b, x), Scalar(b, "share", 0.044715F)});
    const ValueId angle =
        b.Node("Mul", {b.Node("Add", {x, bent}), Scalar(b, "scale", 0.7978845608F)});
    const ValueId lifted = b.Node("Add", {b.Node("Tanh", {angle}), Scalar(b, "one", 1)});
    return b.Node("Mul", {b.Node("Mul", {x, lifted}), Scalar(b, "half", 0.5F)});
  });
}

TEST(FuseActivationsTest, TheCubeMayBeWrittenAsProductsOfXAlone) {
  EXPECT_EQ(FusedProducts([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {b.Node("Mul", {x, x}), x});
            }),
            "Gelu");
  EXPECT_EQ(FusedProducts([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, b.Node("Mul", {x, x})});
            }),
            "Gelu");
  const std::string unfused = "Mul Mul Mul Add Mul Tanh Add Mul Mul";
  EXPECT_EQ(FusedProducts([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              return b.Node("Mul", {x, b.Node("Mul", {x, y})});
            }),
            unfused);
  EXPECT_EQ(FusedProducts([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              return b.Node("Mul", {y, b.Node("Mul", {x, x})});
            }),
            unfused);
  EXPECT_EQ(FusedProducts([](GraphBuilder& b, ValueId x) {
              const ValueId y = b.Input("y", FloatTensor({3, 5}));
              return b.Node("Mul", {b.Node("Mul", {x, x}), y});
            }),
            unfused);
}

TEST(FuseActivationsTest, NodesWithRequestsForTheirMemoryOrStreamStay) {
  const auto fused = [](size_t node, const std::function<void(graph::MemoryAttributes&)>& ask) {
    GraphBuilder builder;
    const ValueId x = X(builder);
    builder.Output(builder.Node("Mul", {x, builder.Node("Sigmoid", {x})}));
    ask(builder.graph().nodes[node].memory);
    return Left(FuseActivations, Inferred(builder));
  };
  for (const size_t node : {0, 1}) {
    EXPECT_EQ(fused(node, [](auto&) {}), "Swish");
    EXPECT_EQ(fused(node, [](auto& memory) { memory.stream = 1; }), "Sigmoid Mul") << node;
    EXPECT_EQ(fused(node, [](auto& memory) { memory.fixed_address = true; }), "Sigmoid Mul")
        << node;
  }
}

TEST(FuseActivationsTest, TheNewOperatorIsThereInItsOperatorSet) {
  GraphBuilder builder(13);
  const ValueId x = X(builder);
  builder.Output(builder.Node("Mul", {x, builder.Node("Sigmoid", {x})}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(FuseActivations(graph).effects(), 1);
  EXPECT_EQ(MakerOfOutput(graph).op, "Swish");
  EXPECT_GE(MakerOfOutput(graph).version, 24);
}

}  // namespace fuse_activations_test
}  // namespace plimsoll::compile
