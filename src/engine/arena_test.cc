#include "engine/arena.h"

#include <gtest/gtest.h>

#include "plimsoll/device/cpu_device.h"

namespace plimsoll::engine {
namespace {

TEST(ArenaTest, GrowsToTheLargestPlanAndNoFurther) {
  device::CpuDevice device({.capacity = MiB(4)});
  Arena arena(device, device.Current());
  EXPECT_EQ(arena.size(), Bytes(0));
  ASSERT_TRUE(arena.Ensure(KiB(100)).ok());
  EXPECT_EQ(arena.size(), KiB(100));
  std::byte* const base = arena.base();
  ASSERT_TRUE(arena.Ensure(KiB(40)).ok());
  EXPECT_EQ(arena.base(), base);
  ASSERT_TRUE(arena.Ensure(MiB(3)).ok());
  EXPECT_EQ(arena.size(), MiB(3));
  EXPECT_EQ(device.memory().Info(device.Current())->free, MiB(1));
}

TEST(ArenaTest, IsEmptyAfterAFailureAndServesAgain) {
  device::CpuDevice device({.capacity = MiB(4)});
  {
    Arena arena(device, device.Current());
    ASSERT_TRUE(arena.Ensure(MiB(3)).ok());
    const Status failed = arena.Ensure(MiB(5));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, "memory.out_of_memory");
    EXPECT_EQ(failed.error().kind, ErrorKind::kDoesNotFit);
    EXPECT_EQ(arena.size(), Bytes(0));
    ASSERT_TRUE(arena.Ensure(MiB(4)).ok());
  }
  EXPECT_EQ(device.memory().Info(device.Current())->free, MiB(4)) << "it gives all back";
}

}  // namespace
}  // namespace plimsoll::engine
