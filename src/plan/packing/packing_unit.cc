#include "plan/packing/packing_unit.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll::plan {

int64_t CommonUnit(const Packing& packing) {
  int64_t unit = 0;
  const auto divide = [&unit](int64_t height) {
    if (unit == 0 || height % unit != 0) unit = std::gcd(unit, height);
  };
  for (const PackingItem& item : packing.items) {
    if (!TakesRoom(item)) continue;
    divide(item.size);
    divide(std::max<int64_t>(item.fixed, 0));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const PackingItem& item : packing.items) {
      if (!TakesRoom(item) || item.alignment <= 1) continue;
      if (unit % item.alignment == 0 || item.alignment % unit == 0) continue;
      unit = std::gcd(unit, item.alignment);
      changed = true;
    }
  }
  return std::max<int64_t>(unit, 1);
}

bool HeightsFit32Bits(const Packing& packing, int64_t unit) {
  int64_t fixed = 0;
  int64_t stacked = 0;
  for (const PackingItem& item : packing.items) {
    fixed = std::max(fixed, item.fixed);
    stacked += item.size / unit + std::max<int64_t>(item.alignment / unit, 1);
    if (fixed / unit + stacked > std::numeric_limits<uint32_t>::max()) return false;
  }
  return true;
}

}  // namespace plimsoll::plan
