#include "engine/variable_memory.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>

#include "plimsoll/base/text.h"
#include "plimsoll/device/huge_pages.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

// Host memory of a device, given back when it dies.
class HostBlock {
 public:
  static Result<HostBlock> Take(device::Device& device, device::DeviceId id, Bytes size) {
    PLIMSOLL_ASSIGN(const device::Address base,
                    device.memory().AllocatePlain(id, size, device::MemoryType::kHost));
    return HostBlock(device, id, base);
  }
  HostBlock() = default;
  HostBlock(HostBlock&& other) noexcept { *this = std::move(other); }
  HostBlock& operator=(HostBlock&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(id_, other.id_);
    std::swap(base_, other.base_);
    return *this;
  }
  ~HostBlock() {
    if (device_ != nullptr) (void)device_->memory().FreePlain(id_, base_).ok();
  }

  device::Address address() const { return base_; }

 private:
  HostBlock(device::Device& device, device::DeviceId id, device::Address base)
      : device_(&device), id_(id), base_(base) {}

  device::Device* device_ = nullptr;
  device::DeviceId id_;
  device::Address base_ = 0;
};

struct Block {
  device::HugePageBlock pages;  // of the device
  HostBlock host;               // or this
  device::Address base = 0;
  int64_t size = 0;
  std::map<int64_t, int64_t> free;  // runs that nobody holds: offset and size
};

}  // namespace

// The blocks outlive their VariableMemory while a piece is held; they hold the device.
class VariableMemory::Blocks {
 public:
  Blocks(std::shared_ptr<device::Device> device, device::DeviceId id)
      : device_(std::move(device)), id_(id) {}

  struct Piece {
    std::list<Block>::iterator block;
    int64_t offset = 0;
    int64_t size = 0;
  };

  Result<Piece> Take(int64_t size, config::HugePages pages, config::VariablePlacement placement) {
    const std::lock_guard lock(mutex_);
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      const auto run = std::find_if(block->free.begin(), block->free.end(),
                                    [&](const auto& one) { return one.second >= size; });
      if (run != block->free.end()) return Cut(block, run, size);
    }
    PLIMSOLL_ASSIGN(Block block, MakeBlock(Bytes(size), pages, placement));
    block.free.emplace(0, block.size);
    blocks_.push_back(std::move(block));
    const auto made = std::prev(blocks_.end());
    return Cut(made, made->free.begin(), size);
  }

  void Give(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    used_ -= Bytes(piece.size);
    auto& free = piece.block->free;
    const auto [place, added] = free.emplace(piece.offset, piece.size);
    if (const auto next = std::next(place);
        next != free.end() && place->first + place->second == next->first) {
      place->second += next->second;
      free.erase(next);
    }
    if (place != free.begin()) {
      const auto before = std::prev(place);
      if (before->first + before->second == place->first) {
        before->second += place->second;
        free.erase(place);
      }
    }
    if (free.begin()->second == piece.block->size) blocks_.erase(piece.block);
  }

  Bytes used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

  Bytes reserved() const {
    const std::lock_guard lock(mutex_);
    Bytes sum;
    for (const Block& block : blocks_) sum += Bytes(block.size);
    return sum;
  }

 private:
  Result<Block> MakeBlock(Bytes size, config::HugePages pages,
                          config::VariablePlacement placement) {
    Block block;
    if (placement == config::VariablePlacement::kHost) {
      PLIMSOLL_ASSIGN(block.host, HostBlock::Take(*device_, id_, size));
      block.base = block.host.address();
      block.size = size.value();
      return block;
    }
    PLIMSOLL_ASSIGN(block.pages,
                    device::AllocateVariableMemory(*device_, id_, size, static_cast<int>(pages)));
    block.base = block.pages.address();
    block.size = block.pages.size().value();
    return block;
  }

  Piece Cut(std::list<Block>::iterator block, std::map<int64_t, int64_t>::iterator run,
            int64_t size) {
    const auto [offset, length] = *run;
    block->free.erase(run);
    if (length > size) block->free.emplace(offset + size, length - size);
    used_ += Bytes(size);
    return {block, offset, size};
  }

  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  mutable std::mutex mutex_;
  std::list<Block> blocks_;
  Bytes used_;
};

VariableMemory::VariableMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                               config::HugePages pages, config::VariablePlacement placement)
    : pages_(pages),
      placement_(placement),
      blocks_(std::make_shared<Blocks>(std::move(device), id)) {}

Result<std::shared_ptr<void>> VariableMemory::Take(Bytes size) {
  const Bytes whole = std::max(size, Bytes(1)).RoundUp(plan::kDefaultAlignment);
  auto taken = blocks_->Take(whole.value(), pages_, placement_);
  if (!taken.ok()) {
    const Error& reason = taken.error();
    return Error{.kind = reason.kind,
                 .code = reason.code,
                 .what = StrCat("no memory for ", size, " of variables or constants"),
                 .where = reason.where,
                 .why = StrCat(reason.what, ": ", reason.why),
                 .remedy = reason.remedy};
  }
  void* const address =
      reinterpret_cast<void*>(taken->block->base + static_cast<uint64_t>(taken->offset));
  return std::shared_ptr<void>(address,
                               [blocks = blocks_, piece = *taken](void*) { blocks->Give(piece); });
}

Bytes VariableMemory::used() const { return blocks_->used(); }
Bytes VariableMemory::reserved() const { return blocks_->reserved(); }

}  // namespace plimsoll::engine
