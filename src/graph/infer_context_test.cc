#include "graph/infer_context.h"

#include <gtest/gtest.h>

namespace plimsoll::graph {
namespace infer_context_test {

std::optional<Shape> BroadcastOf(const Shape& a, const Shape& b) {
  return Broadcast(std::vector<const Shape*>{&a, &b});
}

TEST(BroadcastTest, FollowsNumpyForNumbersAndSymbols) {
  const Dim n = Dim::Symbol("n");
  EXPECT_EQ(BroadcastOf({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(BroadcastOf({}, {5}), Shape{5});
  EXPECT_EQ(BroadcastOf({n, 3}, {1, 3}), (Shape{n, 3}));
  EXPECT_EQ(BroadcastOf({n}, {n}), Shape{n});
  EXPECT_EQ(BroadcastOf({n}, {7}), Shape{7});
  EXPECT_EQ(BroadcastOf({0}, {1}), Shape{0});
  EXPECT_FALSE(BroadcastOf({2}, {3}).has_value());
}

TEST(BroadcastTest, ANumberDecidesWhicheverComesFirst) {
  const Dim n = Dim::Symbol("n");
  const Dim m = Dim::Symbol("m");
  EXPECT_EQ(BroadcastOf({7}, {n}), Shape{7});
  EXPECT_EQ(BroadcastOf({1}, {n}), Shape{n});
  EXPECT_EQ(BroadcastOf({n}, {m}), Shape{Dim::Max(n, m)}) << "one of them may be 1";
  EXPECT_EQ(BroadcastOf({1}, {0}), Shape{0});
  EXPECT_FALSE(BroadcastOf({0}, {2}).has_value());
}

TEST(BroadcastTest, OfThreeShapesAllCount) {
  const Shape a = {4};
  const Shape b = {3, 1};
  const Shape c = {2, 1, 1};
  EXPECT_EQ(Broadcast(std::vector<const Shape*>{&a, &b, &c}), (Shape{2, 3, 4}));
  EXPECT_EQ(Broadcast(std::vector<const Shape*>{&c, &a, &b}), (Shape{2, 3, 4}));
  const Shape other = {5};
  EXPECT_FALSE(Broadcast(std::vector<const Shape*>{&a, &b, &other}).has_value());
  EXPECT_EQ(Broadcast(std::vector<const Shape*>{}), Shape{});
}

TEST(NormalizeAxisTest, CountsFromTheEndAndRefusesWhatLiesOutside) {
  EXPECT_EQ(NormalizeAxis(-1, 3), 2);
  EXPECT_EQ(NormalizeAxis(0, 3), 0);
  EXPECT_FALSE(NormalizeAxis(3, 3).has_value());
  EXPECT_FALSE(NormalizeAxis(-4, 3).has_value());
  EXPECT_EQ(NormalizeAxis(-3, 3), 0);
  EXPECT_EQ(NormalizeAxis(2, 3), 2);
  EXPECT_FALSE(NormalizeAxis(0, 0).has_value());
}

}  // namespace infer_context_test
}  // namespace plimsoll::graph
