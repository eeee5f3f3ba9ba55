// What the cuda device does beyond the conformance suite, over the stand-in of the driver.
#include "plimsoll/device/cuda_device.h"

#include <numeric>
#include <thread>

#include "base/call_in_thread_for_tests.h"
#include "device/conformance_fixture.h"
#include "device/cuda/host_registrations.h"

namespace plimsoll::device {
namespace cuda_device_test {

using enum DeviceCall;

class CudaDeviceTest : public testing::Test {
 protected:
  static std::unique_ptr<CudaDevice> Make(CudaOptions options = {}) {
    options.driver = StandinLibrary();
    return std::move(CudaDevice::Create(options)).value();
  }
  StreamId Stream(DeviceId id = kFirst) { return device_->CreateStream(id).value(); }
  Address Plain(Bytes size, DeviceId id = kFirst) {
    return device_->memory().AllocatePlain(id, size, MemoryType::kDevice).value();
  }
  // A stream, an event or the like of the stand-in, made as its owner would.
  template <typename... Arguments>
  static cuda::Result Driver(const char* function, Arguments... arguments) {
    return Standin::Find<cuda::Result(Arguments...)>(function)(arguments...);
  }

  Standin standin_;
  std::unique_ptr<CudaDevice> device_ = Make();
};

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

TEST_F(CudaDeviceTest, EverythingIsGivenBackAtTheEnd) {
  {
    const World world = MakeWorld(*device_, kFirst);
    ASSERT_TRUE(device_->Fill(kFirst, world.stream, world.plain, 1, Bytes(100)).ok());
    ASSERT_TRUE(device_->ReplayRecording(kFirst, world.stream, world.recording).ok());
    EXPECT_GT(standin_.outstanding(nullptr), 8);
    device_.reset();
  }
  EXPECT_EQ(standin_.outstanding(nullptr), 0);
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

TEST_F(CudaDeviceTest, MemoryInformationIsAskedForByNobodyElse) {
  const World world = MakeWorld(*device_, kFirst);
  for (const PreparedCall& prepared : EveryCall(*device_, world, MiB(2))) {
    if (prepared.call != kInfo) (void)prepared.make(kFirst).ok();
  }
  EXPECT_EQ(standin_.calls("cuMemGetInfo_v2"), 0);
}

TEST_F(CudaDeviceTest, ARefusedCallDoesNotReachTheDriver) {
  const World world = MakeWorld(*device_, kFirst);
  DeviceMemory& memory = device_->memory();
  const auto made = [&] {
    int64_t sum = 0;
    for (const char* name : {"cuMemUnmap", "cuMemMap", "cuMemRelease", "cuMemFree_v2",
                             "cuMemsetD8Async", "cuMemAddressFree", "cuMemSetAccess"}) {
      sum += standin_.calls(name);
    }
    return sum;
  };
  const int64_t before = made();
  EXPECT_FALSE(memory.Unmap(kFirst, world.range.base, MiB(4) + MiB(2)).ok());
  EXPECT_FALSE(memory.Map(kFirst, world.range.base, world.idle_chunk).ok());
  EXPECT_FALSE(memory.DestroyChunk(kFirst, ChunkId(0)).ok());
  EXPECT_FALSE(memory.FreePlain(kFirst, world.plain + 1).ok());
  EXPECT_FALSE(memory.ReleaseAddress(kFirst, world.range).ok());
  EXPECT_FALSE(memory.SetAccess(kFirst, world.range.base, MiB(8)).ok());
  EXPECT_FALSE(device_->Fill(kFirst, world.stream, world.plain, 1, Bytes(1001)).ok());
  EXPECT_EQ(made(), before);
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

TEST_F(CudaDeviceTest, ACopyToPageableMemoryWaitsWithoutALock) {
  const Address block = Plain(KiB(4));
  const StreamId stream = Stream();
  std::vector<char> host(4096);
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  Status copied;
  CallInThread copy(
      [&] { copied = device_->Copy(kFirst, stream, HostAddress(host.data()), block, KiB(4)); });
  EXPECT_TRUE(copy.Waits());
  EXPECT_TRUE(device_->memory().Info(kFirst).ok());
  EXPECT_TRUE(device_->CreateStream(kFirst).ok());
  EXPECT_TRUE(Refused(device_->memory().FreePlain(kFirst, block), kFreePlain));
  gate.Open();
  copy.Join();
  EXPECT_TRUE(copied.ok());
}

TEST_F(CudaDeviceTest, CopiesAreCutWhereRegisteredMemoryBegins) {
  constexpr int64_t kPage = HostRegistrations::kPage.value();
  std::vector<char> host(static_cast<size_t>(8 * kPage));
  std::iota(host.begin(), host.end(), 0);
  const Address first = (HostAddress(host.data()) + kPage - 1) / kPage * kPage;
  DeviceMemory& memory = device_->memory();
  ASSERT_TRUE(memory.RegisterHost(kFirst, first + kPage, Bytes(kPage + 100)).ok());
  ASSERT_TRUE(memory.RegisterHost(kFirst, first + 4 * kPage, Bytes(kPage)).ok());
  const Bytes size(7 * kPage - 1);
  const Address block = Plain(size);
  const StreamId stream = Stream();
  std::vector<char> back(static_cast<size_t>(size.value()));
  ASSERT_TRUE(device_->Copy(kFirst, stream, block, first, size).ok());
  ASSERT_TRUE(device_->Copy(kFirst, stream, HostAddress(back.data()), block, size).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), reinterpret_cast<const char*>(first)));
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

TEST_F(CudaDeviceTest, AddressesAreAlignedAlsoWhereTheDriverGivesLess) {
  standin_.ignore_alignment(1);
  DeviceMemory& memory = device_->memory();
  for (int i = 0; i < 3; ++i) {
    const auto range = memory.ReserveAddress(kFirst, MiB(4), GiB(1));
    ASSERT_TRUE(range.ok());
    EXPECT_EQ(range->base % static_cast<uint64_t>(GiB(1).value()), 0u);
    const auto chunk = memory.CreateChunk(kFirst, MiB(4), {});
    ASSERT_TRUE(memory.Map(kFirst, range->base, *chunk).ok());
    ASSERT_TRUE(memory.Unmap(kFirst, range->base, MiB(4)).ok());
    const bool released = i == 0 || memory.ReleaseAddress(kFirst, *range).ok();
    EXPECT_TRUE(released);
  }
  EXPECT_EQ(standin_.outstanding("addresses"), 1);
  device_.reset();
  EXPECT_EQ(standin_.outstanding("addresses"), 0);
}

TEST_F(CudaDeviceTest, ACardWithoutVirtualMemorySaysSo) {
  standin_.set_virtual_memory(0);
  const auto device = Make();
  EXPECT_FALSE(device->Properties(kFirst).reserves_addresses);
  EXPECT_TRUE(Refused(device->memory().ReserveAddress(kFirst, MiB(2), Bytes(0)).status(),
                      kReserveAddress, ErrorKind::kUnsupported));
  EXPECT_TRUE(device->memory().AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).ok());
}

TEST_F(CudaDeviceTest, ChunksAreOfDeviceMemoryWithItsOwnPages) {
  DeviceMemory& memory = device_->memory();
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(2), {.pages = PagePolicy::kHuge2M}).ok());
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(2), {.type = MemoryType::kP2P}).ok());
  for (const ChunkOptions& options :
       {ChunkOptions{.pages = PagePolicy::kHuge1G}, ChunkOptions{.pages = PagePolicy::kSmall4K},
        ChunkOptions{.type = MemoryType::kHost}}) {
    EXPECT_TRUE(Refused(memory.CreateChunk(kFirst, MiB(2), options).status(), kCreateChunk,
                        ErrorKind::kUnsupported));
  }
}

TEST_F(CudaDeviceTest, DevicesBeyondTheCardsShareThem) {
  standin_.set_cards(1);
  const auto device = Make({.capacity = MiB(64), .devices = 3});
  ASSERT_EQ(device->Count(), 3);
  const Address block =
      device->memory().AllocatePlain(DeviceId{2}, MiB(64), MemoryType::kDevice).value();
  EXPECT_EQ(device->memory().Info(DeviceId{2})->free, Bytes(0));
  EXPECT_EQ(device->memory().Info(kFirst)->free, MiB(64)) << "capacities are their own";
  EXPECT_EQ(standin_.outstanding("contexts"), 1);
  EXPECT_TRUE(Refused(device->memory().FreePlain(kFirst, block), kFreePlain));
}

TEST_F(CudaDeviceTest, OtherBytesAreCountedWhereTheyLie) {
  const StreamId stream = Stream();
  const Address block = Plain(Bytes(103));
  const Address counter = Plain(Bytes(16));
  const auto count = [&] {
    uint64_t seen = 0;
    EXPECT_TRUE(device_->Fill(kFirst, stream, counter, 0, Bytes(16)).ok());
    EXPECT_TRUE(device_->CountOtherBytes(kFirst, stream, block, Bytes(103), 7, counter).ok());
    EXPECT_TRUE(device_->Copy(kFirst, stream, HostAddress(&seen), counter, Bytes(8)).ok());
    EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
    return seen;
  };
  ASSERT_TRUE(device_->Fill(kFirst, stream, block, 7, Bytes(103)).ok());
  EXPECT_EQ(count(), 0u);
  ASSERT_TRUE(device_->Fill(kFirst, stream, block + 17, 8, Bytes(2)).ok());
  EXPECT_EQ(count(), 1u) << "two bytes of one word";
  ASSERT_TRUE(device_->Fill(kFirst, stream, block + 101, 8, Bytes(2)).ok());
  EXPECT_EQ(count(), 3u) << "and two behind the last word";
  const auto refuse = [&](Address at, Bytes size, Address to) {
    return Refused(device_->CountOtherBytes(kFirst, stream, at, size, 7, to), kEnqueue);
  };
  EXPECT_TRUE(refuse(block, Bytes(104), counter));
  EXPECT_TRUE(refuse(block + 1, Bytes(8), counter));
  EXPECT_TRUE(refuse(block, Bytes(8), counter + 12));
  EXPECT_TRUE(refuse(block, Bytes(8), counter + 16));
  EXPECT_TRUE(device_->CountOtherBytes(kFirst, stream, block, Bytes(0), 7, counter).ok());
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

TEST_F(CudaDeviceTest, APageIsRegisteredForAsLongAsAPieceNeedsIt) {
  constexpr int64_t kPage = HostRegistrations::kPage.value();
  std::vector<char> host(static_cast<size_t>(3 * kPage));
  const Address page = (HostAddress(host.data()) + kPage - 1) / kPage * kPage;
  DeviceMemory& memory = device_->memory();
  ASSERT_TRUE(memory.RegisterHost(kFirst, page, Bytes(100)).ok());
  ASSERT_TRUE(memory.RegisterHost(kFirst, page + 100, Bytes(100)).ok());
  ASSERT_TRUE(memory.RegisterHost(kFirst, page + 200, Bytes(kPage)).ok());
  EXPECT_EQ(standin_.outstanding("registered"), 2) << "the page, and the next one";
  ASSERT_TRUE(memory.UnregisterHost(kFirst, page).ok());
  ASSERT_TRUE(memory.UnregisterHost(kFirst, page + 200).ok());
  EXPECT_EQ(standin_.outstanding("registered"), 1);
  ASSERT_TRUE(memory.UnregisterHost(kFirst, page + 100).ok());
  EXPECT_EQ(standin_.outstanding("registered"), 0);
}

TEST_F(CudaDeviceTest, ChunksForPeersAreMadeAccessibleToThem) {
  DeviceMemory& memory = device_->memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(4), Bytes(0)).value();
  const auto own = memory.CreateChunk(kFirst, MiB(2), {});
  const auto shared = memory.CreateChunk(kFirst, MiB(2), {.type = MemoryType::kP2P});
  const Address second = range.base + static_cast<uint64_t>(MiB(2).value());
  ASSERT_TRUE(memory.Map(kFirst, range.base, *own).ok());
  ASSERT_TRUE(memory.Map(kFirst, second, *shared).ok());
  ASSERT_TRUE(memory.SetAccess(kFirst, range.base, MiB(2)).ok());
  EXPECT_EQ(standin_.calls("cuDeviceCanAccessPeer"), 0);
  standin_.fail("cuDeviceCanAccessPeer", 1, 1, cuda::kUnknown);
  EXPECT_TRUE(Refused(memory.SetAccess(kFirst, second, MiB(2)), kSetAccess));
  EXPECT_TRUE(memory.SetAccess(kFirst, second, MiB(2)).ok());
  EXPECT_EQ(standin_.calls("cuDeviceCanAccessPeer"), 2);
}

}  // namespace cuda_device_test
}  // namespace plimsoll::device
