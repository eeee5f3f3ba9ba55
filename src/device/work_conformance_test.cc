// The rules of enqueued work, bound threads, waits for events, timed events and registered host
// memory, for every backend.
#include <algorithm>
#include <thread>

#include "base/call_in_thread_for_tests.h"
#include "device/conformance_fixture.h"
#include "plimsoll/base/log.h"
#include "plimsoll/device/thread_binding.h"

namespace plimsoll::device {
namespace work_conformance_test {

using enum DeviceCall;
using std::chrono::nanoseconds;

class WorkConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, WorkConformance, testing::ValuesIn(AllBackends()), BackendName);

class BytesConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, BytesConformance,
                         testing::ValuesIn(BackendsThat([](const DeviceProperties& properties) {
                           return properties.holds_bytes;
                         })),
                         BackendName);

class HostWorkConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, HostWorkConformance,
                         testing::ValuesIn(BackendsThat([](const DeviceProperties& properties) {
                           return properties.holds_bytes && !properties.native_streams;
                         })),
                         BackendName);

TEST_P(WorkConformance, EnqueuedWorkIsCalledAtOnceOrInStreamOrder) {
  const StreamId stream = Stream();
  if (properties_.native_streams) {
    bool called = false;
    const auto work = [&](const StreamContext& context) {
      called = context.native_stream != nullptr;
    };
    ASSERT_TRUE(device_->Enqueue(kFirst, stream, work).ok());
    EXPECT_TRUE(called);
    return;
  }
  std::vector<int> order;
  for (int i = 0; i < 100; i += 2) {
    const auto work = [&order, i](const StreamContext& context) {
      order.push_back(context.native_stream == nullptr ? i : -1);
    };
    ASSERT_TRUE(device_->Enqueue(kFirst, stream, work).ok());
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&order, i] { order.push_back(i + 1); }).ok());
  }
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(WorkConformance, WorkIsToldItsDeviceAndItsStream) {
  const StreamId stream = Stream(kSecond);
  const Device* device = nullptr;
  DeviceId id;
  StreamId on;
  const auto work = [&](const StreamContext& context) {
    device = &context.device;
    id = context.id;
    on = context.stream;
  };
  ASSERT_TRUE(device_->Enqueue(kSecond, stream, work).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kSecond, stream).ok());
  EXPECT_EQ(device, device_.get());
  EXPECT_EQ(id, kSecond);
  EXPECT_EQ(on, stream);
}

TEST_P(HostWorkConformance, WorkReachesMemoryByThePointersOfItsContext) {
  const StreamId stream = Stream();
  for (const Address at : {Mapped(1).base, Plain(KiB(1))}) {
    char seen = 0;
    const auto write = [at](const StreamContext& context) {
      *static_cast<char*>(context.Pointer(at)) = 42;
    };
    ASSERT_TRUE(device_->Enqueue(kFirst, stream, write).ok());
    ASSERT_TRUE(device_->Copy(kFirst, stream, HostAddress(&seen), at, Bytes(1)).ok());
    ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
    EXPECT_EQ(seen, 42);
  }
}

TEST_P(BytesConformance, BytesTravelFromTheHostOverTwoDevicesAndBack) {
  const StreamId stream = Stream();
  const std::string sent = "over two devices";
  std::string back(sent.size(), ' ');
  const Bytes size(static_cast<int64_t>(sent.size()));
  const AddressRange first = Mapped(1);
  const Address second = Plain(size, kSecond);
  ASSERT_TRUE(device_->Copy(kFirst, stream, first.base, HostAddress(sent.data()), size).ok());
  ASSERT_TRUE(device_->Copy(kFirst, stream, second, first.base, size).ok());
  ASSERT_TRUE(device_->Copy(kFirst, stream, HostAddress(back.data()), second, size).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_EQ(back, sent);
}

TEST_P(WorkConformance, TheCurrentDeviceIsTheInnermostThatIsBoundToTheThread) {
  ASSERT_TRUE(device_->SetCurrent(kFirst).ok());
  {
    const auto outer = ThreadBinding::Bind(*device_, kSecond);
    ASSERT_TRUE(outer.ok());
    EXPECT_EQ(device_->Current(), kSecond);
    {
      const auto inner = ThreadBinding::Bind(*device_, kFirst);
      ASSERT_TRUE(inner.ok());
      EXPECT_EQ(device_->Current(), kFirst);
      EXPECT_TRUE(Refused(device_->UnbindThread(kSecond), kUnbindThread));
    }
    EXPECT_EQ(device_->Current(), kSecond);
    DeviceId elsewhere;
    std::thread([&] { elsewhere = device_->Current(); }).join();
    EXPECT_EQ(elsewhere, kFirst);
    EXPECT_TRUE(Refused(ThreadBinding::Bind(*device_, kNoDevice).status(), kBindThread));
    EXPECT_EQ(device_->Current(), kSecond);
  }
  EXPECT_EQ(device_->Current(), kFirst);
  EXPECT_TRUE(Refused(device_->UnbindThread(kFirst), kUnbindThread));
}

TEST_P(WorkConformance, ABindingThatWasMovedEndsOnce) {
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(device_->SetCurrent(kFirst).ok());
  {
    auto made = ThreadBinding::Bind(*device_, kSecond);
    ASSERT_TRUE(made.ok());
    const ThreadBinding moved = std::move(*made);
    EXPECT_EQ(device_->Current(), kSecond);
  }
  EXPECT_EQ(device_->Current(), kFirst);
  EXPECT_TRUE(lines.empty());
}

TEST_P(WorkConformance, BindingsOfOneDeviceMeanNothingToTheNext) {
  ASSERT_TRUE(device_->BindThread(kSecond).ok());
  const std::unique_ptr<Device> other = GetParam().make(true);
  EXPECT_EQ(other->Current(), kFirst);
  EXPECT_TRUE(Refused(other->UnbindThread(kSecond), kUnbindThread));
  EXPECT_TRUE(device_->UnbindThread(kSecond).ok());
}

TEST_P(WorkConformance, TheHostWaitsForAnEventAndNotForWhatIsBehindIt) {
  const StreamId stream = Stream();
  Gate before;
  Gate behind;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, before.Work()).ok());
  const auto event = device_->RecordEvent(kFirst, stream);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, behind.Work()).ok());
  Status status;
  CallInThread wait([&] { status = device_->SynchronizeEvent(kFirst, *event); });
  EXPECT_TRUE(wait.Waits());
  before.Open();
  wait.Join();
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(device_->EventReached(kFirst, *event).value());
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, stream), kDestroyStream));
  behind.Open();
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(Refused(device_->SynchronizeEvent(kFirst, EventId()), kSynchronizeEvent));
}

TEST_P(WorkConformance, TimeIsToldBetweenTimedEventsThatAreReached) {
  const StreamId stream = Stream();
  if (!properties_.timed_events) {
    EXPECT_TRUE(Refused(device_->RecordTimedEvent(kFirst, stream).status(), kRecordTimedEvent,
                        ErrorKind::kUnsupported));
    return;
  }
  const auto plain = device_->RecordEvent(kFirst, stream);
  const auto first = device_->RecordTimedEvent(kFirst, stream);
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  const auto last = device_->RecordTimedEvent(kFirst, stream);
  ASSERT_TRUE(plain.ok() && first.ok() && last.ok());
  const auto elapsed = [&](EventId from, EventId to) {
    return device_->ElapsedTime(kFirst, from, to);
  };
  ASSERT_TRUE(device_->SynchronizeEvent(kFirst, *first).ok());
  EXPECT_TRUE(Refused(elapsed(*first, *last).status(), kElapsedTime)) << "it is not reached";
  EXPECT_TRUE(Refused(elapsed(*last, *first).status(), kElapsedTime)) << "it is not reached";
  EXPECT_FALSE(device_->EventReached(kFirst, *last).value());
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_GE(elapsed(*first, *last).value(), nanoseconds(0));
  EXPECT_EQ(elapsed(*last, *first).value(), -elapsed(*first, *last).value());
  EXPECT_EQ(elapsed(*first, *first).value(), nanoseconds(0));
  EXPECT_TRUE(Refused(elapsed(*plain, *last).status(), kElapsedTime)) << "it keeps no time";
  EXPECT_TRUE(Refused(elapsed(*first, *plain).status(), kElapsedTime)) << "it keeps no time";
  EXPECT_TRUE(Refused(elapsed(*first, EventId()).status(), kElapsedTime));
  EXPECT_TRUE(Refused(elapsed(EventId(), *first).status(), kElapsedTime));
  ASSERT_TRUE(device_->DestroyEvent(kFirst, *last).ok());
  EXPECT_TRUE(Refused(elapsed(*first, *last).status(), kElapsedTime));
}

TEST_P(WorkConformance, HostMemoryIsRegisteredOnceAndUnregisteredByItsFirstAddress) {
  std::vector<char> host(400);
  const Address at = HostAddress(host.data()) + 100;
  const auto add = [&](Address from, Bytes size, DeviceId id = kFirst) {
    return memory_.RegisterHost(id, from, size);
  };
  ASSERT_TRUE(add(at, Bytes(100)).ok());
  for (const DeviceId id : {kFirst, kSecond}) {
    EXPECT_TRUE(Refused(add(at, Bytes(100), id), kRegisterHost)) << "twice";
    EXPECT_TRUE(Refused(add(at + 99, Bytes(1), id), kRegisterHost)) << "inside";
    EXPECT_TRUE(Refused(add(at - 1, Bytes(2), id), kRegisterHost)) << "over its start";
    EXPECT_TRUE(Refused(add(at - 1, Bytes(200), id), kRegisterHost)) << "around it";
  }
  EXPECT_TRUE(add(at - 100, Bytes(100)).ok()) << "before it";
  EXPECT_TRUE(add(at + 100, Bytes(100), kSecond).ok()) << "behind it";
  EXPECT_TRUE(Refused(add(0, Bytes(100)), kRegisterHost));
  EXPECT_TRUE(Refused(add(at + 200, Bytes(0)), kRegisterHost));
  EXPECT_TRUE(Refused(add(at + 200, Bytes(-1)), kRegisterHost));
  EXPECT_TRUE(Refused(add(~Address{0} - 1, Bytes(100)), kRegisterHost));
  EXPECT_TRUE(Refused(memory_.UnregisterHost(kFirst, at + 1), kUnregisterHost));
  EXPECT_TRUE(Refused(memory_.UnregisterHost(kFirst, 0), kUnregisterHost));
  EXPECT_TRUE(Refused(memory_.UnregisterHost(kSecond, at), kUnregisterHost));
  EXPECT_TRUE(memory_.UnregisterHost(kFirst, at).ok());
  EXPECT_TRUE(Refused(memory_.UnregisterHost(kFirst, at), kUnregisterHost));
  EXPECT_TRUE(add(at, Bytes(100)).ok());
}

TEST_P(WorkConformance, MemoryOfADeviceIsNotRegistered) {
  const Address block = Plain(KiB(1), kSecond);
  const AddressRange range = Reserve(1);
  const auto pinned = memory_.AllocatePlain(kFirst, KiB(1), MemoryType::kHost);
  ASSERT_TRUE(pinned.ok());
  for (const Address at : {block, block + 1000, range.base, *pinned}) {
    EXPECT_TRUE(Refused(memory_.RegisterHost(kFirst, at, Bytes(1)), kRegisterHost));
  }
}

TEST_P(WorkConformance, HostMemoryInUseByAPendingCopyStaysRegistered) {
  std::vector<char> host(100);
  const Address at = HostAddress(host.data());
  const Address block = Plain(Bytes(100));
  const StreamId stream = Stream();
  Gate gate;
  ASSERT_TRUE(memory_.RegisterHost(kFirst, at, Bytes(100)).ok());
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  ASSERT_TRUE(device_->Copy(kFirst, stream, block, at + 99, Bytes(1)).ok());
  EXPECT_TRUE(Refused(memory_.UnregisterHost(kFirst, at), kUnregisterHost));
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(memory_.UnregisterHost(kFirst, at).ok());
}

TEST_P(WorkConformance, PropertiesNameTheDeviceAndAreThoseOfTheKindForOthers) {
  EXPECT_FALSE(properties_.name.empty());
  EXPECT_GE(properties_.alignment, Bytes(64));
  EXPECT_EQ(properties_.alignment.value() & (properties_.alignment.value() - 1), 0);
  EXPECT_TRUE(properties_.holds_bytes || !properties_.host_reachable);
  EXPECT_FALSE(device_->Properties(kNoDevice).name.empty());
  if (!properties_.host_reachable) return;
  const Address at = Plain(Bytes(1));
  *reinterpret_cast<volatile char*>(at) = 1;
  EXPECT_EQ(*reinterpret_cast<volatile char*>(at), 1);
}

}  // namespace work_conformance_test
}  // namespace plimsoll::device
