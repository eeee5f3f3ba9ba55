#include "plan/assign/block_reuse.h"

#include <algorithm>
#include <functional>

#include "plan/packing/greedy_packing.h"

namespace plimsoll::plan {
namespace {

// By block: whether another block with a fixed offset uses some of the same bytes at another time.
// To lend such bytes would need to know both lives.
std::vector<bool> SharedFixed(const BlockRegion& region) {
  std::vector<bool> shared(region.blocks.size(), false);
  std::vector<uint32_t> fixed;
  for (uint32_t i = 0; i < region.blocks.size(); ++i) {
    if (region.blocks[i].fixed >= 0 && !region.blocks[i].idle()) fixed.push_back(i);
  }
  std::stable_sort(fixed.begin(), fixed.end(), [&](uint32_t a, uint32_t b) {
    return region.blocks[a].fixed < region.blocks[b].fixed;
  });
  int64_t top = 0;
  uint32_t top_block = 0;
  for (const uint32_t i : fixed) {
    const Block& block = region.blocks[i];
    if (block.fixed < top) shared[i] = shared[top_block] = true;
    if (block.fixed + block.size > top) {
      top = block.fixed + block.size;
      top_block = i;
    }
  }
  return shared;
}

}  // namespace

BlockReuse::BlockReuse(const BlockProblem& problem, const BlockRegion& region,
                       const BlockReuseKnobs& knobs)
    : problem_(problem),
      region_(region),
      knobs_(knobs),
      free_(knobs),
      shared_(SharedFixed(region)) {}

RegionPlacement BlockReuse::Run() {
  int32_t node = -1;
  for (const uint32_t tenant : NodeOrder()) {
    const int32_t begin = region_.blocks[tenant].whole.begin;
    if (begin != node) NextNode(begin);
    node = begin;
    Allocate(tenant);
  }
  return Lay();
}

std::vector<uint32_t> BlockReuse::NodeOrder() const {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < region_.blocks.size(); ++i) {
    if (!region_.blocks[i].idle()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Block& x = region_.blocks[a];
    const Block& y = region_.blocks[b];
    if (x.whole.begin != y.whole.begin) return x.whole.begin < y.whole.begin;
    return knobs_.ascending_sort ? x.size < y.size : x.size > y.size;
  });
  return order;
}

void BlockReuse::NextNode(int32_t moment) {
  for (const uint32_t index : suspended_) free_.Release(index, memory_[index]);
  suspended_.clear();
  while (!deaths_.empty() && deaths_.top().first <= moment) {
    const uint32_t index = deaths_.top().second;
    deaths_.pop();
    free_.Release(index, memory_[index]);
  }
}

uint32_t BlockReuse::Allocate(uint32_t tenant) {
  const Block& block = region_.blocks[tenant];
  int64_t index = -1;
  if (block.fixed < 0 && problem_.lifetimes.one_line()) {
    index = free_.Take(block.size, block.alignment, memory_);
  } else if (block.fixed < 0) {
    index = FreeFor(tenant).Take(block.size, block.alignment, memory_);
  }
  if (index < 0) {
    index = static_cast<int64_t>(memory_.size());
    MemoryBlock fresh;
    fresh.alignment = block.alignment;
    fresh.fixed = block.fixed;
    fresh.SetLifeTimeBegin(block.whole.begin);
    memory_.push_back(std::move(fresh));
  }
  MemoryBlock& memory = memory_[static_cast<size_t>(index)];
  memory.size = std::max(memory.size, block.size);
  memory.tenants.push_back(tenant);
  Retire(static_cast<uint32_t>(index), tenant);
  return static_cast<uint32_t>(index);
}

// On several streams nothing is released at a moment: every block is asked whether its tenants are
// gone for the newcomer.
FreeBlocks BlockReuse::FreeFor(uint32_t tenant) const {
  FreeBlocks free(knobs_);
  // Tenants come in an order that the streams allow: the last one speaks for all, unless lives have
  // gaps or batches differ.
  const bool chain = region_.pieces.empty() && problem_.problem->batches.empty();
  for (uint32_t i = 0; i < memory_.size(); ++i) {
    const auto& tenants = memory_[i].tenants;
    if (shared_[tenants.front()]) continue;
    const auto first = chain ? std::prev(tenants.end()) : tenants.begin();
    const bool busy = std::any_of(first, tenants.end(), [&](uint32_t other) {
      return problem_.Together(region_, region_.blocks[tenant], region_.blocks[other]);
    });
    if (!busy) free.Release(i, memory_[i]);
  }
  return free;
}

void BlockReuse::Retire(uint32_t index, uint32_t tenant) {
  if (shared_[tenant]) return;
  const Piece& life = region_.blocks[tenant].whole;
  if (life.end - life.begin == 1) {
    suspended_.push_back(index);
  } else {
    deaths_.emplace(life.end, index);
  }
}

RegionPlacement BlockReuse::Lay() {
  for (MemoryBlock& memory : memory_) {
    int32_t end = 0;
    for (const uint32_t tenant : memory.tenants) {
      end = std::max(end, region_.blocks[tenant].whole.end);
    }
    memory.SetLifeTimeEnd(end);
  }
  std::vector<int64_t> places(memory_.size());
  const bool any_fixed = std::any_of(memory_.begin(), memory_.end(),
                                     [](const MemoryBlock& memory) { return memory.fixed >= 0; });
  // Fixed blocks of other shapes may interlock in ways that covering rectangles cannot.
  const bool rectangles = problem_.lifetimes.one_line() && (region_.plain || !any_fixed);
  if (knobs_.memory_priority_mode && rectangles) {
    Overlay(places);
  } else {
    LayEndToEnd(places);
  }
  std::vector<int64_t> offsets(region_.blocks.size());
  for (size_t i = 0; i < memory_.size(); ++i) {
    for (const uint32_t tenant : memory_[i].tenants) offsets[tenant] = places[i];
  }
  const CoveringPacking cover = Cover(region_);
  std::vector<int64_t> by_item(cover.blocks.size());
  for (size_t i = 0; i < by_item.size(); ++i) by_item[i] = offsets[cover.blocks[i]];
  return Uncover(region_, cover, by_item);
}

void BlockReuse::LayEndToEnd(std::vector<int64_t>& places) const {
  int64_t top = 0;
  for (const MemoryBlock& memory : memory_) {
    if (memory.fixed >= 0) top = std::max(top, memory.fixed + memory.size);
  }
  for (size_t i = 0; i < memory_.size(); ++i) {
    places[i] = memory_[i].fixed;
    if (places[i] >= 0) continue;
    places[i] = Bytes(top).RoundUp(memory_[i].alignment).value();
    top = places[i] + memory_[i].size;
  }
}

void BlockReuse::Overlay(std::vector<int64_t>& places) const {
  Packing packing;
  for (const MemoryBlock& memory : memory_) {
    packing.items.push_back({.size = memory.size,
                             .begin = memory.life_time_begin(),
                             .end = memory.life_time_end(),
                             .alignment = memory.alignment,
                             .fixed = memory.fixed});
  }
  places = PackGreedy(packing, GreedyOrder::kSize).offsets;
}

}  // namespace plimsoll::plan
