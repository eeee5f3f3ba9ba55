#include "plimsoll/device/huge_pages.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

Bytes PageSize(PagePolicy pages, Bytes granularity) {
  switch (pages) {
    case PagePolicy::kHuge1G:
      return std::max(GiB(1), granularity);
    case PagePolicy::kHuge2M:
    case PagePolicy::kTransparent2M:
      return std::max(MiB(2), granularity);
    case PagePolicy::kDefault:
    case PagePolicy::kSmall4K:
      break;
  }
  return granularity;
}

}  // namespace

HugePageBlock::HugePageBlock(HugePageBlock&& other) noexcept { *this = std::move(other); }

HugePageBlock& HugePageBlock::operator=(HugePageBlock&& other) noexcept {
  if (this == &other) return *this;
  (void)Release();
  device_ = std::exchange(other.device_, nullptr);
  id_ = other.id_;
  range_ = std::exchange(other.range_, {});
  chunk_ = std::exchange(other.chunk_, {});
  pages_ = other.pages_;
  return *this;
}

HugePageBlock::~HugePageBlock() { (void)Release(); }

Status HugePageBlock::Release() {
  if (device_ == nullptr) return {};
  DeviceMemory& memory = device_->memory();
  PLIMSOLL_TRY(chunk_.valid() ? memory.Unmap(id_, range_.base, range_.size)
                              : memory.FreePlain(id_, range_.base));
  device_ = nullptr;
  const AddressRange range = std::exchange(range_, {});
  const ChunkId chunk = std::exchange(chunk_, {});
  if (!chunk.valid()) return {};
  const Status destroyed = memory.DestroyChunk(id_, chunk);
  const Status released = memory.ReleaseAddress(id_, range);
  return destroyed.ok() ? released : destroyed;
}

Result<HugePageBlock> AllocateWithPages(Device& device, DeviceId id, Bytes size, PagePolicy pages) {
  DeviceMemory& memory = device.memory();
  const Bytes granularity = memory.Granularity(id);
  const Bytes page = PageSize(pages, std::max(granularity, Bytes(1)));
  const Bytes whole = size > Bytes(0) ? size.RoundUp(page.value()) : size;
  HugePageBlock block;
  block.id_ = id;
  block.pages_ = pages;
  const auto range = memory.ReserveAddressIfAble(id, whole, page);
  if (!range.ok()) {
    if (range.error().kind != ErrorKind::kUnsupported || pages != PagePolicy::kDefault) {
      return range.error();
    }
    PLIMSOLL_ASSIGN(block.range_.base, memory.AllocatePlain(id, size, MemoryType::kDevice));
    block.range_.size = size;
    block.device_ = &device;
    return block;
  }
  const auto chunk = memory.CreateChunk(
      id, whole, {.type = MemoryType::kDevice, .pages = pages, .mapped_twice = false});
  if (!chunk.ok()) {
    (void)memory.ReleaseAddress(id, *range);
    return chunk.error();
  }
  if (Status mapped = memory.Map(id, range->base, *chunk); !mapped.ok()) {
    (void)memory.DestroyChunk(id, *chunk);
    (void)memory.ReleaseAddress(id, *range);
    return mapped;
  }
  block.range_ = *range;
  block.chunk_ = *chunk;
  block.device_ = &device;
  PLIMSOLL_TRY(memory.SetAccess(id, range->base, whole));
  return block;
}

Result<HugePageBlock> AllocateVariableMemory(Device& device, DeviceId id, Bytes size, int mode) {
  if (mode == 0) return AllocateWithPages(device, id, size, PagePolicy::kDefault);
  if (mode != 1 && mode != 2) {
    return Error{ErrorKind::kUsage,
                 "device.huge_page_mode",
                 "cannot allocate the memory of variables",
                 StrCat("variable_use_1g_huge_page=", mode),
                 "the value is unknown",
                 "use 0 (default pages), 1 (1 GiB pages) or 2 (1 GiB pages, else 2 MiB pages)"};
  }
  auto giant = AllocateWithPages(device, id, size, PagePolicy::kHuge1G);
  if (giant.ok()) return giant;
  if (mode == 1) {
    Log(LogLevel::kError, StrCat("variable_use_1g_huge_page=1: ", giant.error().Text()));
    return giant;
  }
  Log(LogLevel::kError,
      StrCat("variable_use_1g_huge_page=2: trying 2 MiB pages: ", giant.error().Text()));
  auto huge = AllocateWithPages(device, id, size, PagePolicy::kHuge2M);
  if (huge.ok()) return huge;
  return AllocateWithPages(device, id, size, PagePolicy::kTransparent2M);
}

}  // namespace plimsoll::device
