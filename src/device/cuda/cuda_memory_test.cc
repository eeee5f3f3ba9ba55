// Memory of the cuda device beyond the conformance suite, over the stand-in of the driver.
#include <algorithm>
#include <numeric>

#include "base/call_in_thread_for_tests.h"
#include "device/cuda/cuda_device_fixture.h"
#include "device/cuda/host_registrations.h"

namespace plimsoll::device {
namespace cuda_memory_test {

using enum DeviceCall;

class CudaMemoryTest : public CudaDeviceTest {};

TEST_F(CudaMemoryTest, EverythingIsGivenBackAtTheEnd) {
  {
    const World world = MakeWorld(*device_, kFirst);
    ASSERT_TRUE(device_->Fill(kFirst, world.stream, world.plain, 1, Bytes(100)).ok());
    ASSERT_TRUE(device_->ReplayRecording(kFirst, world.stream, world.recording).ok());
    EXPECT_GT(standin_.outstanding(nullptr), 8);
    device_.reset();
  }
  EXPECT_EQ(standin_.outstanding(nullptr), 0);
}

TEST_F(CudaMemoryTest, MemoryInformationIsAskedForByNobodyElse) {
  const World world = MakeWorld(*device_, kFirst);
  for (const PreparedCall& prepared : EveryCall(*device_, world, MiB(2))) {
    if (prepared.call != kInfo) (void)prepared.make(kFirst).ok();
  }
  EXPECT_EQ(standin_.calls("cuMemGetInfo_v2"), 0);
}

TEST_F(CudaMemoryTest, ARefusedCallDoesNotReachTheDriver) {
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

TEST_F(CudaMemoryTest, ACopyToPageableMemoryWaitsWithoutALock) {
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

TEST_F(CudaMemoryTest, CopiesAreCutWhereRegisteredMemoryBegins) {
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

TEST_F(CudaMemoryTest, AddressesAreAlignedAlsoWhereTheDriverGivesLess) {
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

TEST_F(CudaMemoryTest, ACardWithoutVirtualMemorySaysSo) {
  standin_.set_virtual_memory(0);
  const auto device = Make();
  EXPECT_FALSE(device->Properties(kFirst).reserves_addresses);
  EXPECT_TRUE(Refused(device->memory().ReserveAddress(kFirst, MiB(2), Bytes(0)).status(),
                      kReserveAddress, ErrorKind::kUnsupported));
  EXPECT_TRUE(device->memory().AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).ok());
}

TEST_F(CudaMemoryTest, ChunksAreOfDeviceMemoryWithItsOwnPages) {
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

TEST_F(CudaMemoryTest, DevicesBeyondTheCardsShareThem) {
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

TEST_F(CudaMemoryTest, OtherBytesAreCountedWhereTheyLie) {
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

TEST_F(CudaMemoryTest, APageIsRegisteredForAsLongAsAPieceNeedsIt) {
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

TEST_F(CudaMemoryTest, ChunksForPeersAreMadeAccessibleToThem) {
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

}  // namespace cuda_memory_test
}  // namespace plimsoll::device
