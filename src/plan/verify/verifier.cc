#include "plimsoll/plan/verifier.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan/verify/verifier_overlap.h"
#include "plimsoll/base/text.h"

namespace plimsoll::plan {
namespace {

// One check of a plan; every function looks at one promise.
class PlanCheck {
 public:
  PlanCheck(const Problem& problem, const MemoryPlan& plan) : problem_(problem), plan_(plan) {}

  Status Run() {
    PLIMSOLL_TRY(Tables());
    FindFamilies();
    PLIMSOLL_TRY(Bounds());
    PLIMSOLL_TRY(Aliases());
    PLIMSOLL_TRY(Contiguity());
    PLIMSOLL_TRY(Alignment());
    PLIMSOLL_TRY(Exclusive());
    PLIMSOLL_TRY(ClearingAreas());
    PLIMSOLL_TRY(MergedBlocks());
    PLIMSOLL_TRY(ZeroCopy());
    PLIMSOLL_TRY(VerifyLives(problem_, plan_, family_));
    return Capacities();
  }

 private:
  // Bytes of one region that belong to `owner`.
  struct Claim {
    RegionId region;
    int64_t low;
    int64_t high;
    size_t owner;
  };
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  int64_t Low(size_t buffer) const { return plan_.offsets[buffer].value(); }
  int64_t High(size_t buffer) const { return Low(buffer) + problem_.buffers[buffer].size.value(); }

  Status Tables() const;
  void FindFamilies();
  Status Bounds() const;
  Status Aliases() const;
  Status Contiguity() const;
  Status Alignment() const;
  Status Exclusive() const;
  Status ClearingAreas() const;
  Status MergedBlocks() const;
  Status ZeroCopy() const;
  Status Capacities() const;
  Status OnlyOwners(std::vector<Claim> claims, const std::vector<size_t>& owner_of,
                    std::string_view code, std::string_view what) const;

  const Problem& problem_;
  const MemoryPlan& plan_;
  std::vector<size_t> family_;  // by buffer: the one it is finally a window of
};

Status PlanCheck::Tables() const {
  if (plan_.offsets.size() == problem_.buffers.size() &&
      plan_.regions.size() == problem_.regions.size()) {
    return {};
  }
  return Broken("tables", "the plan",
                StrCat("it has ", plan_.offsets.size(), " offsets and ", plan_.regions.size(),
                       " regions for ", problem_.buffers.size(), " buffers and ",
                       problem_.regions.size(), " regions"));
}

void PlanCheck::FindFamilies() {
  std::vector<size_t> owner(problem_.buffers.size());
  for (size_t i = 0; i < owner.size(); ++i) owner[i] = i;
  for (const Alias& alias : problem_.aliases) owner[alias.buffer.index()] = alias.of.index();
  family_.resize(owner.size());
  for (size_t i = 0; i < owner.size(); ++i) {
    size_t root = i;
    while (owner[root] != root) root = owner[root];
    // Shortens the way for those that come later.
    for (size_t at = i; owner[at] != root && at != root;) {
      const size_t next = owner[at];
      owner[at] = root;
      at = next;
    }
    family_[i] = root;
  }
}

Status PlanCheck::Bounds() const {
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    const Bytes size = plan_.regions[buffer.region.index()].size;
    if (Low(i) < 0 || plan_.offsets[i] + buffer.size > Offset(size.value())) {
      return Broken("bounds", BufferText(problem_, i),
                    StrCat("at ", Low(i), " it does not lie inside the ", size.value(),
                           " bytes of its region"));
    }
    if (buffer.fixed_offset && *buffer.fixed_offset != plan_.offsets[i]) {
      return Broken("fixed_offset", BufferText(problem_, i),
                    StrCat("it lies at ", Low(i), ", not at its fixed offset ",
                           buffer.fixed_offset->value()));
    }
  }
  return {};
}

Status PlanCheck::Aliases() const {
  for (const Alias& alias : problem_.aliases) {
    const size_t window = alias.buffer.index();
    if (plan_.offsets[window] == plan_.offsets[alias.of.index()] + alias.offset) continue;
    return Broken("alias", BufferText(problem_, window),
                  StrCat("it does not lie ", alias.offset.value(), " bytes into ",
                         BufferText(problem_, alias.of.index())));
  }
  return {};
}

Status PlanCheck::Contiguity() const {
  for (size_t i = 0; i < problem_.contiguous.size(); ++i) {
    const Contiguous& group = problem_.contiguous[i];
    for (size_t j = 1; j < group.members.size(); ++j) {
      const size_t member = group.members[j].index();
      int64_t expected = High(group.members[j - 1].index());
      if (group.padded) {
        const Buffer& buffer = problem_.buffers[member];
        const int64_t start = Low(group.members.front().index());
        const int64_t unit = std::lcm(problem_.region(buffer.region).alignment, buffer.alignment);
        expected = start + Bytes(expected - start).RoundUp(unit).value();
      }
      if (Low(member) == expected) continue;
      return Broken(
          "contiguous", BufferText(problem_, member),
          StrCat("in contiguous group ", i, " it lies at ", Low(member), " and not at ", expected));
    }
  }
  return {};
}

Status PlanCheck::Alignment() const {
  // Inside a window or an unpadded group the neighbours decide.
  std::vector<bool> free(problem_.buffers.size(), true);
  for (const Alias& alias : problem_.aliases) free[alias.buffer.index()] = false;
  for (const Contiguous& group : problem_.contiguous) {
    for (size_t j = 1; j < group.members.size() && !group.padded; ++j) {
      free[group.members[j].index()] = false;
    }
  }
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    const int64_t unit = problem_.region(buffer.region).alignment;
    if (Low(i) % buffer.alignment == 0 && (!free[i] || Low(i) % unit == 0)) continue;
    return Broken("alignment", BufferText(problem_, i),
                  StrCat("its offset ", Low(i), " is no multiple of ", buffer.alignment,
                         free[i] ? StrCat(" and of its region's ", unit) : ""));
  }
  return {};
}

// Claims of different owners are disjoint, and no buffer of another owner touches one.
Status PlanCheck::OnlyOwners(std::vector<Claim> claims, const std::vector<size_t>& owner_of,
                             std::string_view code, std::string_view what) const {
  std::erase_if(claims, [](const Claim& claim) { return claim.low == claim.high; });
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tuple(a.region, a.low, a.owner) < std::tuple(b.region, b.low, b.owner);
  });
  std::vector<Claim> joined;
  for (const Claim& claim : claims) {
    const bool meets =
        !joined.empty() && joined.back().region == claim.region && claim.low < joined.back().high;
    if (!meets) {
      joined.push_back(claim);
      continue;
    }
    if (joined.back().owner != claim.owner) {
      return Broken(code, StrCat("bytes from ", claim.low), StrCat("two of ", what, " share them"));
    }
    joined.back().high = std::max(joined.back().high, claim.high);
  }
  for (size_t i = 0; i < problem_.buffers.size() && !joined.empty(); ++i) {
    if (!EverLives(problem_.buffers[i])) continue;
    const auto at = std::pair(problem_.buffers[i].region, Low(i));
    auto claim = std::upper_bound(
        joined.begin(), joined.end(), at,
        [](const auto& place, const Claim& c) { return place < std::pair(c.region, c.low); });
    if (claim != joined.begin()) --claim;
    for (; claim != joined.end() &&
           std::pair(claim->region, claim->low) < std::pair(problem_.buffers[i].region, High(i));
         ++claim) {
      const bool touches = claim->region == problem_.buffers[i].region && claim->high > Low(i);
      if (!touches || claim->owner == owner_of[i]) continue;
      return Broken(code, BufferText(problem_, i), StrCat("it uses bytes that belong to ", what));
    }
  }
  return {};
}

// Exclusive buffers, and those that one fill clears before any of them lives.
Status PlanCheck::Exclusive() const {
  std::vector<Claim> claims;
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    if (!buffer.exclusive && buffer.atomic_addr_clean_id == kNoClearing) continue;
    claims.push_back({buffer.region, Low(i), High(i), family_[i]});
  }
  return OnlyOwners(std::move(claims), family_, "exclusive", "an exclusive buffer");
}

Status PlanCheck::ClearingAreas() const {
  std::vector<size_t> area_of(problem_.buffers.size(), kNobody);
  std::map<std::pair<RegionId, int32_t>, size_t> areas;
  std::vector<Claim> claims;
  for (size_t i = 0; i < plan_.clearing_areas.size(); ++i) {
    const ClearingArea& area = plan_.clearing_areas[i];
    const int64_t low = area.offset.value();
    claims.push_back({area.region, low, low + area.size.value(), i});
    if (!areas.try_emplace({area.region, area.atomic_addr_clean_id}, i).second) {
      return Broken("clearing", StrCat("clearing area ", i), "its id has an area already");
    }
  }
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& root = problem_.buffers[family_[i]];
    if (root.atomic_addr_clean_id == kNoClearing) continue;
    const auto area = areas.find({root.region, root.atomic_addr_clean_id});
    if (area == areas.end() || Low(i) < claims[area->second].low ||
        High(i) > claims[area->second].high) {
      return Broken("clearing", BufferText(problem_, i), "it lies outside its clearing area");
    }
    area_of[i] = area->second;
  }
  return OnlyOwners(std::move(claims), area_of, "clearing", "a clearing area");
}

Status PlanCheck::MergedBlocks() const {
  std::vector<size_t> block_of(problem_.buffers.size(), kNobody);
  std::vector<Claim> claims;
  for (size_t i = 0; i < plan_.merged_blocks.size(); ++i) {
    const MergedBlock& block = plan_.merged_blocks[i];
    const int64_t low = block.offset.value();
    claims.push_back({block.region, low, low + block.size.value(), i});
    for (const uint32_t group : block.groups) {
      if (group >= problem_.contiguous.size()) {
        return Broken("merged", StrCat("merged block ", i), "it names a group that is not listed");
      }
      for (const BufferId member : problem_.contiguous[group].members) {
        block_of[member.index()] = i;
        if (Low(member.index()) < low || High(member.index()) > low + block.size.value()) {
          return Broken("merged", BufferText(problem_, member.index()),
                        "it lies outside its merged block");
        }
      }
    }
  }
  for (size_t i = 0; i < block_of.size(); ++i) block_of[i] = block_of[family_[i]];
  return OnlyOwners(std::move(claims), block_of, "merged", "a merged block");
}

Status PlanCheck::ZeroCopy() const {
  std::map<std::pair<RegionId, int64_t>, size_t> bound;  // by start
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    if (!buffer.zero_copy || buffer.size.value() == 0) continue;
    if (!bound.try_emplace({buffer.region, Low(i)}, i).second) {
      return Broken("zero_copy", BufferText(problem_, i), "another zero-copy buffer starts there");
    }
  }
  for (size_t i = 0; i < problem_.buffers.size() && !bound.empty(); ++i) {
    const RegionId region = problem_.buffers[i].region;
    if (problem_.buffers[i].size.value() == 0) continue;
    if (!problem_.buffers[i].zero_copy && !EverLives(problem_.buffers[i])) continue;
    const auto next = bound.upper_bound({region, Low(i)});
    const bool enters = next != bound.end() && next->first < std::pair(region, High(i));
    bool leaves = false;
    if (next != bound.begin() && std::prev(next)->first.first == region) {
      const size_t host = std::prev(next)->second;
      leaves = Low(i) < High(host) && High(i) > High(host);
    }
    if (enters || leaves) {
      return Broken("zero_copy", BufferText(problem_, i),
                    "it lies partly inside a zero-copy buffer, and the caller's memory ends there");
    }
  }
  return {};
}

Status PlanCheck::Capacities() const {
  for (size_t i = 0; i < problem_.regions.size(); ++i) {
    const Region& region = problem_.regions[i];
    if (!region.capacity || plan_.regions[i].size <= *region.capacity) continue;
    Error error = Broken("capacity", StrCat("region '", region.name, "'"),
                         StrCat("it takes ", plan_.regions[i].size.value(), " bytes of the ",
                                region.capacity->value(), " it may"));
    error.kind = ErrorKind::kDoesNotFit;
    error.remedy = StrCat("give it ", (plan_.regions[i].size - *region.capacity).value(),
                          " bytes more, or plan with more effort");
    return error;
  }
  return {};
}

}  // namespace

Status Verify(const Problem& problem, const MemoryPlan& plan) {
  return PlanCheck(problem, plan).Run();
}

}  // namespace plimsoll::plan
