#include "plan/best_packing.h"

#include <utility>

#include "plan/exact_packing.h"
#include "plan/greedy_packing.h"

namespace plimsoll::plan {

PackingAnswer PackBest(const Packing& packing, const PackingEffort& effort) {
  PackingAnswer best = PackGreedy(packing, kGreedyOrders[0]);
  for (GreedyOrder order : kGreedyOrders) {
    const int64_t goal = effort.capacity >= 0 ? effort.capacity : best.lower_bound;
    if (best.height <= goal) return best;
    PackingAnswer answer = PackGreedy(packing, order);
    if (answer.height < best.height) best = std::move(answer);
  }
  best.infeasible = effort.capacity >= 0 && best.lower_bound > effort.capacity;
  return best;
}

}  // namespace plimsoll::plan
