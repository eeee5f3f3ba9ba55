#include "compile/passes/forms/cut_convolutions.h"

#include <limits>

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace cut_convolutions_test {

using graph::Attributes;
using graph::GraphBuilder;
using graph::ValueId;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

struct CutCase {
  std::string op = "Conv";
  Ints data = {2, 4, 20};
  Ints weights = {4, 4, 3};
  Ints pads = {4, 4};
  Ints strides = {1};
  Ints dilations = {2};
  Attributes more = {};
  Ints starts = {0};
  Ints ends = {-4};
  Ints axes = {2};
  Ints steps = {};
};

ValueId Convolved(GraphBuilder& b, const CutCase& one, ValueId x) {
  Attributes attributes = one.more;
  if (!one.pads.empty()) attributes.Set("pads", one.pads);
  attributes.Set("strides", one.strides);
  attributes.Set("dilations", one.dilations);
  return b.Node(one.op, {x, Weights(b, "w", one.weights), Weights(b, "b", {one.weights[0]})},
                attributes);
}

ValueId Sliced(GraphBuilder& b, const CutCase& one, ValueId whole) {
  std::vector<ValueId> inputs = {whole, b.Int64s("starts", one.starts), b.Int64s("ends", one.ends),
                                 b.Int64s("axes", one.axes)};
  if (!one.steps.empty()) inputs.push_back(b.Int64s("steps", one.steps));
  return b.Node("Slice", inputs);
}

// What is left of the convolution and its Slice; the results are compared with those before.
std::string LeftOfCut(const CutCase& one) {
  return LeftOf(CutConvolutions, [&](GraphBuilder& b) {
    const ValueId x = b.Input("x", FloatTensor({one.data.begin(), one.data.end()}));
    return b.Node("Relu", {Sliced(b, one, Convolved(b, one, x))});
  });
}

TEST(CutConvolutionsTest, WhatIsCutOffIsNotPaddedFor) {
  EXPECT_EQ(LeftOfCut({}), "Conv Relu") << "a causal layer";
  EXPECT_EQ(LeftOfCut({.ends = {20}}), "Conv Relu") << "the same end, counted from the beginning";
  EXPECT_EQ(LeftOfCut({.starts = {4}, .ends = {kEnd}}), "Conv Relu") << "the beginning";
  EXPECT_EQ(LeftOfCut({.starts = {-23}, .ends = {-2}}), "Conv Relu") << "some of both";
  EXPECT_EQ(LeftOfCut({.steps = {1}}), "Conv Relu");
  EXPECT_EQ(LeftOfCut({.pads = {4, 5}, .strides = {3}, .ends = {-1}}), "Conv Relu")
      << "a place is a stride of the padding";
  EXPECT_EQ(LeftOfCut({.pads = {1, 3}, .strides = {2}, .dilations = {1}, .ends = {-1}}),
            "Conv Relu");
  EXPECT_EQ(LeftOfCut({.data = {1, 4, 9, 7},
                       .weights = {4, 4, 3, 2},
                       .pads = {2, 1, 2, 1},
                       .strides = {1, 1},
                       .dilations = {1, 1},
                       .starts = {0, 1},
                       .ends = {-2, kEnd},
                       .axes = {2, -1}}),
            "Conv Relu")
      << "two axes";
}

TEST(CutConvolutionsTest, ATransposedOnePadsMore) {
  CutCase one{.op = "ConvTranspose", .pads = {0, 0}, .strides = {2}, .dilations = {1}};
  one.ends = {-2};
  EXPECT_EQ(LeftOfCut(one), "ConvTranspose Relu");
  one.starts = {1};
  one.ends = {-1};
  EXPECT_EQ(LeftOfCut(one), "ConvTranspose Relu");
  one.more = With("output_padding", Ints{1});
  EXPECT_EQ(LeftOfCut(one), "ConvTranspose Relu");
  one.ends = {-3};
  EXPECT_EQ(LeftOfCut(one), "ConvTranspose Slice Relu") << "more than a window reaches";
  one.ends = {-1};
  one.pads = {};
  one.more = With("output_shape", Ints{40});
  EXPECT_EQ(LeftOfCut(one), "ConvTranspose Slice Relu");
}

TEST(CutConvolutionsTest, OtherSlicesStay) {
  EXPECT_EQ(LeftOfCut({.ends = {-5}}), "Conv Slice Relu") << "more than is padded";
  EXPECT_EQ(LeftOfCut({.pads = {4, 5}, .strides = {3}, .ends = {-2}}), "Conv Slice Relu");
  EXPECT_EQ(LeftOfCut({.ends = {-2}, .steps = {2}}), "Conv Slice Relu");
  EXPECT_EQ(LeftOfCut({.starts = {-1}, .ends = {-24}, .steps = {-1}}), "Conv Slice Relu");
  EXPECT_EQ(LeftOfCut({.starts = {1}, .ends = {kEnd}, .axes = {1}}), "Conv Slice Relu")
      << "channels";
  EXPECT_EQ(LeftOfCut({.starts = {3}, .ends = {3}}), "Conv Slice Relu") << "nothing is left";
  EXPECT_EQ(LeftOfCut({.pads = {}, .more = With("auto_pad", std::string("SAME_UPPER"))}),
            "Conv Slice Relu");
}

TEST(CutConvolutionsTest, WhoElseReadsTheConvolutionKeepsItWhole) {
  const auto build = [](bool returned) {
    return [returned](GraphBuilder& b) {
      const ValueId whole = Convolved(b, {}, b.Input("x", FloatTensor({2, 4, 20})));
      b.Output(returned ? whole : b.Node("Neg", {whole}));
      return Sliced(b, {}, whole);
    };
  };
  EXPECT_EQ(LeftOf(CutConvolutions, build(false)), "Conv Neg Slice");
  EXPECT_EQ(LeftOf(CutConvolutions, build(true)), "Conv Slice");
}

TEST(CutConvolutionsTest, ASliceThatTheModelReturnsKeepsItsName) {
  EXPECT_EQ(LeftOf(CutConvolutions,
                   [](GraphBuilder& b) {
                     return Sliced(b, {}, Convolved(b, {}, b.Input("x", FloatTensor({2, 4, 20}))));
                   }),
            "Conv");
}

// Of a length that is not known before the run.
std::string LeftOfOpenLength(const CutCase& one) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({2, 4, graph::Dim::Symbol("n")}));
  b.Output(Sliced(b, one, Convolved(b, one, x)));
  graph::Graph graph = Inferred(b);
  const graph::ValueType before = graph[graph.root().outputs[0]].type;
  CutConvolutions(graph);
  Must(InferShapes(graph));
  EXPECT_EQ(graph[graph.root().outputs[0]].type, before);
  return OperatorsOf(graph);
}

TEST(CutConvolutionsTest, OfAnOpenLengthWhatIsLeftMustBeThereAtEveryLength) {
  EXPECT_EQ(LeftOfOpenLength({}), "Conv");
  EXPECT_EQ(LeftOfOpenLength({.starts = {4}, .ends = {kEnd}}), "Conv");
  EXPECT_EQ(LeftOfOpenLength({.starts = {1}}), "Conv Slice") << "of one place nothing is left";
  EXPECT_EQ(LeftOfOpenLength({.ends = {20}}), "Conv Slice") << "how much goes is not known";
  EXPECT_EQ(LeftOfOpenLength({.starts = {-8}, .ends = {kEnd}}), "Conv Slice");
}

}  // namespace cut_convolutions_test
}  // namespace plimsoll::compile
