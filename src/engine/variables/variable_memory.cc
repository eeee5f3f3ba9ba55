#include "engine/variables/variable_memory.h"

#include <algorithm>

#include "plimsoll/base/text.h"
#include "plimsoll/device/huge_pages.h"

namespace plimsoll::engine {
namespace {

std::shared_ptr<void> Pointer(device::Address at, std::function<void()> release) {
  return {reinterpret_cast<void*>(at), [release = std::move(release)](void*) { release(); }};
}

}  // namespace

Result<std::shared_ptr<void>> VariableMemory::TakeOfHost(Bytes size) {
  PLIMSOLL_ASSIGN(const device::Address at,
                  device_->memory().AllocatePlain(id_, size, device::MemoryType::kHost));
  taken_ += size;
  // A device that refuses to take memory back leaves nothing to be done about it here.
  return Pointer(
      at, [device = device_, id = id_, at] { (void)device->memory().FreePlain(id, at).ok(); });
}

Result<std::shared_ptr<void>> VariableMemory::TakeOfDevice(Bytes size) {
  PLIMSOLL_ASSIGN(device::HugePageBlock block,
                  device::AllocateWithPages(*device_, id_, size, device::PagePolicy::kDefault));
  taken_ += block.size();
  const device::Address at = block.address();
  auto held = std::make_shared<device::HugePageBlock>(std::move(block));
  return Pointer(at, [device = device_, held = std::move(held)]() mutable { held.reset(); });
}

Result<std::shared_ptr<void>> VariableMemory::Take(Bytes size) {
  const Bytes some = std::max(size, Bytes(1));
  const bool host = placement_ == config::VariablePlacement::kHost;
  const bool large = weights_->memory().large_pages();
  auto taken = host    ? TakeOfHost(some)
               : large ? weights_->memory().Allocate(some)
                       : TakeOfDevice(some);
  if (taken.ok()) return taken;
  Error error = taken.error();
  error.why = StrCat(error.what, ": ", error.why);
  error.what = StrCat("no memory for ", size, " of variables");
  return error;
}

Bytes VariableMemory::reserved() const {
  const bool shared = placement_ == config::VariablePlacement::kDevice;
  return shared ? taken_ + weights_->memory().reserved() : taken_;
}

}  // namespace plimsoll::engine
