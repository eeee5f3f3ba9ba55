#include "replay/offline_bound.h"

#include <vector>

#include "plan/packing/best_packing.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::replay {
namespace {

constexpr int64_t kSearchSteps = 1'000'000;

}  // namespace

Bytes OfflineBound(const Trace& trace) {
  plan::Packing packing;
  packing.items.resize(trace.blocks);
  int32_t moment = 0;
  for (const TraceEvent& event : trace.events) {
    plan::PackingItem& item = packing.items[event.block];
    if (event.kind == TraceEvent::Kind::kAllocate) {
      item.size = event.bytes.RoundUp(memory::kBlockAlignment).value();
      item.begin = moment++;
      item.end = static_cast<int32_t>(trace.events.size());
    } else if (event.kind == TraceEvent::Kind::kFree) {
      item.end = moment;
    }
  }
  return Bytes(plan::PackBest(packing, {.steps = kSearchSteps}).height);
}

}  // namespace plimsoll::replay
