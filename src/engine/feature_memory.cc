#include "engine/feature_memory.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/memory/caching_mem_allocator.h"
#include "plimsoll/memory/stream_ordered_allocator.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

using config::StaticMemoryPolicy;
using memory::Allocator;
using memory::Keep;
using Physical = std::shared_ptr<memory::PhysicalMemoryAllocator>;

bool SharesStatic(StaticMemoryPolicy policy) {
  return policy == StaticMemoryPolicy::kSharedStatic ||
         policy == StaticMemoryPolicy::kSharedAndExpandable;
}

bool ExpandsDynamic(StaticMemoryPolicy policy) {
  return policy == StaticMemoryPolicy::kExpandableDynamic ||
         policy == StaticMemoryPolicy::kSharedAndExpandable;
}

// Asks, since a device tells only by refusing; once, where it has refused.
bool ReservesAddresses(device::Device& device, device::DeviceId id) {
  const Bytes granularity = device.memory().Granularity(id);
  const auto range = device.memory().ReserveAddressIfAble(id, granularity, granularity);
  if (!range.ok()) return range.error().kind != ErrorKind::kUnsupported;
  if (const Status released = device.memory().ReleaseAddress(id, *range); !released.ok()) {
    Log(LogLevel::kWarning, released.error().Text());
  }
  return true;
}

std::shared_ptr<Allocator> Plain(const Physical& physical, Keep keep) {
  return std::make_shared<memory::CachingMemAllocator>(physical, nullptr, keep);
}

}  // namespace

FeatureMap& FeatureMap::operator=(FeatureMap&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(block_, other.block_);
  return *this;
}

FeatureMap::~FeatureMap() {
  if (allocator_ == nullptr) return;
  if (const Status freed = allocator_->Free(block_); !freed.ok()) {
    Log(LogLevel::kWarning, freed.error().Text());
  }
}

FeatureMemory::FeatureMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                             Policy policy, std::shared_ptr<Allocator> of_the_caller)
    : device_(std::move(device)),
      id_(id),
      policy_(policy),
      of_the_caller_(of_the_caller != nullptr),
      areas_reserved_(std::make_shared<std::atomic<int64_t>>(0)) {
  if (of_the_caller_) {
    static_ = dynamic_ = std::move(of_the_caller);
    return;
  }
  const bool expands = ReservesAddresses(*device_, id);
  physical_ = std::make_shared<memory::PhysicalMemoryAllocator>(device_, id);
  const auto range = [&]() -> std::shared_ptr<Allocator> {
    if (!expands) return Plain(physical_, Keep::kUntilLarger);
    memory::StreamOrderedOptions options;
    options.slab = kSessionGranularity;
    return std::make_shared<memory::StreamOrderedAllocator>(physical_, options);
  };
  tensors_from_range_ = expands && ExpandsDynamic(policy);
  static_ = SharesStatic(policy) ? range() : Plain(physical_, Keep::kNothing);
  if (!ExpandsDynamic(policy)) {
    dynamic_ = Plain(physical_, Keep::kUntilLarger);
  } else {
    dynamic_ = SharesStatic(policy) ? static_ : range();
  }
}

Result<FeatureMap> FeatureMemory::Take(GraphShapes shapes, Bytes size, std::string_view graph) {
  if (size == Bytes(0)) return FeatureMap();
  const auto& allocator = shapes == GraphShapes::kStatic ? static_ : dynamic_;
  PLIMSOLL_ASSIGN(const memory::Block block, allocator->Allocate({.size = size, .tag = graph}));
  return FeatureMap(allocator, block);
}

bool FeatureMemory::KeptWhileLoaded(GraphShapes shapes) const {
  return shapes == GraphShapes::kStatic && (of_the_caller_ || !SharesStatic(policy_));
}

kernels::AllocateTensor FeatureMemory::TensorAllocator() const {
  if (!tensors_from_range_) return kernels::AllocateOnHeap;
  return [allocator = dynamic_](graph::DataType type,
                                const kernels::Dims& dims) -> Result<kernels::HostTensor> {
    if (type == graph::DataType::kString) return kernels::AllocateOnHeap(type, dims);
    kernels::HostTensor tensor{.type = type, .dims = dims, .data = nullptr};
    PLIMSOLL_ASSIGN(const memory::Block block,
                    allocator->Allocate({.size = tensor.size(), .tag = "tensors"}));
    auto held = std::make_shared<FeatureMap>(allocator, block);
    tensor.data = std::shared_ptr<void>(held, held->base());
    return tensor;
  };
}

std::unique_ptr<AreaMemory> FeatureMemory::MakeAreas() const {
  return std::make_unique<AreaMemory>(device_, id_, areas_reserved_);
}

Bytes FeatureMemory::reserved() const {
  const Bytes maps = of_the_caller_ ? static_->statistics().reserved : physical_->reserved();
  return maps + Bytes(*areas_reserved_);
}

Bytes FeatureMemory::peak_reserved() const {
  const Bytes maps =
      of_the_caller_ ? static_->statistics().peak_reserved : physical_->peak_reserved();
  return maps + Bytes(*areas_reserved_);
}

Result<Bytes> FeatureMemory::Trim() {
  PLIMSOLL_ASSIGN(Bytes released, static_->Trim());
  if (dynamic_ == static_) return released;
  PLIMSOLL_ASSIGN(const Bytes more, dynamic_->Trim());
  return released + more;
}

Bytes ReservedFor(StaticMemoryPolicy policy, std::span<const GraphSize> graphs, Bytes granularity) {
  Bytes sum;  // of static graphs
  Bytes largest_static;
  Bytes largest_dynamic;
  Bytes beside;
  for (const GraphSize& graph : graphs) {
    beside += graph.beside;
    const bool fixed = graph.shapes == GraphShapes::kStatic;
    if (fixed) sum += graph.size;
    Bytes& largest = fixed ? largest_static : largest_dynamic;
    largest = std::max(largest, graph.size);
  }
  const auto range = [&](Bytes size) { return size.RoundUp(granularity.value()); };
  switch (policy) {
    case StaticMemoryPolicy::kByGraph:
      return beside + sum + largest_dynamic.RoundUp(memory::kBlockAlignment);
    case StaticMemoryPolicy::kSharedStatic:
      return beside + range(largest_static) + largest_dynamic.RoundUp(memory::kBlockAlignment);
    case StaticMemoryPolicy::kExpandableDynamic:
      return beside + sum + range(largest_dynamic);
    default:
      return beside + range(std::max(largest_static, largest_dynamic));
  }
}

}  // namespace plimsoll::engine
