#include "plan/verify/verifier_rules_for_tests.h"

namespace plimsoll::plan {
namespace verifier_rules_test {

TEST_F(VerifierRulesTest, EveryBufferAndEveryRegionHasARow) {
  Add(0, 10);
  EXPECT_EQ(Code(), "");
  plan_.offsets.push_back(Offset(0));
  EXPECT_EQ(Code(), "tables");
  plan_.offsets.resize(1);
  plan_.regions.emplace_back();
  EXPECT_EQ(Code(), "tables");
  plan_.regions.clear();
  EXPECT_EQ(Code(), "tables");
}

TEST_F(VerifierRulesTest, ABufferLiesInsideItsOwnRegion) {
  AddRegion({.name = "larger", .alignment = 1}, 5000);
  const BufferId a = Add(0, 10);
  EXPECT_EQ(CodeAt(a, 990), "");
  EXPECT_EQ(CodeAt(a, 991), "bounds");
  EXPECT_EQ(CodeAt(a, -1), "bounds");
  At(a).size = Bytes(0);
  EXPECT_EQ(CodeAt(a, 1000), "");
  EXPECT_EQ(CodeAt(a, 1001), "bounds") << "nor does one without bytes lie outside";
}

TEST_F(VerifierRulesTest, AFixedOffsetIsKept) {
  Add(0, 10);
  const BufferId a = Add(40, 10);
  At(a).fixed_offset = Offset(40);
  EXPECT_EQ(Code(), "");
  EXPECT_EQ(CodeAt(a, 41), "fixed_offset");
  EXPECT_EQ(Where(), "buffer 1 ''");
}

TEST_F(VerifierRulesTest, AWindowLiesWhereItsOwnerSays) {
  const BufferId whole = Add(100, 80);
  const BufferId half = Add(120, 40);
  const BufferId part = Add(130, 10);
  problem_.aliases = {{half, whole, Bytes(20)}, {part, half, Bytes(10)}};
  EXPECT_EQ(Code(), "");
  EXPECT_EQ(CodeAt(part, 131), "alias");
  Move(part, 130);
  EXPECT_EQ(CodeAt(half, 121), "alias");
}

TEST_F(VerifierRulesTest, MembersOfAGroupFollowEachOther) {
  const BufferId a = Add(100, 10);
  const BufferId b = Add(110, 10);
  const BufferId c = Add(120, 10);
  const BufferId d = Add(200, 10);
  const BufferId e = Add(210, 10);
  problem_.contiguous = {{.members = {a, b, c}}, {.members = {d, e}}};
  EXPECT_EQ(Code(), "");
  EXPECT_EQ(CodeAt(c, 121), "contiguous");
  EXPECT_EQ(CodeAt(c, 119), "contiguous");
  Move(c, 120);
  EXPECT_EQ(CodeAt(e, 211), "contiguous") << "the second group counts too";
}

TEST_F(VerifierRulesTest, PaddedMembersStartAtTheNextMultipleFromTheStartOfTheGroup) {
  const RegionId aligned = AddRegion({.name = "aligned", .alignment = 32}, 1024);
  const auto add = [&](int64_t offset, int64_t size) {
    return Add({.size = Bytes(size), .region = aligned, .life = {.begin = 0, .end = 1}}, offset);
  };
  const BufferId a = add(32, 32);
  const BufferId b = add(64, 33);
  const BufferId c = add(128, 1);
  problem_.contiguous = {{.members = {a, b, c}, .padded = true}};
  EXPECT_EQ(Code(), "");
  EXPECT_EQ(CodeAt(c, 160), "contiguous") << "the least possible, not one more";
  Move(c, 128);
  EXPECT_EQ(CodeAt(b, 96), "contiguous");
  Move(b, 64);
  problem_.contiguous[0].padded = false;
  EXPECT_EQ(Code(), "contiguous") << "without padding the third would start at 97";
  problem_.contiguous[0].padded = true;
  At(c).alignment = 96;
  EXPECT_EQ(Code(), "alignment") << "96 bytes behind the start, which is no multiple of 96";
  Move(a, 96);
  Move(b, 128);
  EXPECT_EQ(CodeAt(c, 192), "");
}

TEST_F(VerifierRulesTest, OffsetsAreMultiplesOfBothAlignments) {
  const RegionId aligned = AddRegion({.name = "aligned", .alignment = 32}, 1024);
  const BufferId a =
      Add({.size = Bytes(10), .region = aligned, .life = {.begin = 0, .end = 1}}, 64);
  EXPECT_EQ(Code(), "");
  EXPECT_EQ(CodeAt(a, 65), "alignment");
  At(a).alignment = 48;
  EXPECT_EQ(CodeAt(a, 96), "");
  EXPECT_EQ(CodeAt(a, 64), "alignment") << "no multiple of its own";
  EXPECT_EQ(CodeAt(a, 48), "alignment") << "no multiple of its region's";
}

TEST_F(VerifierRulesTest, InsideAnotherOnlyItsOwnAlignmentCounts) {
  const RegionId aligned = AddRegion({.name = "aligned", .alignment = 32}, 1024);
  const auto add = [&](int64_t offset, int64_t size) {
    return Add({.size = Bytes(size), .region = aligned, .life = {.begin = 0, .end = 1}}, offset);
  };
  const BufferId whole = add(0, 64);
  const BufferId window = add(8, 8);
  const BufferId first = add(128, 4);
  const BufferId second = add(132, 4);
  problem_.aliases = {{window, whole, Bytes(8)}};
  problem_.contiguous = {{.members = {first, second}}};
  EXPECT_EQ(Code(), "");
  At(window).alignment = 16;
  EXPECT_EQ(Code(), "alignment");
  At(window).alignment = 8;
  At(second).alignment = 8;
  EXPECT_EQ(Code(), "alignment");
  At(second).alignment = 4;
  Move(first, 136);
  EXPECT_EQ(CodeAt(second, 140), "alignment") << "the first member leads the group";
}

TEST_F(VerifierRulesTest, AnExclusiveBuffersBytesAreItsOwnForAllTime) {
  const BufferId own = Add(100, 10);
  At(own).exclusive = true;
  const BufferId other = Add(0, 10, {.begin = 5, .end = 6});
  EXPECT_EQ(CodeAt(other, 90), "");
  EXPECT_EQ(CodeAt(other, 91), "exclusive");
  EXPECT_EQ(CodeAt(other, 109), "exclusive");
  EXPECT_EQ(CodeAt(other, 110), "");
  At(other).size = Bytes(200);
  EXPECT_EQ(CodeAt(other, 0), "exclusive") << "it lies on both sides";
  At(other).life = {.begin = 5, .end = 5};
  EXPECT_EQ(Code(), "") << "it never lives";
  At(other).exclusive = true;
  EXPECT_EQ(Code(), "exclusive") << "two who want the same bytes for themselves";
}

TEST_F(VerifierRulesTest, WindowsOfAnExclusiveBufferMayUseItsBytes) {
  const BufferId own = Add(100, 10);
  At(own).exclusive = true;
  const BufferId window = Add(104, 4, {.begin = 3, .end = 4});
  problem_.aliases = {{window, own, Bytes(4)}};
  EXPECT_EQ(Code(), "");
  At(own).exclusive = false;
  At(window).exclusive = true;
  EXPECT_EQ(Code(), "");
  Add(100, 4, {.begin = 7, .end = 8});
  EXPECT_EQ(Code(), "") << "the bytes outside the window are not exclusive";
  Add(107, 4, {.begin = 9, .end = 10});
  EXPECT_EQ(Code(), "exclusive");
}

TEST_F(VerifierRulesTest, OfSeveralExclusiveBuffersEachIsGuarded) {
  for (const int64_t offset : {100, 200, 300}) At(Add(offset, 10)).exclusive = true;
  const BufferId other = Add(0, 50, {.begin = 5, .end = 6});
  for (const int64_t offset : {0, 50, 110, 150, 210, 250, 310}) {
    EXPECT_EQ(CodeAt(other, offset), "") << offset;
  }
  for (const int64_t offset : {51, 109, 151, 209, 251, 309}) {
    EXPECT_EQ(CodeAt(other, offset), "exclusive") << offset;
  }
  const RegionId second = AddRegion({.name = "second", .alignment = 1}, 1000);
  At(other).region = second;
  EXPECT_EQ(CodeAt(other, 95), "") << "the same numbers in another region are other bytes";
}

TEST_F(VerifierRulesTest, ClearedBuffersLieInTheAreaOfTheirIdAndRegion) {
  const BufferId a = Add(100, 10);
  const BufferId b = Add(112, 10, {.begin = 4, .end = 5});
  At(a).atomic_addr_clean_id = At(b).atomic_addr_clean_id = 3;
  EXPECT_EQ(Code(), "clearing") << "there is no area";
  plan_.clearing_areas = {{map_, 3, Offset(100), Bytes(22)}};
  EXPECT_EQ(Code(), "");
  plan_.clearing_areas[0].size = Bytes(21);
  EXPECT_EQ(Code(), "clearing") << "the last byte of the second member";
  plan_.clearing_areas[0] = {map_, 3, Offset(101), Bytes(22)};
  EXPECT_EQ(Code(), "clearing") << "the first byte of the first member";
  plan_.clearing_areas[0] = {map_, 4, Offset(100), Bytes(22)};
  EXPECT_EQ(Code(), "clearing") << "another id";
  const RegionId second = AddRegion({.name = "second", .alignment = 1}, 1000);
  plan_.clearing_areas[0] = {second, 3, Offset(100), Bytes(22)};
  EXPECT_EQ(Code(), "clearing") << "another region";
  plan_.clearing_areas = {{map_, 3, Offset(100), Bytes(22)}, {map_, 3, Offset(500), Bytes(22)}};
  EXPECT_EQ(Code(), "clearing") << "the id has two areas";
  EXPECT_EQ(Where(), "clearing area 1");
}

TEST_F(VerifierRulesTest, NobodyElseUsesAClearingAreaNorItsPadding) {
  const BufferId a = Add(100, 10);
  At(a).atomic_addr_clean_id = 0;
  plan_.clearing_areas = {{map_, 0, Offset(100), Bytes(20)}};
  const BufferId other = Add(0, 10, {.begin = 7, .end = 8});
  EXPECT_EQ(CodeAt(other, 90), "");
  EXPECT_EQ(CodeAt(other, 91), "exclusive") << "a member's own bytes";
  EXPECT_EQ(CodeAt(other, 119), "clearing") << "the padding is cleared too";
  EXPECT_EQ(CodeAt(other, 120), "");
  const BufferId b = Add(110, 10, {.begin = 9, .end = 10});
  At(b).atomic_addr_clean_id = 1;
  plan_.clearing_areas.push_back({map_, 1, Offset(110), Bytes(10)});
  EXPECT_EQ(Code(), "clearing") << "two areas share the last ten bytes";
  plan_.clearing_areas[0].size = Bytes(10);
  EXPECT_EQ(Code(), "");
}

TEST_F(VerifierRulesTest, AWindowOfAClearedBufferBelongsToItsArea) {
  const BufferId a = Add(100, 10);
  At(a).atomic_addr_clean_id = 0;
  const BufferId window = Add(104, 4, {.begin = 3, .end = 4});
  problem_.aliases = {{window, a, Bytes(4)}};
  plan_.clearing_areas = {{map_, 0, Offset(100), Bytes(10)}};
  EXPECT_EQ(Code(), "");
}

TEST_F(VerifierRulesTest, BuffersOfOneMomentShareNoByteBelowOrAbove) {
  const BufferId a = Add(100, 10, {.begin = 2, .end = 4});
  const BufferId b = Add(0, 10, {.begin = 3, .end = 5});
  EXPECT_EQ(CodeAt(b, 90), "");
  EXPECT_EQ(CodeAt(b, 91), "overlap");
  EXPECT_EQ(CodeAt(b, 109), "overlap");
  EXPECT_EQ(CodeAt(b, 110), "");
  EXPECT_EQ(CodeAt(b, 100), "overlap");
  EXPECT_EQ(Where(), "buffer 0 ''") << "the first of the two is named";
  At(b).life.begin = 4;
  EXPECT_EQ(Code(), "") << "one ends where the other begins";
  At(a).life = {.begin = 5, .end = 9};
  EXPECT_EQ(Code(), "");
  At(a).life.begin = 4;
  EXPECT_EQ(Code(), "overlap");
}

TEST_F(VerifierRulesTest, ManyNeighboursAreComparedWhoeverComesFirst) {
  Add(100, 10, {.begin = 0, .end = 9});
  Add(120, 10, {.begin = 1, .end = 9});
  Add(140, 10, {.begin = 2, .end = 4});
  const BufferId late = Add(0, 20, {.begin = 5, .end = 6});
  EXPECT_EQ(CodeAt(late, 130), "") << "the third is gone by then";
  EXPECT_EQ(CodeAt(late, 129), "overlap");
  EXPECT_EQ(CodeAt(late, 105), "overlap");
  EXPECT_EQ(CodeAt(late, 80), "");
  EXPECT_EQ(CodeAt(late, 81), "overlap");
}

TEST_F(VerifierRulesTest, BuffersOfDifferentBatchesMayShareAndUnlabelledOnesNot) {
  const BatchId first = problem_.AddBatch("first");
  const BatchId second = problem_.AddBatch("second");
  const BufferId a = Add(100, 10);
  const BufferId b = Add(105, 10);
  At(a).batch = first;
  At(b).batch = second;
  EXPECT_EQ(Code(), "");
  At(b).batch = first;
  EXPECT_EQ(Code(), "overlap");
  At(b).batch = BatchId();
  EXPECT_EQ(Code(), "overlap") << "it belongs to every batch";
  At(a).batch = second;
  EXPECT_EQ(Code(), "overlap");
}

TEST_F(VerifierRulesTest, OnlyTheBytesThatAWindowKeepsAreAlive) {
  const BufferId whole = Add(100, 30, {.begin = 0, .end = 2});
  const BufferId window = Add(110, 10, {.begin = 2, .end = 6});
  problem_.aliases = {{window, whole, Bytes(10)}};
  const BufferId other = Add(0, 10, {.begin = 3, .end = 4});
  EXPECT_EQ(CodeAt(other, 100), "");
  EXPECT_EQ(CodeAt(other, 101), "overlap");
  EXPECT_EQ(CodeAt(other, 119), "overlap");
  EXPECT_EQ(CodeAt(other, 120), "");
  At(other).life = {.begin = 1, .end = 2};
  EXPECT_EQ(Code(), "overlap") << "the owner still lives";
  At(other).life = {.begin = 6, .end = 7};
  EXPECT_EQ(CodeAt(other, 110), "");
}

TEST_F(VerifierRulesTest, AWindowThatDiesEarlyLeavesItsOwnerAlive) {
  const BufferId whole = Add(100, 10, {.begin = 0, .end = 6});
  const BufferId window = Add(100, 10, {.begin = 1, .end = 2});
  problem_.aliases = {{window, whole, Bytes(0)}};
  const BufferId other = Add(100, 10, {.begin = 3, .end = 4});
  EXPECT_EQ(Code(), "overlap");
  At(other).life = {.begin = 6, .end = 7};
  EXPECT_EQ(Code(), "");
}

TEST_F(VerifierRulesTest, RegionsAreCheckedEachForItself) {
  const RegionId second = AddRegion({.name = "second", .alignment = 1}, 1000);
  Add(100, 10);
  const BufferId b = Add(100, 10);
  At(b).region = second;
  EXPECT_EQ(Code(), "");
  Add({.size = Bytes(10), .region = second, .life = {.begin = 0, .end = 1}}, 105);
  EXPECT_EQ(Code(), "overlap") << "in the second region";
}

class StreamRulesTest : public VerifierRulesTest {
 protected:
  StreamRulesTest() {
    for (const char* name : {"a", "b", "c"}) {
      streams_.push_back(problem_.AddStream({.name = name, .steps = 6}));
    }
    first_ = Add(100, 10, {.stream = streams_[0], .begin = 1, .end = 2});
    second_ = Add(105, 10, {.stream = streams_[2], .begin = 3, .end = 4});
  }
  void Wait(size_t from, int64_t from_step, size_t to, int64_t to_step) {
    problem_.synchronisations.push_back({streams_[from], from_step, streams_[to], to_step});
  }
  std::vector<StreamId> streams_;
  BufferId first_;
  BufferId second_;
};

TEST_F(StreamRulesTest, AWaitCoversTheStepsUpToIt) {
  EXPECT_EQ(Code(), "overlap");
  Wait(0, 1, 2, 3);
  EXPECT_EQ(Code(), "");
  problem_.synchronisations[0].from_step = 0;
  EXPECT_EQ(Code(), "overlap") << "one step too early";
  problem_.synchronisations[0] = {streams_[0], 1, streams_[2], 4};
  EXPECT_EQ(Code(), "overlap") << "one step too late";
  problem_.synchronisations[0] = {streams_[2], 3, streams_[0], 1};
  EXPECT_EQ(Code(), "") << "the other way round";
}

TEST_F(StreamRulesTest, WaitsCarryOverAThirdStreamInWhateverOrderTheyAreListed) {
  Wait(1, 4, 2, 2);
  Wait(0, 1, 1, 3);
  EXPECT_EQ(Code(), "");
  problem_.synchronisations[1].to_step = 5;
  EXPECT_EQ(Code(), "overlap") << "the middle stream waits after it was waited for";
}

TEST_F(StreamRulesTest, EveryUseOfABufferCounts) {
  Wait(0, 1, 2, 3);
  At(first_).elsewhere = {{streams_[1], 0, 1}};
  EXPECT_EQ(Code(), "overlap");
  Wait(1, 0, 2, 3);
  EXPECT_EQ(Code(), "");
  At(second_).elsewhere = {{streams_[1], 4, 5}};
  EXPECT_EQ(Code(), "overlap") << "on its other stream nothing waits for the first's use";
  Wait(0, 1, 1, 4);
  EXPECT_EQ(Code(), "");
  At(second_).elsewhere.push_back({streams_[0], 0, 1});
  EXPECT_EQ(Code(), "overlap") << "a use before the first's";
}

TEST_F(StreamRulesTest, BatchesAndWindowsMayShareWithoutAWait) {
  At(first_).batch = problem_.AddBatch("one");
  At(second_).batch = problem_.AddBatch("two");
  EXPECT_EQ(Code(), "");
  At(second_).batch = BatchId();
  EXPECT_EQ(Code(), "overlap");
  At(second_).size = Bytes(5);
  problem_.aliases = {{second_, first_, Bytes(5)}};
  EXPECT_EQ(Code(), "") << "a window shares with its owner";
}

TEST_F(StreamRulesTest, OnlyBuffersThatShareBytesMatter) {
  EXPECT_EQ(CodeAt(second_, 109), "overlap");
  EXPECT_EQ(CodeAt(second_, 110), "");
  EXPECT_EQ(CodeAt(second_, 90), "");
  EXPECT_EQ(CodeAt(second_, 91), "overlap");
  At(second_).region = AddRegion({.name = "second", .alignment = 1}, 1000);
  EXPECT_EQ(Code(), "");
}

TEST_F(VerifierRulesTest, EveryRegionKeepsItsCapacity) {
  const RegionId second = AddRegion({.name = "second", .alignment = 1}, 500);
  problem_.regions[0].capacity = Bytes(1000);
  problem_.regions[second.index()].capacity = Bytes(500);
  EXPECT_EQ(Code(), "");
  problem_.regions[second.index()].capacity = Bytes(497);
  const Status status = Verify(problem_, plan_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, "verify.capacity");
  EXPECT_EQ(status.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(status.error().where, "region 'second'");
  EXPECT_EQ(status.error().remedy, "give it 3 bytes more, or plan with more effort");
}

}  // namespace verifier_rules_test
}  // namespace plimsoll::plan
