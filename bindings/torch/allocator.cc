// The second door: a subclass of PyTorch's CUDAAllocator over the heaps of libplimsoll_torch.so.
// Compiled against the headers of the torch that is installed (plimsoll/torch/build.py); all logic
// is in core/.
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/torch_memory.h"

namespace plimsoll::pytorch {
namespace {

namespace Caching = c10::cuda::CUDACachingAllocator;
using c10::CachingAllocator::Stat;
using c10::CachingDeviceAllocator::DeviceStats;

[[noreturn]] void NotOffered(const char* what, const char* instead) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "plimsoll's allocator does not offer ", what, ": ", instead);
}

void Check(const Status& status) { TORCH_CHECK(status.ok(), status.error().Text()); }

template <typename T>
T Value(Result<T> result) {
  Check(result.status());
  return *std::move(result);
}

PoolId Named(c10::MempoolId_t pool) { return {pool.first, pool.second}; }

device::Address AddressOf(const void* block) { return reinterpret_cast<device::Address>(block); }

void* Pointer(device::Address address) { return reinterpret_cast<void*>(address); }

void FreeBlock(void* block) {
  // The block is most often the current device's; where no device can be asked, all are looked at.
  int device = 0;
  (void)cudaGetDevice(&device);
  TorchMemory::Get().Free(AddressOf(block), device);
}

Stat Translate(const Counter& counter) {
  Stat stat;
  stat.current = counter.current;
  stat.peak = counter.peak;
  stat.allocated = counter.allocated;
  stat.freed = counter.freed;
  return stat;
}

c10::CachingAllocator::StatArray Translate(const Counters& counters) {
  return {Translate(counters[0]), Translate(counters[1]), Translate(counters[2])};
}

Caching::SegmentInfo Translate(const Segment& segment, DeviceHeap& heap) {
  Caching::SegmentInfo info;
  info.device = static_cast<c10::DeviceIndex>(heap.id().ordinal);
  info.address = segment.address;
  info.total_size = static_cast<size_t>(segment.size);
  info.stream = heap.HandleOf(segment.stream);
  info.is_large = segment.size > kLargestSmallBlock;
  info.is_expandable = true;
  info.owner_private_pool_id = {segment.pool.first, segment.pool.second};
  for (const Segment::Block& block : segment.blocks) {
    Caching::BlockInfo one;
    one.size = static_cast<size_t>(block.size);
    one.requested_size = static_cast<size_t>(block.requested);
    one.allocated = one.active = block.live;
    if (block.live) {
      info.allocated_size += one.size;
      info.active_size += one.size;
      info.requested_size += one.requested_size;
    }
    info.blocks.push_back(std::move(one));
  }
  return info;
}

struct PoolCheckpoint final : Caching::AllocatorState {
  PoolId pool;
  std::vector<LiveBlock> live;
};

class PlimsollAllocator final : public Caching::CUDAAllocator {
 public:
  // --- memory
  c10::DataPtr allocate(size_t size) override {
    c10::DeviceIndex device = 0;
    C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
    void* block = Take(size, device, c10::cuda::getCurrentCUDAStream(device).stream());
    return {block, block, &FreeBlock, c10::Device(c10::DeviceType::CUDA, device)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &FreeBlock; }
  void copy_data(void* to, const void* from, size_t count) const override {
    C10_CUDA_CHECK(cudaMemcpy(to, from, count, cudaMemcpyDeviceToDevice));
  }
  void* raw_alloc(size_t size) override {
    c10::DeviceIndex device = 0;
    C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
    return Take(size, device, c10::cuda::getCurrentCUDAStream(device).stream());
  }
  void* raw_alloc_with_stream(size_t size, cudaStream_t stream) override {
    c10::DeviceIndex device = 0;
    C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
    return Take(size, device, stream);
  }
  void raw_delete(void* block) override { FreeBlock(block); }
  void recordStream(const c10::DataPtr& block, c10::cuda::CUDAStream stream) override {
    // Memory of others (a tensor over a caller's pointer) is theirs to keep alive.
    if (!block.get() || block.get_deleter() != &FreeBlock) return;
    Check(TorchMemory::Get().RecordStream(AddressOf(block.get()), stream.stream(),
                                          block.device().index()));
  }
  void* getBaseAllocation(void* block, size_t* size) override {
    for (DeviceHeap* heap : TorchMemory::Get().heaps()) {
      const auto found = heap->SizeOf(AddressOf(block));
      if (!found) continue;
      if (size != nullptr) *size = static_cast<size_t>(BlockBytes(*found));
      return block;
    }
    TORCH_CHECK(false, "no block that is in use begins at ", block);
  }

  // --- the whole
  void init(int) override {
    Value(TorchMemory::Get().DeviceCount());
    initialized_ = true;
  }
  bool initialized() override { return initialized_; }
  std::string name() override { return "plimsoll"; }
  void enable(bool value) override {
    if (!value) NotOffered("caching_allocator_enable(False)", "set a limit, or call empty_cache()");
  }
  bool isEnabled() const override { return true; }
  double getMemoryFraction(c10::DeviceIndex device) override {
    return TorchMemory::Get().fraction(device);
  }
  void setMemoryFraction(double fraction, c10::DeviceIndex device) override {
    Check(TorchMemory::Get().SetFraction(device, fraction));
  }
  void emptyCache(c10::MempoolId_t pool) override {
    for (DeviceHeap* heap : TorchMemory::Get().heaps()) {
      Check(pool == c10::MempoolId_t{0, 0} ? heap->Trim().status()
                                           : heap->TrimPool(Named(pool)).status());
    }
  }
  void cacheInfo(c10::DeviceIndex device, size_t* largest) override {
    *largest = static_cast<size_t>(Value(Heap(device).LargestAvailable()).value());
  }
  std::vector<Caching::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex) override {
    return {};  // there are none of PyTorch's
  }

  // --- statistics
  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    DeviceStats stats;
    DeviceHeap* heap = TorchMemory::Get().FindHeap(device);
    if (heap == nullptr) return stats;
    const HeapStatistics now = heap->statistics();
    stats.allocation = Translate(now.allocation);
    stats.allocated_bytes = Translate(now.allocated_bytes);
    stats.requested_bytes = Translate(now.requested_bytes);
    stats.active = stats.allocation;
    stats.active[0].current += now.pending_blocks;
    stats.active[0].peak = std::max(stats.active[0].peak, stats.active[0].current);
    stats.active_bytes = stats.allocated_bytes;
    stats.active_bytes[0].current += now.pending_bytes;
    stats.active_bytes[0].peak =
        std::max(stats.active_bytes[0].peak, stats.active_bytes[0].current);
    stats.segment[0] = Translate(now.segment);
    stats.reserved_bytes[0] = Translate(now.reserved_bytes);
    stats.num_alloc_retries = now.alloc_retries;
    stats.num_ooms = now.ooms;
    stats.num_sync_all_streams = now.sync_all_streams;
    stats.num_device_alloc = now.segment.allocated;
    stats.num_device_free = now.segment.freed;
    stats.max_split_size = -1;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override { Heap(device).ResetAccumulated(); }
  void resetPeakStats(c10::DeviceIndex device) override { Heap(device).ResetPeak(); }
  Caching::SnapshotInfo snapshot(c10::MempoolId_t pool, bool) override {
    Caching::SnapshotInfo info;
    info.config_metadata = {};
    info.config_metadata.expandable_segments = true;
    for (DeviceHeap* heap : TorchMemory::Get().heaps()) {
      for (const Segment& segment : heap->Segments(Named(pool))) {
        info.segments.push_back(Translate(segment, *heap));
      }
      info.device_traces.resize(static_cast<size_t>(heap->id().ordinal) + 1);
    }
    return info;
  }

  // --- pools
  void beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                           std::function<bool(cudaStream_t)> filter) override {
    Heap(device).BeginPool(
        Named(pool),
        [filter = std::move(filter)](void* stream) {
          return filter(static_cast<cudaStream_t>(stream));
        },
        c10::cuda::getCurrentCUDAStream(device).stream());
  }
  void endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool) override {
    Heap(device).EndPool(Named(pool));
  }
  void releasePool(c10::DeviceIndex device, c10::MempoolId_t pool) override {
    Heap(device).ReleasePool(Named(pool));
  }
  int getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool) override {
    return Heap(device).PoolUses(Named(pool));
  }
  void createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                          std::shared_ptr<CUDAAllocator> allocator) override {
    if (allocator != nullptr) {
      NotOffered("MemPool(allocator)", "use MemPool() without an allocator of its own");
    }
    Heap(device).HoldPool(Named(pool));
  }
  void setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use) override {
    Heap(device).SetUseOnOutOfMemory(Named(pool), use);
  }
  void setNoSplit(c10::DeviceIndex, c10::MempoolId_t) override {
    NotOffered("MemPool(no_split=True)", "use MemPool() without it");
  }
  bool checkPoolLiveAllocations(c10::DeviceIndex device, c10::MempoolId_t pool,
                                const std::unordered_set<void*>& expected) override {
    const std::vector<LiveBlock> live = Heap(device).PoolBlocks(Named(pool));
    return live.size() == expected.size() &&
           std::all_of(live.begin(), live.end(), [&](const LiveBlock& block) {
             return expected.count(Pointer(block.address)) == 1;
           });
  }
  std::shared_ptr<Caching::AllocatorState> getCheckpointState(c10::DeviceIndex device,
                                                              c10::MempoolId_t pool) override {
    auto state = std::make_shared<PoolCheckpoint>();
    state->pool = Named(pool);
    state->live = Heap(device).PoolBlocks(state->pool);
    return state;
  }
  Caching::CheckpointDelta setCheckpointPoolState(
      c10::DeviceIndex device, std::shared_ptr<Caching::AllocatorState> state) override {
    const auto* checkpoint = dynamic_cast<const PoolCheckpoint*>(state.get());
    TORCH_CHECK(checkpoint != nullptr, "the state is another allocator's");
    const auto delta = Value(Heap(device).RestorePool(checkpoint->pool, checkpoint->live));
    Caching::CheckpointDelta translated;
    for (const device::Address address : delta.freed) {
      translated.ptrs_freed.push_back(Pointer(address));
    }
    for (const device::Address address : delta.allocated) {
      translated.dataptrs_allocd.emplace_back(Pointer(address), Pointer(address), &FreeBlock,
                                              c10::Device(c10::DeviceType::CUDA, device));
    }
    return translated;
  }

  // --- between devices and processes
  void enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex other) override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "plimsoll's allocator does not map memory of device ",
                                int{other}, " for device ", int{device},
                                ": copy through the host (tensor.cpu()), or use one process a GPU");
  }
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                          cudaStream_t stream, bool peers) override {
    if (peers || to_device == from_device) {
      return cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream);
    }
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, count, stream);
  }
  Caching::ShareableHandle shareIpcHandle(void*) override {
    NotOffered("memory shared between processes (CUDA IPC)", "send tensors through host memory");
  }
  std::shared_ptr<void> getIpcDevPtr(std::string) override {
    NotOffered("memory shared between processes (CUDA IPC)", "send tensors through host memory");
  }

  // --- watching
  bool isHistoryEnabled() override { return false; }
  void recordHistory(bool enabled, Caching::CreateContextFn, size_t, Caching::RecordContext, bool,
                     const std::vector<std::string>&) override {
    if (enabled) {
      NotOffered("_record_memory_history", "use plimsoll.torch.record() and report()");
    }
  }
  void attachOutOfMemoryObserver(Caching::OutOfMemoryObserver observer) override {
    const std::lock_guard lock(mutex_);
    observers_.push_back(std::move(observer));
  }
  // Some versions of torch ask for it, for refusals by a policy of their own allocator, which this
  // one does not have; in others it overrides nothing.
  void attachOomRejectionObserver(
      std::function<void(int64_t device, size_t size, size_t allocated, size_t total)>) {}
  void attachAllocatorTraceTracker(Caching::AllocatorTraceTracker) override {
    NotOffered("trackers of its trace", "use plimsoll.torch.record()");
  }

 private:
  static DeviceHeap& Heap(int device) { return *Value(TorchMemory::Get().Heap(device)); }

  void* Take(size_t size, int device, cudaStream_t stream) {
    if (size == 0) return nullptr;
    DeviceHeap& heap = Heap(device);
    const Result<device::Address> block =
        heap.Allocate(static_cast<int64_t>(size), stream, CurrentTag());
    if (block.ok()) [[likely]]
      return Pointer(*block);
    if (block.error().kind != ErrorKind::kDoesNotFit) TORCH_CHECK(false, block.error().Text());
    TellObservers(device, size);
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory: ", block.error().Text());
  }

  void TellObservers(int device, size_t size) {
    std::vector<Caching::OutOfMemoryObserver> observers;
    {
      const std::lock_guard lock(mutex_);
      observers = observers_;
    }
    if (observers.empty()) return;
    const auto [free, total] = getMemoryInfo(static_cast<c10::DeviceIndex>(device));
    for (const auto& observer : observers) observer(device, size, total, free);
  }

  using Caching::CUDAAllocator::recordStream;

  bool initialized_ = false;
  std::mutex mutex_;
  std::vector<Caching::OutOfMemoryObserver> observers_;
};

// Lets those free memory who registered for it, as PyTorch's own allocator does.
void RunFreeMemoryCallbacks() {
  for (const auto& name : c10::FreeCudaMemoryCallbacksRegistry()->Keys()) {
    c10::FreeCudaMemoryCallbacksRegistry()->Create(name)->Execute();
  }
}

struct TagBefore final : at::ObserverContext {
  std::string tag;
};

std::unique_ptr<at::ObserverContext> EnterOperator(const at::RecordFunction& function) {
  auto before = std::make_unique<TagBefore>();
  before->tag = CurrentTag();
  SetTag(function.name());
  return before;
}

void LeaveOperator(const at::RecordFunction&, at::ObserverContext* before) {
  SetTag(static_cast<TagBefore*>(before)->tag);
}

}  // namespace
}  // namespace plimsoll::pytorch

extern "C" {

// 0: done; 1: PyTorch has handed out memory by another allocator.
int plimsoll_torch_switch_on() {
  using namespace plimsoll::pytorch;
  auto& current = c10::cuda::CUDACachingAllocator::allocator;
  if (current.load()->initialized()) return 1;
  static PlimsollAllocator& allocator = *new PlimsollAllocator;
  current.store(&allocator);
  c10::SetAllocator(c10::DeviceType::CUDA, &allocator);
  TorchMemory::Get().SetReclaim(&RunFreeMemoryCallbacks);
  return 0;
}

// Blocks are tagged with the operator that asks for them, or no longer are.
void plimsoll_torch_tag_operators(int on) {
  using namespace plimsoll::pytorch;
  static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
  handle = at::INVALID_CALLBACK_HANDLE;
  if (on == 0) return;
  handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&EnterOperator, &LeaveOperator)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::USER_SCOPE}));
}
}
