#include "compile/order/search/order_parts.h"

#include <gtest/gtest.h>

#include "compile/order/schedule_oracle.h"
#include "compile/order/search/order_line.h"

namespace plimsoll::compile {
namespace order_parts_test {

// Nodes that read what the named nodes write; each writes 10 bytes.
Schedule Wired(const std::vector<std::vector<int32_t>>& reads) {
  Schedule schedule;
  for (const std::vector<int32_t>& row : reads) {
    const auto value = static_cast<int32_t>(schedule.values.size());
    schedule.values.push_back({10, schedule.storages++});
    schedule.pinned.push_back(false);
    schedule.nodes.push_back({.reads = row, .writes = {value}, .in_place = {}, .after = {}});
  }
  return schedule;
}

std::vector<std::vector<int32_t>> NodesOf(const OrderParts& parts) {
  std::vector<std::vector<int32_t>> nodes;
  for (const OrderPart& part : parts.parts) {
    nodes.emplace_back(parts.order.begin() + part.begin, parts.order.begin() + part.end);
  }
  return nodes;
}

using Nodes = std::vector<std::vector<int32_t>>;

TEST(OrderPartsTest, EveryNodeOfAChainIsAPart) {
  const OrderParts parts = SplitIntoParts(OrderGraph(Wired({{}, {0}, {1}})));
  EXPECT_EQ(NodesOf(parts), (Nodes{{0}, {1}, {2}}));
}

TEST(OrderPartsTest, ADiamondEndsWhereItsBranchesMeet) {
  const OrderParts parts = SplitIntoParts(OrderGraph(Wired({{}, {0}, {0}, {1, 2}, {3}})));
  EXPECT_EQ(NodesOf(parts), (Nodes{{0}, {1, 2, 3}, {4}}));
}

TEST(OrderPartsTest, AValueThatIsReadAgainBehindTheMeetingDoesNotJoinParts) {
  const OrderParts parts = SplitIntoParts(OrderGraph(Wired({{}, {0}, {0}, {1, 2}, {3, 0}})));
  EXPECT_EQ(NodesOf(parts), (Nodes{{0}, {1, 2, 3}, {4}}));
}

TEST(OrderPartsTest, TwoEndsAreOnePartSinceEitherMayComeFirst) {
  const OrderParts parts = SplitIntoParts(OrderGraph(Wired({{}, {0}, {0}})));
  EXPECT_EQ(NodesOf(parts), (Nodes{{0}, {1, 2}}));
}

TEST(OrderPartsTest, WhatDoesNotTouchRunsOneBehindTheOther) {
  const OrderParts parts = SplitIntoParts(OrderGraph(Wired({{}, {}, {0}, {1}})));
  EXPECT_EQ(NodesOf(parts), (Nodes{{0}, {2}, {1}, {3}}));
}

TEST(OrderPartsTest, NeverAboveTheFilesOrderAndTheLowestPeakIsThatOfTheParts) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 2 + static_cast<int32_t>(seed % 9));
    const OrderGraph graph(schedule);
    const OrderParts parts = SplitIntoParts(graph);
    ASSERT_TRUE(IsLegal(schedule, parts.order)) << "seed " << seed;
    EXPECT_LE(PeakByRules(schedule, parts.order), PeakByRules(schedule, FileOrder(schedule)));
    // Each part put into every legal order, the others as they are.
    OrderLine line(graph, parts.order);
    int64_t lowest = 0;
    for (const OrderPart& part : parts.parts) {
      Order nodes(parts.order.begin() + part.begin, parts.order.begin() + part.end);
      std::ranges::sort(nodes);
      int64_t best = INT64_MAX;
      do {
        Order whole = parts.order;
        std::ranges::copy(nodes, whole.begin() + part.begin);
        if (!IsLegal(schedule, whole)) continue;
        line.Replace(part.begin, nodes);
        best = std::min(best, line.PeakWithin(part.begin, part.end));
        EXPECT_EQ(line.peak(), PeakByRules(schedule, line.order())) << "seed " << seed;
      } while (part.end - part.begin < 7 && std::ranges::next_permutation(nodes).found);
      if (part.end - part.begin >= 7) best = INT64_MAX;
      lowest = std::max(lowest, best);
      line = OrderLine(graph, parts.order);
    }
    if (lowest < INT64_MAX) {
      EXPECT_EQ(lowest, Enumerate(schedule).lowest_peak) << "seed " << seed;
    }
  }
}

}  // namespace order_parts_test
}  // namespace plimsoll::compile
