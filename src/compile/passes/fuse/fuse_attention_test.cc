#include "compile/passes/fuse/fuse_attention.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_attention_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

const std::string kFused = "plimsoll::FusedAttention";

// Attention over [batch, heads, rows, width] as exporters write it, with everything it depends on.
struct Written {
  Ints q = {2, 3, 4, 5};
  Ints k = {2, 3, 5, 4};  // its last two swapped already
  Ints v = {2, 3, 4, 6};
  int64_t axis = -1;
  Ints mask = {};           // empty: none
  bool mask_first = false;  // of the sum
  float scale = 1;          // of the scores; 1: none
  bool divide = false;      // by the scale
  bool replace_nan = false;
  float replacement = 0;
  std::string needed = {};  // a part that is an output of the model too
};

graph::Shape ShapeFrom(const Ints& dims) { return {dims.begin(), dims.end()}; }

ValueId Attention(GraphBuilder& b, ValueId q, ValueId k, ValueId v, const Written& how) {
  const auto need = [&](const std::string& part, ValueId value) {
    if (how.needed == part) b.Output(value);
    return value;
  };
  ValueId scores = need("scores", b.Node("MatMul", {q, k}));
  if (how.scale != 1) {
    scores = b.Node(how.divide ? "Div" : "Mul", {scores, Scalar(b, "scale", how.scale)});
    need("scaled", scores);
  }
  if (!how.mask.empty()) {
    const ValueId mask = b.Input("mask", FloatTensor(ShapeFrom(how.mask)));
    scores = how.mask_first ? b.Node("Add", {mask, scores}) : b.Node("Add", {scores, mask});
    need("masked", scores);
  }
  ValueId weights = need("weights", b.Node("Softmax", {scores}, With("axis", how.axis)));
  if (how.replace_nan) {
    const ValueId test = b.Node("IsNaN", {weights});
    weights = b.Node("Where", {test, Scalar(b, "replacement", how.replacement), weights});
  }
  return b.Node("MatMul", {weights, v});
}

std::string Fused(const Written& how) {
  return LeftOf(FuseAttention, [&](GraphBuilder& b) {
    return Attention(b, b.Input("q", FloatTensor(ShapeFrom(how.q))),
                     b.Input("k", FloatTensor(ShapeFrom(how.k))),
                     b.Input("v", FloatTensor(ShapeFrom(how.v))), how);
  });
}

TEST(FuseAttentionTest, HoweverItsScoresAreScaledAndMasked) {
  EXPECT_EQ(Fused({}), kFused);
  EXPECT_EQ(Fused({.axis = 3}), kFused);
  EXPECT_EQ(Fused({.scale = 0.3F}), kFused);
  EXPECT_EQ(Fused({.scale = 3, .divide = true}), kFused);
  EXPECT_EQ(Fused({.mask = {2, 3, 4, 4}, .scale = 0.3F}), kFused);
  EXPECT_EQ(Fused({.mask = {2, 1, 1, 4}, .mask_first = true, .scale = 0.3F}), kFused);
  EXPECT_EQ(Fused({.mask = {4, 4}}), kFused);
  EXPECT_EQ(Fused({.mask = {1, 1, 4}}), kFused);
  EXPECT_EQ(Fused({.replace_nan = true}), kFused);
}

TEST(FuseAttentionTest, AFactorOfAnOperandThatIsRoundedBeforeStays) {
  for (const int64_t steps : {0, 1}) {
    const std::string left = LeftOf(FuseAttention, [&](GraphBuilder& b) {
      const ValueId q =
          b.Node("Mul", {b.Input("q", FloatTensor({2, 3, 4, 5})), Scalar(b, "s", 0.3F)},
                 With("float_steps", steps));
      return Attention(b, q, b.Input("k", FloatTensor({2, 3, 5, 4})),
                       b.Input("v", FloatTensor({2, 3, 4, 6})), {});
    });
    EXPECT_EQ(left, steps == 0 ? kFused : "Mul " + kFused);
  }
}

TEST(FuseAttentionTest, ASoftmaxOverAnotherDimensionIsNone) {
  EXPECT_EQ(Fused({.axis = 2}), "MatMul Softmax MatMul");
  EXPECT_EQ(Fused({.axis = -2}), "MatMul Softmax MatMul");
  EXPECT_EQ(Fused({.axis = 1}), "MatMul Softmax MatMul");
}

TEST(FuseAttentionTest, TheMaskHasAnElementForEachKeyAndDoesNotWidenTheScores) {
  const std::string unfused = "MatMul Add Softmax MatMul";
  EXPECT_EQ(Fused({.mask = {4}}), unfused) << "of one dimension";
  EXPECT_EQ(Fused({.mask = {4, 1}}), unfused) << "one element for all keys";
  EXPECT_EQ(Fused({.q = {1, 3, 4, 5}, .k = {1, 3, 5, 4}, .v = {1, 3, 4, 6}, .mask = {2, 1, 1, 4}}),
            unfused)
      << "a batch of its own";
  EXPECT_EQ(Fused({.q = {2, 3, 1, 5}, .mask = {4, 4}}), unfused) << "rows of its own";
}

TEST(FuseAttentionTest, BatchAndHeadsMustNotBroadcast) {
  const std::string unfused = "MatMul Softmax MatMul";
  EXPECT_EQ(Fused({.k = {1, 3, 5, 4}}), unfused);
  EXPECT_EQ(Fused({.v = {1, 3, 4, 6}}), unfused);
  EXPECT_EQ(Fused({.k = {2, 1, 5, 4}}), unfused);
  EXPECT_EQ(Fused({.v = {2, 1, 4, 6}}), unfused);
  EXPECT_EQ(Fused({.q = {1, 3, 4, 5}, .k = {2, 3, 5, 4}}), unfused);
  EXPECT_EQ(Fused({.v = {4, 6}}), unfused);
}

TEST(FuseAttentionTest, FourDimensionsOnly) {
  EXPECT_EQ(Fused({.q = {2, 4, 5}, .k = {2, 5, 4}, .v = {2, 4, 6}}), "MatMul Softmax MatMul");
}

TEST(FuseAttentionTest, OnlyNoNumberIsReplacedAndOnlyByZero) {
  EXPECT_EQ(Fused({.replace_nan = true, .replacement = 0.5F}), "MatMul Softmax IsNaN Where MatMul");
  EXPECT_EQ(LeftOf(FuseAttention,
                   [](GraphBuilder& b) {
                     const ValueId q = b.Input("q", FloatTensor({2, 3, 4, 5}));
                     const ValueId k = b.Input("k", FloatTensor({2, 3, 5, 4}));
                     const ValueId v = b.Input("v", FloatTensor({2, 3, 4, 6}));
                     const ValueId other = b.Input("other", FloatTensor({2, 3, 4, 4}));
                     const ValueId weights =
                         b.Node("Softmax", {b.Node("MatMul", {q, k})}, With("axis", int64_t{-1}));
                     const ValueId test = b.Node("IsNaN", {other});
                     const ValueId clean = b.Node("Where", {test, Scalar(b, "zero", 0), weights});
                     return b.Node("MatMul", {clean, v});
                   }),
            "MatMul Softmax IsNaN Where MatMul");
}

TEST(FuseAttentionTest, PartsThatOthersNeedAreStillMade) {
  EXPECT_EQ(Fused({.scale = 0.3F, .needed = "scores"}), "MatMul Mul Softmax MatMul");
  EXPECT_EQ(Fused({.needed = "weights"}), "MatMul Softmax MatMul");
  EXPECT_EQ(Fused({.mask = {4, 4}, .needed = "masked"}), "MatMul Add Softmax MatMul");
  EXPECT_EQ(Fused({.replace_nan = true, .needed = "weights"}), "MatMul Softmax IsNaN Where MatMul");
}

// [batch, rows, heads, width] turned to [batch, heads, rows, width], and the like for K.
std::string FusedTurned(const Ints& q_perm, const Ints& k_perm, const Ints& v_perm,
                        const Ints& y_perm) {
  return LeftOf(FuseAttention, [&](GraphBuilder& b) {
    const auto turned = [&](const char* name, const Ints& perm) {
      const ValueId value = b.Input(name, FloatTensor({3, 3, 3, 3}));
      return perm.empty() ? value : b.Node("Transpose", {value}, With("perm", perm));
    };
    const ValueId q = turned("q", q_perm);
    const ValueId k = turned("k", k_perm);
    const ValueId v = turned("v", v_perm);
    const ValueId y = Attention(b, q, k, v, {});
    return y_perm.empty() ? y : b.Node("Transpose", {y}, With("perm", y_perm));
  });
}

TEST(FuseAttentionTest, TransposesToAndFromRowsFirstGoIn) {
  EXPECT_EQ(FusedTurned({0, 2, 1, 3}, {0, 2, 3, 1}, {0, 2, 1, 3}, {0, 2, 1, 3}), kFused);
  EXPECT_EQ(FusedTurned({0, 2, 1, 3}, {0, 1, 3, 2}, {}, {}), kFused);
  EXPECT_EQ(FusedTurned({}, {0, 1, 3, 2}, {}, {}), kFused);
}

TEST(FuseAttentionTest, OtherTransposesStay) {
  EXPECT_EQ(FusedTurned({0, 3, 2, 1}, {}, {}, {}), "Transpose " + kFused);
  EXPECT_EQ(FusedTurned({}, {0, 2, 3, 1}, {}, {}), "Transpose " + kFused)
      << "rows first in K alone";
  EXPECT_EQ(FusedTurned({}, {}, {0, 2, 1, 3}, {}), "Transpose " + kFused)
      << "rows first in V alone";
  EXPECT_EQ(FusedTurned({0, 2, 1, 3}, {}, {}, {0, 1, 3, 2}), kFused + " Transpose");
  EXPECT_EQ(FusedTurned({}, {}, {}, {0, 2, 1, 3}), kFused + " Transpose")
      << "the result is turned only together with Q, or where it is packed";
}

TEST(FuseAttentionTest, AResultInRowsIsPackedForTheViewThatFollows) {
  const auto fused = [](const Ints& target) {
    return LeftOf(FuseAttention, [&](GraphBuilder& b) {
      const ValueId y = Attention(b, b.Input("q", FloatTensor({2, 3, 4, 5})),
                                  b.Input("k", FloatTensor({2, 3, 5, 4})),
                                  b.Input("v", FloatTensor({2, 3, 4, 6})), {});
      const ValueId rows = b.Node("Transpose", {y}, With("perm", Ints{0, 2, 1, 3}));
      return b.Node("Reshape", {rows, b.Int64s("to", target)});
    });
  };
  EXPECT_EQ(fused({2, 4, 18}), kFused + " Reshape");
  EXPECT_EQ(fused({8, 18}), kFused + " Reshape");
}

TEST(FuseAttentionTest, HeadsThatAreRepeatedAreReadOnce) {
  const auto fused = [](bool k_repeated, bool v_repeated) {
    return LeftOf(FuseAttention, [&](GraphBuilder& b) {
      const auto heads = [&](const std::string& name, int64_t width, bool repeated) {
        if (!repeated) return b.Input(name, FloatTensor({2, 6, 4, width}));
        const ValueId few = b.Input(name, FloatTensor({2, 3, 4, width}));
        const ValueId seen = b.Node("Unsqueeze", {few, b.Int64s(name + " axis", {2})});
        const ValueId many =
            b.Node("Expand", {seen, b.Int64s(name + " times", {2, 3, 2, 4, width})});
        return b.Node("Reshape", {many, b.Int64s(name + " all", {2, 6, 4, width})});
      };
      const ValueId q = b.Input("q", FloatTensor({2, 6, 4, 5}));
      const ValueId k =
          b.Node("Transpose", {heads("k", 5, k_repeated)}, With("perm", Ints{0, 1, 3, 2}));
      const ValueId v = heads("v", 7, v_repeated);
      return Attention(b, q, k, v, {});
    });
  };
  EXPECT_EQ(fused(true, true), kFused);
  EXPECT_EQ(fused(false, false), kFused);
  EXPECT_EQ(fused(true, false), "Unsqueeze Expand Reshape " + kFused) << "both or none";
  EXPECT_EQ(fused(false, true), "Unsqueeze Expand Reshape " + kFused);
}

TEST(FuseAttentionTest, FactorsOfQAndKMultiply) {
  EXPECT_EQ(
      LeftOf(
          FuseAttention,
          [](GraphBuilder& b) {
            const ValueId q = b.Input("q", FloatTensor({2, 3, 4, 5}));
            const ValueId k = b.Input("k", FloatTensor({2, 3, 4, 5}));
            const ValueId small = b.Node("Mul", {Scalar(b, "a", 0.3F), q});
            const ValueId smaller = b.Node("Div", {k, Scalar(b, "b", 2)});
            const ValueId turned = b.Node("Transpose", {smaller}, With("perm", Ints{0, 1, 3, 2}));
            return Attention(b, small, turned, b.Input("v", FloatTensor({2, 3, 4, 6})),
                             {.scale = 0.7F});
          }),
      kFused);
}

TEST(FuseAttentionTest, AScaleThatOnlyARunKnowsOrThatIsNoneStays) {
  const auto fused = [](const char* op, bool first) {
    return LeftOf(FuseAttention, [&](GraphBuilder& b) {
      const ValueId q = b.Input("q", FloatTensor({2, 3, 4, 5}));
      const ValueId k = b.Input("k", FloatTensor({2, 3, 5, 4}));
      const ValueId v = b.Input("v", FloatTensor({2, 3, 4, 6}));
      const ValueId scale = b.Input("scale", FloatTensor({}));
      const ValueId scores = b.Node("MatMul", {q, k});
      const ValueId scaled = b.Node(op, {first ? scale : scores, first ? scores : scale});
      const ValueId weights = b.Node("Softmax", {scaled}, With("axis", int64_t{-1}));
      return b.Node("MatMul", {weights, v});
    });
  };
  EXPECT_EQ(fused("Mul", false), "MatMul Mul Softmax MatMul");
  EXPECT_EQ(fused("Mul", true), "MatMul Mul Softmax MatMul");
  EXPECT_EQ(fused("Div", false), "MatMul Div Softmax MatMul");
  EXPECT_EQ(fused("Div", true), "MatMul Div Softmax MatMul");
  EXPECT_EQ(Fused({.scale = 0, .divide = true}), "MatMul Div Softmax MatMul");
}

TEST(FuseAttentionTest, AScaleOfHigherRankWidensTheScores) {
  EXPECT_EQ(LeftOf(FuseAttention,
                   [](GraphBuilder& b) {
                     const ValueId q = b.Input("q", FloatTensor({2, 4, 5}));
                     const ValueId wide = b.Node("Mul", {q, b.Float32s("s", {1, 1, 1, 1}, {2})});
                     const ValueId k = b.Input("k", FloatTensor({1, 2, 5, 4}));
                     const ValueId v = b.Input("v", FloatTensor({1, 2, 4, 6}));
                     return Attention(b, wide, k, v, {});
                   }),
            "Mul " + kFused)
      << "Q has four dimensions only behind its factor";
}

TEST(FuseAttentionTest, NodesOnAnotherStreamStay) {
  for (size_t node = 0; node < 3; ++node) {
    GraphBuilder builder;
    builder.Output(Attention(builder, builder.Input("q", FloatTensor({2, 3, 4, 5})),
                             builder.Input("k", FloatTensor({2, 3, 5, 4})),
                             builder.Input("v", FloatTensor({2, 3, 4, 6})), {}));
    builder.graph().nodes[node].memory.stream = 1;
    EXPECT_EQ(Left(FuseAttention, Inferred(builder)), "MatMul Softmax MatMul") << node;
  }
}

}  // namespace fuse_attention_test
}  // namespace plimsoll::compile
