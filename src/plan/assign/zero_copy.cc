#include "plan/assign/zero_copy.h"

#include <algorithm>
#include <numeric>

#include "plan/problem/contradiction.h"

namespace plimsoll::plan {
namespace {

struct Host {
  uint32_t block;
  std::vector<uint32_t> residents;  // itself among them
};

int64_t Padding(const Block& block, int64_t alignment) {
  return Bytes(block.size).RoundUp(alignment).value() - block.size;
}

// What the blocks bound to the caller's memory need side by side, in their best order.
int64_t LeastRoom(const BlockRegion& region, int64_t alignment) {
  int64_t room = 0;
  int64_t most_padding = 0;
  for (const Block& block : region.blocks) {
    if (!block.zero_copy) continue;
    room += block.size + Padding(block, alignment);
    most_padding = std::max(most_padding, Padding(block, alignment));
  }
  return room - most_padding;
}

// Where the caller's memory ends is known only at run time: no block may reach from one into the
// next or beyond.
Status CheckDisjoint(const BlockProblem& problem, const BlockRegion& region) {
  std::vector<const Block*> bound;
  for (const Block& block : region.blocks) {
    if (block.zero_copy && block.size > 0) bound.push_back(&block);
  }
  std::sort(bound.begin(), bound.end(),
            [](const Block* a, const Block* b) { return a->fixed < b->fixed; });
  const auto refuse = [&](const Block& block, std::string_view why) {
    const BufferId id = problem.members[block.first_member].buffer;
    return Refuse("contradiction", Describe(*problem.problem, id), std::string(why));
  };
  for (size_t i = 1; i < bound.size(); ++i) {
    if (bound[i]->fixed < bound[i - 1]->fixed + bound[i - 1]->size) {
      return refuse(*bound[i], "its fixed offset lies in the bytes of another zero-copy buffer");
    }
  }
  for (const Block& block : region.blocks) {
    if (block.zero_copy || block.size == 0) continue;
    auto next = std::upper_bound(bound.begin(), bound.end(), block.fixed,
                                 [](int64_t at, const Block* b) { return at < b->fixed; });
    const int64_t end = block.fixed + block.size;
    const bool enters = next != bound.end() && (*next)->fixed < end;
    const bool leaves = next != bound.begin() &&
                        block.fixed < (*std::prev(next))->fixed + (*std::prev(next))->size &&
                        end > (*std::prev(next))->fixed + (*std::prev(next))->size;
    if (enters || leaves) {
      return refuse(block, "its fixed offset puts it partly inside a zero-copy buffer");
    }
  }
  return {};
}

}  // namespace

bool IsRealSizeReuseBlock(Bytes host, Bytes guest_end) { return guest_end <= host; }

Status PlaceZeroCopyBlocks(const BlockProblem& problem, BlockRegion& region) {
  std::vector<Block>& blocks = region.blocks;
  const int64_t alignment = problem.problem->region(region.region).alignment;
  int64_t top = 0;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].fixed >= 0) top = std::max(top, blocks[i].fixed + blocks[i].size);
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (blocks[a].zero_copy != blocks[b].zero_copy) return blocks[a].zero_copy;
    if (blocks[a].zero_copy || blocks[a].size == blocks[b].size) return a < b;
    return blocks[a].size > blocks[b].size;
  });
  // The one that leaves most of its last granule unused goes last, where that costs nothing.
  const auto bound_end =
      std::find_if(order.begin(), order.end(), [&](uint32_t i) { return !blocks[i].zero_copy; });
  const auto last = std::max_element(order.begin(), bound_end, [&](uint32_t a, uint32_t b) {
    return Padding(blocks[a], alignment) < Padding(blocks[b], alignment);
  });
  if (last != bound_end) std::rotate(last, last + 1, bound_end);
  std::vector<Host> hosts;
  for (const uint32_t index : order) {
    Block& block = blocks[index];
    if (block.fixed < 0 && !block.zero_copy) {
      const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const Host& candidate) {
        const Block& owner = blocks[candidate.block];
        return IsRealSizeReuseBlock(Bytes(owner.size), Bytes(block.size)) &&
               owner.fixed % block.alignment == 0 &&
               std::none_of(candidate.residents.begin(), candidate.residents.end(),
                            [&](uint32_t resident) {
                              return problem.Together(region, blocks[resident], block);
                            });
      });
      if (host != hosts.end()) {
        block.fixed = blocks[host->block].fixed;
        host->residents.push_back(index);
        continue;
      }
    }
    if (block.fixed < 0) {
      block.fixed = Bytes(top).RoundUp(block.alignment).value();
      top = block.fixed + block.size;
    }
    hosts.push_back({index, {index}});
  }
  PLIMSOLL_TRY(CheckDisjoint(problem, region));
  region.lower_bound = std::max(region.lower_bound, LeastRoom(region, alignment));
  return {};
}

}  // namespace plimsoll::plan
