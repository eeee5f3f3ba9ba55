#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Judges a plan of a small problem pair by pair and step by step, straight from the definitions:
// slow, obvious, and written for no other purpose than to judge the Verifier.
class PlanOracle {
 public:
  PlanOracle(const Problem& problem, const MemoryPlan& plan) : problem_(problem), plan_(plan) {}

  bool Holds() const {
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (!Alone(i)) return false;
      for (size_t j = 0; j < problem_.buffers.size(); ++j) {
        if (i != j && !Pair(i, j)) return false;
      }
    }
    return Groups() && Areas();
  }

 private:
  int64_t Low(size_t i) const { return plan_.offsets[i].value(); }
  int64_t High(size_t i) const { return Low(i) + problem_.buffers[i].size.value(); }
  bool Meet(size_t i, int64_t low, int64_t high) const { return Low(i) < high && low < High(i); }

  size_t Root(size_t i) const {
    for (const Alias& alias : problem_.aliases) {
      if (alias.buffer.index() == i) return Root(alias.of.index());
    }
    return i;
  }

  std::vector<Use> Uses(size_t i) const {
    std::vector<Use> uses = problem_.buffers[i].elsewhere;
    uses.push_back(problem_.buffers[i].life);
    std::erase_if(uses, [](const Use& use) { return use.begin >= use.end; });
    return uses;
  }
  bool Lives(size_t i) const { return High(i) > Low(i) && !Uses(i).empty(); }

  // Whether a path of steps and synchronisations leads from one step to a later one.
  bool Reaches(size_t stream, int64_t step, size_t to, int64_t to_step,
               std::set<std::pair<size_t, int64_t>>& seen) const {
    if (stream == to && step < to_step) return true;
    for (const Synchronisation& sync : problem_.synchronisations) {
      if (sync.from.index() != stream || sync.from_step < step) continue;
      if (!seen.insert({sync.to.index(), sync.to_step}).second) continue;
      if (sync.to.index() == to && sync.to_step <= to_step) return true;
      if (Reaches(sync.to.index(), sync.to_step, to, to_step, seen)) return true;
    }
    return false;
  }
  bool Before(size_t a, size_t b) const {
    for (const Use& first : Uses(a)) {
      for (const Use& second : Uses(b)) {
        std::set<std::pair<size_t, int64_t>> seen;
        if (!Reaches(first.stream.index(), first.end - 1, second.stream.index(), second.begin,
                     seen)) {
          return false;
        }
      }
    }
    return true;
  }

  bool Alone(size_t i) const {
    const Buffer& buffer = problem_.buffers[i];
    if (Low(i) < 0 || High(i) > plan_.regions[buffer.region.index()].size.value()) return false;
    if (buffer.fixed_offset && *buffer.fixed_offset != plan_.offsets[i]) return false;
    if (Low(i) % buffer.alignment != 0) return false;
    bool led = false;
    for (const Alias& alias : problem_.aliases) led |= alias.buffer.index() == i;
    for (const Contiguous& group : problem_.contiguous) {
      for (size_t j = 1; j < group.members.size(); ++j) {
        led |= !group.padded && group.members[j].index() == i;
      }
    }
    return led || Low(i) % problem_.region(buffer.region).alignment == 0;
  }

  bool Pair(size_t i, size_t j) const {
    const Buffer& a = problem_.buffers[i];
    const Buffer& b = problem_.buffers[j];
    if (a.region != b.region || !Meet(i, Low(j), High(j)) || Low(j) == High(j)) return true;
    if (Low(i) == High(i)) return true;
    const bool related = Root(i) == Root(j);
    if (a.zero_copy && b.zero_copy) return false;
    if (a.zero_copy && Lives(j) && (Low(j) < Low(i) || High(j) > High(i))) return false;
    if (related) return true;
    const auto owns = [&](const Buffer& buffer) {
      return buffer.exclusive || buffer.atomic_addr_clean_id != kNoClearing;
    };
    if (owns(a) && (Lives(j) || owns(b))) return false;
    if (!Lives(i) || !Lives(j)) return true;
    if (a.batch.valid() && b.batch.valid() && a.batch != b.batch) return true;
    return Before(i, j) || Before(j, i);
  }

  bool Groups() const {
    for (const Alias& alias : problem_.aliases) {
      if (Low(alias.buffer.index()) != Low(alias.of.index()) + alias.offset.value()) return false;
    }
    for (const Contiguous& group : problem_.contiguous) {
      for (size_t j = 1; j < group.members.size(); ++j) {
        const size_t member = group.members[j].index();
        int64_t expected = High(group.members[j - 1].index());
        if (group.padded) {
          const Buffer& buffer = problem_.buffers[member];
          const int64_t start = Low(group.members[0].index());
          while ((expected - start) % problem_.region(buffer.region).alignment != 0 ||
                 (expected - start) % buffer.alignment != 0) {
            ++expected;
          }
        }
        if (Low(member) != expected) return false;
      }
    }
    return true;
  }

  // Nobody but members touches an area, and members lie in it.
  bool Areas() const {
    std::set<std::pair<RegionId, int32_t>> ids;
    for (const ClearingArea& area : plan_.clearing_areas) {
      if (!ids.insert({area.region, area.atomic_addr_clean_id}).second) return false;
    }
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      const Buffer& root = problem_.buffers[Root(i)];
      if (root.atomic_addr_clean_id != kNoClearing &&
          !ids.contains({root.region, root.atomic_addr_clean_id})) {
        return false;
      }
      for (const ClearingArea& area : plan_.clearing_areas) {
        const bool member =
            root.region == area.region && root.atomic_addr_clean_id == area.atomic_addr_clean_id;
        if (!Claimed(i, area.region, area.offset, area.size, member)) return false;
      }
      for (const MergedBlock& block : plan_.merged_blocks) {
        bool member = false;
        for (const uint32_t group : block.groups) {
          for (const BufferId id : problem_.contiguous[group].members) {
            member |= id.index() == Root(i);
          }
        }
        if (!Claimed(i, block.region, block.offset, block.size, member)) return false;
      }
    }
    return Disjoint(plan_.clearing_areas) && Disjoint(plan_.merged_blocks);
  }

  bool Claimed(size_t i, RegionId region, Offset offset, Bytes size, bool member) const {
    const int64_t low = offset.value();
    const int64_t high = low + size.value();
    if (member) return Low(i) >= low && High(i) <= high;
    const bool empty = low == high;  // An area without bytes may lie anywhere.
    return empty || problem_.buffers[i].region != region || !Lives(i) || !Meet(i, low, high);
  }

  template <typename Areas>
  static bool Disjoint(const Areas& areas) {
    for (size_t i = 0; i < areas.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (areas[i].region == areas[j].region && areas[i].size.value() > 0 &&
            areas[j].size.value() > 0 && areas[i].offset < areas[j].offset + areas[j].size &&
            areas[j].offset < areas[i].offset + areas[i].size) {
          return false;
        }
      }
    }
    return true;
  }

  const Problem& problem_;
  const MemoryPlan& plan_;
};

}  // namespace plimsoll::plan
