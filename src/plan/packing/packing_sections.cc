#include "plan/packing/packing_sections.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/packing/packing_unit.h"

namespace plimsoll::plan {
namespace {

// The begins after which something ends before anything else begins.
std::vector<int32_t> SectionMoments(const Packing& packing, std::span<const int32_t> kept) {
  std::vector<std::pair<int32_t, bool>> events;  // time, begins
  events.reserve(2 * kept.size());
  for (int32_t index : kept) {
    events.emplace_back(packing.items[index].begin, true);
    events.emplace_back(packing.items[index].end, false);
  }
  std::sort(events.begin(), events.end());
  std::vector<int32_t> moments;
  for (size_t i = 1; i < events.size(); ++i) {
    if (events[i - 1].second && !events[i].second) moments.push_back(events[i - 1].first);
  }
  return moments;
}

// Pairs that live together, each counted twice, without listing them.
size_t CountOverlaps(const std::vector<SectionedItem>& items, size_t sections) {
  std::vector<size_t> begun(sections + 1);
  std::vector<size_t> ended(sections + 1);
  for (const SectionedItem& item : items) {
    ++begun[item.first];
    ++ended[item.last];
  }
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  std::partial_sum(ended.begin(), ended.end(), ended.begin());
  size_t pairs = 0;
  for (const SectionedItem& item : items) pairs += begun[item.last - 1] - ended[item.first] - 1;
  return pairs;
}

void ListOverlaps(SectionedPacking& sectioned) {
  std::vector<std::vector<int32_t>> beginning(sectioned.live.size());
  for (size_t i = 0; i < sectioned.items.size(); ++i) {
    beginning[sectioned.items[i].first].push_back(static_cast<int32_t>(i));
  }
  sectioned.overlap_begin.push_back(0);
  for (size_t i = 0; i < sectioned.items.size(); ++i) {
    const SectionedItem& item = sectioned.items[i];
    for (int32_t other : sectioned.live[item.first]) {
      if (other != static_cast<int32_t>(i)) sectioned.overlaps.push_back(other);
    }
    for (int32_t section = item.first + 1; section < item.last; ++section) {
      sectioned.overlaps.insert(sectioned.overlaps.end(), beginning[section].begin(),
                                beginning[section].end());
    }
    sectioned.overlap_begin.push_back(sectioned.overlaps.size());
  }
}

}  // namespace

std::optional<SectionedPacking> MakeSections(const Packing& packing, bool scale,
                                             size_t overlap_limit) {
  std::vector<int32_t> kept;
  for (size_t i = 0; i < packing.items.size(); ++i) {
    if (TakesRoom(packing.items[i])) kept.push_back(static_cast<int32_t>(i));
  }
  SectionedPacking sectioned;
  if (scale) sectioned.unit = CommonUnit(packing);
  const std::vector<int32_t> moments = SectionMoments(packing, kept);
  const auto section = [&](int32_t time) {
    return static_cast<int32_t>(std::lower_bound(moments.begin(), moments.end(), time) -
                                moments.begin());
  };
  using Shape = std::tuple<int32_t, int32_t, int64_t, int64_t, int64_t>;
  std::map<Shape, int32_t> twins;
  for (int32_t index : kept) {
    const PackingItem& from = packing.items[index];
    SectionedItem item;
    item.first = section(from.begin);
    item.last = section(from.end);
    item.size = from.size / sectioned.unit;
    item.fixed = from.fixed < 0 ? -1 : from.fixed / sectioned.unit;
    const bool aligned =
        from.fixed >= 0 || sectioned.unit % std::max<int64_t>(from.alignment, 1) == 0;
    item.alignment = aligned ? 1 : from.alignment / sectioned.unit;
    item.original = index;
    const auto here = static_cast<int32_t>(sectioned.items.size());
    item.twin =
        twins.try_emplace({item.first, item.last, item.size, item.alignment, item.fixed}, here)
            .first->second;
    sectioned.items.push_back(item);
  }
  if (CountOverlaps(sectioned.items, moments.size()) > overlap_limit) return std::nullopt;
  sectioned.live.resize(moments.size());
  for (size_t i = 0; i < sectioned.items.size(); ++i) {
    for (int32_t s = sectioned.items[i].first; s < sectioned.items[i].last; ++s) {
      sectioned.live[s].push_back(static_cast<int32_t>(i));
    }
  }
  ListOverlaps(sectioned);
  return sectioned;
}

}  // namespace plimsoll::plan
