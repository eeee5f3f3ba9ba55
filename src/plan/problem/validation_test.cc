#include "plan/problem/validation.h"

#include <gtest/gtest.h>

#include <functional>

#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {
namespace validation_test {

// A problem with a row of everything, in which a test changes one thing.
class ValidationTest : public testing::Test {
 protected:
  ValidationTest() {
    map_ = problem_.AddRegion({.name = "map", .alignment = 32});
    io_ = problem_.AddRegion({.name = "io", .kind = RegionKind::kZeroCopy, .alignment = 32});
    problem_.AddStream({.name = "main", .steps = 8});
    problem_.AddStream({.name = "copy", .steps = 4});
    problem_.AddBatch("one");
    for (int i = 0; i < 4; ++i) {
      problem_.AddBuffer({.size = Bytes(64), .region = map_, .life = {.begin = 0, .end = 2}});
    }
  }

  // The code without its prefix, and where; empty when the changed problem is accepted.
  std::string Refusal(const std::function<void(Problem&)>& change) const {
    Problem changed = problem_;
    change(changed);
    const Status status = Validate(changed);
    if (status.ok()) return "";
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
    EXPECT_TRUE(status.error().code.starts_with("plan."));
    return status.error().code.substr(5) + ": " + status.error().where;
  }
  // Of buffer 1.
  std::string RefusalOf(const std::function<void(Buffer&)>& change) const {
    return Refusal([&](Problem& problem) { change(problem.buffers[1]); });
  }

  Problem problem_;
  RegionId map_;
  RegionId io_;
};

TEST_F(ValidationTest, AnOrdinaryProblemIsAccepted) {
  EXPECT_EQ(Refusal([](Problem&) {}), "");
}

TEST_F(ValidationTest, OfRegions) {
  const auto refusal = [&](int64_t alignment) {
    return Refusal([&](Problem& p) { p.regions[1].alignment = alignment; });
  };
  EXPECT_EQ(refusal(1), "");
  EXPECT_EQ(refusal(0), "bad_alignment: region 1 'io'");
  EXPECT_EQ(refusal(kLargestAlignment), "");
  EXPECT_EQ(refusal(kLargestAlignment + 1), "bad_alignment: region 1 'io'");
  EXPECT_EQ(Refusal([](Problem& p) { p.regions[0].capacity = Bytes(0); }), "");
  EXPECT_EQ(Refusal([](Problem& p) { p.regions[0].capacity = Bytes(-1); }),
            "bad_size: region 0 'map'");
}

TEST_F(ValidationTest, OfStreams) {
  const auto refusal = [&](int64_t steps) {
    return Refusal([&](Problem& p) { p.streams[1].steps = steps; });
  };
  EXPECT_EQ(refusal(0), "");
  EXPECT_EQ(refusal(-1), "bad_life: stream 1");
  EXPECT_EQ(refusal(kMostSteps), "");
  EXPECT_EQ(refusal(kMostSteps + 1), "bad_life: stream 1");
}

TEST_F(ValidationTest, OfIds) {
  const std::string refused = "bad_id: buffer 1 ''";
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.region = RegionId(1); }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.region = RegionId(2); }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.region = RegionId(); }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.batch = BatchId(0); }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.batch = BatchId(1); }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.atomic_addr_clean_id = 0; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.atomic_addr_clean_id = -2; }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life.stream = StreamId(1); }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life.stream = StreamId(2); }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life.stream = StreamId(); }), refused);
}

TEST_F(ValidationTest, OfSizesAlignmentsAndOffsets) {
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.size = Bytes(0); }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.size = Bytes(-1); }), "bad_size: buffer 1 ''");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.alignment = kLargestAlignment; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.alignment = kLargestAlignment + 1; }),
            "bad_alignment: buffer 1 ''");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.alignment = 0; }), "bad_alignment: buffer 1 ''");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.fixed_offset = Offset(0); }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.fixed_offset = Offset(-32); }), "bad_offset: buffer 1 ''");
}

TEST_F(ValidationTest, OfLives) {
  const std::string refused = "bad_life: buffer 1 ''";
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = 0, .end = 8}; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = 0, .end = 9}; }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = -1, .end = 2}; }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = 3, .end = 3}; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = 3, .end = 2}; }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.elsewhere = {{StreamId(1), 0, 4}}; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.elsewhere = {{StreamId(1), 0, 5}}; }), refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) {
              b.elsewhere = {{StreamId(1), 0, 4}, {StreamId(1), 2, 1}};
            }),
            refused)
      << "the second use counts too";
}

TEST_F(ValidationTest, WithoutStreamsABufferHasOneUseOnTheFirst) {
  problem_.streams.clear();
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life = {.begin = -7, .end = int64_t{1} << 40}; }), "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.life.stream = StreamId(1); }), "bad_id: buffer 1 ''");
  EXPECT_EQ(RefusalOf([](Buffer& b) {
              b.elsewhere = {{StreamId(0), 3, 4}};
            }),
            "bad_life: buffer 1 ''");
}

TEST_F(ValidationTest, OfFlagsThatExcludeEachOther) {
  const std::string refused = "contradiction: buffer 1 ''";
  EXPECT_EQ(RefusalOf([&](Buffer& b) {
              b.region = io_;
              b.zero_copy = true;
            }),
            "");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.zero_copy = true; }), refused);
  EXPECT_EQ(RefusalOf([&](Buffer& b) {
              b.region = io_;
              b.zero_copy = true;
              b.no_zero_copy_reason = "HCOM";
            }),
            refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.no_zero_copy_reason = "HCOM"; }), "");
  EXPECT_EQ(RefusalOf([&](Buffer& b) {
              b.region = io_;
              b.atomic_addr_clean_id = 0;
            }),
            refused);
  EXPECT_EQ(RefusalOf([](Buffer& b) {
              b.atomic_addr_clean_id = 0;
              b.fixed_offset = Offset(0);
            }),
            refused);
}

TEST_F(ValidationTest, OfSumsThatOffsetsCouldNotHold) {
  // Four buffers of the region's alignment and their own each on top of the sizes.
  constexpr int64_t kPadding = 4 * 32 + 4;
  constexpr int64_t kOthers = 3 * 64;
  const auto largest = [&](int64_t size) {
    return RefusalOf([&](Buffer& b) { b.size = Bytes(size); });
  };
  EXPECT_EQ(largest(kLargestSum - 512), "");
  EXPECT_EQ(largest(kLargestSum - kPadding - kOthers - 1), "overflow: region 'map'")
      << "in whole granules it is too much";
  EXPECT_EQ(largest(kLargestSum - kPadding - kOthers), "overflow: buffer 3 ''");
  EXPECT_EQ(RefusalOf([](Buffer& b) { b.size = Bytes(kSaturated); }), "overflow: buffer 1 ''");
  const auto fixed = [&](int64_t offset) {
    return RefusalOf([&](Buffer& b) { b.fixed_offset = Offset(offset); });
  };
  EXPECT_EQ(fixed(kLargestSum - 512), "");
  EXPECT_EQ(fixed(kLargestSum - 96), "overflow: buffer 1 ''");
}

TEST_F(ValidationTest, OfWindows) {
  const auto refusal = [&](Alias alias) {
    return Refusal([&](Problem& p) { p.aliases = {alias}; });
  };
  const BufferId a(0);
  const BufferId b(1);
  EXPECT_EQ(refusal({b, a, Bytes(0)}), "");
  EXPECT_EQ(refusal({b, a, Bytes(1)}), "contradiction: buffer 1 ''") << "it sticks out";
  EXPECT_EQ(refusal({b, a, Bytes(-1)}), "contradiction: buffer 1 ''");
  EXPECT_EQ(refusal({b, BufferId(4), Bytes(0)}), "bad_id: alias 0");
  EXPECT_EQ(refusal({BufferId(4), a, Bytes(0)}), "bad_id: alias 0");
  EXPECT_EQ(refusal({BufferId(), a, Bytes(0)}), "bad_id: alias 0");
  EXPECT_EQ(refusal({a, a, Bytes(0)}), "cycle: buffer 0 ''");
  EXPECT_EQ(Refusal([&](Problem& p) {
              p.aliases = {{b, a, Bytes(0)}, {b, BufferId(2), Bytes(0)}};
            }),
            "contradiction: buffer 1 ''")
      << "two owners";
  const auto window = [&](const std::function<void(Buffer&)>& change) {
    return Refusal([&](Problem& p) {
      p.aliases = {{b, a, Bytes(0)}};
      change(p.buffers[1]);
    });
  };
  EXPECT_EQ(window([&](Buffer& w) { w.region = io_; }), "contradiction: buffer 1 ''");
  EXPECT_EQ(window([&](Buffer& w) { w.atomic_addr_clean_id = 0; }), "contradiction: buffer 1 ''");
  EXPECT_EQ(window([&](Buffer& w) { w.exclusive = true; }), "");
  EXPECT_EQ(Refusal([&](Problem& p) {
              p.buffers[0].region = p.buffers[1].region = io_;
              p.buffers[1].zero_copy = true;
              p.aliases = {{b, a, Bytes(0)}};
            }),
            "contradiction: buffer 1 ''")
      << "only the owner is bound to the caller's memory";
}

TEST_F(ValidationTest, OfGroups) {
  const auto refusal = [&](const std::function<void(Problem&)>& change) {
    return Refusal([&](Problem& p) {
      p.contiguous = {{.members = {BufferId(0), BufferId(1)}},
                      {.members = {BufferId(2), BufferId(3)}}};
      change(p);
    });
  };
  const std::string second = "contradiction: contiguous group 1";
  EXPECT_EQ(refusal([](Problem&) {}), "");
  EXPECT_EQ(refusal([](Problem& p) { p.contiguous.push_back({}); }), "") << "an empty one is none";
  EXPECT_EQ(refusal([](Problem& p) { p.contiguous[1].members[1] = BufferId(4); }),
            "bad_id: contiguous group 1");
  EXPECT_EQ(refusal([](Problem& p) { p.contiguous[1].members[1] = BufferId(0); }), second);
  EXPECT_EQ(refusal([](Problem& p) { p.contiguous[1].members[1] = BufferId(2); }), second);
  EXPECT_EQ(refusal([&](Problem& p) { p.buffers[3].region = io_; }), second);
  EXPECT_EQ(refusal([](Problem& p) { p.buffers[3].atomic_addr_clean_id = 0; }), second);
  EXPECT_EQ(refusal([&](Problem& p) {
              p.buffers[2].region = p.buffers[3].region = io_;
              p.buffers[3].zero_copy = true;
            }),
            second);
  EXPECT_EQ(refusal([](Problem& p) {
              p.contiguous.pop_back();
              p.aliases = {{BufferId(1), BufferId(2), Bytes(0)}};
            }),
            "contradiction: contiguous group 0");
}

TEST_F(ValidationTest, OfFixedOffsetsAgainstRelations) {
  const auto refusal = [&](int64_t first, int64_t second) {
    return Refusal([&](Problem& p) {
      p.contiguous = {{.members = {BufferId(0), BufferId(1)}}};
      p.buffers[0].fixed_offset = Offset(first);
      p.buffers[1].fixed_offset = Offset(second);
    });
  };
  EXPECT_EQ(refusal(32, 96), "");
  EXPECT_EQ(refusal(32, 128), "contradiction: buffer 1 ''");
  EXPECT_EQ(Refusal([](Problem& p) {
              p.contiguous = {{.members = {BufferId(0), BufferId(1)}}};
              p.buffers[1].fixed_offset = Offset(32);
            }),
            "contradiction: buffer 1 ''")
      << "the first would lie below 0";
}

TEST_F(ValidationTest, OfFixedOffsetsThatCollide) {
  const auto refusal = [&](int64_t offset, const Use& life) {
    return Refusal([&](Problem& p) {
      p.streams.clear();
      p.buffers[0].fixed_offset = Offset(64);
      p.buffers[1].fixed_offset = Offset(offset);
      p.buffers[1].life = life;
    });
  };
  EXPECT_EQ(refusal(0, {.begin = 1, .end = 3}), "");
  EXPECT_EQ(refusal(128, {.begin = 1, .end = 3}), "");
  EXPECT_EQ(refusal(32, {.begin = 1, .end = 3}), "contradiction: buffer 1 ''");
  EXPECT_EQ(refusal(96, {.begin = 1, .end = 3}), "contradiction: buffer 1 ''");
  EXPECT_EQ(refusal(64, {.begin = 2, .end = 3}), "") << "the first is gone by then";
  EXPECT_EQ(refusal(64, {.begin = 1, .end = 3}), "contradiction: buffer 1 ''");
}

}  // namespace validation_test
}  // namespace plimsoll::plan
