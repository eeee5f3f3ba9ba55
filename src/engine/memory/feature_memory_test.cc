#include "engine/memory/feature_memory.h"

#include <gtest/gtest.h>

#include "engine/hooked_allocator_for_tests.h"
#include "engine/session_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/device/watched_device.h"

// What feature maps take and count under each policy, one by one.
namespace plimsoll::engine {
namespace feature_memory_test {

using Policy = config::StaticMemoryPolicy;
constexpr device::DeviceId kFirst{0};
constexpr GraphShapes kStatic = GraphShapes::kStatic;
constexpr GraphShapes kDynamic = GraphShapes::kDynamic;
constexpr Bytes kCapacity = MiB(64);

struct Fixture {
  explicit Fixture(Policy policy)
      : device(std::make_shared<device::CpuDevice>(
            device::CpuOptions{.capacity = kCapacity, .granularity = kSessionGranularity})),
        memory(device, kFirst, policy) {}
  FeatureMap Take(GraphShapes shapes, Bytes size) {
    auto taken = memory.Take(shapes, size, "graph");
    EXPECT_TRUE(taken.ok());
    return taken.ok() ? *std::move(taken) : FeatureMap();
  }
  Bytes used() const { return kCapacity - device->memory().Info(kFirst)->free; }

  std::shared_ptr<device::CpuDevice> device;
  FeatureMemory memory;
};

TEST(FeatureMemoryTest, StaticGraphsKeepTheirMapsUnder0And3Only) {
  for (const Policy policy : {Policy::kByGraph, Policy::kSharedStatic, Policy::kExpandableDynamic,
                              Policy::kSharedAndExpandable}) {
    const Fixture fixture(policy);
    const bool kept = policy == Policy::kByGraph || policy == Policy::kExpandableDynamic;
    EXPECT_EQ(fixture.memory.KeptWhileLoaded(kStatic), kept);
    EXPECT_FALSE(fixture.memory.KeptWhileLoaded(kDynamic));
    EXPECT_EQ(fixture.memory.policy(), policy);
  }
}

TEST(FeatureMemoryTest, KeptMapsCountWhileTheyAreHeldAndLentOnesAsTheLargest) {
  for (const Policy policy : {Policy::kByGraph, Policy::kExpandableDynamic}) {
    SCOPED_TRACE(static_cast<int>(policy));
    Fixture fixture(policy);
    FeatureMap first = fixture.Take(kStatic, KiB(64));
    FeatureMap second = fixture.Take(kStatic, KiB(128));
    EXPECT_EQ(fixture.memory.asked(), KiB(192));
    EXPECT_EQ(fixture.used(), KiB(192));
    first = FeatureMap();
    EXPECT_EQ(fixture.memory.asked(), KiB(128));
    EXPECT_EQ(fixture.used(), KiB(128));
    for (const Bytes size : {KiB(64), KiB(320), KiB(128)}) fixture.Take(kDynamic, size);
    EXPECT_EQ(fixture.memory.asked(), KiB(128) + KiB(320));
    EXPECT_EQ(fixture.memory.reserved(), KiB(128) + KiB(320));
    EXPECT_EQ(fixture.used(), KiB(128) + KiB(320));
    EXPECT_EQ(*fixture.memory.Trim(), KiB(320)) << "of the dynamic graphs' memory";
    EXPECT_EQ(fixture.memory.asked(), KiB(128));
    EXPECT_EQ(fixture.memory.reserved(), KiB(128));
    EXPECT_EQ(fixture.used(), KiB(128));
    EXPECT_EQ(fixture.memory.peak_reserved(), KiB(128) + KiB(320));
  }
}

TEST(FeatureMemoryTest, Under2StaticAndDynamicGraphsLendFromTwoMemories) {
  Fixture fixture(Policy::kSharedStatic);
  for (const Bytes size : {KiB(64), KiB(256), KiB(128)}) fixture.Take(kStatic, size);
  EXPECT_EQ(fixture.memory.asked(), KiB(256));
  EXPECT_EQ(fixture.used(), KiB(256));
  for (const Bytes size : {KiB(64), KiB(320), KiB(128)}) fixture.Take(kDynamic, size);
  EXPECT_EQ(fixture.memory.asked(), KiB(256) + KiB(320));
  EXPECT_EQ(fixture.memory.reserved(), KiB(256) + KiB(320));
  EXPECT_EQ(*fixture.memory.Trim(), KiB(256) + KiB(320)) << "of both";
  EXPECT_EQ(fixture.memory.asked(), Bytes(0));
  EXPECT_EQ(fixture.used(), Bytes(0));
}

TEST(FeatureMemoryTest, Under4AllGraphsLendFromOneRange) {
  Fixture fixture(Policy::kSharedAndExpandable);
  const FeatureMap fixed = fixture.Take(kStatic, KiB(256));
  const std::byte* const base = fixed.base();
  EXPECT_EQ(fixed.size(), KiB(256));
  fixture.Take(kDynamic, KiB(64));
  EXPECT_EQ(fixture.used(), KiB(256) + KiB(64)) << "in addition to what is held";
  EXPECT_EQ(fixture.memory.asked(), KiB(256)) << "each is counted as if it were alone";
  {
    Fixture other(Policy::kSharedAndExpandable);
    other.Take(kStatic, KiB(256));
    other.Take(kDynamic, KiB(320));
    other.Take(kStatic, KiB(64));
    EXPECT_EQ(other.memory.asked(), KiB(320));
    EXPECT_EQ(other.used(), KiB(320));
    EXPECT_EQ(*other.memory.Trim(), KiB(320));
    EXPECT_EQ(other.memory.peak_reserved(), KiB(320));
  }
  EXPECT_EQ(fixed.base(), base);
}

TEST(FeatureMemoryTest, NothingIsTakenForNothing) {
  Fixture fixture(Policy::kByGraph);
  const FeatureMap none = fixture.Take(kStatic, Bytes(0));
  EXPECT_EQ(none.size(), Bytes(0));
  EXPECT_EQ(fixture.memory.asked(), Bytes(0));
  EXPECT_EQ(fixture.used(), Bytes(0));
}

TEST(FeatureMemoryTest, AMapIsGivenBackOnceHoweverItWasMoved) {
  Fixture fixture(Policy::kByGraph);
  FeatureMap first = fixture.Take(kStatic, KiB(64));
  FeatureMap second(std::move(first));
  FeatureMap third;
  third = std::move(second);
  EXPECT_EQ(third.size(), KiB(64));
  EXPECT_EQ(fixture.memory.asked(), KiB(64));
  third = FeatureMap();
  EXPECT_EQ(fixture.memory.asked(), Bytes(0));
  EXPECT_EQ(fixture.used(), Bytes(0));
}

TEST(FeatureMemoryTest, ARefusalCountsNothing) {
  for (const Policy policy : {Policy::kByGraph, Policy::kSharedStatic, Policy::kExpandableDynamic,
                              Policy::kSharedAndExpandable}) {
    SCOPED_TRACE(static_cast<int>(policy));
    Fixture fixture(policy);
    for (const GraphShapes shapes : {kStatic, kDynamic}) {
      const auto refused = fixture.memory.Take(shapes, kCapacity + MiB(1), "graph");
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
      EXPECT_EQ(fixture.memory.asked(), Bytes(0));
      EXPECT_EQ(fixture.memory.reserved(), Bytes(0));
      EXPECT_EQ(fixture.used(), Bytes(0));
      EXPECT_EQ(fixture.Take(shapes, KiB(64)).size(), KiB(64));
    }
  }
}

// Most of the device lies idle in the memory of one kind of graphs when the other kind needs it.
TEST(FeatureMemoryTest, WhatOneKindKeepsServesTheOtherBeforeItIsRefused) {
  for (const Policy policy : {Policy::kSharedStatic, Policy::kExpandableDynamic}) {
    SCOPED_TRACE(static_cast<int>(policy));
    Fixture fixture(policy);
    const bool kept_static = policy == Policy::kSharedStatic;
    fixture.Take(kept_static ? kStatic : kDynamic, MiB(60));
    EXPECT_EQ(fixture.used(), MiB(60));
    const FeatureMap other = fixture.Take(kept_static ? kDynamic : kStatic, MiB(20));
    EXPECT_EQ(other.size(), MiB(20));
    EXPECT_EQ(fixture.used(), MiB(20));
    EXPECT_EQ(fixture.memory.asked(), MiB(20));
  }
}

TEST(FeatureMemoryTest, AnAllocatorOfTheCallersIsAskedForEveryMap) {
  int asked = 0;
  const auto allocator = std::make_shared<HookedAllocator>([&] { ++asked; });
  FeatureMemory memory(std::make_shared<device::CpuDevice>(), kFirst, Policy::kSharedStatic,
                       allocator);
  EXPECT_TRUE(memory.KeptWhileLoaded(kStatic)) << "the caller's allocator shares as it likes";
  {
    const auto fixed = memory.Take(kStatic, KiB(64), "graph");
    const auto open = memory.Take(kDynamic, KiB(128), "graph");
    ASSERT_TRUE(fixed.ok() && open.ok());
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(allocator->statistics().allocated, KiB(192));
    EXPECT_EQ(memory.reserved(), allocator->statistics().reserved);
    EXPECT_EQ(memory.asked(), KiB(192));
  }
  EXPECT_EQ(allocator->statistics().allocated, Bytes(0));
  EXPECT_EQ(memory.asked(), KiB(128)) << "what was lent stays for the next";
  EXPECT_EQ(memory.peak_reserved(), allocator->statistics().peak_reserved);
}

// Whether a device reserves addresses is found out by asking; a device that does not take them back
// is told of and used all the same.
TEST(FeatureMemoryTest, AProbeThatCannotBeUndoneIsToldAndNothingElseHappens) {
  std::vector<std::string> warnings;
  const LogCapture capture([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) warnings.emplace_back(line);
  });
  const auto device =
      std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>());
  device->FailAfter(1, ErrorKind::kRunFailed);
  FeatureMemory memory(device, kFirst, Policy::kSharedStatic);
  device->FailNoMore();
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(memory.Take(kStatic, KiB(64), "graph").ok());
}

}  // namespace feature_memory_test
}  // namespace plimsoll::engine
