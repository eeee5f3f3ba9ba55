#include "plan/verify/verifier_rules_for_tests.h"

// Merged blocks, and memory of the caller.
namespace plimsoll::plan {
namespace verifier_areas_test {

class MergedBlockRulesTest : public VerifierRulesTest {
 protected:
  MergedBlockRulesTest() {
    for (const char* label : {"small", "large"}) {
      const BatchId batch = problem_.AddBatch(label);
      for (const int64_t offset : {100, 110}) {
        const BufferId id = Add(offset, 10);
        At(id).batch = batch;
        members_.push_back(id);
      }
    }
    problem_.contiguous = {{.members = {members_[0], members_[1]}},
                           {.members = {members_[2], members_[3]}}};
    plan_.merged_blocks = {{map_, Offset(100), Bytes(24), {0, 1}}};
  }
  std::vector<BufferId> members_;
};

TEST_F(MergedBlockRulesTest, ItsGroupsLieInIt) {
  EXPECT_EQ(Code(), "");
  plan_.merged_blocks[0].size = Bytes(19);
  EXPECT_EQ(Code(), "merged");
  plan_.merged_blocks[0] = {map_, Offset(101), Bytes(24), {0, 1}};
  EXPECT_EQ(Code(), "merged");
  plan_.merged_blocks[0] = {map_, Offset(100), Bytes(20), {0, 2}};
  EXPECT_EQ(Code(), "merged") << "there is no third group";
  plan_.merged_blocks[0].groups = {0};
  EXPECT_EQ(Code(), "merged") << "the second group is a stranger then";
}

TEST_F(MergedBlockRulesTest, NobodyElseUsesItsBytes) {
  const BufferId other = Add(0, 10, {.begin = 7, .end = 8});
  At(other).batch = At(members_[0]).batch;
  EXPECT_EQ(CodeAt(other, 90), "");
  EXPECT_EQ(CodeAt(other, 91), "merged") << "though its life is another";
  EXPECT_EQ(CodeAt(other, 123), "merged") << "the padding belongs to the block too";
  EXPECT_EQ(CodeAt(other, 124), "");
  problem_.aliases = {{other, members_[1], Bytes(0)}};
  EXPECT_EQ(CodeAt(other, 110), "") << "a window of a member belongs to it";
  plan_.merged_blocks.push_back({map_, Offset(120), Bytes(10), {}});
  EXPECT_EQ(Code(), "merged") << "two blocks share bytes";
}

class ZeroCopyRulesTest : public VerifierRulesTest {
 protected:
  ZeroCopyRulesTest() {
    io_ = AddRegion({.name = "io", .kind = RegionKind::kZeroCopy, .alignment = 1}, 1000);
    for (const int64_t offset : {100, 200}) {
      bound_.push_back(AddIo(offset, 10, {.begin = 0, .end = 1}));
      At(bound_.back()).zero_copy = true;
    }
    guest_ = AddIo(0, 10, {.begin = 5, .end = 6});
  }
  BufferId AddIo(int64_t offset, int64_t size, Use life) {
    return Add({.size = Bytes(size), .region = io_, .life = life}, offset);
  }
  RegionId io_;
  std::vector<BufferId> bound_;
  BufferId guest_;
};

TEST_F(ZeroCopyRulesTest, TwoOfTheCallersBuffersNeverShareBytes) {
  At(bound_[1]).life = {.begin = 8, .end = 9};
  EXPECT_EQ(CodeAt(bound_[1], 110), "");
  EXPECT_EQ(CodeAt(bound_[1], 109), "zero_copy");
  EXPECT_EQ(CodeAt(bound_[1], 100), "zero_copy") << "not even from the same start";
  At(bound_[1]).size = Bytes(4);
  EXPECT_EQ(CodeAt(bound_[1], 103), "zero_copy") << "nor one inside the other";
  At(bound_[1]).size = Bytes(0);
  EXPECT_EQ(CodeAt(bound_[1], 100), "") << "without bytes it shares none";
}

TEST_F(ZeroCopyRulesTest, AGuestLiesWhollyInsideOneOfThemOrOutside) {
  for (const int64_t offset : {90, 100, 110, 150, 190, 200, 210}) {
    EXPECT_EQ(CodeAt(guest_, offset), "") << offset;
  }
  for (const int64_t offset : {91, 101, 109, 191, 201, 209}) {
    EXPECT_EQ(CodeAt(guest_, offset), "zero_copy") << offset;
  }
  At(guest_).size = Bytes(9);
  EXPECT_EQ(CodeAt(guest_, 101), "");
  At(guest_).size = Bytes(200);
  EXPECT_EQ(CodeAt(guest_, 50), "zero_copy");
  At(guest_).life = {.begin = 5, .end = 5};
  EXPECT_EQ(Code(), "") << "it never lives";
  At(guest_) = {.size = Bytes(10), .region = map_, .life = {.begin = 5, .end = 6}};
  EXPECT_EQ(CodeAt(guest_, 91), "") << "another region";
}

}  // namespace verifier_areas_test
}  // namespace plimsoll::plan
