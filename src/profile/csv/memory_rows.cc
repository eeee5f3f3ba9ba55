#include "profile/csv/memory_rows.h"

#include <map>
#include <unordered_map>
#include <utility>

namespace plimsoll::profile {
namespace {

// What tells a piece of memory from all others that are held: its address, or, inside a plan, the
// run and the buffer.
struct PieceKey {
  uint64_t place = 0;
  uint32_t run = 0;
  int16_t device = 0;
  bool operator==(const PieceKey&) const = default;
};

struct HashOfPiece {
  size_t operator()(const PieceKey& key) const {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    const uint64_t mixed = (key.place + (uint64_t{key.run} << 32)) * kOdd;
    return static_cast<size_t>((mixed ^ (mixed >> 29)) + static_cast<uint64_t>(key.device));
  }
};

PieceKey KeyOf(const Event& event) {
  return {event.run != 0 ? event.item : event.address, event.run, event.device};
}

}  // namespace

void ReplayTotals(const Recording& recording,
                  const std::function<void(const Event& event, const MemoryTotals& totals)>& told) {
  std::map<std::pair<int16_t, Component>, MemoryTotals> totals;
  for (const Event& event : recording.events) {
    if (!event.is_memory()) continue;
    const auto& before = recording.before[static_cast<size_t>(event.component)];
    // What was held before is counted by component; a session has one device.
    MemoryTotals& now = totals.try_emplace({event.device, event.component}, before).first->second;
    now.allocated += event.allocated();
    now.reserved += event.reserved();
    told(event, now);
  }
}

std::vector<MemoryRow> OperatorRows(const Recording& recording) {
  std::vector<MemoryRow> rows;
  std::unordered_map<PieceKey, size_t, HashOfPiece> held;
  held.reserve(recording.events.size() / 2);
  ReplayTotals(recording, [&](const Event& event, const MemoryTotals& totals) {
    if (event.component != Component::kFeatureMaps || event.allocated() == 0) return;
    const MemoryRow::Moment moment{event.time, totals};
    if (event.kind == Event::Kind::kAllocate) {
      held[KeyOf(event)] = rows.size();
      rows.push_back({event.name, event.bytes, event.device, moment, std::nullopt});
      return;
    }
    const auto found = held.find(KeyOf(event));
    if (found == held.end()) {
      rows.push_back({0, event.bytes, event.device, std::nullopt, moment});
      return;
    }
    rows[found->second].release = moment;
    held.erase(found);
  });
  return rows;
}

}  // namespace plimsoll::profile
