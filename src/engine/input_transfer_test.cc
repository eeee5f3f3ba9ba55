#include "engine/input_transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/registry.h"

// input_fusion_size, by the calls that a device sees.
namespace plimsoll::engine {
namespace {

using device::DeviceCall;
using device::DeviceId;
using device::FakeCall;
using device::FakeCallLog;
using device::FakeDevice;

constexpr int64_t kKilobyte = 1024;
constexpr DeviceId kFirst{0};

// A fake device with its log, and host inputs of some sizes.
class InputTransferTest : public testing::Test {
 protected:
  // The sizes of the transfers of one Send, in order.
  std::vector<int64_t> Transfers(const std::vector<int64_t>& sizes, int64_t threshold) {
    InputTransfer transfer(device_, kFirst, stream_, threshold);
    EXPECT_TRUE(transfer.Prepare(SizesOf(sizes)).ok());
    const size_t before = log_->calls.size();
    EXPECT_TRUE(transfer.Send(InputsOf(sizes)).ok());
    std::vector<int64_t> copies;
    for (size_t i = before; i < log_->calls.size(); ++i) {
      if (log_->calls[i].call == DeviceCall::kCopy) copies.push_back(log_->calls[i].size.value());
    }
    return copies;
  }

  static std::vector<Bytes> SizesOf(const std::vector<int64_t>& sizes) {
    return {sizes.begin(), sizes.end()};
  }

  std::vector<HostInput> InputsOf(const std::vector<int64_t>& sizes) {
    rooms_.clear();
    std::vector<HostInput> inputs;
    for (const int64_t size : sizes) {
      rooms_.emplace_back(static_cast<size_t>(std::max<int64_t>(size, 1)), std::byte{7});
      inputs.push_back({rooms_.back().data(), Bytes(size)});
    }
    return inputs;
  }

  std::shared_ptr<FakeCallLog> log_ = std::make_shared<FakeCallLog>();
  FakeDevice device_{{.log = log_}};
  device::StreamId stream_ = *device_.CreateStream(kFirst);
  std::vector<std::vector<std::byte>> rooms_;
};

TEST_F(InputTransferTest, R120_EveryLegalThresholdActsFromOneByteToThirtyTwoMegabytes) {
  constexpr int64_t kDefault = 131072;
  constexpr int64_t kMost = 33554432;
  EXPECT_EQ(Transfers({1, 1}, 1), (std::vector<int64_t>{33})) << "each aligned to 32 bytes";
  EXPECT_EQ(Transfers({2, 1}, 1), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Transfers({kDefault, 32, kDefault + 1}, kDefault),
            (std::vector<int64_t>{kDefault + 32, kDefault + 1}));
  EXPECT_EQ(Transfers({kMost, 32, kMost + 1}, kMost),
            (std::vector<int64_t>{kMost + 32, kMost + 1}));
}

TEST_F(InputTransferTest, R121_EachInputIsComparedByItsOwnSizeAndEqualIsFused) {
  EXPECT_EQ(Transfers({4096, 4097, 4096}, 4096), (std::vector<int64_t>{8192, 4097}));
  EXPECT_EQ(Transfers({4096, 4096, 4096}, 4096), (std::vector<int64_t>{12288}))
      << "their sum does not count";
  EXPECT_EQ(Transfers({4097, 4098}, 4096), (std::vector<int64_t>{4097, 4098}));
}

TEST_F(InputTransferTest, R122_ZeroSwitchesFusingOffForEmptyInputsToo) {
  EXPECT_EQ(Transfers({64, 0, 32}, 0), (std::vector<int64_t>{64, 0, 32}));
  EXPECT_EQ(Transfers({64, 0, 32}, 64), (std::vector<int64_t>{96}));
}

TEST_F(InputTransferTest, R123_TenInputsOfTheDocumentsExample) {
  const std::vector<int64_t> sizes = {
      100 * kKilobyte, 101 * kKilobyte, 50 * kKilobyte,  200 * kKilobyte, 100 * kKilobyte,
      300 * kKilobyte, 50 * kKilobyte,  150 * kKilobyte, 110 * kKilobyte, 120 * kKilobyte};
  const std::vector<int64_t> fused = Transfers(sizes, 100 * kKilobyte);
  ASSERT_EQ(fused.size(), 7U);
  EXPECT_EQ(fused[0], 300 * kKilobyte);
  EXPECT_EQ((std::vector<int64_t>(fused.begin() + 1, fused.end())),
            (std::vector<int64_t>{101 * kKilobyte, 200 * kKilobyte, 300 * kKilobyte,
                                  150 * kKilobyte, 110 * kKilobyte, 120 * kKilobyte}));
  EXPECT_EQ(Transfers(sizes, 0), sizes);
}

TEST_F(InputTransferTest, StagingIsNotOverwrittenWhileTheDeviceMayReadIt) {
  InputTransfer transfer(device_, kFirst, stream_, 4096);
  const std::vector<int64_t> sizes = {100, 200};
  ASSERT_TRUE(transfer.Prepare(SizesOf(sizes)).ok());
  ASSERT_TRUE(transfer.Send(InputsOf(sizes)).ok());
  EXPECT_EQ(device_.PendingWork(stream_), 1);
  ASSERT_TRUE(transfer.Send(InputsOf(sizes)).ok());
  EXPECT_EQ(device_.PendingWork(stream_), 1) << "the first was waited for";
}

TEST_F(InputTransferTest, TheSameSizesTakeNoMemoryAgainAndOthersGiveTheOldBack) {
  {
    InputTransfer transfer(device_, kFirst, stream_, 4096);
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{100, 9000}, {100, 9000}, {7}}) {
      ASSERT_TRUE(transfer.Prepare(SizesOf(sizes)).ok());
      ASSERT_TRUE(transfer.Send(InputsOf(sizes)).ok());
      EXPECT_EQ(device_.outstanding().plain_blocks, 1);
    }
    EXPECT_EQ(device_.statistics().count(DeviceCall::kAllocatePlain), 2);
    EXPECT_EQ(transfer.device_bytes(), Bytes(7));
  }
  EXPECT_EQ(device_.outstanding().plain_blocks, 0);
}

TEST_F(InputTransferTest, InputsOfOtherSizesThanPreparedAreRefused) {
  InputTransfer transfer(device_, kFirst, stream_, 4096);
  ASSERT_TRUE(transfer.Prepare(SizesOf({100, 200})).ok());
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{100}, {100, 201}, {100, 200, 1}}) {
    const Status sent = transfer.Send(InputsOf(sizes));
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(sent.error().code, "run.transfer");
  }
  EXPECT_EQ(device_.statistics().count(DeviceCall::kCopy), 0);
}

TEST_F(InputTransferTest, EveryCallMayFailAndNothingIsLeftBehind) {
  const std::vector<int64_t> sizes = {100, 9000, 200};
  int failures = 0;
  for (int64_t call = 1; call <= 6; ++call) {
    {
      InputTransfer transfer(device_, kFirst, stream_, 4096);
      device_.Fail({.first = call});
      Status done = transfer.Prepare(SizesOf(sizes));
      if (done.ok()) done = transfer.Send(InputsOf(sizes));
      if (done.ok()) done = transfer.Send(InputsOf(sizes));
      failures += done.ok() ? 0 : 1;
      device_.ClearFailures();
    }
    EXPECT_EQ(device_.outstanding().plain_blocks, 0) << call;
  }
  EXPECT_GE(failures, 5);
}

// On a device with real bytes what arrives is what was sent.
TEST(InputTransferOnCpuTest, WhatArrivesIsWhatWasSent) {
  const auto made = device::MakeDevice("cpu");
  ASSERT_TRUE(made.ok());
  device::Device& device = **made;
  const device::StreamId stream = *device.CreateStream(kFirst);
  {
    InputTransfer transfer(device, kFirst, stream, 100);
    std::vector<std::vector<uint8_t>> rooms = {
        std::vector<uint8_t>(100), std::vector<uint8_t>(33), std::vector<uint8_t>(5000), {}};
    std::vector<HostInput> inputs;
    std::vector<Bytes> sizes;
    for (auto& room : rooms) {
      std::iota(room.begin(), room.end(), static_cast<uint8_t>(room.size()));
      sizes.emplace_back(static_cast<int64_t>(room.size()));
      inputs.push_back({room.data(), sizes.back()});
    }
    ASSERT_TRUE(transfer.Prepare(sizes).ok());
    ASSERT_TRUE(transfer.Send(inputs).ok());
    ASSERT_TRUE(device.SynchronizeStream(kFirst, stream).ok());
    for (size_t i = 0; i < rooms.size(); ++i) {
      const auto* arrived = reinterpret_cast<const uint8_t*>(transfer.addresses()[i]);
      EXPECT_TRUE(std::equal(rooms[i].begin(), rooms[i].end(), arrived)) << i;
      EXPECT_EQ(transfer.addresses()[i] % 32, 0U);
    }
  }
  EXPECT_TRUE(device.DestroyStream(kFirst, stream).ok());
}

}  // namespace
}  // namespace plimsoll::engine
