#pragma once

#include <string>

#include "plan/packing/greedy_packing.h"
#include "plan/packing/region_placement.h"
#include "plan/packing/region_search.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/assigner.h"

namespace plimsoll::plan {

// One greedy order, without search.
class GreedyMemAssigner : public RegionMemAssigner {
 public:
  explicit GreedyMemAssigner(GreedyOrder order) : order_(order) {}
  std::string name() const override { return StrCat("greedy_by_", Name(order_)); }

 private:
  RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                              const Budget&) const override {
    return PlaceGreedily(blocks, region, order_);
  }

  GreedyOrder order_;
};

// All greedy orders and then the search, which proves optimality where it can.
class ExactMemAssigner : public RegionMemAssigner {
 public:
  std::string name() const override { return "exact"; }

 private:
  RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                              const Budget& budget) const override {
    return SearchPlacement(blocks, region, budget);
  }
};

}  // namespace plimsoll::plan
