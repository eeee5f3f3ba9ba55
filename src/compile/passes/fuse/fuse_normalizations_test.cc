#include "compile/passes/fuse/fuse_normalizations.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_normalizations_test {

using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using graph::ValueType;

// A normalisation as exporters write it, with everything that it depends on.
struct Written {
  int64_t axis = -1;
  Ints axes = {};  // in place of `axis`
  int64_t keepdims = 1;
  float exponent = 2;
  bool centered = true;
  bool by_reciprocal = false;
  bool square_as_product = false;
  bool epsilon_is_input = false;
  bool turned = false;  // operands of commutative nodes the other way round
  Ints scale = {6};
  Ints bias = {6};
  std::string needed = {};  // a part that is an output of the model too
};

ValueId Normalized(GraphBuilder& b, ValueId x, const Written& how) {
  const auto either = [&](const char* op, ValueId left, ValueId right) {
    return how.turned ? b.Node(op, {right, left}) : b.Node(op, {left, right});
  };
  const ValueId axes = b.Int64s("axes", how.axes.empty() ? Ints{how.axis} : how.axes);
  const auto mean = [&](ValueId value) {
    return b.Node("ReduceMean", {value, axes}, With("keepdims", how.keepdims));
  };
  const auto need = [&](const std::string& part, ValueId value) {
    if (how.needed == part) b.Output(value);
    return value;
  };
  const ValueId d = how.centered ? need("centered", b.Node("Sub", {x, mean(x)})) : x;
  const ValueId squares = how.square_as_product
                              ? b.Node("Mul", {d, d})
                              : b.Node("Pow", {d, Scalar(b, "exponent", how.exponent)});
  const ValueId epsilon =
      how.epsilon_is_input ? b.Input("epsilon", FloatTensor({})) : Scalar(b, "epsilon", 0.01F);
  const ValueId root =
      need("root", b.Node("Sqrt", {either("Add", need("variance", mean(squares)), epsilon)}));
  const ValueId divided =
      need("divided", how.by_reciprocal ? either("Mul", d, b.Node("Reciprocal", {root}))
                                        : b.Node("Div", {d, root}));
  const ValueId scaled = need("scaled", either("Mul", divided, Weights(b, "scale", how.scale)));
  return how.bias.empty() ? scaled : either("Add", scaled, Weights(b, "bias", how.bias));
}

std::string Fused(const Written& how, Ints shape = {2, 4, 6}) {
  return LeftOf(FuseNormalizations, [&](GraphBuilder& b) {
    graph::Shape dims(shape.begin(), shape.end());
    return Normalized(b, b.Input("x", FloatTensor(dims)), how);
  });
}

TEST(FuseNormalizationsTest, ALayerNormalizationIsOneNodeHoweverItIsWritten) {
  EXPECT_EQ(Fused({}), "LayerNormalization");
  EXPECT_EQ(Fused({.axis = 2}), "LayerNormalization");
  EXPECT_EQ(Fused({.by_reciprocal = true}), "LayerNormalization");
  EXPECT_EQ(Fused({.square_as_product = true}), "LayerNormalization");
  EXPECT_EQ(Fused({.turned = true}), "LayerNormalization");
  EXPECT_EQ(Fused({.by_reciprocal = true, .turned = true}), "LayerNormalization");
  EXPECT_EQ(Fused({.bias = {}}), "LayerNormalization");
}

TEST(FuseNormalizationsTest, WithoutTheMeanItIsAnRmsNormalizationWithoutBias) {
  EXPECT_EQ(Fused({.centered = false, .bias = {}}), "RMSNormalization");
  EXPECT_EQ(Fused({.centered = false}), "RMSNormalization Add") << "it takes no bias";
}

const std::string kUnfused = "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add";

TEST(FuseNormalizationsTest, OverAnotherDimensionItStays) {
  EXPECT_EQ(Fused({.axis = 1, .scale = {6}}), kUnfused);
  EXPECT_EQ(Fused({.axis = 0}), kUnfused);
  EXPECT_EQ(Fused({.axes = {1, 2}}), kUnfused);
  EXPECT_EQ(Fused({.axis = -2}, {2, 6, 6}), kUnfused) << "though both are as long";
}

TEST(FuseNormalizationsTest, AMeanThatDropsItsDimensionIsAnother) {
  EXPECT_EQ(Fused({.keepdims = 0}, {6, 6}), kUnfused);
}

TEST(FuseNormalizationsTest, AnotherPowerIsNoVariance) {
  EXPECT_EQ(Fused({.exponent = 4}), kUnfused);
}

TEST(FuseNormalizationsTest, AnEpsilonThatOnlyARunKnowsIsNone) {
  EXPECT_EQ(Fused({.epsilon_is_input = true}), kUnfused);
}

TEST(FuseNormalizationsTest, TheScaleIsAVectorAlongTheLastDimension) {
  EXPECT_EQ(Fused({.scale = {1}}), kUnfused);
  EXPECT_EQ(Fused({.scale = {4, 1}}), kUnfused);
  EXPECT_EQ(Fused({.scale = {4, 6}}), kUnfused);
  EXPECT_EQ(Fused({.scale = {3, 1, 1, 6}}), kUnfused) << "it would widen the result";
}

TEST(FuseNormalizationsTest, AnotherBiasIsAddedAfterwards) {
  const std::string scaled = "LayerNormalization Add";
  EXPECT_EQ(Fused({.bias = {1}}), scaled);
  EXPECT_EQ(Fused({.bias = {4, 1}}), scaled);
  EXPECT_EQ(Fused({.bias = {4, 6}}), scaled);
}

TEST(FuseNormalizationsTest, PartsThatOthersNeedAreStillMade) {
  EXPECT_EQ(Fused({.needed = "divided"}), kUnfused);
  EXPECT_EQ(Fused({.needed = "scaled"}), "LayerNormalization Add");
  EXPECT_EQ(Fused({.needed = "centered"}), "ReduceMean Sub LayerNormalization");
  EXPECT_EQ(Fused({.needed = "root"}), "ReduceMean Sub Pow ReduceMean Add Sqrt LayerNormalization");
}

TEST(FuseNormalizationsTest, AMeanOfSomethingElseIsNotSubtractedAgain) {
  const auto fused = [](bool reversed) {
    return LeftOf(FuseNormalizations, [&](GraphBuilder& b) {
      const ValueId x = b.Input("x", FloatTensor({4, 6}));
      const ValueId y = b.Input("y", FloatTensor({4, 6}));
      const ValueId mean = b.Node("ReduceMean", {reversed ? x : y, b.Int64s("a", {-1})});
      const ValueId d = reversed ? b.Node("Sub", {mean, x}) : b.Node("Sub", {x, mean});
      return Normalized(b, d, {.centered = false, .bias = {}});
    });
  };
  EXPECT_EQ(fused(false), "ReduceMean Sub RMSNormalization");
  EXPECT_EQ(fused(true), "ReduceMean Sub RMSNormalization");
}

TEST(FuseNormalizationsTest, SquaresOfSomethingElseAreNoVariance) {
  EXPECT_EQ(LeftOf(FuseNormalizations,
                   [](GraphBuilder& b) {
                     const ValueId x = b.Input("x", FloatTensor({4, 6}));
                     const ValueId y = b.Input("y", FloatTensor({4, 6}));
                     const ValueId square = b.Node("Mul", {y, y});
                     const ValueId mean = b.Node("ReduceMean", {square, b.Int64s("a", {-1})});
                     const ValueId sum = b.Node("Add", {mean, Scalar(b, "epsilon", 0.01F)});
                     const ValueId divided = b.Node("Div", {x, b.Node("Sqrt", {sum})});
                     return b.Node("Mul", {divided, Weights(b, "scale", {6})});
                   }),
            "Mul ReduceMean Add Sqrt Div Mul");
}

TEST(FuseNormalizationsTest, EpsilonGoesIntoTheNode) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4, 6}));
  builder.Output(Normalized(builder, x, {}));
  Graph graph = Inferred(builder);
  ASSERT_EQ(FuseNormalizations(graph).effects(), 1);
  const graph::Node& node = MakerOfOutput(graph);
  EXPECT_NEAR(node.attributes.Float("epsilon", 0), 0.01, 1e-7);
  EXPECT_EQ(node.attributes.Int("axis", 0), -1);
}

TEST(FuseNormalizationsTest, DoublesStayInTheirPrecision) {
  GraphBuilder builder;
  const ValueType doubles = ValueType::Tensor(DataType::kFloat64, graph::Shape{4, 6});
  const ValueId x = builder.Input("x", doubles);
  const ValueId scale =
      builder.Input("scale", ValueType::Tensor(DataType::kFloat64, graph::Shape{6}));
  const auto as_double = [&](ValueId value) {
    return builder.Node("Cast", {value}, With("to", int64_t{11}));
  };
  const ValueId mean =
      builder.Node("ReduceMean", {builder.Node("Mul", {x, x}), builder.Int64s("a", {-1})});
  const ValueId sum = builder.Node("Add", {mean, as_double(Scalar(builder, "epsilon", 0.01F))});
  builder.Output(
      builder.Node("Mul", {builder.Node("Div", {x, builder.Node("Sqrt", {sum})}), scale}));
  EXPECT_EQ(Left(FuseNormalizations, Inferred(builder)), "Mul ReduceMean Cast Add Sqrt Div Mul");
}

TEST(FuseNormalizationsTest, ABiasOnAnotherStreamStaysThere) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4, 6}));
  const ValueId y = Normalized(builder, x, {});
  builder.Output(y);
  builder.graph()[builder.graph()[y].producer].memory.stream = 1;
  EXPECT_EQ(Left(FuseNormalizations, Inferred(builder)), "LayerNormalization Add");
}

}  // namespace fuse_normalizations_test
}  // namespace plimsoll::compile
