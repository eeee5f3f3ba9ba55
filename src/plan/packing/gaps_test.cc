#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/must_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::plan {
namespace gaps_test {

// A buffer of a drawn table.
struct Row {
  Use life;
  int64_t size = 0;
  std::vector<Use> gaps;

  bool LivesAt(int64_t moment) const {
    const auto within = [&](const Use& use) { return use.begin <= moment && moment < use.end; };
    return within(life) && std::none_of(gaps.begin(), gaps.end(), within);
  }
};

constexpr int64_t kMoments = 12;

std::vector<Row> DrawRows(std::mt19937_64& draw, size_t count) {
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    row.life.begin = static_cast<int64_t>(draw() % (kMoments - 1));
    row.life.end = row.life.begin + 1 + static_cast<int64_t>(draw() % (kMoments - row.life.begin));
    row.size = 1 + static_cast<int64_t>(draw() % 9);
    int64_t at = row.life.begin;
    while (draw() % 3 != 0 && at + 1 < row.life.end) {
      const int64_t begin = at + static_cast<int64_t>(draw() % (row.life.end - at));
      const int64_t end = begin + 1 + static_cast<int64_t>(draw() % (row.life.end - begin));
      row.gaps.push_back({.begin = begin, .end = end});
      at = end;
    }
  }
  return rows;
}

std::string TextOf(const std::vector<Row>& rows, bool gaps) {
  std::string text = "id,lower,upper,size,gaps\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    text += StrCat(i, ",", rows[i].life.begin, ",", rows[i].life.end, ",", rows[i].size, ",");
    for (const Use& gap : gaps ? rows[i].gaps : std::vector<Use>()) {
      text += StrCat(gap.begin, "-", gap.end, " ");
    }
    text += "\n";
  }
  return text;
}

bool Meet(const Row& a, const Row& b) {
  for (int64_t moment = 0; moment < 2 * kMoments; ++moment) {
    if (a.LivesAt(moment) && b.LivesAt(moment)) return true;
  }
  return false;
}

// The lowest peak of all: a lowest placement stays one when its buffers sink as far as they can, in
// the order of their offsets.
int64_t LowestPeak(const std::vector<Row>& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t lowest = std::accumulate(rows.begin(), rows.end(), int64_t{0},
                                   [](int64_t sum, const Row& row) { return sum + row.size; });
  do {
    std::vector<int64_t> offsets(rows.size());
    int64_t peak = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Row& row = rows[order[i]];
      int64_t& offset = offsets[order[i]];
      for (size_t k = 0; k < i; ++k) {
        if (Meet(row, rows[order[k]])) {
          offset = std::max(offset, offsets[order[k]] + rows[order[k]].size);
        }
      }
      peak = std::max(peak, offset + row.size);
    }
    lowest = std::min(lowest, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

TEST(GapsTest, ABufferLiesInTheGapOfAnother) {
  const std::string text =
      "id,lower,upper,size,gaps\n"
      "a,0,10,100,3-6 7-8\n"
      "b,3,6,100,\n"
      "c,7,8,60,\n";
  const BufferTable table = Must(ReadBufferTable(text));
  const PackAnswer answer = Must(Pack(table, {}));
  EXPECT_EQ(answer.peak_bytes, Bytes(100));
  EXPECT_EQ(answer.lower_bound_bytes, Bytes(100));
  EXPECT_TRUE(answer.optimal);
  EXPECT_EQ(WriteBufferTable(table, answer.offsets),
            "id,lower,upper,size,gaps,offset\na,0,10,100,3-6 7-8,0\nb,3,6,100,,0\nc,7,8,60,,0\n");
}

TEST(GapsTest, CheckKnowsGapsAndFindsWhatReachesBeyondThem) {
  const std::string heading = "id,lower,upper,size,gaps,offset\n";
  const auto fits = CheckText(heading + "a,0,10,100,3-6,0\nb,3,6,100,,0\n", {});
  ASSERT_TRUE(fits.ok()) << fits.error().Text();
  EXPECT_EQ(fits->peak_bytes, Bytes(100));
  EXPECT_EQ(fits->lower_bound_bytes, Bytes(100));
  const auto beyond = CheckText(heading + "a,0,10,100,3-6,0\nb,3,7,100,,0\n", {});
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, "verify.overlap");
}

TEST(GapsTest, FixedOffsetsHoldForEveryPartOfALife) {
  const PackAnswer answer =
      Must(PackText("id,lower,upper,size,gaps,offset\n"
                    "kept,0,9,10,2-4 6-7,32\n"
                    "free,2,4,64,,\n"
                    "other,4,6,20,,\n",
                    {}));
  EXPECT_EQ(answer.offsets[0], Offset(32));
  EXPECT_EQ(answer.peak_bytes, Bytes(64));
}

TEST(GapsTest, ACapacityBelowWhatLivesAtOnceIsExplainedByRows) {
  const PackAnswer answer =
      Must(PackText("id,lower,upper,size,gaps\n"
                    "a,0,9,6,2-4\n"
                    "b,2,4,6,\n"
                    "c,5,7,6,\n",
                    {.capacity = Bytes(11)}));
  EXPECT_FALSE(answer.fits);
  EXPECT_TRUE(answer.infeasible);
  EXPECT_EQ(answer.infeasible_set, (std::vector{BufferId(2), BufferId(0)}));
}

TEST(GapsTest, ALifeThatIsAllGapsTakesNothing) {
  const PackAnswer answer = Must(PackText("id,lower,upper,size,gaps\na,0,4,8,0-4\nb,0,4,8,\n", {}));
  EXPECT_EQ(answer.lower_bound_bytes, Bytes(8));
  EXPECT_EQ(answer.peak_bytes, Bytes(8));
}

TEST(GapsTest, DrawnTablesAreValidAndNoHigherThanWithoutGaps) {
  std::mt19937_64 draw(1719);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Row> rows = DrawRows(draw, 4 + draw() % 24);
    SCOPED_TRACE(TextOf(rows, true));
    const BufferTable table = Must(ReadBufferTable(TextOf(rows, true)));
    const PackAnswer answer = Must(Pack(table, {}));
    const auto checked = CheckText(WriteBufferTable(table, answer.offsets), {});
    ASSERT_TRUE(checked.ok()) << checked.error().Text();
    EXPECT_EQ(checked->peak_bytes, answer.peak_bytes);
    EXPECT_LE(answer.peak_bytes, Must(PackText(TextOf(rows, false), {})).peak_bytes);
    for (size_t a = 0; a < rows.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const int64_t low_a = answer.offsets[a].value();
        const int64_t low_b = answer.offsets[b].value();
        const bool apart = low_a + rows[a].size <= low_b || low_b + rows[b].size <= low_a;
        EXPECT_TRUE(apart || !Meet(rows[a], rows[b])) << a << " and " << b;
      }
    }
  }
}

TEST(GapsTest, SmallTablesReachTheLowestPeakOfAll) {
  std::mt19937_64 draw(1720);
  for (int i = 0; i < 150; ++i) {
    const std::vector<Row> rows = DrawRows(draw, 3 + draw() % 4);
    SCOPED_TRACE(TextOf(rows, true));
    const PackAnswer answer = Must(PackText(TextOf(rows, true), {}));
    const int64_t lowest = LowestPeak(rows);
    EXPECT_LE(answer.lower_bound_bytes.value(), lowest);
    EXPECT_EQ(answer.peak_bytes.value(), lowest);
  }
}

}  // namespace gaps_test
}  // namespace plimsoll::plan
