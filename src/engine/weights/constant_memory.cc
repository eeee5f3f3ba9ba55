#include "engine/weights/constant_memory.h"

#include <algorithm>

#include "engine/run/stream_set.h"
#include "engine/transfer/device_queue.h"
#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr int64_t kPieceAlignment = 64;
constexpr int64_t kGrowth = 8;  // a new block is at least this part of those before it
constexpr Bytes kLargestStep = MiB(32);

}  // namespace

Result<device::HugePageBlock> ConstantMemory::AllocateBlock(Bytes piece, Bytes reserved) {
  if (pages_) {
    const Bytes roomy = std::max(piece, std::min(Bytes(reserved.value() / kGrowth), kLargestStep));
    for (const Bytes size : {roomy, piece}) {
      auto block = device::AllocateWithPages(*device_, id_, size, *pages_);
      if (block.ok()) return block;
    }
  }
  PLIMSOLL_ASSIGN(auto block,
                  device::AllocateVariableMemory(*device_, id_, piece, static_cast<int>(mode_)));
  pages_ = block.pages();
  return block;
}

Result<std::shared_ptr<void>> ConstantMemory::AllocateSystem(Bytes size) const {
  if (!side_.host_reachable) {
    PLIMSOLL_ASSIGN(const device::Address at,
                    device_->memory().AllocatePlain(id_, std::max(size, Bytes(1)),
                                                    device::MemoryType::kDevice));
    // A device that refuses to take memory back leaves nothing to be done about it here.
    return std::shared_ptr<void>(
        reinterpret_cast<void*>(at),
        [device = device_, id = id_, at](void*) { (void)device->memory().FreePlain(id, at).ok(); });
  }
  if (auto memory = kernels::AllocateBytes(size)) return memory;
  return Error{.kind = ErrorKind::kDoesNotFit,
               .code = "run.memory",
               .what = "cannot hold a weight",
               .where = "",
               .why = StrCat("the host has no ", size, " left"),
               .remedy = "close other models, or use a smaller one"};
}

Status ConstantMemory::Fill(void* piece, Bytes size,
                            const std::function<Status(void*)>& fill) const {
  if (side_.host_reachable) return fill(piece);
  const std::shared_ptr<void> staging = kernels::AllocateBytes(size);
  if (staging == nullptr) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "run.memory",
                 .what = "cannot bring a weight to the device",
                 .where = "",
                 .why = StrCat("the host has no ", size, " left"),
                 .remedy = "close other programs, or use a smaller model"};
  }
  PLIMSOLL_TRY(fill(staging.get()));
  StreamSet stream(device_, id_);
  PLIMSOLL_TRY(stream.Grow(1));
  DeviceQueue queue(side_, stream.At(0), 1);
  PLIMSOLL_TRY(queue.Copy(piece, staging.get(), size));
  return queue.Finish();
}

Result<std::shared_ptr<void>> ConstantMemory::Allocate(Bytes size) {
  if (!large_pages()) return AllocateSystem(size);
  const std::lock_guard lock(mutex_);
  const Bytes piece = std::max(size, Bytes(1)).RoundUp(kPieceAlignment);
  std::erase_if(blocks_, [](const auto& block) { return block.expired(); });
  Bytes reserved;
  for (const auto& known : blocks_) {
    const auto block = known.lock();
    if (block == nullptr) continue;
    reserved += block->size();
    if (auto cut = PageBlock::Cut(block, piece)) return cut;
  }
  PLIMSOLL_ASSIGN(device::HugePageBlock memory, AllocateBlock(piece, reserved));
  const auto block = std::make_shared<PageBlock>(device_, std::move(memory));
  blocks_.push_back(block);
  return PageBlock::Cut(block, piece);
}

std::string ConstantMemory::Kind() const {
  if (!copies()) return "process";
  return StrCat("pages ", static_cast<int>(mode_), " of ",
                reinterpret_cast<uintptr_t>(device_.get()), ":", id_.ordinal);
}

Bytes ConstantMemory::reserved() const {
  const std::lock_guard lock(mutex_);
  Bytes sum;
  for (const auto& known : blocks_) {
    if (const auto block = known.lock()) sum += block->size();
  }
  return sum;
}

}  // namespace plimsoll::engine
