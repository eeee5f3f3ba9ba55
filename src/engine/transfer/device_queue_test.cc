#include "engine/transfer/device_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "plimsoll/device/far_device.h"
#include "plimsoll/device/watched_device.h"

namespace plimsoll::engine {
namespace device_queue_test {

using device::DeviceId;
using kernels::KernelCall;

constexpr DeviceId kDevice{0};

Error Bad(std::string why) {
  return Error{ErrorKind::kRunFailed, "kernel.input", "cannot run", "a node", std::move(why), ""};
}

// A far device with four bytes of its own.
class DeviceQueueTest : public testing::Test {
 protected:
  DeviceQueueTest()
      : watched_(std::make_shared<device::WatchedDevice>(
            std::make_shared<device::FarDevice>(device::CpuOptions{.granularity = KiB(64)}))),
        side_(DeviceSide::Of(watched_, kDevice)),
        stream_(*watched_->CreateStream(kDevice)),
        memory_(reinterpret_cast<void*>(
            *watched_->memory().AllocatePlain(kDevice, Bytes(4), device::MemoryType::kDevice))) {}
  ~DeviceQueueTest() override {
    EXPECT_TRUE(
        watched_->memory().FreePlain(kDevice, reinterpret_cast<device::Address>(memory_)).ok());
  }

  std::string Held(kernels::Queue& queue) {
    std::string held(4, ' ');
    EXPECT_TRUE(queue.Copy(held.data(), memory_, Bytes(4)).ok());
    EXPECT_TRUE(queue.Finish().ok());
    return held;
  }

  std::shared_ptr<device::WatchedDevice> watched_;
  DeviceSide side_;
  device::StreamId stream_;
  void* memory_;
};

TEST_F(DeviceQueueTest, TheHostCannotReachTheMemoryAndTheQueueCan) {
  EXPECT_FALSE(side_.host_reachable);
  EXPECT_DEATH(*static_cast<volatile char*>(memory_) = 1, "");
  DeviceQueue queue(side_, stream_, 1);
  ASSERT_TRUE(queue.Fill(memory_, 'a', Bytes(4)).ok());
  EXPECT_EQ(Held(queue), "aaaa");
}

TEST_F(DeviceQueueTest, KernelsCopiesAndFillsAreDoneInOrder) {
  const kernels::KernelPointer next = kernels::MakeKernel([](const KernelCall& call) {
    const auto* from = static_cast<const char*>(call.inputs[0]);
    auto* to = static_cast<char*>(call.outputs[0]);
    for (int i = 0; i < 3; ++i) to[i + 1] = static_cast<char>(from[i] + 1);
    *static_cast<char*>(call.workspace) = 'w';
  });
  DeviceQueue queue(side_, stream_, 1);
  const std::string begin = "b";
  ASSERT_TRUE(queue.Fill(memory_, 'z', Bytes(4)).ok());
  ASSERT_TRUE(queue.Copy(memory_, begin.data(), Bytes(1)).ok());
  const std::vector<const void*> inputs = {memory_};
  const std::vector<void*> outputs = {memory_};
  void* const workspace = static_cast<char*>(memory_) + 3;
  ASSERT_TRUE(
      queue.Run(*next, {.inputs = inputs, .outputs = outputs, .workspace = workspace}).ok());
  EXPECT_EQ(Held(queue), "bcdw");
}

TEST_F(DeviceQueueTest, AnErrorIsToldOnceAndWhatComesAfterItIsLeftOut) {
  int runs = 0;
  const kernels::KernelPointer fails =
      kernels::MakeKernel([](const KernelCall&) -> Status { return Bad("first"); });
  const kernels::KernelPointer counts = kernels::MakeKernel([&](const KernelCall&) { ++runs; });
  DeviceQueue queue(side_, stream_, 1);
  DeviceQueue other(side_, *watched_->CreateStream(kDevice), 1);
  ASSERT_TRUE(queue.Run(*counts, {}).ok());
  ASSERT_TRUE(queue.Run(*fails, {}).ok());
  ASSERT_TRUE(queue.Run(*counts, {}).ok());
  const Status told = queue.Finish();
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().why, "first");
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(queue.Finish().ok()) << "it was told";
  ASSERT_TRUE(queue.Run(*counts, {}).ok());
  ASSERT_TRUE(queue.Finish().ok());
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(other.Finish().ok()) << "queues of other runs know nothing of it";
}

TEST_F(DeviceQueueTest, QueuesOfOneRunShareTheirFailure) {
  int runs = 0;
  const kernels::KernelPointer fails =
      kernels::MakeKernel([](const KernelCall&) -> Status { return Bad("here"); });
  const kernels::KernelPointer counts = kernels::MakeKernel([&](const KernelCall&) { ++runs; });
  const auto failure = DeviceQueue::MakeFailure();
  const device::StreamId second = *watched_->CreateStream(kDevice);
  DeviceQueue one(side_, stream_, 1, failure);
  DeviceQueue two(side_, second, 1, failure);
  ASSERT_TRUE(one.Run(*fails, {}).ok());
  ASSERT_TRUE(watched_->SynchronizeStream(kDevice, stream_).ok());
  ASSERT_TRUE(two.Run(*counts, {}).ok());
  const Status told = two.Finish();
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().why, "here");
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(one.Finish().ok());
}

TEST_F(DeviceQueueTest, TheFirstOfSeveralErrorsIsTold) {
  std::promise<void> begun;
  std::promise<void> goes_on;
  const kernels::KernelPointer late = kernels::MakeKernel([&](const KernelCall&) -> Status {
    begun.set_value();
    goes_on.get_future().wait();
    return Bad("second");
  });
  const kernels::KernelPointer early =
      kernels::MakeKernel([](const KernelCall&) -> Status { return Bad("first"); });
  const auto failure = DeviceQueue::MakeFailure();
  const device::StreamId other = *watched_->CreateStream(kDevice);
  DeviceQueue one(side_, stream_, 1, failure);
  DeviceQueue two(side_, other, 1, failure);
  ASSERT_TRUE(one.Run(*late, {}).ok());
  begun.get_future().wait();
  ASSERT_TRUE(two.Run(*early, {}).ok());
  ASSERT_TRUE(watched_->SynchronizeStream(kDevice, other).ok());
  goes_on.set_value();
  const Status told = one.Finish();
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().why, "first");
}

TEST_F(DeviceQueueTest, FinishWaitsForKernelsEvenWhereTheDeviceRefusesTo) {
  std::promise<void> begun;
  std::atomic<bool> ran = false;
  const kernels::KernelPointer slow = kernels::MakeKernel([&](const KernelCall&) {
    begun.get_future().wait();
    ran = true;
  });
  DeviceQueue queue(side_, stream_, 1);
  ASSERT_TRUE(queue.Run(*slow, {}).ok());
  watched_->FailAfter(0, ErrorKind::kRunFailed);
  begun.set_value();
  const Status finished = queue.Finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, "device.synchronize_stream");
  EXPECT_TRUE(ran);
  watched_->FailNoMore();
}

TEST_F(DeviceQueueTest, NothingToCopyIsNoCall) {
  DeviceQueue queue(side_, stream_, 1);
  const int64_t before = watched_->total();
  EXPECT_TRUE(queue.Copy(nullptr, nullptr, Bytes(0)).ok());
  EXPECT_TRUE(queue.Fill(nullptr, 1, Bytes(0)).ok());
  EXPECT_EQ(watched_->total(), before);
}

}  // namespace device_queue_test
}  // namespace plimsoll::engine
