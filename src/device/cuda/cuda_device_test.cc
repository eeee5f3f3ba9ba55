// Streams, events, contexts and figures of the cuda device beyond the conformance suite, over the
// stand-in of the driver.
#include <thread>

#include "base/call_in_thread_for_tests.h"
#include "device/cuda/cuda_device_fixture.h"

namespace plimsoll::device {
namespace cuda_device_test {

using enum DeviceCall;

TEST_F(CudaDeviceTest, PropertiesNameTheCardAndTheDriver) {
  const DeviceProperties properties = device_->Properties(kFirst);
  EXPECT_EQ(properties.name, "Stand-in card");
  EXPECT_EQ(properties.driver, "CUDA 13.0");
  EXPECT_FALSE(properties.host_reachable);
  EXPECT_TRUE(properties.native_streams && properties.records && properties.timed_events);
  EXPECT_EQ(device_->Count(), 2);
  EXPECT_EQ(device_->memory().Granularity(kFirst), MiB(2));
}

TEST_F(CudaDeviceTest, ACardIsTakenHoldOfByItsFirstCall) {
  EXPECT_EQ(standin_.outstanding("contexts"), 0);
  ASSERT_TRUE(device_->memory().Info(kSecond).ok());
  EXPECT_EQ(standin_.outstanding("contexts"), 1);
  EXPECT_EQ(standin_.calls("cuDevicePrimaryCtxRetain"), 1);
  device_.reset();
  EXPECT_EQ(standin_.outstanding("contexts"), 0);
}

TEST_F(CudaDeviceTest, TheContextOfTheThreadStaysAsItWas) {
  cuda::Context own = nullptr;
  cuda::Context current = nullptr;
  ASSERT_EQ(Driver("cuDevicePrimaryCtxRetain", &own, cuda::Ordinal{1}), cuda::kSuccess);
  ASSERT_EQ(Driver("cuCtxPushCurrent_v2", own), cuda::kSuccess);
  const World world = MakeWorld(*device_, kFirst);
  ASSERT_TRUE(device_->UnbindThread(kFirst).ok());
  for (const PreparedCall& prepared : EveryCall(*device_, world, MiB(2))) {
    if (prepared.call == kBindThread || prepared.call == kUnbindThread) continue;
    (void)prepared.make(kFirst).ok();
    ASSERT_EQ(Driver("cuCtxGetCurrent", &current), cuda::kSuccess);
    EXPECT_EQ(current, own) << DeviceCallName(prepared.call);
  }
  {
    ASSERT_TRUE(device_->BindThread(kFirst).ok());
    ASSERT_EQ(Driver("cuCtxGetCurrent", &current), cuda::kSuccess);
    EXPECT_NE(current, own) << "libraries need the device bound";
    ASSERT_TRUE(device_->UnbindThread(kFirst).ok());
  }
  cuda::Context popped = nullptr;
  ASSERT_EQ(Driver("cuCtxPopCurrent_v2", &popped), cuda::kSuccess);
  EXPECT_EQ(popped, own);
}

TEST_F(CudaDeviceTest, AnAdoptedStreamKeepsItsIdAndItsOwner) {
  ASSERT_TRUE(device_->BindThread(kFirst).ok());
  cuda::Stream handle = nullptr;
  ASSERT_EQ(Driver("cuStreamCreate", &handle, 0u), cuda::kSuccess);
  const auto stream = device_->AdoptStream(kFirst, handle);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(device_->AdoptStream(kFirst, handle).value(), *stream);
  const auto standard = device_->AdoptStream(kFirst, nullptr);
  const auto elsewhere = device_->AdoptStream(kSecond, nullptr);
  ASSERT_TRUE(standard.ok() && elsewhere.ok());
  EXPECT_EQ(device_->AdoptStream(kFirst, nullptr).value(), *standard);
  EXPECT_NE(*standard, *elsewhere) << "each card has a default stream of its own";
  EXPECT_FALSE(device_->AdoptStream(kNoDevice, nullptr).ok());
  const Address block = Plain(KiB(4));
  for (const StreamId on : {*stream, *standard}) {
    char seen = 0;
    void* native = &seen;
    ASSERT_TRUE(device_->Fill(kFirst, on, block, 5, KiB(4)).ok());
    ASSERT_TRUE(device_->Copy(kFirst, on, HostAddress(&seen), block + 4095, Bytes(1)).ok());
    const auto event = device_->RecordEvent(kFirst, on);
    ASSERT_TRUE(event.ok());
    ASSERT_TRUE(device_->SynchronizeEvent(kFirst, *event).ok());
    EXPECT_EQ(seen, 5);
    const auto work = [&](const StreamContext& context) { native = context.native_stream; };
    ASSERT_TRUE(device_->Enqueue(kFirst, on, work).ok());
    EXPECT_EQ(native, on == *stream ? handle : nullptr);
    EXPECT_TRUE(device_->DestroyStream(kFirst, on).ok());
    EXPECT_FALSE(device_->SynchronizeStream(kFirst, on).ok()) << "it was let go of";
  }
  EXPECT_NE(device_->AdoptStream(kFirst, handle).value(), *stream) << "ids are never used twice";
  EXPECT_EQ(standin_.calls("cuStreamDestroy_v2"), 0);
  ASSERT_EQ(Driver("cuStreamDestroy_v2", handle), cuda::kSuccess);
  ASSERT_TRUE(device_->UnbindThread(kFirst).ok());
}

TEST_F(CudaDeviceTest, AnAdoptedStreamIsNotLetGoOfWithPendingCopies) {
  const StreamId stream = device_->AdoptStream(kFirst, nullptr).value();
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  ASSERT_TRUE(device_->Fill(kFirst, stream, Plain(KiB(4)), 5, KiB(4)).ok());
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, stream), kDestroyStream));
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(device_->DestroyStream(kFirst, stream).ok());
}

// PyTorch captures in the mode that forbids every thread what is not safe beside it.
TEST_F(CudaDeviceTest, ACaptureByOthersIsNeitherBrokenNorInTheWay) {
  ASSERT_TRUE(device_->BindThread(kFirst).ok());
  const StreamId own = Stream();
  const auto event = device_->RecordEvent(kFirst, own);
  const Address old = Plain(KiB(4));
  cuda::Stream handle = nullptr;
  ASSERT_EQ(Driver("cuStreamCreate", &handle, 0u), cuda::kSuccess);
  const StreamId adopted = device_->AdoptStream(kFirst, handle).value();
  ASSERT_EQ(Driver("cuStreamBeginCapture_v2", handle, 0), cuda::kSuccess);
  DeviceMemory& memory = device_->memory();
  const auto range = memory.ReserveAddress(kFirst, MiB(2), Bytes(0));
  const auto chunk = memory.CreateChunk(kFirst, MiB(2), {});
  ASSERT_TRUE(range.ok() && chunk.ok());
  EXPECT_TRUE(memory.Map(kFirst, range->base, *chunk).ok());
  EXPECT_TRUE(memory.SetAccess(kFirst, range->base, MiB(2)).ok());
  EXPECT_TRUE(memory.AllocatePlain(kFirst, KiB(4), MemoryType::kDevice).ok());
  EXPECT_TRUE(memory.FreePlain(kFirst, old).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *event).value());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, own).ok());
  EXPECT_TRUE(Refused(device_->RecordEvent(kFirst, adopted).status(), kRecordEvent));
  EXPECT_TRUE(Refused(device_->RecordTimedEvent(kFirst, adopted).status(), kRecordTimedEvent));
  cuda::Graph graph = nullptr;
  EXPECT_EQ(Driver("cuStreamEndCapture", handle, &graph), cuda::kSuccess) << "it was broken";
  EXPECT_TRUE(device_->RecordEvent(kFirst, adopted).ok());
  ASSERT_EQ(Driver("cuGraphDestroy", graph), cuda::kSuccess);
  ASSERT_TRUE(device_->SynchronizeDevice(kFirst).ok());
  ASSERT_TRUE(device_->DestroyStream(kFirst, adopted).ok());
  ASSERT_EQ(Driver("cuStreamDestroy_v2", handle), cuda::kSuccess);
  ASSERT_TRUE(device_->UnbindThread(kFirst).ok());
}

TEST_F(CudaDeviceTest, EventsAreUsedAgain) {
  const StreamId stream = Stream();
  for (int i = 0; i < 100; ++i) {
    const auto event = device_->RecordEvent(kFirst, stream);
    const auto timed = device_->RecordTimedEvent(kFirst, stream);
    ASSERT_TRUE(event.ok() && timed.ok());
    ASSERT_TRUE(device_->DestroyEvent(kFirst, *event).ok());
    ASSERT_TRUE(device_->DestroyEvent(kFirst, *timed).ok());
  }
  EXPECT_EQ(standin_.calls("cuEventCreate"), 2);
}

TEST_F(CudaDeviceTest, AnEventThatIsReachedIsNotAskedForAgain) {
  const StreamId stream = Stream();
  const auto event = device_->RecordEvent(kFirst, stream);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->SynchronizeEvent(kFirst, *event).ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(device_->EventReached(kFirst, *event).value());
  EXPECT_EQ(standin_.calls("cuEventQuery"), 0);
}

TEST_F(CudaDeviceTest, TheDriverIsAskedWhatIsDoneWhereOnlyItKnows) {
  const Address block = Plain(KiB(64));
  const StreamId stream = Stream();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(device_->Fill(kFirst, stream, block, 1, KiB(64)).ok());
  }
  const auto work = [](const StreamContext& context) {
    ASSERT_EQ(Driver("cuStreamSynchronize", context.native_stream), cuda::kSuccess);
  };
  ASSERT_TRUE(device_->Enqueue(kFirst, stream, work).ok());
  EXPECT_TRUE(device_->memory().FreePlain(kFirst, block).ok()) << "its owner has waited";
  EXPECT_LT(standin_.calls("cuEventRecord"), 50);
  EXPECT_LT(standin_.calls("cuStreamQuery"), 50);
}

TEST_F(CudaDeviceTest, WorkBeforeAMarkIsKnownToBeDoneWhileMoreIsPending) {
  const Address block = Plain(KiB(4));
  const StreamId stream = Stream();
  const StreamId other = Stream();
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(device_->Fill(kFirst, stream, block, 1, KiB(4)).ok());
  }
  Gate gate;
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, other).ok());
  const auto work = [](const StreamContext& context) {
    ASSERT_EQ(Driver("cuStreamSynchronize", context.native_stream), cuda::kSuccess);
  };
  ASSERT_TRUE(device_->Enqueue(kFirst, stream, work).ok());
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  const auto held = device_->memory().AllocatePlain(kFirst, KiB(4), MemoryType::kDevice);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(device_->Fill(kFirst, stream, *held, 1, KiB(4)).ok());
  Status freed;
  CallInThread free([&] { freed = device_->memory().FreePlain(kFirst, block); });
  EXPECT_TRUE(free.Waits()) << "the driver waits for the card, though the block is idle";
  EXPECT_TRUE(Refused(device_->memory().FreePlain(kFirst, *held), kFreePlain))
      << "and no lock is held meanwhile";
  gate.Open();
  free.Join();
  EXPECT_TRUE(freed.ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
}

TEST_F(CudaDeviceTest, WhatAnotherStreamWaitedForIsDoneWithIt) {
  const Address block = Plain(KiB(4), kSecond);
  const StreamId writer = Stream(kSecond);
  const StreamId reader = Stream(kFirst);
  Gate before;
  ASSERT_TRUE(device_->LaunchHost(kSecond, writer, before.Work()).ok());
  ASSERT_TRUE(device_->Fill(kSecond, writer, block, 1, KiB(4)).ok());
  const auto event = device_->RecordEvent(kSecond, writer);
  Gate behind;
  ASSERT_TRUE(device_->LaunchHost(kSecond, writer, behind.Work()).ok());
  ASSERT_TRUE(device_->WaitEvent(kFirst, reader, *event).ok());
  EXPECT_TRUE(Refused(device_->memory().FreePlain(kSecond, block), kFreePlain));
  before.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, reader).ok());
  Status freed;
  CallInThread free([&] { freed = device_->memory().FreePlain(kSecond, block); });
  EXPECT_TRUE(free.Waits()) << "for the card alone";
  behind.Open();
  free.Join();
  EXPECT_TRUE(freed.ok());
  ASSERT_TRUE(device_->SynchronizeStream(kSecond, writer).ok());
}

TEST_F(CudaDeviceTest, AHostCallbackMayNotCallTheDevice) {
  const StreamId stream = Stream();
  Status refused;
  const auto call = [&] { refused = device_->memory().Info(kFirst).status(); };
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, call).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(Refused(refused, kInfo));
  EXPECT_TRUE(device_->memory().Info(kFirst).ok());
}

TEST_F(CudaDeviceTest, CallsOfTheDriverAreCountedAndTimed) {
  ASSERT_TRUE(device_->memory().CreateChunk(kFirst, MiB(2), {}).ok());
  ASSERT_TRUE(device_->memory().CreateChunk(kFirst, MiB(4), {}).ok());
  int64_t created = 0;
  for (const CudaCallTime& time : device_->CallTimes()) {
    EXPECT_GT(time.calls, 0) << time.name;
    if (time.name == "cuMemCreate") created = time.calls;
  }
  EXPECT_EQ(created, 2);
  const StreamId stream = Stream();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  ASSERT_TRUE(device_->SynchronizeDevice(kFirst).ok());
  ASSERT_TRUE(device_->SynchronizeEvent(kFirst, *device_->RecordEvent(kFirst, stream)).ok());
  std::chrono::nanoseconds without_waits{0};
  std::chrono::nanoseconds waits{0};
  for (const CudaCallTime& time : device_->CallTimes()) {
    const bool waited = time.name == "cuInit" || time.name == "cuDevicePrimaryCtxRetain" ||
                        time.name.ends_with("Synchronize");
    (waited ? waits : without_waits) += time.time;
  }
  EXPECT_GT(waits, std::chrono::nanoseconds(0));
  EXPECT_EQ(device_->DriverTime(), without_waits);
}

}  // namespace cuda_device_test
}  // namespace plimsoll::device
