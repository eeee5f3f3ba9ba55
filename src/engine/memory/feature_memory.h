#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "config/run_config.h"
#include "engine/memory/area_memory.h"
#include "engine/memory/kept_blocks.h"
#include "engine/memory/memory_ledger.h"
#include "engine/transfer/device_side.h"
#include "kernels/host_value.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"
#include "plimsoll/memory/allocator.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::engine {

enum class GraphShapes { kStatic, kDynamic };

// Memory that a graph runs in, given back when the object dies.
class FeatureMap {
 public:
  FeatureMap() = default;
  // `kept`: counts there while it is held.
  FeatureMap(std::shared_ptr<memory::Allocator> allocator, const memory::Block& block,
             std::shared_ptr<MemoryLedger> kept);
  FeatureMap(FeatureMap&& other) noexcept { *this = std::move(other); }
  FeatureMap& operator=(FeatureMap&& other) noexcept;
  ~FeatureMap();

  std::byte* base() const { return reinterpret_cast<std::byte*>(block_.address); }
  Bytes size() const { return block_.size; }  // 0: nothing is held

 private:
  std::shared_ptr<memory::Allocator> allocator_;
  memory::Block block_;
  std::shared_ptr<MemoryLedger> kept_;  // may be null
};

// Where the graphs of a session take their feature maps from, as `static_memory_policy` says:
//
//      static-shape graphs                        dynamic-shape graphs
//   0  each its own bytes, while it is loaded     a pool of plain blocks by actual size, for a run
//   2  one range that grows by mapping, as large  as 0
//      as the largest, for a run
//   3  as 0                                       a range that grows by mapping, for a run
//   4  as 2                                       as 3, in the same range
//
// Where the device has no virtual memory, a range is one plain block, released and taken again when
// it must grow. An allocator of the caller's takes the place of all of these.
// Thread-safe. Keeps the device alive; what it took goes back after the device was synchronised.
class FeatureMemory {
 public:
  using Policy = config::StaticMemoryPolicy;

  // `observer`: told of each change of what the device has given; may be null.
  FeatureMemory(std::shared_ptr<device::Device> device, device::DeviceId id, Policy policy,
                std::shared_ptr<memory::Allocator> of_the_caller = nullptr,
                std::shared_ptr<MemoryObserver> observer = nullptr);

  // Fails with memory.out_of_memory, or with what the device says.
  Result<FeatureMap> Take(GraphShapes shapes, Bytes size, std::string_view graph);
  // Whether a graph keeps its feature map between runs.
  bool KeptWhileLoaded(GraphShapes shapes) const;
  // For what a graph needs outside its feature map; counted here, whatever the policy.
  std::unique_ptr<AreaMemory> MakeAreas() const;
  // For inputs and outputs on a device that the host cannot reach; counted separately from the
  // rest.
  std::unique_ptr<AreaMemory> MakePortMemory() const;
  // For tensors whose sizes only a run tells: from the range under 3 and 4, else the heap's, as
  // wherever the host cannot reach the device; large ones of these are kept for the next run.
  // Counted here while they live.
  kernels::AllocateTensor TensorAllocator() const;
  bool tensors_from_range() const { return tensors_from_range_; }

  Policy policy() const { return policy_; }
  DeviceSide side() const { return DeviceSide::Of(device_, id_); }
  Bytes reserved() const;                                  // feature maps and areas of the device
  Bytes peak_reserved() const;                             // the most there ever was
  Bytes asked() const;                                     // of what is reserved (MemoryLedger)
  Bytes ports() const { return ports_->peak_reserved(); }  // of MakePortMemory, at most
  Bytes host() const { return ledger_->host(); }           // areas of host memory
  Bytes heap() const { return ledger_->heap(); }           // tensors of node by node runs, at most
  // Gives back what no graph holds.
  Result<Bytes> Trim();

 private:
  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  const Policy policy_;
  const bool of_the_caller_;
  const std::shared_ptr<MemoryLedger> ledger_;
  const std::shared_ptr<MemoryLedger> ports_;
  bool tensors_from_range_ = false;
  const std::shared_ptr<KeptBlocks> tensor_blocks_ = std::make_shared<KeptBlocks>();
  std::shared_ptr<memory::PhysicalMemoryAllocator> physical_;
  std::shared_ptr<memory::Allocator> static_;
  std::shared_ptr<memory::Allocator> dynamic_;  // may be the same
};

// Of the CPU device that a session makes for itself: fine, since feature maps are often small.
inline constexpr Bytes kSessionGranularity = KiB(64);

}  // namespace plimsoll::engine
