#include "plan/assign/continuous_mem.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "plan/problem/contradiction.h"
#include "plimsoll/plan/dynamic_batch_mem_assigner.h"

namespace plimsoll::plan {
namespace {

Status ValidateGroups(const Problem& problem) {
  std::vector<bool> window(problem.buffers.size(), false);
  for (const Alias& alias : problem.aliases) window[alias.buffer.index()] = true;
  std::vector<bool> taken(problem.buffers.size(), false);
  for (size_t i = 0; i < problem.contiguous.size(); ++i) {
    const std::vector<BufferId>& members = problem.contiguous[i].members;
    const std::string where = StrCat("contiguous group ", i);
    for (const BufferId id : members) {
      if (!id.valid() || id.index() >= problem.buffers.size()) {
        return Refuse("bad_id", where, "it names a buffer that is not listed");
      }
      const Buffer& member = problem.buffer(id);
      const Buffer& first = problem.buffer(members.front());
      const auto contradiction = [&](std::string_view why) {
        return Refuse("contradiction", where, StrCat(Describe(problem, id), " ", why));
      };
      if (window[id.index()]) return contradiction("is a window of another buffer");
      if (taken[id.index()]) return contradiction("is a member twice, here or of another group");
      if (member.zero_copy) {
        return contradiction("is zero copy: memory of the caller may lie anywhere");
      }
      if (member.region != first.region) return contradiction("lies in another region");
      if (member.atomic_addr_clean_id != first.atomic_addr_clean_id) {
        return contradiction("is not cleared together with the first member");
      }
      taken[id.index()] = true;
    }
  }
  return {};
}

// By buffer: whether it can share bytes with another batch as far as it and its windows go, that is
// whether all have one batch and nothing else says where they lie or who may join them.
std::vector<bool> MayJoinOtherBatches(const Problem& problem,
                                      const std::vector<BufferPlace>& roots) {
  std::vector<bool> may(problem.buffers.size(), true);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& window = problem.buffers[i];
    const size_t root = roots[i].buffer.index();
    if (!window.batch.valid() || window.batch != problem.buffers[root].batch || window.exclusive ||
        window.fixed_offset || window.is_fixed_addr_prior ||
        window.atomic_addr_clean_id != kNoClearing) {
      may[root] = false;
    }
  }
  return may;
}

// The batch of all members of a unit of one group that can be merged, else none.
BatchId MergeableBatch(const Problem& problem, const std::vector<bool>& may_join,
                       const ContinuousUnit& unit) {
  if (!problem.contiguous[unit.groups.front()].merge_batches) return {};
  const BatchId batch = problem.buffer(unit.members.front().buffer).batch;
  const bool all =
      std::all_of(unit.members.begin(), unit.members.end(), [&](const BufferPlace& place) {
        return may_join[place.buffer.index()] && problem.buffer(place.buffer).batch == batch;
      });
  return all ? batch : BatchId();
}

}  // namespace

Result<ContinuousMemMng> ContinuousMemMng::Make(const Problem& problem,
                                                const std::vector<BufferPlace>& roots,
                                                bool merge_batches) {
  PLIMSOLL_TRY(ValidateGroups(problem));
  ContinuousMemMng manager;
  for (uint32_t i = 0; i < problem.contiguous.size(); ++i) {
    if (problem.contiguous[i].members.empty()) continue;
    PLIMSOLL_ASSIGN(ContinuousUnit unit, LayOut(problem, i));
    manager.units_.push_back(std::move(unit));
  }
  if (merge_batches) manager.Merge(problem, roots);
  return manager;
}

Result<ContinuousUnit> ContinuousMemMng::LayOut(const Problem& problem, uint32_t group) {
  const Contiguous& contiguous = problem.contiguous[group];
  ContinuousUnit unit;
  unit.groups = {group};
  for (const BufferId id : contiguous.members) {
    const Buffer& member = problem.buffer(id);
    const int64_t pad = contiguous.padded ? problem.region(member.region).alignment : 1;
    unit.size =
        Bytes(unit.size).RoundUp(std::lcm(pad, contiguous.padded ? member.alignment : 1)).value();
    unit.members.push_back({id, unit.size});
    unit.size += member.size.value();
  }
  return unit;
}

void ContinuousMemMng::Merge(const Problem& problem, const std::vector<BufferPlace>& roots) {
  const std::vector<bool> may_join = MayJoinOtherBatches(problem, roots);
  // By region, then by batch: the units in the order of their groups.
  std::map<RegionId, std::map<BatchId, std::vector<size_t>>> by_batch;
  for (size_t i = 0; i < units_.size(); ++i) {
    const BatchId batch = MergeableBatch(problem, may_join, units_[i]);
    const RegionId region = problem.buffer(units_[i].members.front().buffer).region;
    if (batch.valid()) by_batch[region][batch].push_back(i);
  }
  std::vector<bool> gone(units_.size(), false);
  std::vector<ContinuousUnit> merged;
  for (const auto& [region, batches] : by_batch) {
    if (batches.size() < 2) continue;
    size_t rows = 0;
    for (const auto& [batch, units] : batches) rows = std::max(rows, units.size());
    ContinuousUnit block{.merged = true};
    for (size_t row = 0; row < rows; ++row) {
      int64_t height = 0;
      int64_t alignment = problem.region(region).alignment;
      for (const auto& [batch, units] : batches) {
        if (row >= units.size()) continue;
        height = std::max(height, units_[units[row]].size);
        for (const BufferPlace& place : units_[units[row]].members) {
          alignment = std::lcm(alignment, problem.buffer(place.buffer).alignment);
        }
      }
      int64_t start = Bytes(block.size).RoundUp(alignment).value();
      if (!block.groups.empty() && start + height > kMaxSplitSizeForDynamicBatch) {
        merged.push_back(std::move(block));
        block = ContinuousUnit{.merged = true};
        start = 0;
      }
      for (const auto& [batch, units] : batches) {
        if (row >= units.size()) continue;
        ContinuousUnit& unit = units_[units[row]];
        for (const BufferPlace& place : unit.members) {
          block.members.push_back({place.buffer, start + place.offset});
        }
        block.groups.push_back(unit.groups.front());
        gone[units[row]] = true;
      }
      block.size = start + height;
    }
    merged.push_back(std::move(block));
  }
  std::vector<ContinuousUnit> kept;
  for (size_t i = 0; i < units_.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(units_[i]));
  }
  for (ContinuousUnit& block : merged) kept.push_back(std::move(block));
  units_ = std::move(kept);
}

}  // namespace plimsoll::plan
