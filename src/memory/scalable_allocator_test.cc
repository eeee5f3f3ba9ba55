#include "plimsoll/memory/scalable_allocator.h"

#include <set>
#include <thread>
#include <type_traits>

#include "memory/adaptors/recording_observer_for_tests.h"
#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace scalable_allocator_test {

using device::DeviceCall;

Block Take(Allocator& allocator, Bytes size, std::string_view tag = "") {
  Request request;
  request.size = size;
  request.tag = tag;
  Result<Block> block = allocator.Allocate(request);
  EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
  return block.ok() ? *block : Block();
}

device::FakeOptions Capacity(Bytes capacity) {
  device::FakeOptions options;
  options.capacity = capacity;
  return options;
}

TEST(ScalableAllocatorTest, R68_ACachedPairTakesNoLockAndMakesNoCall) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  ASSERT_TRUE(allocator->Free(Take(*allocator, MiB(3))).ok());
  const int64_t calls = machine.fake().statistics().total();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(allocator->Free(Take(*allocator, MiB(3))).ok());
  EXPECT_EQ(machine.fake().statistics().total(), calls);
  EXPECT_EQ(allocator->statistics().slow_paths, 1);
}

TEST(ScalableAllocatorTest, R69_IdsStayUniqueWhenMadeInManyThreads) {
  const Machine machine = Machine::Fake();
  std::mutex mutex;
  std::set<size_t> ids;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        const size_t id = machine.Scalable()->id();
        std::lock_guard lock(mutex);
        ids.insert(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), 160u);
}

TEST(ScalableAllocatorDeathTest, R70_ASecondThreadIsCaughtInDebugBuilds) {
#ifdef NDEBUG
  GTEST_SKIP() << "a release build does not look";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const Machine machine = Machine::Fake();
        auto allocator = machine.Scalable();
        Take(*allocator, Bytes(1));
        std::thread([&] { Take(*allocator, Bytes(1)); }).join();
      },
      "second thread");
#endif
}

TEST(ScalableAllocatorTest, FreePagesThatAreNotAdjacentServeALargeRequest) {
  const Machine machine = Machine::Fake(Capacity(MiB(64)));
  auto allocator = machine.Scalable();
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(*allocator, MiB(8)));
  for (int i = 0; i < 8; i += 2) ASSERT_TRUE(allocator->Free(blocks[i]).ok());

  const Block large = Take(*allocator, MiB(32));  // four holes of 8 MiB, the device is full
  EXPECT_EQ(machine.physical()->reserved(), MiB(64));
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kUnmap), 0);  // a second mapping

  ASSERT_TRUE(allocator->Free(large).ok());
  const int64_t calls = machine.fake().statistics().total();
  const Block again = Take(*allocator, MiB(32));
  EXPECT_EQ(again.address, large.address);
  EXPECT_EQ(machine.fake().statistics().total(), calls);  // the range was kept
}

TEST(ScalableAllocatorTest, AccessIsSetOnceForARun) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  Take(*allocator, GiB(1));
  EXPECT_GT(machine.fake().statistics().count(DeviceCall::kMap), 1);
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kSetAccess), 1);
}

TEST(ScalableAllocatorTest, GrowingTo64GiBTakesLessThan60MillisecondsOfDriver) {
  const Machine machine = Machine::Fake(Capacity(GiB(80)));
  auto allocator = machine.Scalable();
  for (int i = 0; i < 64; ++i) Take(*allocator, GiB(1));
  EXPECT_LT(machine.fake().statistics().modelled_driver_us, 60000);
}

TEST(ScalableAllocatorTest, TrimWorksWhileBlocksLiveAndAfterThem) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  const Block kept = Take(*allocator, MiB(8));
  const Block freed = Take(*allocator, GiB(1));
  ASSERT_TRUE(allocator->Free(freed).ok());
  ASSERT_TRUE(allocator->Trim().ok());
  EXPECT_LE(machine.physical()->reserved(), MiB(32));
  ASSERT_TRUE(allocator->Free(kept).ok());
  ASSERT_TRUE(allocator->Trim().ok());
  EXPECT_EQ(machine.physical()->reserved(), Bytes(0));
  EXPECT_EQ(machine.fake().outstanding().mappings, 0);
}

TEST(ScalableAllocatorTest, PauseGivesPhysicalMemoryBackAndResumeRestoresTheAddresses) {
  const Machine machine = Machine::Fake(Capacity(MiB(64)));
  auto allocator = machine.Scalable();
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(*allocator, MiB(8)));
  for (int i = 0; i < 8; i += 2) ASSERT_TRUE(allocator->Free(blocks[i]).ok());
  const Block stitched = Take(*allocator, MiB(32));

  ASSERT_TRUE(allocator->Pause().ok());
  EXPECT_EQ(machine.fake().statistics().physical, Bytes(0));
  EXPECT_TRUE(RefusedAs(allocator->Allocate({.size = MiB(1)}).status(), "memory.paused"));
  ASSERT_TRUE(allocator->Resume().ok());
  EXPECT_EQ(machine.fake().statistics().physical, MiB(64));

  const auto touch = [&](const Block& block) {
    return machine.device()->Fill(kDevice, machine.stream(), block.address, 1, block.size).ok();
  };
  EXPECT_TRUE(touch(blocks[1]));
  EXPECT_TRUE(touch(stitched));
  ASSERT_TRUE(machine.device()->SynchronizeStream(kDevice, machine.stream()).ok());
}

TEST(ScalableAllocatorTest, ASingleChunkBlockLiesInOneChunk) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  ASSERT_TRUE(allocator->Free(Take(*allocator, MiB(64))).ok());
  const int64_t created = machine.fake().statistics().count(DeviceCall::kCreateChunk);
  Request request;
  request.size = MiB(40);
  request.single_chunk = true;
  ASSERT_TRUE(allocator->Allocate(request).ok());
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kCreateChunk), created + 1);
}

TEST(ScalableAllocatorTest, OutOfMemoryNamesWhatAPersonNeeds) {
  const Machine machine = Machine::Fake(Capacity(MiB(64)));
  auto allocator = machine.Scalable();
  Take(*allocator, MiB(40), "weights");
  Take(*allocator, MiB(12), "activations");
  const Result<Block> refused = allocator->Allocate({.size = MiB(30)});
  ASSERT_TRUE(RefusedAs(refused.status(), "memory.out_of_memory"));
  const std::string text = refused.error().Text();
  for (const char* part : {"30 MiB", "52 MiB", "'weights' 40 MiB", "'activations' 12 MiB",
                           "largest run", "fragmentation", "64 MiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(ScalableAllocatorTest, AHardLimitHoldsAndTheReportSaysHowToRaiseIt) {
  PhysicalMemoryOptions options;
  options.limit = MiB(32);
  const Machine machine(std::make_shared<device::FakeDevice>(), options);
  auto allocator = machine.Scalable();
  Take(*allocator, MiB(24));
  const Result<Block> refused = allocator->Allocate({.size = MiB(16)});
  ASSERT_TRUE(RefusedAs(refused.status(), "memory.out_of_memory"));
  EXPECT_NE(refused.error().remedy.find("raise the limit of 32 MiB"), std::string::npos);
  EXPECT_LE(machine.physical()->peak_reserved(), MiB(32));
}

TEST(ScalableAllocatorTest, R77_TheStreamIsSynchronisedBeforeMemoryGoesAndTheDeviceGoesLast) {
  auto log = std::make_shared<device::FakeCallLog>();
  device::FakeOptions options;
  options.log = log;
  {
    const Machine machine = Machine::Fake(options);
    auto allocator = machine.Scalable();
    const Block block = Take(*allocator, MiB(8));
    ASSERT_TRUE(machine.device()->LaunchHost(kDevice, machine.stream(), [] {}).ok());
    ASSERT_TRUE(allocator->Free(block).ok());
    ASSERT_TRUE(allocator->Trim().ok());
    Take(*allocator, MiB(8));
    ASSERT_TRUE(machine.device()->LaunchHost(kDevice, machine.stream(), [] {}).ok());
  }
  bool synchronised = false;
  int64_t released = 0;
  for (const device::FakeCall& call : log->calls) {
    EXPECT_TRUE(call.ok);
    if (!call.call) continue;
    if (*call.call == DeviceCall::kLaunchHost) synchronised = false;
    if (*call.call == DeviceCall::kSynchronizeStream) synchronised = true;
    if (*call.call == DeviceCall::kUnmap || *call.call == DeviceCall::kDestroyChunk) {
      EXPECT_TRUE(synchronised);
      ++released;
    }
  }
  EXPECT_GE(released, 4);
  ASSERT_TRUE(log->at_destruction.has_value());
  EXPECT_FALSE(log->calls.back().call.has_value());  // the device itself
  EXPECT_EQ(log->at_destruction->chunks, 0);
  EXPECT_EQ(log->at_destruction->mappings, 0);
  EXPECT_EQ(log->at_destruction->ranges, 0);
}

TEST(ScalableAllocatorTest, R80_R81_WithoutReservationPlainMemoryServesAndNothingIsLoggedAsError) {
  std::vector<std::string> errors;
  LogCapture capture([&](LogLevel level, std::string_view line) {
    if (level >= LogLevel::kWarning) errors.emplace_back(line);
  });
  device::FakeOptions options;
  options.reserves_addresses = false;
  const Machine machine = Machine::Fake(options);
  for (int i = 0; i < 3; ++i) {
    auto allocator = machine.Scalable();
    ASSERT_TRUE(allocator->Free(Take(*allocator, MiB(8))).ok());
  }
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kReserveAddress), 1);  // tried once
  EXPECT_TRUE(errors.empty());
}

TEST(ScalableAllocatorTest, R79_AddressesAreReservedAheadAndPhysicalMemoryFollows) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  EXPECT_GT(machine.fake().outstanding().ranges, 0);
  EXPECT_EQ(machine.fake().statistics().physical, Bytes(0));
  Take(*allocator, MiB(8));
  EXPECT_EQ(machine.fake().statistics().physical, MiB(8));
}

TEST(ScalableAllocatorTest, R76_MemoryLandsOnTheNamedDeviceWithAnotherCurrent) {
  device::FakeOptions options;
  options.devices = 2;
  auto device = std::make_shared<device::FakeDevice>(options);
  ASSERT_TRUE(device->SetCurrent(device::DeviceId{1}).ok());
  const Machine machine(device);
  auto allocator = machine.Scalable();
  Take(*allocator, MiB(8));
  EXPECT_EQ(device->memory().Info(device::DeviceId{0})->free, options.capacity - MiB(8));
  EXPECT_EQ(device->memory().Info(device::DeviceId{1})->free, options.capacity);
}

TEST(ScalableAllocatorTest, AnObserverSeesEveryEventWithItsTag) {
  using enum MemoryEvent::Kind;
  RecordingObserver observer;
  PhysicalMemoryOptions options;
  options.observer = &observer;
  Block block;
  {
    const Machine machine(std::make_shared<device::FakeDevice>(), options);
    ASSERT_TRUE(machine.device()->CreateStream(kDevice).ok());
    const StreamId stream = *machine.device()->CreateStream(kDevice);
    ScalableAllocator allocator(std::make_unique<DeviceAllocator>(machine.physical(), stream),
                                {.observer = &observer});
    block = Take(allocator, MiB(3), "input");
    ASSERT_TRUE(allocator.Free(block).ok());
    ASSERT_TRUE(allocator.Trim().ok());
  }
  std::vector<MemoryEvent::Kind> kinds;
  for (const MemoryEvent& event : observer.events) kinds.push_back(event.kind);
  ASSERT_EQ(kinds, (std::vector{kReserve, kMap, kAllocate, kFree, kUnmap, kRelease}));
  const Bytes bytes[] = {MiB(4), MiB(4), MiB(3), MiB(3), MiB(4), MiB(4)};
  const Bytes allocated[] = {Bytes(0), Bytes(0), MiB(3), Bytes(0), Bytes(0), Bytes(0)};
  const Bytes reserved[] = {MiB(4), MiB(4), MiB(4), MiB(4), MiB(4), Bytes(0)};
  for (size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(observer.events[i].bytes, bytes[i]) << i;
    EXPECT_EQ(observer.events[i].allocated, allocated[i]) << i;
    EXPECT_EQ(observer.events[i].reserved, reserved[i]) << i;
    EXPECT_EQ(observer.events[i].address, i == 0 || i == 5 ? 0 : block.address) << i;
    EXPECT_EQ(observer.events[i].stream, i == 2 || i == 3 ? 2 : 0) << i;
    EXPECT_EQ(observer.tags[i], i == 2 || i == 3 ? "input" : "") << i;
  }
}

TEST(ScalableAllocatorTest, RecordingItsOwnStreamIsFineAndAnyOtherIsRefused) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  const Block block = Take(*allocator, MiB(1));
  EXPECT_TRUE(allocator->RecordStream(block, machine.stream()).ok());
  const Status refused = allocator->RecordStream(block, *machine.device()->CreateStream(kDevice));
  ASSERT_TRUE(RefusedAs(refused, "memory.one_stream"));
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
}

}  // namespace scalable_allocator_test
}  // namespace plimsoll::memory
