#include "compile/passes/fuse/fuse_convolutions.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_convolutions_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;
using graph::ValueType;

// As many channels as rows and columns, so that a constant may broadcast along any of them.
constexpr int64_t kChannels = 6;
const graph::Shape kShape = {2, kChannels, kChannels, kChannels};

ValueId Convolution(GraphBuilder& b, const std::string& name = "w") {
  Attributes attributes = With("pads", Ints{1, 1, 1, 1});
  attributes.Set("kernel_shape", Ints{3, 3});
  return b.Node(
      "Conv",
      {b.Input(name + " x", FloatTensor(kShape)), Weights(b, name, {kChannels, kChannels, 3, 3})},
      attributes);
}

// What the pass leaves where `build` works on the result of a convolution.
template <typename Build>
std::string Fused(const Build& build) {
  return LeftOf(FuseConvolutions, [&](GraphBuilder& b) { return build(b, Convolution(b)); });
}

const std::string kFused = "plimsoll::FusedConv";

// The convolution, an arithmetic node with a constant of these dimensions, on this side.
std::string FusedWith(const std::string& op, const Ints& dims, bool first = true) {
  return Fused([&](GraphBuilder& b, ValueId y) {
    const ValueId c = Weights(b, "c", dims);
    return first ? b.Node(op, {y, c}) : b.Node(op, {c, y});
  });
}

TEST(FuseConvolutionsTest, AFactorOrShiftAChannelGoesIntoWeightsAndBias) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    for (const Ints& dims : {Ints{kChannels, 1, 1}, Ints{1, kChannels, 1, 1}, Ints{}, Ints{1, 1}}) {
      EXPECT_EQ(FusedWith(op, dims), kFused) << op << dims.size();
    }
  }
  EXPECT_EQ(FusedWith("Add", {kChannels, 1, 1}, false), kFused);
  EXPECT_EQ(FusedWith("Mul", {kChannels, 1, 1}, false), kFused);
}

TEST(FuseConvolutionsTest, AConstantMinusOrDividedByTheResultStays) {
  EXPECT_EQ(FusedWith("Sub", {kChannels, 1, 1}, false), "Conv Sub");
  EXPECT_EQ(FusedWith("Div", {kChannels, 1, 1}, false), "Conv Div");
}

TEST(FuseConvolutionsTest, AConstantAlongAnotherDimensionStays) {
  for (const char* op : {"Add", "Mul"}) {
    const std::string unfused = std::string("Conv ") + op;
    EXPECT_EQ(FusedWith(op, {kChannels}), unfused) << "along the columns";
    EXPECT_EQ(FusedWith(op, {kChannels, 1}), unfused) << "along the rows";
    EXPECT_EQ(FusedWith(op, {1, 1, 1, kChannels}), unfused);
    EXPECT_EQ(FusedWith(op, {2, 1, 1, 1}), unfused) << "along the batch";
    EXPECT_EQ(FusedWith(op, {kChannels, kChannels, kChannels}), unfused);
    EXPECT_EQ(FusedWith(op, {1, 1, kChannels, 1, 1}), unfused) << "it widens the result";
  }
}

TEST(FuseConvolutionsTest, LinesOneAfterTheOtherAddUp) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Mul", {y, Weights(b, "m", {kChannels, 1, 1})});
              y = b.Node("Sub", {y, Weights(b, "s", {kChannels, 1, 1})});
              y = b.Node("Div", {y, Scalar(b, "d", 3)});
              return b.Node("Add", {y, Weights(b, "a", {1, kChannels, 1, 1})});
            }),
            kFused);
}

TEST(FuseConvolutionsTest, ABiasThatWasThereIsScaledToo) {
  EXPECT_EQ(LeftOf(FuseConvolutions,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor(kShape));
                     const ValueId y = b.Node("Conv", {x, Weights(b, "w", {4, kChannels, 1, 1}),
                                                       Weights(b, "bias", {4})});
                     const ValueId scaled = b.Node("Mul", {y, Weights(b, "m", {4, 1, 1})});
                     return b.Node("Add", {scaled, Weights(b, "a", {4, 1, 1})});
                   }),
            kFused);
}

TEST(FuseConvolutionsTest, OfGroupsEachChannelKeepsItsFactor) {
  EXPECT_EQ(LeftOf(FuseConvolutions,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor(kShape));
                     const ValueId y = b.Node("Conv", {x, Weights(b, "w", {kChannels, 2, 1, 1})},
                                              With("group", int64_t{3}));
                     return b.Node("Mul", {y, Weights(b, "m", {kChannels, 1, 1})});
                   }),
            kFused);
}

TEST(FuseConvolutionsTest, WhatOnlyARunKnowsIsNotFoldedIn) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Mul", {y, b.Input("m", FloatTensor({kChannels, 1, 1}))});
            }),
            "Conv Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("a", FloatTensor({kChannels, 1, 1}))});
            }),
            "Conv Add");
  const auto with_weights_of_a_run = [](const char* op) {
    return LeftOf(FuseConvolutions, [&](GraphBuilder& b) {
      const ValueId x = b.Input("x", FloatTensor(kShape));
      const ValueId w = b.Input("w", FloatTensor({4, kChannels, 1, 1}));
      return b.Node(op, {b.Node("Conv", {x, w}), Weights(b, "c", {4, 1, 1})});
    });
  };
  EXPECT_EQ(with_weights_of_a_run("Mul"), "Conv Mul");
  EXPECT_EQ(with_weights_of_a_run("Add"), "Conv Add");
  EXPECT_EQ(
      LeftOf(FuseConvolutions,
             [](GraphBuilder& b) {
               const ValueId x = b.Input("x", FloatTensor(kShape));
               const ValueId bias = b.Input("bias", FloatTensor({4}));
               const ValueId y = b.Node("Conv", {x, Weights(b, "w", {4, kChannels, 1, 1}), bias});
               return b.Node("Mul", {y, Weights(b, "m", {4, 1, 1})});
             }),
      "Conv Mul")
      << "the bias would have to be scaled in each run";
}

// BatchNormalization of the result, with these attributes and this many outputs.
std::string FusedNormalization(const Attributes& attributes, size_t outputs = 1,
                               bool constant = true) {
  return Fused([&](GraphBuilder& b, ValueId y) {
    const ValueId variance = b.Float32s("v", {kChannels}, {0.2F, 0.5F, 0.7F, 1, 2, 3});
    const ValueId mean =
        constant ? Weights(b, "mean", {kChannels}) : b.Input("mean", FloatTensor({kChannels}));
    const auto made = b.Nodes(
        "BatchNormalization",
        {y, Weights(b, "scale", {kChannels}), Weights(b, "shift", {kChannels}), mean, variance},
        outputs, attributes);
    for (size_t i = 1; i < outputs; ++i) b.Output(made[i]);
    return made[0];
  });
}

TEST(FuseConvolutionsTest, ANormalizationWithKnownNumbersGoesIn) {
  EXPECT_EQ(FusedNormalization({}), kFused);
  EXPECT_EQ(FusedNormalization(With("epsilon", 0.25)), kFused);
  EXPECT_EQ(FusedNormalization({}, 1, false), "Conv BatchNormalization");
}

TEST(FuseConvolutionsTest, ANormalizationThatLearnsStays) {
  GraphBuilder builder;
  const ValueId y = Convolution(builder);
  const auto vector = [&](const char* name) { return Weights(builder, name, {kChannels}); };
  const auto made =
      builder.Nodes("BatchNormalization", {y, vector("a"), vector("b"), vector("c"), vector("d")},
                    3, With("training_mode", int64_t{1}));
  builder.Output(made[0]);
  builder.Output(made[1]);
  Graph graph = Inferred(builder);
  EXPECT_EQ(FuseConvolutions(graph).effects(), 0);
}

TEST(FuseConvolutionsTest, TheSumWithAnotherTensorGoesInOnce) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor(kShape))});
            }),
            kFused);
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              y = b.Node("Add", {b.Input("s", FloatTensor(kShape)), y});
              return b.Node("Add", {y, b.Input("t", FloatTensor(kShape))});
            }),
            kFused + " Add")
      << "there is room for one";
}

TEST(FuseConvolutionsTest, AfterTheSumNoFactorNorShiftGoesIn) {
  for (const char* op : {"Mul", "Add"}) {
    EXPECT_EQ(Fused([&](GraphBuilder& b, ValueId y) {
                y = b.Node("Add", {y, b.Input("s", FloatTensor(kShape))});
                return b.Node(op, {y, Weights(b, "c", {kChannels, 1, 1})});
              }),
              kFused + " " + op);
  }
}

TEST(FuseConvolutionsTest, ASumThatBroadcastsOrDoublesStays) {
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor({2, 1, 1, 1}))});
            }),
            "Conv Add");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, b.Input("s", FloatTensor({3, 2, 6, 6, 6}))});
            }),
            "Conv Add");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) { return b.Node("Add", {y, y}); }), "Conv Add");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {y, Weights(b, "s", {2, 6, 6, 6})});
            }),
            "Conv Add")
      << "a constant as large stays one";
}

TEST(FuseConvolutionsTest, OfTwoThatAreAddedTheLaterTakesTheSum) {
  GraphBuilder builder;
  const ValueId first = Convolution(builder, "first");
  const ValueId second = Convolution(builder, "second");
  builder.Output(builder.Node("Add", {first, second}));
  const Graph before = Inferred(builder);
  EXPECT_EQ(Left(FuseConvolutions, before), "Conv " + kFused);
  Graph after = before;
  ASSERT_EQ(FuseConvolutions(after).effects(), 1);
  const Node& node = MakerOfOutput(after);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(after[node.inputs[1]].name, "second");
  EXPECT_EQ(node.inputs[3], first);
}

// Every activation that a convolution knows, at other than its default numbers.
struct Activation {
  const char* op;
  Attributes attributes = {};
};

TEST(FuseConvolutionsTest, ActivationsGoInWithTheirNumbers) {
  Attributes hard = With("alpha", 0.3);
  hard.Set("beta", 0.4);
  const std::vector<Activation> activations = {{"Relu"},
                                               {"Sigmoid"},
                                               {"Tanh"},
                                               {"HardSwish"},
                                               {"Mish"},
                                               {"LeakyRelu"},
                                               {"Elu"},
                                               {"Gelu"},
                                               {"HardSigmoid"},
                                               {"LeakyRelu", With("alpha", 0.3)},
                                               {"Elu", With("alpha", 0.3)},
                                               {"HardSigmoid", hard},
                                               {"Gelu", With("approximate", std::string("tanh"))}};
  for (const Activation& activation : activations) {
    EXPECT_EQ(Fused([&](GraphBuilder& b, ValueId y) {
                return b.Node(activation.op, {y}, activation.attributes);
              }),
              kFused)
        << activation.op;
  }
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) { return b.Node("Softplus", {y}); }),
            "Conv Softplus");
}

TEST(FuseConvolutionsTest, AfterAnActivationNothingMoreGoesIn) {
  EXPECT_EQ(
      Fused([](GraphBuilder& b, ValueId y) { return b.Node("Relu", {b.Node("Sigmoid", {y})}); }),
      kFused + " Relu");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Mul", {b.Node("Tanh", {y}), Weights(b, "c", {kChannels, 1, 1})});
            }),
            kFused + " Mul");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Add", {b.Node("Tanh", {y}), b.Input("s", FloatTensor(kShape))});
            }),
            kFused + " Add");
}

TEST(FuseConvolutionsTest, AClipGoesInWhereItsBoundsAreKnown) {
  const auto fused = [](int low, int high) {  // 0: left out, 1: a constant, 2: an input
    return Fused([&](GraphBuilder& b, ValueId y) {
      const auto bound = [&](const char* name, int kind, float number) {
        if (kind == 0) return ValueId();
        return kind == 1 ? Scalar(b, name, number) : b.Input(name, FloatTensor({}));
      };
      return b.Node("Clip", {y, bound("low", low, -0.5F), bound("high", high, 1.5F)});
    });
  };
  EXPECT_EQ(fused(1, 1), kFused);
  EXPECT_EQ(fused(0, 1), kFused);
  EXPECT_EQ(fused(1, 0), kFused);
  EXPECT_EQ(fused(2, 1), "Conv Clip");
  EXPECT_EQ(fused(1, 2), "Conv Clip");
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              return b.Node("Clip", {y, Scalar(b, "low", 2), Scalar(b, "high", 1)});
            }),
            "Conv Clip")
      << "no order of bounds";
}

TEST(FuseConvolutionsTest, TheResultMustBeTheActivationsOwnInput) {
  EXPECT_EQ(LeftOf(FuseConvolutions,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({1, 1, 1, 1}));
                     const ValueId y = b.Node("Conv", {x, Weights(b, "w", {1, 1, 1, 1})});
                     const ValueId low = b.Node("Reshape", {y, b.Int64s("scalar", {})});
                     return b.Node("Clip", {b.Input("z", FloatTensor({4})), low});
                   }),
            "Conv Reshape Clip");
}

TEST(FuseConvolutionsTest, AResultThatOthersNeedStays) {
  for (const bool returned : {false, true}) {
    EXPECT_EQ(Fused([&](GraphBuilder& b, ValueId y) {
                b.Output(returned ? y : b.Node("Neg", {y}));
                return b.Node("Relu", {y});
              }),
              returned ? "Conv Relu" : "Conv Neg Relu");
  }
  EXPECT_EQ(Fused([](GraphBuilder& b, ValueId y) {
              const ValueId scaled = b.Node("Mul", {y, Weights(b, "m", {kChannels, 1, 1})});
              b.Output(scaled);
              return b.Node("Relu", {scaled});
            }),
            kFused + " Relu")
      << "what is in between may be returned";
}

TEST(FuseConvolutionsTest, DoublesStay) {
  GraphBuilder builder;
  const ValueType doubles = ValueType::Tensor(DataType::kFloat64, graph::Shape{1, 2, 3, 3});
  const ValueId x = builder.Input("x", doubles);
  const ValueId w =
      builder.Input("w", ValueType::Tensor(DataType::kFloat64, graph::Shape{2, 2, 1, 1}));
  builder.Output(builder.Node("Relu", {builder.Node("Conv", {x, w})}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(FuseConvolutions(graph).effects(), 0);
}

TEST(FuseConvolutionsTest, NodesWithRequestsForTheirMemoryOrStreamStay) {
  for (const bool reader : {false, true}) {
    for (const bool stream : {false, true}) {
      GraphBuilder builder;
      const ValueId y = Convolution(builder);
      const ValueId relu = builder.Node("Relu", {y});
      builder.Output(relu);
      graph::MemoryAttributes& memory =
          builder.graph()[builder.graph()[reader ? relu : y].producer].memory;
      (stream ? memory.stream = 1 : memory.stream = 0);
      memory.fixed_address = !stream;
      EXPECT_EQ(Left(FuseConvolutions, Inferred(builder)), "Conv Relu") << reader << stream;
    }
  }
}

TEST(FuseConvolutionsTest, OtherFusedOperatorsAreNoConvolutions) {
  EXPECT_EQ(LeftOf(FuseConvolutions,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     const auto made =
                         b.Nodes("FusedMatMul", {x, Weights(b, "w", {6, 5})}, 1, {}, "plimsoll");
                     return b.Node("Relu", {made[0]});
                   }),
            "plimsoll::FusedMatMul Relu");
}

TEST(FuseConvolutionsTest, StridesPadsAndGroupsAreKept) {
  EXPECT_EQ(
      LeftOf(FuseConvolutions,
             [](GraphBuilder& b) {
               Attributes attributes = With("pads", Ints{2, 0, 1, 1});
               attributes.Set("strides", Ints{2, 1});
               attributes.Set("dilations", Ints{1, 2});
               attributes.Set("group", int64_t{2});
               const ValueId x = b.Input("x", FloatTensor(kShape));
               const ValueId y = b.Node("Conv", {x, Weights(b, "w", {4, 3, 3, 2})}, attributes);
               return b.Node("Relu", {b.Node("Add", {y, Weights(b, "a", {4, 1, 1})})});
             }),
      kFused);
}

}  // namespace fuse_convolutions_test
}  // namespace plimsoll::compile
