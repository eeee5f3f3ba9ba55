#include "compile/passes/fuse/fuse_pads.h"

#include <limits>

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_pads_test {

using graph::Attributes;
using graph::GraphBuilder;
using graph::ValueId;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct PadCase {
  Ints sizes = {0, 0, 1, 2, 0, 0, 0, 1};
  float value = 0;
  Ints axes = {};
  std::string mode = "constant";
};

ValueId Padded(GraphBuilder& b, ValueId x, const PadCase& one) {
  std::vector<ValueId> inputs = {x, b.Int64s("sizes", one.sizes), Scalar(b, "value", one.value)};
  if (!one.axes.empty()) inputs.push_back(b.Int64s("axes", one.axes));
  return b.Node("Pad", inputs, With("mode", one.mode));
}

std::string LeftOfConv(const PadCase& one, const Attributes& attributes = {}) {
  return LeftOf(FusePads, [&](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({1, 2, 6, 7}));
    return b.Node("Conv", {Padded(b, x, one), Weights(b, "w", {4, 2, 3, 3})}, attributes);
  });
}

TEST(FusePadsTest, ZerosAroundAConvolutionAreItsPads) {
  EXPECT_EQ(LeftOfConv({}), "Conv");
  EXPECT_EQ(LeftOfConv({.sizes = {1, 1, 2, 0}, .axes = {2, -1}}), "Conv");
  EXPECT_EQ(LeftOfConv({}, With("pads", Ints{1, 0, 2, 1})), "Conv") << "both add up";
  EXPECT_EQ(LeftOfConv({}, With("auto_pad", std::string("VALID"))), "Conv");
  EXPECT_EQ(LeftOfConv({.sizes = {0, 0, 3, 0, 0, 0, 0, 4}}, With("dilations", Ints{2, 2})), "Conv");
}

TEST(FusePadsTest, OtherPadsStay) {
  EXPECT_EQ(LeftOfConv({.value = 1}), "Pad Conv");
  EXPECT_EQ(LeftOfConv({.mode = "edge"}), "Pad Conv");
  EXPECT_EQ(LeftOfConv({.sizes = {1, 0, 0, 0, 0, 0, 0, 0}}), "Pad Conv") << "of the batch";
  EXPECT_EQ(LeftOfConv({.sizes = {0, 0, -1, 0, 0, 0, 0, 0}}), "Pad Conv") << "cuts off";
  EXPECT_EQ(LeftOfConv({.sizes = {0, 0, 3, 0, 0, 0, 0, 0}}), "Pad Conv")
      << "a window without input";
  EXPECT_EQ(LeftOfConv({.sizes = {0, 0, 2, 0, 0, 0, 0, 0}}, With("pads", Ints{1, 0, 0, 0})),
            "Pad Conv");
  EXPECT_EQ(LeftOfConv({}, With("auto_pad", std::string("SAME_UPPER"))), "Pad Conv");
}

TEST(FusePadsTest, WhoElseReadsThePadKeepsIt) {
  EXPECT_EQ(LeftOf(FusePads,
                   [](GraphBuilder& b) {
                     const ValueId pad = Padded(b, b.Input("x", FloatTensor({1, 2, 6, 7})), {});
                     b.Output(b.Node("Neg", {pad}));
                     return b.Node("Conv", {pad, Weights(b, "w", {4, 2, 3, 3})});
                   }),
            "Pad Neg Conv");
}

std::string LeftOfPool(const std::string& pool, const PadCase& one, const Attributes& more = {},
                       bool positive = false) {
  return LeftOf(FusePads, [&](GraphBuilder& b) {
    ValueId x = b.Input("x", FloatTensor({1, 2, 6, 7}));
    if (positive) x = b.Node("Relu", {x});
    Attributes attributes = more;
    attributes.Set("kernel_shape", Ints{3, 3});
    attributes.Set("strides", Ints{2, 2});
    return b.Node(pool, {Padded(b, x, one)}, attributes);
  });
}

TEST(FusePadsTest, APoolTakesWhatDoesNotChangeItsNumbers) {
  EXPECT_EQ(LeftOfPool("MaxPool", {.value = kLowest}), "MaxPool");
  EXPECT_EQ(LeftOfPool("MaxPool", {}), "Pad MaxPool") << "zero is more than what may be there";
  EXPECT_EQ(LeftOfPool("MaxPool", {}, {}, true), "Relu MaxPool");
  EXPECT_EQ(LeftOfPool("MaxPool", {.value = 0.5F}, {}, true), "Relu Pad MaxPool");
  EXPECT_EQ(LeftOfPool("MaxPool", {.value = kLowest}, With("ceil_mode", int64_t{1})),
            "Pad MaxPool");
  EXPECT_EQ(LeftOfPool("AveragePool", {}), "AveragePool") << "the zeros are counted";
  EXPECT_EQ(LeftOfPool("AveragePool", {}, With("pads", Ints{1, 0, 0, 0})), "Pad AveragePool")
      << "its own are not";
}

}  // namespace fuse_pads_test
}  // namespace plimsoll::compile
