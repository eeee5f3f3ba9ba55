#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "config/run_config.h"
#include "engine/area_memory.h"
#include "kernels/host_value.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/memory_observer.h"
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
  FeatureMap(std::shared_ptr<memory::Allocator> allocator, const memory::Block& block)
      : allocator_(std::move(allocator)), block_(block) {}
  FeatureMap(FeatureMap&& other) noexcept { *this = std::move(other); }
  FeatureMap& operator=(FeatureMap&& other) noexcept;
  ~FeatureMap();

  std::byte* base() const { return reinterpret_cast<std::byte*>(block_.address); }
  Bytes size() const { return block_.size; }  // 0: nothing is held

 private:
  std::shared_ptr<memory::Allocator> allocator_;
  memory::Block block_;
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

  FeatureMemory(std::shared_ptr<device::Device> device, device::DeviceId id, Policy policy,
                std::shared_ptr<memory::Allocator> of_the_caller = nullptr);

  // Fails with memory.out_of_memory, or with what the device says.
  Result<FeatureMap> Take(GraphShapes shapes, Bytes size, std::string_view graph);
  // Whether a graph keeps its feature map between runs.
  bool KeptWhileLoaded(GraphShapes shapes) const;
  // For what a graph needs beside its feature map; counted here, whatever the policy.
  std::unique_ptr<AreaMemory> MakeAreas() const;
  // For tensors whose sizes only a run tells: from the range under 3 and 4, else the heap's.
  kernels::AllocateTensor TensorAllocator() const;

  Policy policy() const { return policy_; }
  Bytes reserved() const;
  Bytes peak_reserved() const;  // of feature maps, and what areas take now
  // Gives back what no graph holds.
  Result<Bytes> Trim();

 private:
  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  const Policy policy_;
  const bool of_the_caller_;
  const std::shared_ptr<std::atomic<int64_t>> areas_reserved_;
  bool tensors_from_range_ = false;
  std::shared_ptr<memory::PhysicalMemoryAllocator> physical_;
  std::shared_ptr<memory::Allocator> static_;
  std::shared_ptr<memory::Allocator> dynamic_;  // may be the same
};

// Of the CPU device that a session makes for itself: fine, since feature maps are often small.
inline constexpr Bytes kSessionGranularity = KiB(64);

// The memory of one graph.
struct GraphSize {
  GraphShapes shapes = GraphShapes::kStatic;
  Bytes size;         // of its feature map
  Bytes beside = {};  // of its areas
};

// What these graphs reserve under a policy once each has run, one after the other, on a device of
// this granularity.
Bytes ReservedFor(config::StaticMemoryPolicy policy, std::span<const GraphSize> graphs,
                  Bytes granularity);

}  // namespace plimsoll::engine
