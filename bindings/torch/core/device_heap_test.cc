#include "core/device_heap.h"

#include <thread>

#include "core/heap_fixture_for_tests.h"

namespace plimsoll::pytorch {
namespace device_heap_test {

class DeviceHeapTest : public HeapTest {};

TEST_F(DeviceHeapTest, CountsAsPyTorchDoes) {
  Make(GiB(1));
  const device::Address small = Take(Bytes(100));
  const device::Address large = Take(MiB(3));
  HeapStatistics now = heap_->statistics();
  EXPECT_EQ(now.requested_bytes[0].current, 100 + MiB(3).value());
  EXPECT_EQ(now.allocated_bytes[0].current, 512 + MiB(3).value());
  EXPECT_EQ(now.allocated_bytes[1].current, 512);
  EXPECT_EQ(now.allocated_bytes[2].current, MiB(3).value());
  EXPECT_EQ(now.reserved_bytes.current, device_->statistics().physical.value());
  EXPECT_EQ(now.segment.allocated, Calls(device::DeviceCall::kCreateChunk));
  EXPECT_TRUE(heap_->Free(large));
  EXPECT_TRUE(heap_->Free(small));
  now = heap_->statistics();
  EXPECT_EQ(now.allocated_bytes[0].current, 0);
  EXPECT_EQ(now.allocated_bytes[0].peak, 512 + MiB(3).value());
  EXPECT_EQ(now.allocation[0].freed, 2);
  heap_->ResetPeak();
  heap_->ResetAccumulated();
  now = heap_->statistics();
  EXPECT_EQ(now.allocated_bytes[0].peak, 0);
  EXPECT_EQ(now.allocation[0].allocated, 0);
  EXPECT_EQ(now.reserved_bytes.peak, now.reserved_bytes.current);
}

TEST_F(DeviceHeapTest, NoBytesAreNoBlockAndStrangersAreNotFreed) {
  Make(GiB(1));
  EXPECT_EQ(Take(Bytes(0)), 0u);
  EXPECT_TRUE(heap_->Free(0));
  EXPECT_FALSE(heap_->Free(4096));
  const device::Address block = Take(MiB(1));
  EXPECT_TRUE(heap_->Free(block));
  EXPECT_FALSE(heap_->Free(block)) << "a second free";
  EXPECT_FALSE(*heap_->RecordStream(block, Handle(1)));
}

TEST_F(DeviceHeapTest, ACachedPairCallsNoDriver) {
  Make(GiB(1));
  EXPECT_TRUE(heap_->Free(Take(MiB(5))));
  const int64_t before = device_->statistics().total();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(heap_->Free(Take(MiB(5))));
  EXPECT_EQ(device_->statistics().total(), before);
}

TEST_F(DeviceHeapTest, ARefusalWaitsAndGivesBackBeforeItIsTold) {
  Make(MiB(64));
  const device::Address cached = Take(MiB(40), Handle(1));
  EXPECT_TRUE(heap_->RecordStream(cached, Handle(2)).ok());
  LaunchWork(Handle(2));
  EXPECT_TRUE(heap_->Free(cached));  // waits for the second stream, whose work is not done
  EXPECT_GT(heap_->statistics().pending_bytes, 0);
  bool asked = false;
  heap_->SetReclaim([&] { asked = true; });
  EXPECT_NE(Take(MiB(60), Handle(3)), 0u);
  EXPECT_TRUE(asked);
  EXPECT_EQ(heap_->statistics().alloc_retries, 1);
  EXPECT_EQ(heap_->statistics().pending_bytes, 0);

  const Error error = Refused(MiB(10), Handle(3));
  EXPECT_EQ(error.kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(error.code, "memory.out_of_memory");
  EXPECT_NE(error.Text().find("10 MiB"), std::string::npos) << error.Text();
  EXPECT_EQ(heap_->statistics().ooms, 1);
}

TEST_F(DeviceHeapTest, ReclaimMayFreeBlocksOfThisHeap) {
  Make(MiB(64));
  const device::Address first = Take(MiB(40));
  heap_->SetReclaim([&] { EXPECT_TRUE(heap_->Free(first)); });
  EXPECT_NE(Take(MiB(60)), 0u);
}

TEST_F(DeviceHeapTest, ALimitHoldsAndCanBeRaised) {
  Make(GiB(1), MiB(32));
  EXPECT_EQ(Refused(MiB(40)).kind, ErrorKind::kDoesNotFit);
  heap_->SetLimit(MiB(64));
  EXPECT_NE(Take(MiB(40)), 0u);
  EXPECT_EQ(Refused(MiB(40)).kind, ErrorKind::kDoesNotFit);
  heap_->SetLimit(Bytes(0));
  EXPECT_NE(Take(MiB(400)), 0u);
  EXPECT_EQ(heap_->statistics().limit, 0);
}

TEST_F(DeviceHeapTest, EachStreamHasAPeakOfItsOwn) {
  Make(GiB(1));
  const device::Address a = Take(MiB(8), Handle(1));
  EXPECT_TRUE(heap_->Free(a));
  Take(MiB(16), Handle(2));
  EXPECT_EQ(heap_->statistics().stream_peaks, MiB(24).value());
  EXPECT_EQ(heap_->statistics().streams, 2);
}

TEST_F(DeviceHeapTest, LargestAvailableIsWhatTheDeviceHasFreeOrTheLimitLeaves) {
  Make(MiB(256));
  EXPECT_EQ(*heap_->LargestAvailable(), MiB(256));
  heap_->SetLimit(MiB(100));
  EXPECT_EQ(*heap_->LargestAvailable(), MiB(100));
}

TEST_F(DeviceHeapTest, AFailingDriverRefusesTheRequestAndNothingElse) {
  Make(GiB(1));
  for (const device::DeviceCall call : {device::DeviceCall::kCreateChunk, device::DeviceCall::kMap,
                                        device::DeviceCall::kSetAccess}) {
    device_->Fail({.call = call, .first = 1, .kind = ErrorKind::kRunFailed});
    EXPECT_EQ(Refused(MiB(8)).kind, ErrorKind::kRunFailed);
    device_->ClearFailures();
  }
  EXPECT_NE(Take(MiB(8)), 0u);
  EXPECT_EQ(heap_->statistics().allocation[0].current, 1);
}

TEST_F(DeviceHeapTest, ALostDeviceIsToldAndFreesGoThrough) {
  Make(GiB(1));
  const device::Address block = Take(MiB(8));
  device_->Lose(kTestDevice,
                Error{ErrorKind::kRunFailed, "device.x", "an illegal address", "", "", ""});
  EXPECT_EQ(Refused(MiB(80)).code, "device.lost");
  EXPECT_TRUE(heap_->Free(block));
}

TEST_F(DeviceHeapTest, ThreadsShareIt) {
  Make(GiB(4));
  std::vector<std::thread> threads;
  for (uint64_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 500; ++i) {
        const device::Address a = Take(KiB(1 + i % 700), Handle(number));
        const device::Address b = Take(MiB(1 + i % 5), Handle(number));
        EXPECT_TRUE(heap_->Free(a));
        EXPECT_TRUE(heap_->Free(b));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap_->statistics().allocation[0].allocated, 4000);
  EXPECT_EQ(heap_->statistics().allocated_bytes[0].current, 0);
}

// What an observer saw, summed up.
class Sums final : public MemoryObserver {
 public:
  void OnMemoryEvent(const MemoryEvent& event) override {
    using Kind = MemoryEvent::Kind;
    if (event.kind == Kind::kAllocate) allocated += event.bytes.value();
    if (event.kind == Kind::kFree) allocated -= event.bytes.value();
    if (event.kind == Kind::kReserve) reserved += event.bytes.value();
    if (event.kind == Kind::kRelease) reserved -= event.bytes.value();
  }
  int64_t allocated = 0;
  int64_t reserved = 0;
};

TEST_F(DeviceHeapTest, AnObserverThatComesLateIsToldWhatThereIs) {
  Make(GiB(1));
  Sums sums;
  DeviceHeapOptions options;
  options.device = device_;
  options.id = kTestDevice;
  options.observer = &sums;
  options.adopt_stream = [this](void*) { return device_->CreateStream(kTestDevice); };
  const auto heap = *DeviceHeap::Create(options);
  const device::Address before = *heap->Allocate(MiB(4).value(), nullptr);
  EXPECT_EQ(sums.allocated, 0);
  heap->Observe(true);
  EXPECT_EQ(sums.allocated, MiB(4).value());
  EXPECT_EQ(sums.reserved, heap->statistics().reserved_bytes.current);
  const device::Address later = *heap->Allocate(MiB(64).value(), nullptr);
  EXPECT_EQ(sums.allocated, MiB(68).value());
  EXPECT_EQ(sums.reserved, heap->statistics().reserved_bytes.current);
  EXPECT_TRUE(heap->Free(before));
  EXPECT_EQ(sums.allocated, MiB(64).value());
  heap->Observe(false);
  EXPECT_EQ(sums.allocated, 0);
  EXPECT_TRUE(heap->Free(later));
}

}  // namespace device_heap_test
}  // namespace plimsoll::pytorch
