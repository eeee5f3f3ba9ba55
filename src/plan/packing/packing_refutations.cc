#include "plan/packing/packing_refutations.h"

#include <utility>

namespace plimsoll::plan {
namespace {

constexpr size_t kFirstSlots = size_t{1} << 10;
constexpr size_t kMostSlots = size_t{1} << 21;

}  // namespace

void PackingRefutations::Insert(const PackingFingerprint& state) {
  if (slots_.empty()) slots_.resize(kFirstSlots);
  if (2 * inserted_ >= slots_.size() && slots_.size() < kMostSlots) {
    std::vector<PackingFingerprint> old(4 * slots_.size());
    std::swap(old, slots_);
    for (const PackingFingerprint& kept : old) {
      if (kept != PackingFingerprint{}) slots_[Slot(kept)] = kept;
    }
  }
  slots_[Slot(state)] = state;
  ++inserted_;
}

}  // namespace plimsoll::plan
