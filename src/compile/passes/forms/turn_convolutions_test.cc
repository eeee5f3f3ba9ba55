#include "compile/passes/forms/turn_convolutions.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace turn_convolutions_test {

using graph::Attributes;
using graph::GraphBuilder;
using graph::ValueId;

struct TransposedCase {
  Ints data = {2, 6, 7, 9};
  Ints weights = {6, 4, 3, 2};
  int64_t groups = 1;
  Ints pads = {1, 0, 0, 1};
  Ints strides = {1, 1};
  Ints dilations = {1, 1};
  Attributes more = {};
};

std::string LeftOfTransposed(const TransposedCase& one) {
  return LeftOf(TurnConvolutions, [&](GraphBuilder& b) {
    Attributes attributes = one.more;
    attributes.Set("group", one.groups);
    attributes.Set("pads", one.pads);
    attributes.Set("strides", one.strides);
    attributes.Set("dilations", one.dilations);
    const int64_t filters = one.weights[1] * one.groups;
    return b.Node("ConvTranspose",
                  {b.Input("x", FloatTensor({one.data.begin(), one.data.end()})),
                   Weights(b, "w", one.weights), Weights(b, "b", {filters})},
                  attributes);
  });
}

TEST(TurnConvolutionsTest, StrideOneIsAConvolutionWithTheSameNumbers) {
  EXPECT_EQ(LeftOfTransposed({}), "Conv");
  EXPECT_EQ(LeftOfTransposed({.groups = 2}), "Conv");
  EXPECT_EQ(LeftOfTransposed({.weights = {6, 1, 3, 3}, .groups = 6}), "Conv") << "by channel";
  EXPECT_EQ(LeftOfTransposed({.pads = {2, 1, 3, 1}, .dilations = {2, 1}}), "Conv");
  EXPECT_EQ(LeftOfTransposed({.data = {1, 3, 20},
                              .weights = {3, 5, 4},
                              .pads = {0, 2},
                              .strides = {1},
                              .dilations = {3}}),
            "Conv")
      << "over one axis";
}

TEST(TurnConvolutionsTest, OthersStay) {
  EXPECT_EQ(LeftOfTransposed({.strides = {2, 1}}), "ConvTranspose");
  EXPECT_EQ(LeftOfTransposed({.pads = {3, 0, 0, 1}}), "ConvTranspose") << "cuts off";
  EXPECT_EQ(LeftOfTransposed({.dilations = {2, 1}, .more = With("output_padding", Ints{1, 0})}),
            "ConvTranspose");
  EXPECT_EQ(LeftOfTransposed({.more = With("auto_pad", std::string("SAME_UPPER"))}),
            "ConvTranspose");
  EXPECT_EQ(LeftOfTransposed({.data = {2, 6, 3, 3}, .weights = {6, 4, 3, 3}, .pads = {0, 0, 0, 0}}),
            "ConvTranspose")
      << "mostly padding";
}

TEST(TurnConvolutionsTest, WeightsThatAreNotConstantStay) {
  EXPECT_EQ(LeftOf(TurnConvolutions,
                   [](GraphBuilder& b) {
                     return b.Node("ConvTranspose", {b.Input("x", FloatTensor({1, 6, 7, 9})),
                                                     b.Input("w", FloatTensor({6, 4, 1, 1}))});
                   }),
            "ConvTranspose");
}

}  // namespace turn_convolutions_test
}  // namespace plimsoll::compile
