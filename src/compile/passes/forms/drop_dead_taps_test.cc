#include "compile/passes/forms/drop_dead_taps.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace drop_dead_taps_test {

using graph::Attributes;
using graph::GraphBuilder;

struct DilatedCase {
  Ints data = {2, 6, 7, 9};
  Ints weights = {4, 3, 3, 3};
  Ints pads = {8, 9, 8, 9};
  Ints strides = {1, 1};
  Ints dilations = {8, 9};
  std::string auto_pad = "NOTSET";
};

// What is left of the kernel; results are compared with those before.
Ints LeftOfKernel(const DilatedCase& one) {
  GraphBuilder b;
  Attributes attributes;
  if (one.auto_pad == "NOTSET") attributes.Set("pads", one.pads);
  attributes.Set("auto_pad", one.auto_pad);
  attributes.Set("strides", one.strides);
  attributes.Set("dilations", one.dilations);
  attributes.Set("group", one.data[1] / one.weights[1]);
  b.Output(b.Node("Conv",
                  {b.Input("x", FloatTensor({one.data.begin(), one.data.end()})),
                   Weights(b, "w", one.weights), Weights(b, "b", {one.weights[0]})},
                  attributes));
  const graph::Graph before = Inferred(b);
  graph::Graph after = before;
  DropDeadTaps(after);
  EXPECT_TRUE(InferShapes(after).ok());
  ExpectSameResults(before, after);
  const graph::Node& left = after[after.root().nodes[0]];
  const Ints& dims = after[after[left.inputs[1]].constant].dims;
  return {dims.begin() + 2, dims.end()};
}

TEST(DropDeadTapsTest, WhatMeetsPaddingAloneGoesAndTheNumbersStay) {
  EXPECT_EQ(LeftOfKernel({}), Ints({1, 1}));
  EXPECT_EQ(LeftOfKernel({.pads = {8, 4, 8, 4}, .dilations = {8, 4}}), Ints({1, 3}));
  EXPECT_EQ(LeftOfKernel({.weights = {4, 3, 5, 4}, .pads = {14, 6, 14, 6}, .dilations = {7, 4}}),
            Ints({1, 4}))
      << "two taps at each end";
  EXPECT_EQ(LeftOfKernel({.pads = {9, 0, 7, 2}, .dilations = {8, 1}}), Ints({2, 3}));
  EXPECT_EQ(LeftOfKernel({.pads = {12, 12, 12, 12}, .strides = {2, 3}, .dilations = {12, 12}}),
            Ints({1, 1}));
  EXPECT_EQ(LeftOfKernel({.dilations = {8, 11}, .auto_pad = "SAME_UPPER"}), Ints({1, 1}));
  EXPECT_EQ(LeftOfKernel({.weights = {4, 3, 2, 3}, .dilations = {9, 10}, .auto_pad = "SAME_LOWER"}),
            Ints({2, 1}))
      << "pads that stay are not below zero";
  EXPECT_EQ(LeftOfKernel({.data = {1, 3, 20},
                          .weights = {5, 3, 3},
                          .pads = {25, 25},
                          .strides = {1},
                          .dilations = {25}}),
            Ints({1}))
      << "over one axis";
}

TEST(DropDeadTapsTest, TapsThatMeetTheDataSomewhereStay) {
  EXPECT_EQ(LeftOfKernel({.pads = {6, 8, 6, 8}, .dilations = {6, 8}}), Ints({3, 3}));
  EXPECT_EQ(LeftOfKernel({.pads = {1, 1, 1, 1}, .dilations = {1, 1}}), Ints({3, 3}));
}

TEST(DropDeadTapsTest, WeightsThatAreNotConstantStay) {
  const auto build = [](GraphBuilder& b) {
    Attributes attributes;
    attributes.Set("pads", Ints{8, 9, 8, 9});
    attributes.Set("dilations", Ints{8, 9});
    return b.Node(
        "Conv", {b.Input("x", FloatTensor({1, 3, 7, 9})), b.Input("w", FloatTensor({4, 3, 3, 3}))},
        attributes);
  };
  EXPECT_EQ(LeftOf(DropDeadTaps, build), "Conv");
}

}  // namespace drop_dead_taps_test
}  // namespace plimsoll::compile
