#include "compile/passes/forms/split_products.h"

#include "compile/passes/merge_views.h"
#include "compile/passes/no_ops.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace split_products_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

const std::string kPart = "plimsoll::FusedMatMul";

// x [rows, 8] times [8, 96], with a bias or not.
ValueId Wide(GraphBuilder& b, graph::Shape shape, bool biased = false) {
  const ValueId x = b.Input("x", FloatTensor(std::move(shape)));
  const ValueId y = b.Node("MatMul", {x, Weights(b, "w", {8, 96})});
  return biased ? b.Node("Add", {y, Weights(b, "bias", {96})}) : y;
}

ValueId Taken(GraphBuilder& b, ValueId value, int64_t begin, int64_t end, int64_t step = 1) {
  const std::string name = StrCat("from ", begin, " to ", end, " ");
  return b.Node("Slice", {value, b.Int64s(name + "a", {begin}), b.Int64s(name + "b", {end}),
                          b.Int64s(name + "c", {-1}), b.Int64s(name + "d", {step})});
}

template <typename Build>
std::string Left(const Build& build) {
  return LeftOf(SplitProducts, build);
}

TEST(SplitProductsTest, EachPartOfASplitIsAProduct) {
  EXPECT_EQ(Left([](GraphBuilder& b) {
              const auto parts = b.Nodes("Split", {Wide(b, {4, 8}), b.Int64s("sizes", {32, 64})}, 2,
                                         With("axis", int64_t{-1}));
              b.Output(b.Node("Tanh", {parts[1]}));
              return b.Node("Neg", {parts[0]});
            }),
            kPart + " " + kPart + " Tanh Neg");
}

TEST(SplitProductsTest, SlicesThatDoNotOverlapAreProducts) {
  const auto two = [](int64_t end, int64_t begin, int64_t step = 1) {
    return Left([=](GraphBuilder& b) {
      const ValueId y = Wide(b, {4, 8});
      return b.Node("Mul", {Taken(b, y, 0, end, step), Taken(b, y, begin, 96, step)});
    });
  };
  EXPECT_EQ(two(48, 48), kPart + " " + kPart + " Mul");
  EXPECT_EQ(two(48, -48), kPart + " " + kPart + " Mul");
  EXPECT_EQ(two(40, 56), "MatMul Slice Slice Mul") << "parts that begin within packed columns";
  EXPECT_EQ(two(64, 32), "MatMul Slice Slice Mul") << "columns in both would be made twice";
  EXPECT_EQ(two(64, 32, 2), "MatMul Slice Slice Mul") << "every second column";
}

TEST(SplitProductsTest, TheWholeIsKeptWhereItIsNeeded) {
  const auto split = [](graph::Shape shape, bool also_whole, int64_t axis) {
    return Left([&](GraphBuilder& b) {
      const ValueId y = Wide(b, shape);
      const auto parts = b.Nodes("Split", {y}, 2, With("axis", axis));
      if (also_whole) b.Output(b.Node("Neg", {y}));
      return b.Node("Mul", {parts[0], parts[1]});
    });
  };
  EXPECT_EQ(split({4, 8}, false, -1), kPart + " " + kPart + " Mul");
  EXPECT_EQ(split({4, 8}, true, -1), "MatMul Split Neg Mul");
  EXPECT_EQ(split({4, 8}, false, 0), "MatMul Split Mul") << "rows";
  EXPECT_EQ(split({1, 1, 8}, false, -1), "MatMul Split Mul") << "one row is taken where it lies";
}

// Columns seen as [3, heads, 8], thirds to the front, one taken after the other.
std::string Thirds(const Ints& seen, const Ints& perm, bool biased, const Ints& squeezed) {
  GraphBuilder b;
  const ValueId y = Wide(b, {2, 5, 8}, biased);
  ValueId moved =
      b.Node("Transpose", {b.Node("Reshape", {y, b.Int64s("seen", seen)})}, With("perm", perm));
  if (!squeezed.empty()) moved = b.Node("Reshape", {moved, b.Int64s("squeezed", squeezed)});
  for (const int64_t i : {0, 1, -1}) {
    b.Output(b.Node("Neg", {b.Node("Gather", {moved, b.Int64(StrCat("third ", i), i)},
                                   With("axis", int64_t{0}))}));
  }
  const Graph before = Inferred(b);
  Graph after = before;
  TakeColumns(after);
  for (int i = 0; i < 3; ++i) {
    MergeViews(after);
    RemoveNoOps(after);
  }
  Must(InferShapes(after));
  ExpectSameResults(before, after);
  return OperatorsOf(after);
}

TEST(SplitProductsTest, ThirdsAreTakenBeforeTheyAreMoved) {
  EXPECT_EQ(Thirds({2, 5, 3, 32}, {2, 0, 1, 3}, false, {}), "MatMul Slice Neg Slice Neg Slice Neg");
  EXPECT_EQ(Thirds({1, 2, 5, 3, 32}, {3, 1, 2, 0, 4}, true, {3, 2, 5, 32}),
            "MatMul Add Slice Neg Slice Neg Slice Neg");
  EXPECT_EQ(Thirds({2, 5, 3, 4, 8}, {2, 0, 3, 1, 4}, false, {}),
            "MatMul Slice Reshape Transpose Neg Slice Reshape Transpose Neg Slice Reshape "
            "Transpose Neg")
      << "heads go before rows, as they did";
}

TEST(SplitProductsTest, OtherThirdsStayWhereTheyAre) {
  EXPECT_EQ(Thirds({2, 5, 32, 3}, {3, 0, 1, 2}, false, {}),
            "MatMul Reshape Transpose Gather Neg Gather Neg Gather Neg")
      << "every third column";
  EXPECT_EQ(Thirds({10, 6, 16}, {1, 0, 2}, false, {}),
            "MatMul Reshape Transpose Gather Neg Gather Neg Gather Neg")
      << "too few columns each";
}

}  // namespace split_products_test
}  // namespace plimsoll::compile
