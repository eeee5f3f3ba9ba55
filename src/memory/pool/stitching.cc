#include "memory/pool/stitching.h"

#include <algorithm>
#include <cassert>

#include "memory/pool/address_math.h"

namespace plimsoll::memory {
namespace {

// A piece of less than this fraction of all memory is not worth a mapping of its own.
constexpr int64_t kWorthMapping = 8192;

}  // namespace

ChunkSlot ChunkMap::Add(device::Address home, int64_t size, bool begins) {
  auto slot = static_cast<ChunkSlot>(chunks.size());
  for (ChunkSlot i = 0; i < chunks.size(); ++i) {
    if (chunks[i].size == 0) {
      slot = i;
      break;
    }
  }
  if (slot == chunks.size()) chunks.emplace_back();
  chunks[slot] = {home, size, begins};
  const auto above = std::lower_bound(
      by_address.begin(), by_address.end(), home,
      [&](ChunkSlot other, device::Address at) { return chunks[other].home < at; });
  by_address.insert(above, slot);
  return slot;
}

void ChunkMap::Remove(ChunkSlot slot) {
  by_address.erase(by_address.begin() + static_cast<std::ptrdiff_t>(PositionOf(chunks[slot].home)));
  chunks[slot] = {};
}

size_t ChunkMap::PositionOf(device::Address at) const {
  const auto above = std::upper_bound(
      by_address.begin(), by_address.end(), at,
      [&](device::Address address, ChunkSlot other) { return address < chunks[other].home; });
  assert(above != by_address.begin());
  return static_cast<size_t>(above - by_address.begin()) - 1;
}

StitchSurvey::StitchSurvey(const ChunkMap& map, std::vector<Free> free)
    : map_(map), free_(std::move(free)), state_(map.chunks.size()) {
  std::sort(free_.begin(), free_.end(),
            [](const Free& a, const Free& b) { return a.start < b.start; });
  for (const ChunkMap::Chunk& chunk : map.chunks) total_ += chunk.size;
  for (const Free& free : free_) {
    const device::Address end = After(free.start, free.size);
    for (size_t i = map.PositionOf(free.start); i < map.by_address.size(); ++i) {
      const ChunkSlot slot = map.by_address[i];
      const ChunkMap::Chunk& chunk = map.chunks[slot];
      if (chunk.home >= end) break;
      const device::Address chunk_end = After(chunk.home, chunk.size);
      State& state = state_[slot];
      if (free.start <= chunk.home)
        state.free_start = Between(chunk.home, std::min(end, chunk_end));
      if (end >= chunk_end) state.free_end = Between(std::max(free.start, chunk.home), chunk_end);
      state.whole = state.free_start == chunk.size;
    }
  }
}

void StitchSurvey::AddChunks(StitchPlan& plan, device::Address start, int64_t size) const {
  plan.pieces.push_back({start, size});
  const device::Address end = After(start, size);
  for (size_t i = map_.PositionOf(start); i < map_.by_address.size(); ++i) {
    const ChunkSlot slot = map_.by_address[i];
    if (map_.chunks[slot].home >= end) break;
    plan.chunks.push_back(slot);
  }
}

StitchPlan StitchSurvey::PlanStitch(int64_t size, bool exhaustive) const {
  struct Part {
    device::Address start;
    int64_t size;
  };
  std::vector<Part> ends, wholes, starts;
  for (size_t i = 0; i < map_.by_address.size(); ++i) {
    const ChunkMap::Chunk& chunk = map_.chunks[map_.by_address[i]];
    const State& state = state_[map_.by_address[i]];
    if (state.whole) {
      const bool joins = !wholes.empty() && i > 0 && state_[map_.by_address[i - 1]].whole &&
                         After(wholes.back().start, wholes.back().size) == chunk.home;
      if (joins) {
        wholes.back().size += chunk.size;
      } else {
        wholes.push_back({chunk.home, chunk.size});
      }
    } else {
      if (state.free_end > 0) {
        ends.push_back({After(chunk.home, chunk.size - state.free_end), state.free_end});
      }
      if (state.free_start > 0) starts.push_back({chunk.home, state.free_start});
    }
  }
  const auto larger = [](const Part& a, const Part& b) {
    return a.size != b.size ? a.size > b.size : a.start < b.start;
  };
  std::sort(wholes.begin(), wholes.end(), larger);
  std::sort(starts.begin(), starts.end(), larger);
  const int64_t worth = exhaustive ? 1 : std::max<int64_t>(1, total_ / kWorthMapping);

  StitchPlan plan;
  plan.missing = size;
  const auto use = [&](const Part& part) {
    const int64_t taken = std::min(part.size, plan.missing);
    AddChunks(plan, part.start, taken);
    plan.missing -= taken;
  };
  const auto largest_end = std::min_element(ends.begin(), ends.end(), larger);
  if (largest_end != ends.end() && largest_end->size >= worth) {
    const device::Address home =
        map_.chunks[map_.by_address[map_.PositionOf(largest_end->start)]].home;
    plan.offset = Between(home, largest_end->start);
    use(*largest_end);
    // A range that shows one chunk twice would count its bytes twice once they are all free.
    std::erase_if(starts, [&](const Part& start) { return start.start == home; });
  }
  const auto tightest = [&](const std::vector<Part>& parts) {  // of those that suffice
    const auto smaller = std::find_if(parts.begin(), parts.end(),
                                      [&](const Part& part) { return part.size < plan.missing; });
    return smaller == parts.begin() ? parts.end() : smaller - 1;
  };
  while (plan.missing > 0) {
    if (const auto start = tightest(starts); start != starts.end()) {
      use(*start);
    } else if (const auto whole = tightest(wholes); whole != wholes.end()) {
      use(*whole);
    } else if (!wholes.empty() && wholes.front().size >= worth) {
      use(wholes.front());
      wholes.erase(wholes.begin());
    } else {
      break;
    }
  }
  plan.found = plan.missing == 0;
  return plan;
}

}  // namespace plimsoll::memory
