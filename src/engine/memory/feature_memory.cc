#include "engine/memory/feature_memory.h"

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

// The memory of a tensor, counted for as long as it is there.
class CountedTensor {
 public:
  CountedTensor(std::shared_ptr<MemoryLedger> ledger, bool of_heap, Bytes size,
                std::shared_ptr<void> memory)
      : ledger_(std::move(ledger)), of_heap_(of_heap), size_(size), memory_(std::move(memory)) {
    ledger_->CountTensor(of_heap_, size_);
  }
  CountedTensor(const CountedTensor&) = delete;
  CountedTensor& operator=(const CountedTensor&) = delete;
  ~CountedTensor() { ledger_->CountTensor(of_heap_, Bytes(0) - size_); }

 private:
  const std::shared_ptr<MemoryLedger> ledger_;
  const bool of_heap_;
  const Bytes size_;
  const std::shared_ptr<void> memory_;
};

}  // namespace

FeatureMap::FeatureMap(std::shared_ptr<Allocator> allocator, const memory::Block& block,
                       std::shared_ptr<MemoryLedger> kept)
    : allocator_(std::move(allocator)), block_(block), kept_(std::move(kept)) {
  if (kept_ != nullptr) kept_->CountKept(block_.size);
}

FeatureMap& FeatureMap::operator=(FeatureMap&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(block_, other.block_);
  std::swap(kept_, other.kept_);
  return *this;
}

FeatureMap::~FeatureMap() {
  if (allocator_ == nullptr) return;
  if (kept_ != nullptr) kept_->CountKept(Bytes(0) - block_.size);
  if (const Status freed = allocator_->Free(block_); !freed.ok()) {
    Log(LogLevel::kWarning, freed.error().Text());
  }
}

FeatureMemory::FeatureMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                             Policy policy, std::shared_ptr<Allocator> of_the_caller,
                             std::shared_ptr<MemoryObserver> observer)
    : device_(std::move(device)),
      id_(id),
      policy_(policy),
      of_the_caller_(of_the_caller != nullptr),
      ledger_(std::make_shared<MemoryLedger>(std::move(observer), id.ordinal)),
      ports_(std::make_shared<MemoryLedger>()) {
  if (of_the_caller_) {
    static_ = dynamic_ = std::move(of_the_caller);
    return;
  }
  const bool expands = ReservesAddresses(*device_, id);
  // Tensors may outlive the session, and with them what the physical memory reports to.
  memory::PhysicalMemoryOptions reports;
  reports.observer = ledger_.get();
  physical_ = Physical(new memory::PhysicalMemoryAllocator(device_, id, reports),
                       [ledger = ledger_](memory::PhysicalMemoryAllocator* old) { delete old; });
  const auto range = [&]() -> std::shared_ptr<Allocator> {
    if (!expands) return Plain(physical_, Keep::kUntilLarger);
    memory::StreamOrderedOptions options;
    options.slab = kSessionGranularity;
    return std::make_shared<memory::StreamOrderedAllocator>(physical_, options);
  };
  tensors_from_range_ = expands && ExpandsDynamic(policy) && side().host_reachable;
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
  const memory::Request request{.size = size, .tag = graph};
  Result<memory::Block> given = allocator->Allocate(request);
  const auto is_full = [&] {
    return !given.ok() && given.error().kind == ErrorKind::kDoesNotFit && !of_the_caller_;
  };
  // What graphs of the other kind keep for their next run, and what growing took in vain.
  if (is_full() && Trim().ok()) given = allocator->Allocate(request);
  if (is_full()) (void)Trim().ok();
  PLIMSOLL_ASSIGN(const memory::Block block, std::move(given));
  if (of_the_caller_) ledger_->SetMapsReserved(allocator->statistics().reserved);
  if (KeptWhileLoaded(shapes)) return FeatureMap(allocator, block, ledger_);
  ledger_->CountLent(shapes == GraphShapes::kStatic && static_ != dynamic_, size);
  return FeatureMap(allocator, block, nullptr);
}

bool FeatureMemory::KeptWhileLoaded(GraphShapes shapes) const {
  return shapes == GraphShapes::kStatic && (of_the_caller_ || !SharesStatic(policy_));
}

kernels::AllocateTensor FeatureMemory::TensorAllocator() const {
  const auto allocator = tensors_from_range_ ? dynamic_ : nullptr;
  return [allocator, ledger = ledger_, blocks = tensor_blocks_](
             graph::DataType type, const kernels::Dims& dims) -> Result<kernels::HostTensor> {
    kernels::HostTensor tensor{.type = type, .dims = dims, .data = nullptr};
    const bool is_text = type == graph::DataType::kString;
    const bool of_heap = allocator == nullptr || is_text;
    if (of_heap && !is_text && !tensor.size().saturated() && tensor.size() >= KeptBlocks::kLeast) {
      tensor.data = blocks->Take(tensor.size());
    }
    if (of_heap && tensor.data == nullptr) {
      PLIMSOLL_ASSIGN(tensor, kernels::AllocateOnHeap(type, dims));
    } else if (!of_heap) {
      PLIMSOLL_ASSIGN(const memory::Block block,
                      allocator->Allocate({.size = tensor.size(), .tag = "tensors"}));
      auto held = std::make_shared<FeatureMap>(allocator, block, nullptr);
      tensor.data = std::shared_ptr<void>(held, held->base());
    }
    void* const at = tensor.data.get();
    const Bytes size = tensor.size();
    tensor.data = std::shared_ptr<void>(
        std::make_shared<CountedTensor>(ledger, of_heap, size, std::move(tensor.data)), at);
    return tensor;
  };
}

std::unique_ptr<AreaMemory> FeatureMemory::MakeAreas() const {
  return std::make_unique<AreaMemory>(device_, id_, ledger_);
}

std::unique_ptr<AreaMemory> FeatureMemory::MakePortMemory() const {
  return std::make_unique<AreaMemory>(device_, id_, ports_);
}

Bytes FeatureMemory::reserved() const {
  if (of_the_caller_) ledger_->SetMapsReserved(static_->statistics().reserved);
  return ledger_->reserved();
}

Bytes FeatureMemory::peak_reserved() const {
  if (!of_the_caller_) return ledger_->peak_reserved();
  return std::max(ledger_->peak_reserved(), static_->statistics().peak_reserved);
}

Bytes FeatureMemory::asked() const { return ledger_->asked(); }

Result<Bytes> FeatureMemory::Trim() {
  tensor_blocks_->Trim();
  PLIMSOLL_ASSIGN(Bytes released, static_->Trim());
  ledger_->Trimmed();
  if (dynamic_ == static_) return released;
  PLIMSOLL_ASSIGN(const Bytes more, dynamic_->Trim());
  return released + more;
}

}  // namespace plimsoll::engine
