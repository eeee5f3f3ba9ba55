#include "plan/assign/blocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "plan/assign/block_shape.h"
#include "plan/assign/continuous_mem.h"
#include "plan/problem/contradiction.h"
#include "plan/problem/live_sum.h"
#include "plan/problem/validation.h"

namespace plimsoll::plan {
namespace {

// Turns buffers into blocks, region by region. One use.
class BlockBuilder {
 public:
  BlockBuilder(const Problem& problem, const BatchPolicy& policy)
      : problem_(problem), policy_(policy) {}

  Result<BlockProblem> Build();

 private:
  void ListWindows();
  Status AddUnits(const ContinuousMemMng& continuous);
  Status AddBlock(RegionId region, const std::vector<BufferPlace>& roots, int64_t size,
                  bool exclusive);
  Status AddMember(BufferPlace member, Block& block);
  void Shape(Block& block, BlockRegion& region);
  void StretchExclusive(BlockRegion& region) const;
  Status CheckSum(const BlockRegion& region) const;

  // Sizes in a region are multiples of this.
  int64_t Granule(RegionId region) const {
    const Region& row = problem_.region(region);
    return row.kind == RegionKind::kZeroCopy ? 1 : row.alignment;
  }

  const Problem& problem_;
  const BatchPolicy policy_;
  BlockProblem result_;
  std::vector<BufferPlace> roots_;      // by buffer
  std::vector<uint32_t> first_window_;  // by root: its place in windows_
  std::vector<BufferId> windows_;       // buffers by root, the root itself among them
};

Result<BlockProblem> BlockBuilder::Build() {
  PLIMSOLL_TRY(ValidateTables(problem_));
  result_.problem = &problem_;
  PLIMSOLL_ASSIGN(result_.lifetimes, Lifetimes::Make(problem_));
  PLIMSOLL_ASSIGN(roots_, ResolveAliases(problem_));
  ListWindows();
  result_.regions.resize(problem_.regions.size());
  for (size_t i = 0; i < problem_.regions.size(); ++i) result_.regions[i].region = RegionId(i);
  result_.members.reserve(problem_.buffers.size());
  PLIMSOLL_ASSIGN(const ContinuousMemMng continuous,
                  ContinuousMemMng::Make(problem_, roots_, policy_.merge_continuous));
  PLIMSOLL_TRY(AddUnits(continuous));
  for (BlockRegion& region : result_.regions) {
    PLIMSOLL_TRY(CheckSum(region));
    StretchExclusive(region);
    region.plain = result_.lifetimes.one_line() && region.pieces.empty() && !BatchesMeet(region);
    region.lower_bound = LowerBound(result_, region);
  }
  return std::move(result_);
}

void BlockBuilder::ListWindows() {
  first_window_.assign(roots_.size() + 1, 0);
  for (const BufferPlace& place : roots_) ++first_window_[place.buffer.index() + 1];
  std::partial_sum(first_window_.begin(), first_window_.end(), first_window_.begin());
  windows_.resize(roots_.size());
  std::vector<uint32_t> next = first_window_;
  for (size_t i = 0; i < roots_.size(); ++i) {
    windows_[next[roots_[i].buffer.index()]++] = BufferId(i);
  }
}

Status BlockBuilder::AddUnits(const ContinuousMemMng& continuous) {
  struct Area {
    std::vector<BufferPlace> roots;
    int64_t size = 0;
  };
  std::map<std::pair<RegionId, int32_t>, Area> areas;
  // A unit that is cleared joins its area; any other is a block.
  const auto add = [&](const std::vector<BufferPlace>& roots, int64_t size, bool merged) -> Status {
    const Buffer& first = problem_.buffer(roots.front().buffer);
    if (first.atomic_addr_clean_id == kNoClearing) {
      return AddBlock(first.region, roots, size, merged);
    }
    Area& area = areas[{first.region, first.atomic_addr_clean_id}];
    int64_t alignment = Granule(first.region);
    for (const BufferPlace& root : roots) {
      alignment = std::lcm(alignment, problem_.buffer(root.buffer).alignment);
    }
    const int64_t start = Bytes(area.size).RoundUp(alignment).value();
    for (const BufferPlace& root : roots) area.roots.push_back({root.buffer, start + root.offset});
    area.size = start + size;
    return {};
  };

  std::vector<bool> in_group(problem_.buffers.size(), false);
  for (const Contiguous& group : problem_.contiguous) {
    for (const BufferId member : group.members) in_group[member.index()] = true;
  }
  std::vector<BufferPlace> alone(1);
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    if (in_group[i] || roots_[i].buffer.index() != i) continue;
    alone[0] = {BufferId(i), 0};
    PLIMSOLL_TRY(add(alone, problem_.buffers[i].size.value(), false));
  }
  for (const ContinuousUnit& unit : continuous.units()) {
    PLIMSOLL_TRY(add(unit.members, unit.size, unit.merged));
    if (!unit.merged) continue;
    const RegionId region = problem_.buffer(unit.members.front().buffer).region;
    const std::vector<Block>& blocks = result_.regions[region.index()].blocks;
    result_.merged_blocks.push_back({region, Offset(0), Bytes(blocks.back().size), unit.groups});
    result_.merged_indices.push_back(static_cast<uint32_t>(blocks.size() - 1));
  }
  for (const auto& [key, area] : areas) {
    PLIMSOLL_TRY(AddBlock(key.first, area.roots, area.size, true));
    const std::vector<Block>& blocks = result_.regions[key.first.index()].blocks;
    result_.clearing_areas.push_back({key.first, key.second, Offset(0), Bytes(blocks.back().size)});
    result_.clearing_blocks.push_back(static_cast<uint32_t>(blocks.size() - 1));
  }
  return {};
}

Status BlockBuilder::AddMember(BufferPlace member, Block& block) {
  const Buffer& buffer = problem_.buffer(member.buffer);
  block.alignment = std::lcm(block.alignment, buffer.alignment);
  if (block.alignment > kLargestAlignment) {
    return Refuse("bad_alignment", Describe(problem_, member.buffer),
                  "the alignments of the buffers that lie with it have no common multiple to 2^40");
  }
  if (member.offset % buffer.alignment != 0) {
    return Refuse(
        "contradiction", Describe(problem_, member.buffer),
        StrCat("its relations put it ", member.offset,
               " bytes behind an aligned start, against its alignment of ", buffer.alignment));
  }
  if (buffer.fixed_offset) {
    const int64_t start = buffer.fixed_offset->value() - member.offset;
    if (start < 0 || (block.fixed >= 0 && block.fixed != start)) {
      return Refuse("contradiction", Describe(problem_, member.buffer),
                    "its fixed offset and its relations to other buffers cannot both hold");
    }
    block.fixed = start;
  }
  if (buffer.zero_copy && block.zero_copy) {
    return Refuse(
        "contradiction", Describe(problem_, member.buffer),
        "it shares bytes with another zero-copy buffer: the caller may give them separate memory");
  }
  block.zero_copy |= buffer.zero_copy;
  block.is_fixed_addr_prior |= buffer.is_fixed_addr_prior;
  block.whole.exclusive |= buffer.exclusive || (policy_.no_reuse && buffer.batch.valid());
  ++block.member_count;
  result_.members.push_back(member);
  return {};
}

Status BlockBuilder::AddBlock(RegionId region_id, const std::vector<BufferPlace>& roots,
                              int64_t size, bool exclusive) {
  BlockRegion& region = result_.regions[region_id.index()];
  Block block;
  block.alignment = problem_.region(region_id).alignment;
  block.size = Bytes(size).RoundUp(Granule(region_id)).value();
  block.first_member = static_cast<uint32_t>(result_.members.size());
  block.whole.exclusive = exclusive;
  for (const BufferPlace& root : roots) {
    const size_t index = root.buffer.index();
    for (uint32_t i = first_window_[index]; i < first_window_[index + 1]; ++i) {
      const BufferId window = windows_[i];
      PLIMSOLL_TRY(AddMember({window, root.offset + roots_[window.index()].offset}, block));
    }
  }
  if (block.fixed >= 0 && block.fixed % block.alignment != 0) {
    return Refuse("contradiction", Describe(problem_, roots.front().buffer),
                  StrCat("the fixed offset ", block.fixed, " is no multiple of the alignment ",
                         block.alignment));
  }
  Shape(block, region);
  region.blocks.push_back(block);
  return {};
}

void BlockBuilder::Shape(Block& block, BlockRegion& region) {
  block.whole.high = block.size;
  if (block.size == 0) block.whole.exclusive = false;
  const int64_t granule = Granule(region.region);
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < block.member_count; ++i) {
    const auto& [id, offset] = result_.members[block.first_member + i];
    const Buffer& buffer = problem_.buffer(id);
    if (buffer.size.value() == 0 || result_.lifetimes.Empty(id)) continue;
    const int64_t high = Bytes(offset + buffer.size.value()).RoundUp(granule).value();
    pieces.push_back({.low = offset / granule * granule,
                      .high = high,
                      .begin = result_.lifetimes.Begin(id),
                      .end = result_.lifetimes.End(id),
                      .life = id,
                      .batch = buffer.batch});
  }
  if (pieces.empty()) return;
  block.whole.begin = std::numeric_limits<int32_t>::max();
  block.whole.batch = pieces.front().batch;
  block.whole.life = pieces.front().life;
  for (const Piece& piece : pieces) {
    block.whole.begin = std::min(block.whole.begin, piece.begin);
    block.whole.end = std::max(block.whole.end, piece.end);
    if (piece.batch != block.whole.batch) block.whole.batch = BatchId();
  }
  if (block.whole.exclusive) return;
  if (result_.lifetimes.one_line() && pieces.size() > 1) pieces = DisjointPieces(std::move(pieces));
  const bool rectangle = pieces.size() == 1 && pieces.front().low == 0 &&
                         pieces.front().high == block.size && !pieces.front().overstated;
  if (rectangle) return;
  block.first_piece = static_cast<uint32_t>(region.pieces.size());
  block.piece_count = static_cast<uint32_t>(pieces.size());
  region.pieces.insert(region.pieces.end(), pieces.begin(), pieces.end());
}

// An exclusive block lives as long as anything in its region.
void BlockBuilder::StretchExclusive(BlockRegion& region) const {
  int32_t begin = std::numeric_limits<int32_t>::max();
  int32_t end = 0;
  for (const Block& block : region.blocks) {
    if (block.whole.begin == block.whole.end) continue;
    begin = std::min(begin, block.whole.begin);
    end = std::max(end, block.whole.end);
  }
  if (begin >= end) {
    begin = 0;
    end = 1;
  }
  for (Block& block : region.blocks) {
    if (!block.whole.exclusive) continue;
    block.whole.begin = begin;
    block.whole.end = end;
    block.whole.batch = BatchId();
  }
}

Status BlockBuilder::CheckSum(const BlockRegion& region) const {
  Bytes sum;
  for (const Block& block : region.blocks) {
    sum += Bytes(block.size) + Bytes(block.alignment);
  }
  if (sum.value() < kLargestSum) return {};
  return Refuse("overflow", StrCat("region '", problem_.region(region.region).name, "'"),
                "its blocks with their alignments add up to 2^61 bytes or more");
}

}  // namespace

bool BlockProblem::Together(const BlockRegion& region, const Block& a, const Block& b) const {
  if (a.idle() || b.idle()) return false;
  for (const Piece& x : region.PiecesOf(a)) {
    for (const Piece& y : region.PiecesOf(b)) {
      if (Together(x, y)) return true;
    }
  }
  return false;
}

Result<BlockProblem> MakeBlocks(const Problem& problem, const BatchPolicy& policy) {
  return BlockBuilder(problem, policy).Build();
}

}  // namespace plimsoll::plan
