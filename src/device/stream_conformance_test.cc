// The rules of streams, events, copies and device ids, for every backend.
#include <algorithm>
#include <atomic>
#include <thread>
#include <type_traits>

#include "base/call_in_thread_for_tests.h"
#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace stream_conformance_test {

using enum DeviceCall;

class StreamConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, StreamConformance, testing::ValuesIn(AllBackends()),
                         BackendName);

// A call without a device, or with a bare number for one, must not compile.
template <typename D>
concept NamesNoDevice = requires(D& device) {
  device.CreateStream();
}
|| requires(D& device) { device.CreateStream(0); }
|| requires(D& device, Bytes size) { device.memory().AllocatePlain(size, MemoryType::kDevice); }
|| requires(D& device) { device.SynchronizeDevice(); }
|| requires(D& device) { device.memory().Info(); };
static_assert(!NamesNoDevice<Device> && !NamesNoDevice<CpuDevice> && !NamesNoDevice<CudaDevice> &&
              !NamesNoDevice<FakeDevice>);
static_assert(!std::is_convertible_v<int, DeviceId>);

TEST_P(StreamConformance, R75_NoCallHasADefaultDevice) {
  const World world = MakeWorld(*device_, kFirst);
  for (const PreparedCall& prepared : EveryCall(*device_, world, unit_)) {
    for (const DeviceId none : {DeviceId{}, kNoDevice, DeviceId{1 << 30}}) {
      EXPECT_TRUE(RefusedOrUnable(properties_, prepared.make(none), prepared.call)) << none.ordinal;
    }
  }
}

TEST_P(StreamConformance, R75_TheCurrentDeviceIsFetchedAndPassedOn) {
  ASSERT_TRUE(device_->SetCurrent(kSecond).ok());
  const DeviceId current = device_->Current();
  EXPECT_EQ(current, kSecond);
  EXPECT_TRUE(device_->memory().CreateChunk(current, unit_, {}).ok());
  EXPECT_EQ(Free(kSecond), kCapacity - unit_);
  EXPECT_TRUE(Refused(device_->SetCurrent(kNoDevice), kSetCurrent));
  EXPECT_EQ(device_->Current(), kSecond);
}

TEST_P(StreamConformance, EveryCallWorksOnALegalWorld) {
  for (const DeviceCall call : AllDeviceCalls()) {
    std::unique_ptr<Device> fresh = GetParam().make(true);
    const World world = MakeWorld(*fresh, kFirst);
    const std::vector<PreparedCall> calls = EveryCall(*fresh, world, unit_);
    const PreparedCall& prepared = calls[static_cast<size_t>(call)];
    ASSERT_EQ(prepared.call, call);
    const Status status = prepared.make(kFirst);
    if (IsAbleTo(properties_, call)) {
      EXPECT_TRUE(status.ok()) << status.error().Text();
    } else {
      EXPECT_TRUE(Refused(status, call, ErrorKind::kUnsupported));
    }
    EXPECT_TRUE(fresh->SynchronizeDevice(kFirst).ok());
  }
}

TEST_P(StreamConformance, StreamsAndEventsOfAnotherDeviceAreRefused) {
  const World world = MakeWorld(*device_, kFirst);
  for (const PreparedCall& prepared : EveryCall(*device_, world, unit_)) {
    switch (prepared.call) {
      case kReserveAddress:
      case kCreateChunk:
      case kAllocatePlain:
      case kRegisterHost:
      case kInfo:
      case kSetCurrent:
      case kBindThread:
      case kCreateStream:
      case kSynchronizeDevice:
        break;
      default:
        EXPECT_TRUE(RefusedOrUnable(properties_, prepared.make(kSecond), prepared.call));
    }
  }
}

TEST_P(StreamConformance, WorkRunsInOrder) {
  const StreamId stream = Stream();
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&order, i] { order.push_back(i); }).ok());
  }
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  ASSERT_EQ(order.size(), 200u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(StreamConformance, SynchronizeDeviceWaitsForAllItsStreams) {
  constexpr size_t kStreams = 4;
  std::vector<StreamId> streams;
  for (size_t i = 0; i < kStreams; ++i) streams.push_back(Stream(kSecond));
  for (size_t held = 0; held < kStreams; ++held) {
    Gate gate;
    std::atomic<int> done = 0;
    ASSERT_TRUE(device_->LaunchHost(kSecond, streams[held], gate.Work()).ok());
    for (const StreamId stream : streams) {
      ASSERT_TRUE(device_->LaunchHost(kSecond, stream, [&done] { ++done; }).ok());
    }
    Status status;
    CallInThread wait([&] { status = device_->SynchronizeDevice(kSecond); });
    EXPECT_TRUE(wait.Waits()) << "work of stream " << held << " is held";
    gate.Open();
    wait.Join();
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(done, 4);
  }
}

TEST_P(StreamConformance, SynchronizeDeviceDoesNotWaitForOtherDevices) {
  if (GetParam().one_card) GTEST_SKIP() << "there is one card";
  const StreamId elsewhere = Stream(kFirst);
  const StreamId own = Stream(kSecond);
  Gate gate;
  bool done = false;
  ASSERT_TRUE(device_->LaunchHost(kFirst, elsewhere, gate.Work()).ok());
  ASSERT_TRUE(device_->LaunchHost(kSecond, own, [&done] { done = true; }).ok());
  ASSERT_TRUE(device_->SynchronizeDevice(kSecond).ok());
  EXPECT_TRUE(done);
  gate.Open();
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, elsewhere).ok());
}

TEST_P(StreamConformance, SynchronizeStreamWaitsForItsStreamAlone) {
  const StreamId held = Stream();
  const StreamId free = Stream();
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, held, gate.Work()).ok());
  // Work of the device: callbacks of several streams may share a thread.
  ASSERT_TRUE(device_->Fill(kFirst, free, Plain(KiB(4)), 1, KiB(4)).ok());
  const auto done = device_->RecordEvent(kFirst, free);
  ASSERT_TRUE(done.ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, free).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *done).value());
  Status status;
  CallInThread wait([&] { status = device_->SynchronizeStream(kFirst, held); });
  EXPECT_TRUE(wait.Waits());
  gate.Open();
  wait.Join();
  EXPECT_TRUE(status.ok());
}

TEST_P(StreamConformance, AnEventIsReachedWhenTheWorkBeforeItIsDone) {
  const StreamId stream = Stream();
  const auto at_once = device_->RecordEvent(kFirst, stream);
  ASSERT_TRUE(at_once.ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *at_once).value());
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  const auto behind = device_->RecordEvent(kFirst, stream);
  ASSERT_TRUE(behind.ok());
  EXPECT_FALSE(device_->EventReached(kFirst, *behind).value());
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *behind).value());
}

TEST_P(StreamConformance, AStreamWaitsForAnEventEvenOfAnotherDevice) {
  const StreamId writer = Stream(kFirst);
  const StreamId reader = Stream(kSecond);
  Gate gate;
  std::atomic<bool> written = false;
  bool seen = false;
  ASSERT_TRUE(device_->LaunchHost(kFirst, writer, gate.Work()).ok());
  ASSERT_TRUE(device_->LaunchHost(kFirst, writer, [&] { written = true; }).ok());
  const auto event = device_->RecordEvent(kFirst, writer);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->WaitEvent(kSecond, reader, *event).ok());
  ASSERT_TRUE(device_->DestroyEvent(kFirst, *event).ok());
  ASSERT_TRUE(device_->LaunchHost(kSecond, reader, [&] { seen = written; }).ok());
  Status status;
  CallInThread wait([&] { status = device_->SynchronizeStream(kSecond, reader); });
  EXPECT_TRUE(wait.Waits());
  gate.Open();
  wait.Join();
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(seen);
}

TEST_P(StreamConformance, AWaitIsForTheWorkBeforeTheEventAndNotBehindIt) {
  const StreamId writer = Stream();
  const StreamId reader = Stream();
  Gate gate;
  const auto event = device_->RecordEvent(kFirst, writer);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->LaunchHost(kFirst, writer, gate.Work()).ok());
  ASSERT_TRUE(device_->WaitEvent(kFirst, reader, *event).ok());
  ASSERT_TRUE(device_->Fill(kFirst, reader, Plain(KiB(4)), 1, KiB(4)).ok());
  const auto ran = device_->RecordEvent(kFirst, reader);
  ASSERT_TRUE(ran.ok());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, reader).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *ran).value());
  gate.Open();
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, writer).ok());
}

TEST_P(StreamConformance, EventsAreDestroyedOnceAndOutliveTheirStream) {
  const StreamId stream = Stream();
  const auto event = device_->RecordEvent(kFirst, stream);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->DestroyStream(kFirst, stream).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *event).value());
  EXPECT_TRUE(device_->DestroyEvent(kFirst, *event).ok());
  EXPECT_TRUE(Refused(device_->DestroyEvent(kFirst, *event), kDestroyEvent));
  EXPECT_TRUE(Refused(device_->EventReached(kFirst, *event).status(), kEventReached));
  EXPECT_TRUE(Refused(device_->WaitEvent(kFirst, Stream(), *event), kWaitEvent));
  EXPECT_TRUE(Refused(device_->EventReached(kFirst, EventId()).status(), kEventReached));
}

TEST_P(StreamConformance, AStreamIsDestroyedOnceAndNotWithPendingWork) {
  const StreamId stream = Stream();
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, stream), kDestroyStream));
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(device_->DestroyStream(kFirst, stream).ok());
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, stream), kDestroyStream));
  EXPECT_TRUE(Refused(device_->SynchronizeStream(kFirst, stream), kSynchronizeStream));
  EXPECT_TRUE(Refused(device_->LaunchHost(kFirst, stream, [] {}), kLaunchHost));
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, StreamId()), kDestroyStream));
  EXPECT_NE(Stream(), stream);
}

TEST_P(StreamConformance, WorkOfNothingIsRefused) {
  EXPECT_TRUE(Refused(device_->LaunchHost(kFirst, Stream(), nullptr), kLaunchHost));
  EXPECT_TRUE(Refused(device_->Enqueue(kFirst, Stream(), nullptr), kEnqueue));
}

TEST_P(StreamConformance, FillTouchesOnlyAccessibleMemoryOfItsDevice) {
  const AddressRange range = Reserve(4);
  ASSERT_TRUE(memory_.Map(kFirst, range.base, Create(2)).ok());
  ASSERT_TRUE(memory_.SetAccess(kFirst, range.base, unit_ * 2).ok());
  const auto block = memory_.AllocatePlain(kFirst, Bytes(1000), MemoryType::kDevice);
  ASSERT_TRUE(block.ok());
  const AddressRange foreign = Mapped(1, kSecond);
  char host[16];
  const StreamId stream = Stream();
  const auto fill = [&](Address at, Bytes size) {
    return device_->Fill(kFirst, stream, at, 1, size);
  };
  EXPECT_TRUE(fill(range.base + 5, unit_).ok());
  EXPECT_TRUE(fill(range.base, unit_ * 2).ok());
  EXPECT_TRUE(fill(*block, Bytes(1000)).ok());
  EXPECT_TRUE(fill(range.base, Bytes(0)).ok());
  EXPECT_TRUE(fill(0, Bytes(0)).ok());
  EXPECT_TRUE(Refused(fill(range.base, unit_ * 2 + Bytes(1)), kFill));
  EXPECT_TRUE(Refused(fill(range.base + Units(2), Bytes(1)), kFill));
  EXPECT_TRUE(Refused(fill(range.base, Bytes(-1)), kFill));
  EXPECT_TRUE(Refused(fill(range.base, kLargest), kFill));
  EXPECT_TRUE(Refused(fill(*block, Bytes(1001)), kFill));
  EXPECT_TRUE(Refused(fill(*block + 999, Bytes(2)), kFill));
  EXPECT_TRUE(Refused(fill(0, Bytes(1)), kFill));
  EXPECT_TRUE(Refused(fill(~Address{0}, Bytes(2)), kFill));
  EXPECT_TRUE(Refused(fill(foreign.base, Bytes(1)), kFill));
  EXPECT_TRUE(Refused(fill(reinterpret_cast<Address>(host), Bytes(1)), kFill));
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
}

TEST_P(StreamConformance, CopyReachesTheHostAndOtherDevicesButNothingUnmapped) {
  const AddressRange range = Mapped(1);
  const AddressRange hole = Reserve(1);
  const AddressRange foreign = Mapped(1, kSecond);
  std::vector<char> host(static_cast<size_t>(KiB(4).value()));
  const auto outside = reinterpret_cast<Address>(host.data());
  const StreamId stream = Stream();
  const auto copy = [&](Address to, Address from, Bytes size) {
    return device_->Copy(kFirst, stream, to, from, size);
  };
  EXPECT_TRUE(copy(range.base, outside, KiB(4)).ok());
  EXPECT_TRUE(copy(outside, range.base, KiB(4)).ok());
  EXPECT_TRUE(copy(foreign.base, range.base, KiB(4)).ok());
  EXPECT_TRUE(copy(0, 0, Bytes(0)).ok());
  EXPECT_TRUE(Refused(copy(hole.base, range.base, Bytes(1)), kCopy));
  EXPECT_TRUE(Refused(copy(range.base, hole.base, Bytes(1)), kCopy));
  EXPECT_TRUE(Refused(copy(range.base, 0, Bytes(1)), kCopy));
  EXPECT_TRUE(Refused(copy(range.base, outside, unit_ + Bytes(1)), kCopy));
  EXPECT_TRUE(Refused(copy(range.base, outside, Bytes(-1)), kCopy));
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
}

TEST_P(StreamConformance, WorkThatReachesMemoryWithoutAccessIsRefusedWhole) {
  const World world = MakeWorld(*device_, kFirst);  // the second chunk has no access
  const AddressRange next = Mapped(2);
  const Address plain_end = world.plain + 1000;
  const auto copy = [&](Address to, Address from, Bytes size) {
    return device_->Copy(kFirst, world.stream, to, from, size);
  };
  EXPECT_TRUE(copy(next.base, next.base + Units(1), unit_).ok());
  EXPECT_TRUE(device_->Fill(kFirst, world.stream, next.base, 1, unit_ * 2).ok());
  EXPECT_TRUE(
      Refused(device_->Fill(kFirst, world.stream, world.range.base, 1, unit_ + Bytes(1)), kFill));
  EXPECT_TRUE(Refused(copy(next.base, world.range.base, unit_ * 2), kCopy));
  EXPECT_TRUE(Refused(copy(plain_end - 1, next.base, Bytes(2)), kCopy));
  EXPECT_TRUE(copy(plain_end - 1, next.base, Bytes(1)).ok());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, world.stream).ok());
}

TEST_P(StreamConformance, AnEventTellsOfItsOwnStreamAlone) {
  const StreamId held = Stream();
  const StreamId free = Stream();
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, held, gate.Work()).ok());
  const auto behind = device_->RecordEvent(kFirst, held);
  const auto parallel = device_->RecordEvent(kFirst, free);
  ASSERT_TRUE(behind.ok() && parallel.ok());
  EXPECT_NE(*behind, *parallel);
  EXPECT_TRUE(device_->EventReached(kFirst, *parallel).value());
  EXPECT_FALSE(device_->EventReached(kFirst, *behind).value());
  ASSERT_TRUE(device_->DestroyEvent(kFirst, *parallel).ok());
  EXPECT_FALSE(device_->EventReached(kFirst, *behind).value());
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, held).ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *behind).value());
}

TEST_P(StreamConformance, EightThreadsShareADevice) {
  std::atomic<int> failures = 0;
  const auto check = [&failures](bool ok) { failures += ok ? 0 : 1; };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, id = t % 2 == 0 ? kFirst : kSecond] {
      const auto stream = device_->CreateStream(id);
      check(stream.ok());
      if (!stream.ok()) return;
      for (int i = 0; i < 20; ++i) {
        const auto range = memory_.ReserveAddress(id, unit_ * 2, Bytes(0));
        const auto chunk = memory_.CreateChunk(id, unit_, {.mapped_twice = i % 2 == 0});
        check(range.ok() && chunk.ok());
        if (!range.ok() || !chunk.ok()) return;
        check(memory_.Map(id, range->base, *chunk).ok());
        check(memory_.SetAccess(id, range->base, unit_).ok());
        check(device_->Fill(id, *stream, range->base, 1, KiB(4)).ok());
        check(device_->RecordEvent(id, *stream).ok());
        check(device_->SynchronizeStream(id, *stream).ok());
        check(memory_.Unmap(id, range->base, unit_).ok());
        check(memory_.DestroyChunk(id, *chunk).ok());
        check(memory_.ReleaseAddress(id, *range).ok());
        check(memory_.Info(id).ok());
      }
      check(device_->DestroyStream(id, *stream).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Free(kFirst), kCapacity);
  EXPECT_EQ(Free(kSecond), kCapacity);
}

}  // namespace stream_conformance_test
}  // namespace plimsoll::device
