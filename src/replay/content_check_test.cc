// Replays on devices that hold bytes, with every byte looked at.
#include "replay/content_check.h"

#include <gtest/gtest.h>

#include "device/cuda/standin_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/far_device.h"
#include "plimsoll/replay/replay.h"
#include "replay/trace_generator.h"

namespace plimsoll::replay {
namespace content_check_test {

constexpr device::DeviceId kDevice{0};

using Maker = std::shared_ptr<device::Device> (*)();

struct Kind {
  std::string name;
  Maker make;
};

class ContentCheckTest : public testing::TestWithParam<Kind> {
 protected:
  memory::Block Plain(Bytes size) {
    const auto at = device_->memory().AllocatePlain(kDevice, size, device::MemoryType::kDevice);
    EXPECT_TRUE(at.ok());
    return {*at, size, {}};
  }

  std::shared_ptr<device::Device> device_ = GetParam().make();
  const device::StreamId stream_ = *device_->CreateStream(kDevice);
  std::unique_ptr<ContentCheck> check_ = std::move(ContentCheck::Make(device_, kDevice)).value();
};
INSTANTIATE_TEST_SUITE_P(Kinds, ContentCheckTest,
                         testing::Values(Kind{"Cpu",
                                              []() -> std::shared_ptr<device::Device> {
                                                return std::make_shared<device::CpuDevice>();
                                              }},
                                         Kind{"Far",
                                              []() -> std::shared_ptr<device::Device> {
                                                return std::make_shared<device::FarDevice>();
                                              }},
                                         Kind{"Cuda",
                                              []() -> std::shared_ptr<device::Device> {
                                                return device::CudaDeviceForTests({});
                                              }}),
                         [](const auto& info) { return info.param.name; });

TEST_P(ContentCheckTest, WhatWasWrittenIsFound) {
  const memory::Block block = Plain(Bytes(1003));
  for (uint32_t number = 0; number < 300; ++number) {
    ASSERT_TRUE(check_->Write(block, stream_, number).ok());
    ASSERT_TRUE(check_->Look(block, stream_, number).ok());
  }
  EXPECT_TRUE(check_->Finish().ok());
  EXPECT_EQ(check_->looked_at(), 300);
}

TEST_P(ContentCheckTest, OneByteThatHasChangedIsToldWithItsBlock) {
  const memory::Block block = Plain(Bytes(1003));
  for (const uint64_t place : {0, 500, 999, 1002}) {
    ASSERT_TRUE(check_->Write(block, stream_, 41).ok());
    ASSERT_TRUE(check_->Look(block, stream_, 41).ok());
    ASSERT_TRUE(check_->Write(block, stream_, 42).ok());
    ASSERT_TRUE(device_->Fill(kDevice, stream_, block.address + place, 0, Bytes(1)).ok());
    ASSERT_TRUE(check_->Look(block, stream_, 42).ok());
    const Status status = check_->Finish();
    ASSERT_FALSE(status.ok()) << place;
    EXPECT_EQ(status.error().code, "replay.contents");
    EXPECT_EQ(status.error().kind, ErrorKind::kMismatch);
    EXPECT_NE(status.error().where.find("block 42"), std::string::npos);
    EXPECT_NE(status.error().why.find("at 1 places"), std::string::npos) << status.error().why;
    EXPECT_TRUE(check_->Finish().ok()) << "it is told once";
  }
}

// Two blocks at one place, as of an allocator that hands memory out twice.
TEST_P(ContentCheckTest, MemoryThatWasHandedOutTwiceIsTold) {
  const memory::Block block = Plain(KiB(64));
  const memory::Block inside{block.address + 4096, Bytes(512), {}};
  ASSERT_TRUE(check_->Write(block, stream_, 1).ok());
  ASSERT_TRUE(check_->Write(inside, stream_, 2).ok());
  ASSERT_TRUE(check_->Look(inside, stream_, 2).ok());
  ASSERT_TRUE(check_->Look(block, stream_, 1).ok());
  const Status status = check_->Finish();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().where.find("block 1"), std::string::npos);
}

TEST_P(ContentCheckTest, MoreBlocksThanThereIsRoomForAnswers) {
  const memory::Block block = Plain(Bytes(64));
  Status status;
  for (uint32_t number = 0; number < 9000 && status.ok(); ++number) {
    ASSERT_TRUE(check_->Write(block, stream_, number).ok());
    if (number == 5000) {
      ASSERT_TRUE(check_->Write(block, stream_, 1).ok());
    }
    status = check_->Look(block, stream_, number);
  }
  ASSERT_FALSE(status.ok()) << "told when the room was full";
  EXPECT_NE(status.error().where.find("block 5000"), std::string::npos);
}

TEST(ReplayOnDevices, BlocksAreLookedAtOnEveryKindThatHoldsBytes) {
  const bool card = device::TestsUseACard();
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", card ? "" : device::StandinLibrary().c_str(), 1), 0);
  for (const uint64_t seed : {1, 2}) {
    const Trace trace = GenerateTrace({.seed = seed, .steps = 3, .layers = 3, .unit = KiB(64)});
    for (const char* device : {"cpu", "far", "cuda", "cuda:0"}) {
      ReplayOptions options;
      options.device = device;
      options.check_contents = true;
      options.repeat = 2;
      const auto result = Replay(trace, options);
      ASSERT_TRUE(result.ok()) << device << ": " << result.error().Text();
      EXPECT_EQ(result->blocks_checked, 2 * int64_t{trace.blocks}) << device;
      EXPECT_EQ(result->device, device);
      EXPECT_FALSE(result->modelled_driver_us);
      ASSERT_TRUE(result->driver_us);
      EXPECT_GT(*result->driver_us, 0);
      EXPECT_EQ(result->reserved_after_trim, Bytes(0));
    }
  }
  ASSERT_EQ(unsetenv("PLIMSOLL_CUDA_DRIVER"), 0);
}

TEST(ReplayOnDevices, PartsTogetherLookAtEveryBlockOnce) {
  const Trace trace = GenerateTrace({.steps = 2, .layers = 3, .unit = KiB(64)});
  int64_t checked = 0;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    ReplayOptions options;
    options.device = "cpu";
    options.check_contents = true;
    options.checked_part = std::move(ParseCheckedPart(part)).value();
    const auto result = Replay(trace, options);
    ASSERT_TRUE(result.ok()) << result.error().Text();
    EXPECT_LE(result->blocks_checked, int64_t{trace.blocks} / 3 + 1) << part;
    checked += result->blocks_checked;
  }
  EXPECT_EQ(checked, int64_t{trace.blocks});
}

TEST(ReplayOnDevices, PartsThatAreNotThereAreRefused) {
  for (const char* part : {"", "1", "0/3", "4/3", "1/0", "a/b", "1/3/3", "-1/3"}) {
    const auto parsed = ParseCheckedPart(part);
    ASSERT_FALSE(parsed.ok()) << part;
    EXPECT_EQ(parsed.error().code, "replay.usage");
  }
  ReplayOptions options;
  options.checked_part = {.part = 3, .of = 3};
  const auto result = Replay(GenerateTrace({.steps = 1, .layers = 1}), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, "replay.usage");
}

TEST(ReplayOnDevices, ContentsAreLookedAtOnCardsUnlessSaidOtherwise) {
  const bool card = device::TestsUseACard();
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", card ? "" : device::StandinLibrary().c_str(), 1), 0);
  const Trace trace = GenerateTrace({.steps = 2, .layers = 2, .unit = KiB(64)});
  const auto checked = [&](const char* device, std::optional<bool> asked) {
    ReplayOptions options;
    options.device = device;
    options.check_contents = asked;
    const auto result = Replay(trace, options);
    EXPECT_TRUE(result.ok()) << result.error().Text();
    return result.ok() ? result->blocks_checked : -1;
  };
  EXPECT_EQ(checked("cuda", std::nullopt), int64_t{trace.blocks});
  EXPECT_EQ(checked("cuda", false), 0);
  EXPECT_EQ(checked("cpu", std::nullopt), 0);
  EXPECT_EQ(checked("fake", std::nullopt), 0);
  ASSERT_EQ(unsetenv("PLIMSOLL_CUDA_DRIVER"), 0);
}

TEST(ReplayOnDevices, DevicesThatAreNotThereOrHoldNoBytesAreRefused) {
  const Trace trace = GenerateTrace({.steps = 2, .layers = 2, .unit = KiB(64)});
  const auto refused = [&](const char* device, bool contents) {
    ReplayOptions options;
    options.device = device;
    options.check_contents = contents;
    const auto result = Replay(trace, options);
    return result.ok() ? std::string("nothing") : result.error().code;
  };
  EXPECT_EQ(refused("fake", true), "replay.usage");
  EXPECT_EQ(refused("fake:x", false), "device.setting");
  EXPECT_EQ(refused("abacus", false), "device.unknown_kind");
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", device::StandinLibrary().c_str(), 1), 0);
  if (!device::TestsUseACard()) {
    EXPECT_EQ(refused("cuda:2", false), "replay.usage");
  }
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", "libno_such_driver.so", 1), 0);
  EXPECT_EQ(refused("cuda:0", false), "device.driver_missing");
  ASSERT_EQ(unsetenv("PLIMSOLL_CUDA_DRIVER"), 0);
}

TEST(ReplayOnDevices, AnyFakeDeviceTellsPricesAndNoTime) {
  const Trace trace = GenerateTrace({.steps = 2, .layers = 2, .unit = KiB(64)});
  ReplayOptions options;
  options.device = "fake:1";
  options.find_capacity = true;
  const auto result = Replay(trace, options);
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_TRUE(result->modelled_driver_us && !result->driver_us && result->minimum_capacity);
}

}  // namespace content_check_test
}  // namespace plimsoll::replay
