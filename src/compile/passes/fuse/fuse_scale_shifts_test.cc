#include "compile/passes/fuse/fuse_scale_shifts.h"

#include "compile/passes/layout/channel_groups.h"
#include "compile/passes/pass_results_for_tests.h"
#include "kernels/blocking.h"

namespace plimsoll::compile {
namespace fuse_scale_shifts_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

constexpr int64_t kChannels = 6;
const graph::Shape kShape = {2, kChannels, 5, 7};
const std::string kFused = "plimsoll::FusedScaleShift";

ValueId Normalized(GraphBuilder& b, ValueId x, int64_t channels = kChannels) {
  const std::vector<float> variance(static_cast<size_t>(channels), 0.7f);
  return b.Node("BatchNormalization",
                {x, Weights(b, "scale", {channels}), Weights(b, "bias", {channels}),
                 Weights(b, "mean", {channels}), b.Float32s("variance", {channels}, variance)});
}

template <typename Build>
std::string Left(const Build& build, const graph::Shape& shape = kShape) {
  return LeftOf(FuseScaleShifts,
                [&](GraphBuilder& b) { return build(b, b.Input("x", FloatTensor(shape))); });
}

TEST(FuseScaleShiftsTest, ANormalizationTakesItsActivation) {
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) { return Normalized(b, x); }), kFused);
  for (const char* activation : {"Relu", "Sigmoid", "HardSwish", "LeakyRelu"}) {
    EXPECT_EQ(
        Left([&](GraphBuilder& b, ValueId x) { return b.Node(activation, {Normalized(b, x)}); }),
        kFused)
        << activation;
  }
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) { return b.Node("Relu", {Normalized(b, x)}); },
                 {3, kChannels}),
            kFused)
      << "without places";
}

TEST(FuseScaleShiftsTest, ConstantArithmeticInARowIsOneNode) {
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              x = b.Node("Sub", {x, Weights(b, "m", {kChannels, 1, 1})});
              x = b.Node("Div", {x, Scalar(b, "d", 3)});
              return b.Node("Add", {Weights(b, "a", {1, kChannels, 1, 1}), x});
            }),
            kFused);
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, Weights(b, "m", {kChannels, 1, 1})});
            }),
            kFused)
      << "one number a channel";
}

TEST(FuseScaleShiftsTest, OneNumberForAllOrAnotherReaderStays) {
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              return b.Node("Relu", {b.Node("Add", {x, Scalar(b, "a", 2)})});
            }),
            "Add Relu");
  EXPECT_EQ(Left(
                [](GraphBuilder& b, ValueId x) {
                  return b.Node("Relu", {b.Node("Mul", {x, Weights(b, "m", {kChannels})})});
                },
                {3, kChannels}),
            "Mul Relu")
      << "channels of one element";
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, Scalar(b, "m", 2)});
            }),
            "Mul");
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              const ValueId y = Normalized(b, x);
              return b.Node("Add", {b.Node("Relu", {y}), y});
            }),
            kFused + " Relu Add");
  EXPECT_EQ(Left([](GraphBuilder& b, ValueId x) {
              return b.Node("Mul", {x, Weights(b, "m", {1, 7})});
            }),
            "Mul")
      << "along the columns";
  EXPECT_EQ(Left(
                [](GraphBuilder& b, ValueId x) {
                  return b.Node("Add", {b.Node("Mul", {x, Weights(b, "m", {kChannels, 1})}),
                                        Scalar(b, "a", 1)});
                },
                {2, kChannels, 3}),
            "Mul Add")
      << "rows of three elements";
}

// Behind a convolution whose channels lie in groups the node works on the groups, full or not.
TEST(FuseScaleShiftsTest, GroupsOfChannelsStayGroups) {
  for (const int64_t channels : {int64_t{kernels::BlockSize()}, int64_t{5}}) {
    for (const char* activation : {"Relu", "Sigmoid"}) {
      GraphBuilder b;
      const ValueId x = b.Input("x", FloatTensor({2, 3, 6, 6}));
      const ValueId conv = b.Node("Conv", {x, Weights(b, "w", {channels, 3, 3, 3})});
      const ValueId y = b.Node(activation, {Normalized(b, conv, channels)});
      b.Output(b.Node("Conv", {y, Weights(b, "v", {4, channels, 1, 1})}));
      b.Output(conv);
      Graph graph = Inferred(b);
      const Graph before = graph;
      EXPECT_GT(FuseScaleShifts(graph, {}).effects(), 0);
      EXPECT_GT(GroupChannels(graph, kernels::BlockSize()).effects(), 0);
      ASSERT_TRUE(InferShapes(graph).ok());
      for (const graph::Node& node : graph.nodes) {
        if (node.op == "FusedScaleShift" && node.home.valid()) {
          EXPECT_EQ(node.attributes.Int("input_blocked", 0), 1);
        }
      }
      ExpectSameResults(before, graph, 1e-5);
    }
  }
}

// The first of the two constants moves the graph's values to larger memory.
TEST(FuseScaleShiftsTest, BothConstantsAreNamedAfterTheResult) {
  GraphBuilder b;
  b.Output(Normalized(b, b.Input("x", FloatTensor(kShape))));
  Graph graph = Inferred(b);
  graph.values.shrink_to_fit();
  const std::string name = graph[graph.root().outputs[0]].name;
  ASSERT_EQ(FuseScaleShifts(graph, {}).effects(), 1);
  const std::vector<ValueId>& inputs = graph[graph[graph.root().outputs[0]].producer].inputs;
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(graph[inputs[1]].name, name + "/scale");
  EXPECT_EQ(graph[inputs[2]].name, name + "/shift");
}

// Beside a rounding to whole numbers, where a last bit decides.
TEST(FuseScaleShiftsTest, AQuantizedModelTakesTheStepsOfFloats) {
  const auto numbers = [](const std::string& name) {
    GraphBuilder b;
    const graph::ValueId value = Weights(b, name, {kChannels});
    return b.graph()[b.graph()[value].constant].Doubles();
  };
  const std::vector<double> sum = numbers("sum"), scale = numbers("scale"), bias = numbers("bias"),
                            mean = numbers("mean");
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor(kShape));
  const ValueId sums =
      b.Node("Add", {x, b.Float32s("sum", {kChannels, 1, 1}, {sum.begin(), sum.end()})});
  const ValueId made = Normalized(b, sums);
  b.Output(made);
  b.Output(b.Nodes("DynamicQuantizeLinear", {made}, 3)[0]);
  Graph graph = Inferred(b);
  ASSERT_EQ(FuseScaleShifts(graph, {}).effects(), 1);
  const std::vector<double> given =
      kernels::ToConstant(RandomTensor(FloatTensor(kShape), 1)).Doubles();
  const std::vector<double> got = kernels::ToConstant(ResultsOf(graph)[0]).Doubles();
  const auto rounded = [](double number) -> double { return static_cast<float>(number); };
  const double inverse = rounded(1 / rounded(std::sqrt(rounded(double{0.7F} + 1e-5F))));
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t c = i / 35 % kChannels;
    const double factor = rounded(inverse * scale[c]);
    const double product = rounded(rounded(given[i] + sum[c]) * factor);
    ASSERT_EQ(got[i], rounded(product + rounded(bias[c] - rounded(mean[c] * factor)))) << i;
  }
}

}  // namespace fuse_scale_shifts_test
}  // namespace plimsoll::compile
