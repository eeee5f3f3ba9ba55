#include "core/private_pool.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "core/heap_statistics.h"
#include "plimsoll/base/text.h"

namespace plimsoll::pytorch {
namespace {

using device::Address;

Address After(Address at, int64_t size) { return at + static_cast<uint64_t>(size); }

Error NotRestorable(const LiveBlock& block, std::string why) {
  return {ErrorKind::kRunFailed,
          "torch.checkpoint",
          "cannot restore a memory pool",
          StrCat("address ", block.address),
          std::move(why),
          "keep the pool's memory while graphs of it are in use"};
}

Error NoRoom(int64_t size) {
  return {ErrorKind::kDoesNotFit,
          "torch.pool_full",
          "cannot take memory of a pool",
          "",
          StrCat("none of its free blocks holds ", Bytes(size)),
          ""};
}

}  // namespace

Bytes ReservationOf(device::Device& device, device::DeviceId id) {
  const auto info = device.memory().Info(id);
  return info.ok() ? std::max(info->total * 2, GiB(16)) : device::DefaultReservation();
}

StreamArena::StreamArena(std::shared_ptr<memory::PhysicalMemoryAllocator> physical,
                         device::StreamId stream)
    : device_(std::make_unique<memory::DeviceAllocator>(
          physical, stream,
          memory::ExpandableOptions{ReservationOf(physical->device(), physical->id())})) {}

void StreamArena::AddFree(Address at, int64_t size, bool joins_previous) {
  const auto cell = cells_.insert_or_assign(at, Cell{size, 0, false, joins_previous}).first;
  free_.insert({size, at});
  Join(cell);
}

// Joins a free cell with the free ones on both sides.
void StreamArena::Join(Cells::iterator cell) {
  const auto absorb = [&](Cells::iterator lower, Cells::iterator upper) {
    free_.erase({lower->second.size, lower->first});
    free_.erase({upper->second.size, upper->first});
    lower->second.size += upper->second.size;
    cells_.erase(upper);
    free_.insert({lower->second.size, lower->first});
    return lower;
  };
  if (const auto next = std::next(cell);
      next != cells_.end() && next->second.joins_previous && !next->second.live) {
    cell = absorb(cell, next);
  }
  if (cell == cells_.begin() || !cell->second.joins_previous) return;
  if (const auto before = std::prev(cell); !before->second.live) absorb(before, cell);
}

// The first `size` bytes of a free cell become a cell that is free and in no set; the rest stays.
void StreamArena::Carve(Cells::iterator cell, int64_t size) {
  free_.erase({cell->second.size, cell->first});
  const int64_t rest = cell->second.size - size;
  cell->second.size = size;
  if (rest == 0) return;
  const Address at = After(cell->first, size);
  cells_[at] = Cell{rest, 0, false, true};
  free_.insert({rest, at});
}

int64_t StreamArena::FreeAtTop() const {
  if (cells_.empty() || !device_->stitches()) return 0;
  const auto& [at, top] = *cells_.rbegin();
  return top.live ? 0 : top.size;
}

Status StreamArena::Grow(int64_t need) {
  PLIMSOLL_ASSIGN(const std::vector<memory::ActiveChunk> chunks,
                  device_->Grow({.size = Bytes(need), .scarce = true}));
  for (const memory::ActiveChunk& chunk : chunks) {
    const auto below = cells_.lower_bound(chunk.home);
    const bool joins = device_->stitches() && below != cells_.begin() &&
                       After(std::prev(below)->first, std::prev(below)->second.size) == chunk.home;
    const Address end = After(chunk.home, chunk.size.value());
    if (below != cells_.end() && below->first == end && device_->stitches()) {
      below->second.joins_previous = true;
    }
    chunks_[chunk.home] = chunk.size.value();
    AddFree(chunk.home, chunk.size.value(), joins);
  }
  return Status();
}

Result<Address> StreamArena::Allocate(int64_t requested, bool may_grow) {
  const int64_t size = BlockBytes(requested);
  auto found = free_.lower_bound({size, 0});
  // New memory usually goes on where the last ended; where it does not, all of it is asked for.
  for (const int64_t at_hand : {FreeAtTop(), int64_t{0}}) {
    if (found != free_.end()) break;
    if (!may_grow) return NoRoom(size);
    PLIMSOLL_TRY(Grow(size - std::min(at_hand, size - 1)));
    found = free_.lower_bound({size, 0});
  }
  if (found == free_.end()) return NoRoom(size);
  const auto cell = cells_.find(found->second);
  Carve(cell, size);
  cell->second.live = true;
  cell->second.requested = requested;
  return cell->first;
}

int64_t StreamArena::Free(Address address) {
  const auto cell = cells_.find(address);
  assert(cell != cells_.end() && cell->second.live);
  const int64_t requested = std::exchange(cell->second.requested, 0);
  cell->second.live = false;
  free_.insert({cell->second.size, address});
  Join(cell);
  return requested;
}

StreamArena::Cells::iterator StreamArena::Containing(Address at) {
  const auto above = cells_.upper_bound(at);
  if (above == cells_.begin()) return cells_.end();
  const auto cell = std::prev(above);
  return at < After(cell->first, cell->second.size) ? cell : cells_.end();
}

Result<Bytes> StreamArena::ReleaseIdle() {
  std::vector<memory::ActiveChunk> idle;
  for (const auto& [at, size] : chunks_) {
    const auto cell = Containing(at);
    if (cell->second.live || After(cell->first, cell->second.size) < After(at, size)) continue;
    idle.push_back({at, Bytes(size)});
  }
  std::vector<Address> stitched;
  std::vector<memory::ActiveChunk> left = idle;
  const Status status = device_->Release(stitched, left, /*finished=*/false);
  const std::vector<LiveBlock> live = Live();
  Bytes released;
  for (size_t i = left.size(); i < idle.size(); ++i) {
    chunks_.erase(idle[i].home);
    released += idle[i].size;
  }
  Rebuild();
  PLIMSOLL_TRY(Restore(live));
  if (!status.ok()) return status.error();
  return released;
}

// Every chunk is free.
void StreamArena::Rebuild() {
  cells_.clear();
  free_.clear();
  Address end = 0;
  for (const auto& [at, size] : chunks_) {
    AddFree(at, size, at == end && device_->stitches());
    end = After(at, size);
  }
}

std::vector<LiveBlock> StreamArena::Live() const {
  std::vector<LiveBlock> live;
  for (const auto& [at, cell] : cells_) {
    if (cell.live) live.push_back({at, cell.requested, device_->stream()});
  }
  return live;
}

Status StreamArena::Restore(const std::vector<LiveBlock>& live) {
  const Cells cells = cells_;
  const auto free = free_;
  Rebuild();
  for (const LiveBlock& block : live) {
    const int64_t size = BlockBytes(block.requested);
    auto cell = Containing(block.address);
    if (cell == cells_.end() || cell->second.live ||
        After(cell->first, cell->second.size) < After(block.address, size)) {
      cells_ = cells;
      free_ = free;
      return NotRestorable(block,
                           "its memory is no longer the pool's, or another block lies there");
    }
    if (cell->first < block.address) {
      const auto before = static_cast<int64_t>(block.address - cell->first);
      Carve(cell, before);
      free_.insert({before, cell->first});
      cell = cells_.find(block.address);
    }
    Carve(cell, size);
    cell->second.live = true;
    cell->second.requested = block.requested;
  }
  return Status();
}

void StreamArena::AppendSegments(PoolId pool, std::vector<Segment>& segments) const {
  for (const auto& [at, cell] : cells_) {
    if (!cell.joins_previous) segments.push_back({at, 0, device_->stream(), pool, {}});
    segments.back().size += cell.size;
    segments.back().blocks.push_back({cell.size, cell.requested, cell.live});
  }
}

int64_t StreamArena::reserved() const {
  int64_t sum = 0;
  for (const auto& [at, size] : chunks_) sum += size;
  return sum;
}

StreamArena& PrivatePool::ArenaOf(const std::shared_ptr<memory::PhysicalMemoryAllocator>& physical,
                                  device::StreamId stream) {
  std::unique_ptr<StreamArena>& arena = arenas_[stream];
  if (arena == nullptr) arena = std::make_unique<StreamArena>(physical, stream);
  return *arena;
}

StreamArena* PrivatePool::FindArena(device::StreamId stream) {
  const auto arena = arenas_.find(stream);
  return arena == arenas_.end() ? nullptr : arena->second.get();
}

Result<Bytes> PrivatePool::ReleaseIdle() {
  Bytes released;
  for (const auto& [stream, arena] : arenas_) {
    PLIMSOLL_ASSIGN(const Bytes one, arena->ReleaseIdle());
    released += one;
  }
  return released;
}

std::vector<LiveBlock> PrivatePool::Live() const {
  std::vector<LiveBlock> live;
  for (const auto& [stream, arena] : arenas_) {
    const std::vector<LiveBlock> one = arena->Live();
    live.insert(live.end(), one.begin(), one.end());
  }
  return live;
}

Status PrivatePool::Restore(const std::vector<LiveBlock>& live) {
  for (const LiveBlock& block : live) {
    if (FindArena(block.stream) == nullptr) {
      return NotRestorable(block, "the pool has given back the memory of its stream");
    }
  }
  std::vector<std::pair<StreamArena*, std::vector<LiveBlock>>> before;
  for (const auto& [stream, arena] : arenas_) {
    std::vector<LiveBlock> wanted;
    for (const LiveBlock& block : live) {
      if (block.stream == stream) wanted.push_back(block);
    }
    before.push_back({arena.get(), arena->Live()});
    if (const Status restored = arena->Restore(wanted); !restored.ok()) {
      for (const auto& [changed, blocks] : before) PLIMSOLL_TRY(changed->Restore(blocks));
      return restored;
    }
  }
  return Status();
}

void PrivatePool::AppendSegments(std::vector<Segment>& segments) const {
  for (const auto& [stream, arena] : arenas_) arena->AppendSegments(id_, segments);
}

int64_t PrivatePool::reserved() const {
  int64_t sum = 0;
  for (const auto& [stream, arena] : arenas_) sum += arena->reserved();
  return sum;
}

int64_t PrivatePool::LargestFree() const {
  int64_t largest = 0;
  for (const auto& [stream, arena] : arenas_) largest = std::max(largest, arena->LargestFree());
  return largest;
}

}  // namespace plimsoll::pytorch
