#include "plimsoll/memory/out_of_memory.h"

#include <gmock/gmock.h>

#include "memory/conformance_fixture.h"
#include "memory/pool/owner_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace out_of_memory_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A device of 100 MiB: 80 MiB reserved, 60 of them handed out, 20 MiB free in two runs.
OutOfMemoryReport Typical() {
  OutOfMemoryReport report;
  report.device = kDevice;
  report.requested = MiB(50);
  report.limit = Bytes(kSaturated);
  report.device_total = MiB(100);
  report.device_free = MiB(20);
  report.reserved = MiB(80);
  report.allocated = MiB(60);
  report.free = MiB(20);
  report.largest_free_run = MiB(15);
  report.owners = {{"weights", MiB(40), 1}, {"activations", MiB(20), 7}};
  return report;
}

TEST(OutOfMemoryReportTest, TheTextNamesEveryFigureOnOneLine) {
  OutOfMemoryReport report = Typical();
  report.limit = MiB(90);
  report.cached = MiB(5);
  report.cause = "the limit is reached";
  const Error error = report.ToError();
  EXPECT_EQ(error.kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(error.code, "memory.out_of_memory");
  EXPECT_EQ(error.what, "out of memory: cannot allocate 50 MiB");
  EXPECT_EQ(error.where, "device 0");
  EXPECT_EQ(error.why,
            "reserved 80 MiB of a limit of 90 MiB, allocated 60 MiB, free in the pool 20 MiB with "
            "15 MiB in the largest run (fragmentation 25 %), in no pool 5 MiB; the device has 20 "
            "MiB of 100 MiB "
            "free; held by 'weights' 40 MiB in 1 block, 'activations' 20 MiB in 7 blocks; the "
            "limit is reached");
  EXPECT_THAT(error.Text(), Not(HasSubstr("\n")));
}

TEST(OutOfMemoryReportTest, FragmentationIsThePartOfFreeBytesOutsideTheLargestRun) {
  OutOfMemoryReport report = Typical();
  EXPECT_DOUBLE_EQ(report.Fragmentation(), 0.25);
  report.largest_free_run = report.free;
  EXPECT_DOUBLE_EQ(report.Fragmentation(), 0);
  report.free = report.largest_free_run = Bytes(0);
  EXPECT_DOUBLE_EQ(report.Fragmentation(), 0);
}

TEST(OutOfMemoryReportTest, RaisingALimitIsAdvisedOnlyWhereOneIsSetAndTheDeviceHasRoom) {
  OutOfMemoryReport report = Typical();
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("limit"))));  // none is set

  report.limit = MiB(90);
  report.requested = MiB(30);
  EXPECT_THAT(report.Remedies(), Contains("raise the limit of 90 MiB by 20 MiB"));

  report.limit = MiB(200);  // not what refused
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("limit"))));

  report.limit = MiB(90);
  report.requested = MiB(70);  // 40 MiB are left in the pool and on the device
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("limit"))));
}

TEST(OutOfMemoryReportTest, FreeingAnOwnerIsAdvisedOnlyWhereItCouldHelp) {
  OutOfMemoryReport report = Typical();
  EXPECT_THAT(report.Remedies(), Contains("free or shrink 'weights'"));
  report.limit = MiB(40);  // 50 MiB are asked for
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("free or shrink"))));
}

TEST(OutOfMemoryReportTest, ARequestLargerThanTheDeviceHasOneRemedy) {
  OutOfMemoryReport report = Typical();
  report.requested = MiB(101);
  report.limit = MiB(90);
  report.pooled = true;
  EXPECT_THAT(report.Remedies(),
              ElementsAre("ask for less: no state of this device can hold the request"));
}

TEST(OutOfMemoryReportTest, JoiningPagesIsAdvisedOnlyWhereItIsMissing) {
  OutOfMemoryReport report = Typical();
  report.requested = MiB(18);  // fits into the free bytes, not into a run
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("reserves addresses"))));
  report.stitches = false;
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("reserves addresses")));
}

TEST(OutOfMemoryReportTest, FewerStreamsAreAdvisedOnlyWhereOtherStreamsHoldMemory) {
  OutOfMemoryReport report = Typical();
  report.pooled = true;
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("fewer streams"))));
  report.allocated = MiB(30);
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("fewer streams")));
  report.cached = MiB(30);  // nobody's, so no stream's
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("fewer streams"))));
}

TEST(OutOfMemoryReportTest, OtherProgramsAreNamedWhenWithoutThemItWouldFit) {
  OutOfMemoryReport report = Typical();
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("other programs"))));
  report.device_free = MiB(2);
  report.reserved = MiB(40);
  report.requested = MiB(45);
  EXPECT_THAT(report.Remedies(), Contains("end other programs on the device, which hold 58 MiB"));
  report.requested = MiB(80);  // all that is free and theirs
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("other programs")));
  report.requested = MiB(80) + Bytes(1);
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("other programs"))));
  report.requested = MiB(45);
  report.limit = MiB(85);  // reached exactly
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("other programs")));
  report.limit = MiB(85) - Bytes(1);
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("other programs"))));
}

TEST(OutOfMemoryReportTest, BoundsOfTheRemediesAreExact) {
  OutOfMemoryReport report = Typical();
  report.requested = MiB(100);  // all of the device
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("no state of this device"))));
  report.requested = MiB(40);
  report.limit = MiB(120);  // just enough
  EXPECT_THAT(report.Remedies(), Not(Contains(HasSubstr("raise the limit"))));
  report.limit = MiB(120) - KiB(4);
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("raise the limit")));
  report.requested = MiB(20);
  report.stitches = false;
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("reserves addresses"))) << "as much as is free";
  report.limit = MiB(20);  // no less than the request
  EXPECT_THAT(report.Remedies(), Contains(HasSubstr("free or shrink")));
}

TEST(OutOfMemoryReportTest, WhatIsNotKnownIsNotTold) {
  OutOfMemoryReport report = Typical();
  report.device_total = Bytes(0);
  report.owners.clear();
  const Error error = report.ToError();
  EXPECT_EQ(error.why,
            "reserved 80 MiB, allocated 60 MiB, free in the pool 20 MiB with 15 MiB in the largest "
            "run (fragmentation 25 %)");
  EXPECT_EQ(error.remedy, "ask for less or use a device with more memory");
}

TEST(OwnerTableTest, ManyTagsAreDistinguishedAndTheLargestComeFirst) {
  OwnerTable owners;
  EXPECT_EQ(owners.Find(""), 0u);
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 500; ++i) numbers.push_back(owners.Find(StrCat("owner ", i)));
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(owners.Find(StrCat("owner ", i)), numbers[i]);
    EXPECT_EQ(owners.Tag(numbers[i]), StrCat("owner ", i));
    owners.Took(numbers[i], 100 + i % 10);
  }
  owners.Took(0, 5);
  EXPECT_EQ(owners.Tag(0), "");
  owners.Took(numbers[7], 50);
  owners.Gave(numbers[9], 109);  // holds nothing any more
  const std::vector<MemoryOwner> top = owners.Top(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].tag, "owner 7");
  EXPECT_EQ(top[0].bytes, Bytes(157));
  EXPECT_EQ(top[0].blocks, 2);
  EXPECT_EQ(top[1].tag, "owner 109") << "ties by name";
  EXPECT_EQ(top[2].tag, "owner 119");
  const std::vector<MemoryOwner> all = owners.Top(1000);
  EXPECT_EQ(all.size(), 500u);
  EXPECT_EQ(all.back().tag, "untagged");
}

TEST(OutOfMemoryReportTest, AnAllocatorTellsEveryFigureOfItsOwn) {
  const Machine machine = Machine::Fake({.capacity = MiB(64)});
  auto scalable = machine.Scalable();
  const Result<Block> kept = scalable->Allocate({.size = MiB(23), .tag = "kept"});
  const Result<Block> freed = scalable->Allocate({.size = MiB(8)});
  const Result<Block> last = scalable->Allocate({.size = MiB(5)});
  ASSERT_TRUE(kept.ok() && freed.ok() && last.ok());
  ASSERT_TRUE(scalable->Free(*freed).ok());
  const auto other = machine.physical()->Acquire(MiB(4));
  ASSERT_TRUE(other.ok());
  Result<Block> refused = scalable->Allocate({.size = MiB(60)});
  ASSERT_TRUE(RefusedAs(refused.status(), "memory.out_of_memory"));
  EXPECT_THAT(refused.error().why,
              HasSubstr("allocated 28 MiB, free in the pool 8 MiB with 8 MiB in the largest run "
                        "(fragmentation 0 %)"));
  EXPECT_THAT(refused.error().why,
              HasSubstr("held by 'kept' 23 MiB in 1 block, 'untagged' 5 MiB in 1 block"));
  EXPECT_THAT(refused.error().why, HasSubstr("of 64 MiB free"));
  EXPECT_EQ(refused.error().where, "device 0");
  EXPECT_THAT(refused.error().remedy, Not(HasSubstr("reserves addresses")));
  EXPECT_THAT(refused.error().remedy, Not(HasSubstr("fewer streams")));
  machine.physical()->Release(*other);

  CachingMemAllocator caching(machine.physical());
  ASSERT_TRUE(machine.physical()->Trim().ok());
  refused = caching.Allocate({.size = MiB(30)});
  ASSERT_TRUE(RefusedAs(refused.status(), "memory.out_of_memory"));
  EXPECT_EQ(refused.error().why,
            "reserved 36 MiB, allocated 0 B, free in the pool 0 B with 0 B in the largest run "
            "(fragmentation 0 %); the device has 28 MiB of 64 MiB free; 30 MiB were asked for and "
            "28 MiB of 64 MiB are free");
}

TEST(OutOfMemoryReportTest, AnAllocatorFillsTheReportWithWhatIsTrueOfIt) {
  PhysicalMemoryOptions options;
  options.limit = MiB(64);
  const Machine machine(std::make_shared<device::FakeDevice>(), options);
  auto scalable = machine.Scalable();
  CachingMemAllocator caching(machine.physical());
  for (Allocator* allocator :
       {static_cast<Allocator*>(scalable.get()), static_cast<Allocator*>(&caching)}) {
    std::vector<Block> blocks;
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(*allocator->Allocate({.size = MiB(2), .tag = i < 14 ? "cache" : "weights"}));
    }
    const Result<Block> refused = allocator->Allocate({.size = MiB(30)});
    ASSERT_TRUE(RefusedAs(refused.status(), "memory.out_of_memory"));
    EXPECT_THAT(refused.error().what, HasSubstr("30 MiB"));
    for (const char* part : {"of a limit of 64 MiB", "allocated 40 MiB", "largest run",
                             "held by 'cache' 28 MiB in 14 blocks, 'weights' 12 MiB in 6 blocks"}) {
      EXPECT_THAT(refused.error().why, HasSubstr(part));
    }
    EXPECT_THAT(refused.error().remedy, HasSubstr("raise the limit of 64 MiB"));
    EXPECT_THAT(refused.error().remedy, HasSubstr("free or shrink 'cache'"));
    for (const Block& block : blocks) ASSERT_TRUE(allocator->Free(block).ok());
    ASSERT_TRUE(allocator->Trim().ok());
  }
}

}  // namespace out_of_memory_test
}  // namespace plimsoll::memory
