#include "plimsoll/plan/pack.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/must_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::plan {
namespace pack_test {

constexpr std::string_view kSmall =
    "id,lower,upper,size\n"
    "b1,0,3,4\n"
    "b2,3,9,4\n"
    "b3,0,9,4\n"
    "b4,9,21,4\n";

TEST(PackTest, AnAnswerIsAsLowAsTheBoundAndSaysSo) {
  const auto answer = PackText(kSmall, {});
  ASSERT_TRUE(answer.ok()) << answer.error().Text();
  EXPECT_EQ(answer->peak_bytes, Bytes(8));
  EXPECT_EQ(answer->lower_bound_bytes, Bytes(8));
  EXPECT_TRUE(answer->optimal);
  EXPECT_TRUE(answer->fits);
  EXPECT_FALSE(answer->deadline_hit);
}

TEST(PackTest, WhatPackWritesCheckAccepts) {
  const auto table = ReadBufferTable(kSmall);
  ASSERT_TRUE(table.ok());
  const auto answer = Pack(*table, {});
  ASSERT_TRUE(answer.ok());
  const std::string written = WriteBufferTable(table->problem, answer->offsets);
  const auto checked = CheckText(written, Bytes(8));
  ASSERT_TRUE(checked.ok()) << checked.error().Text();
  EXPECT_EQ(checked->peak_bytes, Bytes(8));
  EXPECT_EQ(checked->lower_bound_bytes, Bytes(8));
  EXPECT_TRUE(checked->fits);
  EXPECT_FALSE(Must(CheckText(written, Bytes(7))).fits);
}

TEST(PackTest, CheckFindsAnAnswerThatOverlapsOrIsNotComplete) {
  const auto overlap = CheckText("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,3\n", {});
  ASSERT_FALSE(overlap.ok());
  EXPECT_EQ(overlap.error().code, "verify.overlap");
  const auto incomplete = CheckText("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,\n", {});
  ASSERT_FALSE(incomplete.ok());
  EXPECT_EQ(incomplete.error().code, "verify.no_offset");
  EXPECT_EQ(incomplete.error().where, "the table, line 3");
}

TEST(PackTest, FixedOffsetsAndAlignmentsAreKept) {
  const auto answer = PackText(
      "id,size,upper,lower,offset,alignment\n"
      "kept,10,9,0,64,\n"
      "free,10,9,0,,32\n",
      {});
  ASSERT_TRUE(answer.ok()) << answer.error().Text();
  EXPECT_EQ(answer->offsets[0], Offset(64));
  EXPECT_EQ(answer->offsets[1].value() % 32, 0);
  EXPECT_EQ(answer->peak_bytes, Bytes(74));
}

TEST(PackTest, WhatCannotFitIsExplainedByBuffersThatCannotLieTogether) {
  const auto answer =
      PackText("id,lower,upper,size\na,0,2,6\nb,1,3,6\nc,4,6,5\n", {.capacity = Bytes(10)});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->fits);
  EXPECT_EQ(answer->infeasible_set, (std::vector{BufferId(0), BufferId(1)}));
  EXPECT_TRUE(answer->infeasible_set_minimal);
}

TEST(PackTest, EveryAssignerSaysThatNothingFitsBelowTheLowerBound) {
  for (const std::string& name : AssignerNames()) {
    const auto answer = PackText(kSmall, {.capacity = Bytes(7), .assigner = name});
    ASSERT_TRUE(answer.ok()) << name;
    EXPECT_TRUE(answer->infeasible) << name;
    EXPECT_FALSE(answer->infeasible_set.empty()) << name;
    EXPECT_FALSE(Must(PackText(kSmall, {.capacity = Bytes(8), .assigner = name})).infeasible)
        << name;
  }
}

// Full at every moment, and no placement is as low as the sum: found by brute force.
constexpr std::string_view kWasteful =
    "id,lower,upper,size\n"
    "b0,0,1,4\n"
    "b1,0,2,3\n"
    "b2,0,2,1\n"
    "b3,1,5,3\n"
    "b4,1,4,1\n"
    "b5,2,4,2\n"
    "b6,2,5,2\n"
    "b7,4,6,3\n"
    "b8,5,6,4\n"
    "b9,5,6,1\n";

TEST(PackTest, ACapacityIsSearchedForUntilItIsFoundOrRefuted) {
  const auto table = ReadBufferTable(kWasteful);
  ASSERT_TRUE(table.ok());
  const Effort effort = DefaultEffort(table->problem, Bytes(8));
  EXPECT_GT(effort.steps, int64_t{1} << 50);
  EXPECT_EQ(effort.deadline_ms, 10'000);
  const auto refused = Pack(*table, {.capacity = Bytes(8), .effort = effort});
  ASSERT_TRUE(refused.ok());
  EXPECT_TRUE(refused->infeasible);
  EXPECT_EQ(refused->lower_bound_bytes, Bytes(9));
  EXPECT_FALSE(refused->deadline_hit);
  const auto fitting = Pack(*table, {.capacity = Bytes(9), .effort = effort});
  ASSERT_TRUE(fitting.ok());
  EXPECT_TRUE(fitting->fits);
  EXPECT_FALSE(fitting->infeasible);
}

TEST(PackTest, WithoutACapacityTheDefaultEffortCountsStepsAndNoTime) {
  Problem problem;
  EXPECT_EQ(DefaultEffort(problem, {}).steps, 100'000);
  EXPECT_EQ(DefaultEffort(problem, {}).deadline_ms, 0);
  problem.buffers.resize(10'000);
  EXPECT_EQ(DefaultEffort(problem, {}).steps, 160'000);
  EXPECT_EQ(DefaultEffort(problem, {}).good_enough, 0);
  problem.buffers.resize(100'001);
  EXPECT_EQ(DefaultEffort(problem, {}).good_enough, 1e-4);
}

TEST(PackTest, InPlaceTheAnswerIsTheSameAndTheTableKeepsItsBuffers) {
  auto table = ReadBufferTable("id,lower,upper,size,offset\na,0,4,4,8\nb,0,4,4,\nc,2,9,4,\n");
  ASSERT_TRUE(table.ok());
  const auto copied = Pack(*table, {.capacity = Bytes(16)});
  const auto in_place = PackInPlace(*table, {.capacity = Bytes(16)});
  ASSERT_TRUE(copied.ok() && in_place.ok());
  EXPECT_EQ(in_place->offsets, copied->offsets);
  EXPECT_EQ(table->problem.buffers[0].fixed_offset, Offset(8));
  EXPECT_FALSE(table->problem.regions.front().capacity);
}

TEST(PackTest, EveryAssignerAnswersAndAnUnknownOneIsRefusedWithTheNearest) {
  for (const std::string& name : AssignerNames()) {
    const auto answer = PackText(kSmall, {.assigner = name});
    ASSERT_TRUE(answer.ok()) << name;
    EXPECT_GE(answer->peak_bytes, Bytes(8)) << name;
  }
  const auto unknown = PackText(kSmall, {.assigner = "greedy_by_sise"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().remedy, "did you mean greedy_by_size?");
}

TEST(PackTest, NothingToPackTakesNothing) {
  const auto answer = PackText("id,lower,upper,size\n", {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->peak_bytes, Bytes(0));
  EXPECT_TRUE(answer->optimal);
}

TEST(PackTest, TheLastNumbersThatATableMayHoldAreAccepted) {
  EXPECT_TRUE(PackText("id,lower,upper,size\na,3,3,4\n", {}).ok()) << "a life of no moment";
  EXPECT_TRUE(PackText("id,lower,upper,size\na,-3,3,0\n", {}).ok()) << "no bytes";
  EXPECT_TRUE(PackText("id,lower,upper,size,alignment\na,0,1,4,1099511627776\n", {}).ok());
  EXPECT_TRUE(PackText("id,lower,upper,size,offset\na,0,1,4,2305843009213693000\n", {}).ok());
}

TEST(PackTest, ColumnsMayStandInAnyOrderAndLinesMayBeEmpty) {
  const auto table = ReadBufferTable("\n size , upper,id,lower\r\n\n 8 ,9, b ,1\n\n16,4,c,2");
  ASSERT_TRUE(table.ok()) << table.error().Text();
  ASSERT_EQ(table->problem.buffers.size(), 2u);
  EXPECT_EQ(table->problem.buffers[0].name, "b");
  EXPECT_EQ(table->problem.buffers[0].size, Bytes(8));
  EXPECT_EQ(table->problem.buffers[0].life, (Use{.begin = 1, .end = 9}));
  EXPECT_EQ(table->problem.buffers[1].name, "c");
  EXPECT_EQ(table->lines, (std::vector<int64_t>{4, 6}));
}

TEST(PackTest, AlignmentsAreWrittenWhereThereIsOne) {
  Problem problem;
  problem.AddBuffer({.name = "a", .size = Bytes(4), .life = {.begin = 1, .end = 3}});
  EXPECT_EQ(WriteBufferTable(problem, {Offset(8)}), "id,lower,upper,size,offset\na,1,3,4,8\n");
  problem.AddBuffer({.name = "b", .size = Bytes(2), .alignment = 16});
  EXPECT_EQ(WriteBufferTable(problem, {Offset(8), Offset(16)}),
            "id,lower,upper,size,alignment,offset\na,1,3,4,1,8\nb,0,0,2,16,16\n");
}

TEST(PackTest, NamesMayHaveCommasAndQuotesAndStayWithTheirBuffers) {
  const std::string text =
      "id,lower,upper,size,offset,name\n"
      "0,1,3,4,0,\"a, \"\"b\"\"\"\n"
      "1,1,3,4,4,plain\n";
  const BufferTable table = Must(ReadBufferTable(text));
  EXPECT_EQ(table.names, (std::vector<std::string>{"a, \"b\"", "plain"}));
  EXPECT_EQ(WriteBufferTable(table, {Offset(0), Offset(4)}), text);
}

TEST(PackTest, HintsAreReadOver) {
  EXPECT_EQ(Must(PackText("id,lower,upper,size,hint\na,0,1,4,64\nb,0,1,4,-1\n", {})).peak_bytes,
            Bytes(8));
}

struct BadTable {
  const char* text;
  int line;
  const char* reason;
};

class BadTableTest : public testing::TestWithParam<BadTable> {};

TEST_P(BadTableTest, IsRefusedWithLineAndReason) {
  const auto table = PackText(GetParam().text, {}, "in.csv");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().kind, ErrorKind::kBadFile);
  if (GetParam().line > 0) {
    EXPECT_EQ(table.error().where, StrCat("in.csv, line ", GetParam().line));
  }
  EXPECT_NE(table.error().why.find(GetParam().reason), std::string::npos) << table.error().Text();
}

INSTANTIATE_TEST_SUITE_P(
    Tables, BadTableTest,
    testing::Values(
        BadTable{"", 1, "no line that names the columns"},
        BadTable{"id,lower,upper\n", 1, "'size' is missing"},
        BadTable{"id,lower,upper,size,colour\n", 1, "'colour' is not one of"},
        BadTable{"id,lower,upper,size,size\n", 1, "named twice"},
        BadTable{"id,lower,upper,size\na,0,1\n", 2, "3 cells where 4"},
        BadTable{"id,lower,upper,size\na,0,1,4\nb,0,1,x\n", 3, "the size 'x' is no whole number"},
        BadTable{"id,lower,upper,size\na,0,1,\n", 2, "the size '' is no whole number"},
        BadTable{"id,lower,upper,size\na,0,1,-4\n", 2, "the size -4 is negative"},
        BadTable{"id,lower,upper,size\na,0,1,99999999999999999999\n", 2, "63 bits"},
        BadTable{"id,lower,upper,size\na,0,1,2000000000000000000\nb,0,1,2000000000000000000\n", 3,
                 "add up to 2^61"},
        BadTable{"id,lower,upper,size\na,5,1,4\n", 2, "lower 5 is above upper 1"},
        BadTable{"id,lower,upper,size,alignment\na,0,1,4,0\n", 2, "alignment 0 is not between"},
        BadTable{"id,lower,upper,size,alignment\na,0,1,4,-8\n", 2, "alignment -8 is not between"},
        BadTable{"id,lower,upper,size,offset\na,0,1,4,-1\n", 2, "offset -1 is not between"},
        BadTable{"id,lower,upper,size,offset,alignment\na,0,1,4,3,2\n", 2, "no multiple of"},
        BadTable{"id,lower,upper,size,alignment\na,0,1,4,1099511627777\n", 2, "is not between"},
        BadTable{"id,lower,upper,size,offset\na,0,1,4,2305843009213693952\n", 2,
                 "is not between 0 and 2^61"},
        BadTable{"id,lower,upper,size,gaps\na,0,9,4,3\n", 2, "'3' is not written as 3-5"},
        BadTable{"id,lower,upper,size,gaps\na,0,9,4,5-3\n", 2, "does not end after it begins"},
        BadTable{"id,lower,upper,size,gaps\na,0,9,4,7-10\n", 2, "not inside the life 0 to 9"},
        BadTable{"id,lower,upper,size,gaps\na,0,9,4,3-5 4-6\n", 2, "before the one in front"},
        BadTable{"id,lower,upper,size,gaps\na,0,9,4,3-5@1:2\n", 2, "only gaps of whole buffers"},
        BadTable{"id,lower,upper,size,name\na,0,9,4,\"x\n", 2, "a quote is not closed"},
        BadTable{"id,lower,upper,size,name\na,0,9,4,\"x\"y\n", 2, "something stands behind it"},
        BadTable{"id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n", 0,
                 "another buffer with a fixed offset lives at the same time"}));

}  // namespace pack_test
}  // namespace plimsoll::plan
