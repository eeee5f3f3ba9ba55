#include "core/heap_fixture_for_tests.h"

namespace plimsoll::pytorch {
namespace heap_pools_test {

constexpr PoolId kPool{0, 7};

class HeapPoolsTest : public HeapTest {
 protected:
  void Begin(PoolId pool, void* stream) {
    heap_->BeginPool(pool, [stream](void* asked) { return asked == stream; });
  }
  bool InPool(device::Address address, PoolId pool = kPool) {
    for (const LiveBlock& block : heap_->PoolBlocks(pool)) {
      if (block.address == address) return true;
    }
    return false;
  }
};

TEST_F(HeapPoolsTest, OnlyWhatTheFilterNamesGoesToThePool) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  const device::Address inside = Take(MiB(1), Handle(1));
  const device::Address outside = Take(MiB(1), Handle(2));
  heap_->EndPool(kPool);
  const device::Address after = Take(MiB(1), Handle(1));
  EXPECT_TRUE(InPool(inside));
  EXPECT_FALSE(InPool(outside));
  EXPECT_FALSE(InPool(after));
  EXPECT_EQ(heap_->PoolUses(kPool), 1);
}

TEST_F(HeapPoolsTest, TheInnerPoolIsAskedFirst) {
  Make(GiB(1));
  const PoolId inner{0, 8};
  heap_->BeginPool(kPool, nullptr);
  heap_->BeginPool(inner, nullptr);
  EXPECT_TRUE(InPool(Take(MiB(1)), inner));
  heap_->EndPool(inner);
  EXPECT_TRUE(InPool(Take(MiB(1)), kPool));
}

TEST_F(HeapPoolsTest, ReleasedPoolsGiveTheirMemoryBackAndOthersKeepIt) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  EXPECT_TRUE(heap_->Free(Take(MiB(64), Handle(1))));
  heap_->EndPool(kPool);
  EXPECT_EQ(*heap_->Trim(), Bytes(0)) << "a graph may use it again";
  EXPECT_EQ(heap_->statistics().pool_bytes, MiB(64).value());
  heap_->ReleasePool(kPool);
  EXPECT_EQ(*heap_->Trim(), MiB(64));
  EXPECT_EQ(heap_->statistics().pool_bytes, 0);
}

// What PyTorch does when a MemPool goes that a graph was captured into: its use ends, and it is
// trimmed by name.
TEST_F(HeapPoolsTest, APoolThatAGraphHoldsKeepsItsMemoryWhenItsMemPoolGoes) {
  Make(GiB(1));
  heap_->HoldPool(kPool);
  Begin(kPool, Handle(1));
  EXPECT_TRUE(heap_->Free(Take(MiB(64), Handle(1))));
  heap_->EndPool(kPool);
  heap_->ReleasePool(kPool);
  EXPECT_EQ(heap_->PoolUses(kPool), 1);
  EXPECT_EQ(*heap_->TrimPool(kPool), Bytes(0)) << "the graph uses it again";
  EXPECT_EQ(heap_->statistics().pool_bytes, MiB(64).value());
  heap_->ReleasePool(kPool);
  EXPECT_EQ(*heap_->TrimPool(kPool), MiB(64));
}

TEST_F(HeapPoolsTest, SizesThatNothingHoldsAreRefusedInAPoolToo) {
  Make(GiB(1));
  heap_->BeginPool(kPool, nullptr);
  EXPECT_EQ(Refused(Bytes(-1)).code, "memory.bad_size");
  for (const Bytes size : {GiB(1 << 20), Bytes(int64_t{1} << 60), Bytes(kSaturated - 1)}) {
    EXPECT_EQ(Refused(size).code, "memory.out_of_memory") << size.value();
  }
  EXPECT_EQ(heap_->statistics().reserved_bytes.current, 0);
}

TEST_F(HeapPoolsTest, MemoryIsRecycledForAPoolToo) {
  Make(MiB(64));
  EXPECT_TRUE(heap_->Free(Take(MiB(60), Handle(2))));
  Begin(kPool, Handle(1));
  EXPECT_NE(Take(MiB(60), Handle(1)), 0u);
  const Error error = Refused(MiB(60), Handle(1));
  EXPECT_EQ(error.code, "memory.out_of_memory");
  EXPECT_NE(error.Text().find("private pool"), std::string::npos) << error.Text();
}

TEST_F(HeapPoolsTest, DuringACaptureNothingWaitsAndNothingIsUnmapped) {
  Make(MiB(64));
  EXPECT_TRUE(heap_->Free(Take(MiB(40), Handle(1))));
  Begin(kPool, Handle(1));
  captures_.captured.insert(Handle(1));
  EXPECT_EQ(Refused(MiB(60), Handle(1)).kind, ErrorKind::kDoesNotFit);
  EXPECT_NE(Take(MiB(10), Handle(1)), 0u);
  EXPECT_EQ(heap_->Trim().error().code, "torch.capturing");
  for (const device::DeviceCall call :
       {device::DeviceCall::kSynchronizeDevice, device::DeviceCall::kSynchronizeStream,
        device::DeviceCall::kUnmap, device::DeviceCall::kRecordEvent}) {
    EXPECT_EQ(Calls(call), 0) << device::DeviceCallName(call);
  }
  EXPECT_GT(captures_.exchanges, 0) << "calls of the driver must be allowed beside a capture";
  captures_.captured.clear();
  heap_->EndPool(kPool);
  EXPECT_GT(*heap_->Trim(), Bytes(0));
}

TEST_F(HeapPoolsTest, DuringACaptureRequestsOfOtherStreamsLeaveItsStreamAlone) {
  Make(MiB(64));
  EXPECT_TRUE(heap_->Free(Take(MiB(40), Handle(1))));
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(heap_->Free(Take(MiB(2), Handle(2))));
  Begin(kPool, Handle(1));
  captures_.captured.insert(Handle(1));
  const device::Address fits = Take(MiB(10), Handle(2));
  EXPECT_EQ(Refused(MiB(40), Handle(2)).kind, ErrorKind::kDoesNotFit);
  for (const device::DeviceCall call :
       {device::DeviceCall::kSynchronizeStream, device::DeviceCall::kSynchronizeDevice,
        device::DeviceCall::kUnmap, device::DeviceCall::kRecordEvent}) {
    EXPECT_EQ(Calls(call), 0) << device::DeviceCallName(call);
  }
  captures_.captured.clear();
  heap_->EndPool(kPool);
  EXPECT_TRUE(heap_->Free(fits));
  EXPECT_NE(Take(MiB(40), Handle(2)), 0u);
}

TEST_F(HeapPoolsTest, ACaptureIsSeenBeforeItsStreamHasAskedForMemory) {
  Make(MiB(64));
  EXPECT_TRUE(heap_->Free(Take(MiB(40), Handle(2))));
  heap_->BeginPool(
      kPool, [](void*) { return false; }, Handle(1));
  captures_.captured.insert(Handle(1));
  EXPECT_EQ(heap_->Trim().error().code, "torch.capturing");
  EXPECT_EQ(Refused(MiB(60), Handle(3)).kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(Calls(device::DeviceCall::kSynchronizeDevice), 0);
  heap_->EndPool(kPool);
  EXPECT_GT(*heap_->Trim(), Bytes(0));
}

TEST_F(HeapPoolsTest, BlocksThatOtherStreamsUseWaitForThem) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  const device::Address block = Take(MiB(4), Handle(1));
  EXPECT_TRUE(*heap_->RecordStream(block, Handle(2)));
  LaunchWork(Handle(2));
  EXPECT_TRUE(heap_->Free(block));
  EXPECT_NE(Take(MiB(4), Handle(1)), block) << "the second stream still uses it";
  EXPECT_EQ(heap_->statistics().pending_blocks, 1);
  ASSERT_TRUE(device_->SynchronizeStream(kTestDevice, streams_.at(Handle(2))).ok());
  EXPECT_EQ(Take(MiB(4), Handle(1)), block);
  EXPECT_EQ(heap_->statistics().pending_blocks, 0);
}

TEST_F(HeapPoolsTest, AFreeThatACaptureForbidsIsDoneAfterIt) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  const device::Address block = Take(MiB(4), Handle(1));
  EXPECT_TRUE(*heap_->RecordStream(block, Handle(2)));
  captures_.captured.insert(Handle(1));
  EXPECT_TRUE(heap_->Free(block));
  EXPECT_EQ(Calls(device::DeviceCall::kRecordEvent), 0);
  EXPECT_TRUE(InPool(block));
  captures_.captured.clear();
  heap_->EndPool(kPool);
  EXPECT_EQ(Calls(device::DeviceCall::kRecordEvent), 1);
  EXPECT_FALSE(InPool(block));
}

TEST_F(HeapPoolsTest, OrdinaryBlocksOfOtherStreamsWaitForTheEndOfACaptureToo) {
  Make(GiB(1));
  const device::Address block = Take(MiB(4), Handle(1));
  EXPECT_TRUE(*heap_->RecordStream(block, Handle(2)));
  Begin(kPool, Handle(2));
  captures_.captured.insert(Handle(2));
  EXPECT_TRUE(heap_->Free(block));
  EXPECT_EQ(Calls(device::DeviceCall::kRecordEvent), 0);
  EXPECT_EQ(heap_->statistics().pending_bytes, MiB(4).value());
  captures_.captured.clear();
  heap_->EndPool(kPool);
  EXPECT_EQ(Calls(device::DeviceCall::kRecordEvent), 1);
  EXPECT_EQ(heap_->statistics().pending_bytes, 0);
  EXPECT_EQ(Take(MiB(4), Handle(1)), block);
}

TEST_F(HeapPoolsTest, ACheckpointIsRestoredAddressByAddress) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  const device::Address first = Take(MiB(4), Handle(1));
  const device::Address second = Take(KiB(1), Handle(1));
  const std::vector<LiveBlock> checkpoint = heap_->PoolBlocks(kPool);
  EXPECT_TRUE(heap_->Free(first));
  const device::Address third = Take(MiB(2), Handle(1));
  const device::Address fourth = Take(MiB(30), Handle(1));
  const auto delta = heap_->RestorePool(kPool, checkpoint);
  ASSERT_TRUE(delta.ok()) << delta.error().Text();
  const std::set<device::Address> freed(delta->freed.begin(), delta->freed.end());
  const std::set<device::Address> made(delta->allocated.begin(), delta->allocated.end());
  EXPECT_EQ(freed, (std::set<device::Address>{second, third, fourth}));
  EXPECT_EQ(made, (std::set<device::Address>{first, second}));
  EXPECT_EQ(heap_->statistics().allocated_bytes[0].current, MiB(4).value() + 1024);
  EXPECT_FALSE(heap_->Free(fourth)) << "whoever held it holds it no longer";
  EXPECT_TRUE(heap_->Free(first));
  EXPECT_TRUE(heap_->Free(second));
}

TEST_F(HeapPoolsTest, APoolWhoseMemoryIsGoneIsNotRestored) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  const device::Address first = Take(MiB(4), Handle(1));
  const std::vector<LiveBlock> checkpoint = heap_->PoolBlocks(kPool);
  EXPECT_TRUE(heap_->Free(first));
  heap_->EndPool(kPool);
  heap_->ReleasePool(kPool);
  EXPECT_EQ(*heap_->TrimPool(kPool), MiB(4));
  const auto restored = heap_->RestorePool(kPool, checkpoint);
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().code, "torch.checkpoint");
}

TEST_F(HeapPoolsTest, APoolMayServeOthersBeforeTheyAreRefused) {
  Make(MiB(64));
  Begin(kPool, Handle(1));
  EXPECT_TRUE(heap_->Free(Take(MiB(40), Handle(1))));
  heap_->EndPool(kPool);
  EXPECT_EQ(Refused(MiB(40), Handle(1)).kind, ErrorKind::kDoesNotFit);
  heap_->SetUseOnOutOfMemory(kPool, true);
  const device::Address lent = Take(MiB(40), Handle(1));
  EXPECT_TRUE(InPool(lent));
  EXPECT_TRUE(heap_->Free(lent));
}

TEST_F(HeapPoolsTest, ManyPoolsLeaveAddressesForOthers) {
  Make(GiB(4));
  for (uint64_t pool = 1; pool <= 100; ++pool) {
    Begin({0, pool}, Handle(1));
    EXPECT_TRUE(InPool(Take(MiB(2), Handle(1)), {0, pool}));
    heap_->EndPool({0, pool});
  }
  EXPECT_EQ(device_->statistics().count(device::DeviceCall::kAllocatePlain), 0)
      << "no address range could be reserved any more";
}

TEST_F(HeapPoolsTest, SegmentsTileWhatThePoolHas) {
  Make(GiB(1));
  Begin(kPool, Handle(1));
  Take(MiB(1), Handle(1));
  const device::Address middle = Take(KiB(600), Handle(1));
  Take(MiB(3), Handle(1));
  EXPECT_TRUE(heap_->Free(middle));
  const std::vector<Segment> segments = heap_->Segments(kPool);
  int64_t total = 0;
  int64_t live = 0;
  for (const Segment& segment : segments) {
    int64_t inside = 0;
    for (const Segment::Block& block : segment.blocks) {
      inside += block.size;
      live += block.live ? 1 : 0;
    }
    EXPECT_EQ(inside, segment.size);
    EXPECT_EQ(heap_->HandleOf(segment.stream), Handle(1));
    total += segment.size;
  }
  EXPECT_EQ(total, heap_->statistics().pool_bytes);
  EXPECT_EQ(live, 2);
}

}  // namespace heap_pools_test
}  // namespace plimsoll::pytorch
