#include <gtest/gtest.h>

#include <algorithm>

#include "plan/assign/plan_for_tests.h"
#include "plan/assign/zero_copy.h"

namespace plimsoll::plan {
namespace relations_test {

// The rows of the seed's scenario table, each as a small problem and what the plan must show.
class RelationsTest : public PlanTest {
 protected:
  RegionId AddMap() { return problem_.AddRegion({.name = "map"}); }
  RegionId AddZeroCopy() {
    return problem_.AddRegion(
        {.name = "io", .kind = RegionKind::kZeroCopy, .alignment = kZeroCopyAlignment});
  }
  BufferId Add(RegionId region, int64_t size, int64_t begin, int64_t end) {
    return problem_.AddBuffer(
        {.size = Bytes(size), .region = region, .life = {.begin = begin, .end = end}});
  }
  Buffer& At(BufferId id) { return problem_.buffers[id.index()]; }
};

TEST_F(RelationsTest, R47_ContiguousInputsLieAdjacentInInputOrder) {
  const RegionId map = AddMap();
  const BufferId b = Add(map, 700, 0, 3);
  const BufferId a = Add(map, 300, 1, 3);
  const BufferId c = Add(map, 100, 2, 3);
  problem_.contiguous.push_back({.members = {a, b, c}, .padded = false});
  MemoryPlan plan = Plan();
  EXPECT_EQ(plan.offsets[b.index()] - plan.offsets[a.index()], Bytes(300));
  EXPECT_EQ(plan.offsets[c.index()] - plan.offsets[b.index()], Bytes(700));

  problem_.contiguous[0].padded = true;
  plan = Plan();
  EXPECT_EQ(plan.offsets[b.index()] - plan.offsets[a.index()], Bytes(512));
  EXPECT_EQ(plan.offsets[c.index()] - plan.offsets[b.index()], Bytes(1024));
}

TEST_F(RelationsTest, R48_ContiguousMeansAdjacentInThePlanAndSpeaksOfNoPages) {
  // Members larger and smaller than any page, none a multiple of one.
  const RegionId map = AddMap();
  const BufferId a = Add(map, (int64_t{2} << 20) + 12, 0, 2);
  const BufferId b = Add(map, 20, 0, 2);
  problem_.contiguous.push_back({.members = {a, b}, .padded = false});
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.offsets[b.index()] - plan.offsets[a.index()], At(a).size);
}

TEST_F(RelationsTest, R49_OutputsOfSeveralCollectiveOperatorsFormOneRegionThatIsReusedAsAWhole) {
  const RegionId map = AddMap();
  std::vector<BufferId> outputs;
  for (int i = 0; i < 3; ++i) outputs.push_back(Add(map, 512, i, 4));
  problem_.contiguous.push_back({.members = outputs, .padded = true});
  const BufferId later = Add(map, 1536, 4, 6);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.offsets[outputs[2].index()] - plan.offsets[outputs[0].index()], Bytes(1024));
  EXPECT_EQ(plan.offsets[later.index()], plan.offsets[outputs[0].index()]);
  EXPECT_EQ(plan.total(), Bytes(1536));
}

TEST_F(RelationsTest, R50_ClearedBuffersLieTogetherAndAreSharedWithNobody) {
  const RegionId map = AddMap();
  const BufferId a = Add(map, 512, 0, 1);
  const BufferId b = Add(map, 512, 5, 6);
  At(a).atomic_addr_clean_id = At(b).atomic_addr_clean_id = 0;
  const BufferId other = Add(map, 512, 8, 9);
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.clearing_areas.size(), 1u);
  EXPECT_EQ(plan.clearing_areas[0].size, Bytes(1024));
  const Offset start = plan.clearing_areas[0].offset;
  EXPECT_TRUE(plan.offsets[other.index()] + Bytes(512) <= start ||
              plan.offsets[other.index()] >= start + Bytes(1024));
  EXPECT_EQ(plan.total(), Bytes(1536));
}

TEST_F(RelationsTest, R51_ABufferWithoutTheAttributeStaysOutOfTheArea) {
  const RegionId map = AddMap();
  At(Add(map, 512, 0, 1)).atomic_addr_clean_id = 3;
  Add(map, 512, 0, 1);
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.clearing_areas.size(), 1u);
  EXPECT_EQ(plan.clearing_areas[0].size, Bytes(512));
  problem_.buffers[0].atomic_addr_clean_id = kNoClearing;
  EXPECT_TRUE(Plan().clearing_areas.empty());
}

TEST_F(RelationsTest, R52_P2pMemoryIsNeverClearedTogetherWithOtherMemory) {
  const RegionId map = AddMap();
  const RegionId p2p = problem_.AddRegion(
      {.name = "p2p", .kind = RegionKind::kP2p, .memory_type = MemoryType::kP2pDdr});
  At(Add(map, 512, 0, 1)).atomic_addr_clean_id = 0;
  At(Add(p2p, 512, 0, 1)).atomic_addr_clean_id = 0;
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.clearing_areas.size(), 2u);
  EXPECT_EQ(plan.clearing_areas[0].region, map);
  EXPECT_EQ(plan.clearing_areas[1].region, p2p);
}

TEST_F(RelationsTest, R53_AZeroCopyBlockIsReusedWithinItsRealSize) {
  const RegionId io = AddZeroCopy();
  const BufferId output = Add(io, 100, 5, 6);
  At(output).zero_copy = true;
  const BufferId guest = Add(io, 100, 0, 5);
  EXPECT_EQ(Plan().offsets[guest.index()], Plan().offsets[output.index()]);
  EXPECT_EQ(Plan().total(), Bytes(100));
  // One byte more would fit the aligned size, not the real one.
  At(guest).size = Bytes(101);
  EXPECT_EQ(Plan().offsets[guest.index()], Offset(128));

  EXPECT_TRUE(IsRealSizeReuseBlock(Bytes(100), Bytes(100)));
  EXPECT_FALSE(IsRealSizeReuseBlock(Bytes(100), Bytes(101)));
}

TEST_F(RelationsTest, R54_ZeroCopyBlocksAreNeverMerged) {
  const RegionId io = AddZeroCopy();
  const BufferId a = Add(io, 100, 0, 1);
  const BufferId b = Add(io, 100, 5, 6);
  At(a).zero_copy = At(b).zero_copy = true;
  const MemoryPlan plan = Plan();
  EXPECT_NE(plan.offsets[0], plan.offsets[1]) << "not even when they never live together";
  problem_.contiguous.push_back({.members = {a, b}, .padded = false});
  EXPECT_NE(Refusal().find("memory of the caller may lie anywhere"), std::string::npos);
}

TEST_F(RelationsTest, R56_ZeroCopyIsAlignedTo32BytesAndAllOtherTo512) {
  const RegionId io = AddZeroCopy();
  const RegionId map = AddMap();
  for (int i = 0; i < 4; ++i) {
    At(Add(io, 33, 0, 1)).zero_copy = true;
    Add(map, 33, 0, 1);
  }
  const MemoryPlan plan = Plan();
  bool between = false;
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const bool zero_copy = problem_.buffers[i].zero_copy;
    EXPECT_EQ(plan.offsets[i].value() % (zero_copy ? 32 : 512), 0);
    between |= zero_copy && plan.offsets[i].value() % 512 != 0;
  }
  EXPECT_TRUE(between) << "zero copy is packed closer than 512";
}

TEST_F(RelationsTest, R59_BuffersWithoutZeroCopyAreListedWithTheReason) {
  const RegionId map = AddMap();
  const BufferId output = Add(map, 100, 0, 1);
  At(output).no_zero_copy_reason = "HCOM operators take no refreshed address";
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_EQ(plan.notes[0].kind, PlanNote::Kind::kNoZeroCopy);
  EXPECT_EQ(plan.notes[0].buffer, output);
  EXPECT_EQ(plan.notes[0].text, "HCOM operators take no refreshed address");

  At(output).region = AddZeroCopy();
  At(output).zero_copy = true;
  EXPECT_NE(Refusal().find("zero copy, which is impossible"), std::string::npos);
}

TEST_F(RelationsTest, R60_AConstantKeepsItsAddressWhateverElseIsPlanned) {
  const RegionId map = AddMap();
  const BufferId constant = Add(map, 1000, 0, 10);
  At(constant).is_fixed_addr_prior = true;
  const Offset before = Plan().offsets[constant.index()];
  for (int i = 1; i < 20; ++i) {
    Add(map, 5000 + 512 * i, i % 7, i % 7 + 3);
    EXPECT_EQ(Plan().offsets[constant.index()], before);
  }
}

TEST_F(RelationsTest, R61_BytesAtAnImmutableAddressServeOthersAtOtherTimes) {
  const RegionId map = AddMap();
  const BufferId variable = Add(map, 512, 0, 2);
  At(variable).is_fixed_addr_prior = true;
  At(variable).fixed_offset = Offset(1024);
  const BufferId reader = Add(map, 1536, 2, 4);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.offsets[variable.index()], Offset(1024));
  EXPECT_EQ(plan.offsets[reader.index()], Offset(0));
  EXPECT_EQ(plan.total(), Bytes(1536));
}

TEST_F(RelationsTest, AWindowLiesInsideAndKeepsTheBytesAlive) {
  const RegionId map = AddMap();
  const BufferId whole = Add(map, 2048, 0, 2);
  const BufferId half = Add(map, 1024, 2, 6);
  problem_.aliases.push_back({half, whole, Bytes(1024)});
  const BufferId other = Add(map, 1024, 3, 5);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.offsets[half.index()] - plan.offsets[whole.index()], Bytes(1024));
  EXPECT_EQ(plan.offsets[other.index()], plan.offsets[whole.index()]) << "the dead half serves";
  EXPECT_EQ(plan.total(), Bytes(2048));
  EXPECT_TRUE(plan.optimal());
}

TEST_F(RelationsTest, AnExclusiveBufferSharesWithNobody) {
  const RegionId map = AddMap();
  At(Add(map, 512, 0, 1)).exclusive = true;
  Add(map, 512, 3, 4);
  EXPECT_EQ(Plan().total(), Bytes(1024));
}

TEST_F(RelationsTest, ContradictionsAreRefusedWithTheirReason) {
  const RegionId map = AddMap();
  const BufferId a = Add(map, 512, 0, 2);
  const BufferId b = Add(map, 512, 1, 3);
  At(a).fixed_offset = At(b).fixed_offset = Offset(512);
  EXPECT_NE(Refusal().find("another buffer with a fixed offset"), std::string::npos);
  At(b).fixed_offset = Offset(100);
  EXPECT_NE(Refusal().find("no multiple of the alignment"), std::string::npos);
  At(b).fixed_offset.reset();

  problem_.aliases = {{a, b, Bytes(0)}, {b, a, Bytes(0)}};
  EXPECT_NE(Refusal().find("window of itself"), std::string::npos);
  problem_.aliases = {{a, b, Bytes(1)}};
  EXPECT_NE(Refusal().find("does not lie inside"), std::string::npos);
  problem_.aliases = {{a, b, Bytes(0)}};
  problem_.contiguous = {{.members = {a, b}, .padded = false}};
  EXPECT_NE(Refusal().find("is a window of another buffer"), std::string::npos);
  problem_.aliases.clear();
  problem_.contiguous = {{.members = {a, b}, .padded = false}, {.members = {b}, .padded = false}};
  EXPECT_NE(Refusal().find("member twice"), std::string::npos);
}

TEST_F(RelationsTest, NonsenseIsRefusedBeforeAnythingIsPlanned) {
  const RegionId map = AddMap();
  const BufferId a = Add(map, 512, 0, 2);
  const Buffer good = At(a);
  const auto refused = [&](const auto& change) {
    At(a) = good;
    change(At(a));
    return !Validate(problem_).ok();
  };
  EXPECT_FALSE(refused([](Buffer&) {}));
  EXPECT_TRUE(refused([](Buffer& b) { b.size = Bytes(-1); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.size = Bytes(kSaturated); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.life = {.begin = 3, .end = 2}; }));
  EXPECT_TRUE(refused([](Buffer& b) { b.alignment = 0; }));
  EXPECT_TRUE(refused([](Buffer& b) { b.alignment = int64_t{1} << 62; }));
  EXPECT_TRUE(refused([](Buffer& b) { b.region = RegionId(7); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.batch = BatchId(0); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.fixed_offset = Offset(-512); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.life.stream = StreamId(1); }));
  EXPECT_TRUE(refused([](Buffer& b) { b.zero_copy = true; }));
}

TEST_F(RelationsTest, SynchronisationsInACircleAreRefused) {
  const RegionId map = AddMap();
  Add(map, 512, 0, 1);
  const StreamId a = problem_.AddStream({.steps = 2});
  const StreamId b = problem_.AddStream({.steps = 2});
  problem_.synchronisations = {{a, 1, b, 0}};
  EXPECT_EQ(Refusal(), "");
  problem_.synchronisations.push_back({b, 0, a, 1});
  EXPECT_NE(Refusal().find("in a circle"), std::string::npos);
}

TEST_F(RelationsTest, OnSeveralStreamsReuseFollowsTheSynchronisations) {
  const RegionId map = AddMap();
  const StreamId compute = problem_.AddStream({.steps = 4});
  const StreamId copy = problem_.AddStream({.steps = 4});
  const BufferId sent = Add(map, 512, 0, 1);
  At(sent).elsewhere = {{copy, 1, 2}};
  const BufferId next = Add(map, 512, 2, 3);
  problem_.synchronisations = {{compute, 0, copy, 1}};
  EXPECT_EQ(Plan().total(), Bytes(1024)) << "the copy may still read";
  problem_.synchronisations.push_back({copy, 1, compute, 2});
  EXPECT_EQ(Plan().offsets[next.index()], Plan().offsets[sent.index()]);
}

}  // namespace relations_test
}  // namespace plimsoll::plan
