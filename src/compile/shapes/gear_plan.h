#pragma once

#include <span>
#include <string>

#include "compile/plan_model.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// A model planned for one set of sizes, of which several are to run in the same memory.
struct GearPlan {
  std::string label;
  PlannedModel* planned = nullptr;
};

// Places the feature maps of all gears in one arena: their buffers become one problem, in which
// each gear is a batch of its own (DynamicBatchMemAssigner), and the offsets go back to the gears.
// Contiguous groups of different gears form large blocks that nobody else uses, unless the options
// say otherwise; every gear's plan lists them and notes what they cost. Where there is nothing to
// merge and the plans that the gears already have make a smaller arena, those are kept. Every
// gear's feature map then counts the whole arena, so that no change of gears takes more memory.
//
// Batch labels inside a gear play no part: its buffers count as living together. Verified, each
// gear and all together. Gears that use several streams keep their own plans.
Status ShareFeatureMap(std::span<const GearPlan> gears, const PlanOptions& options);

// Makes each region outside the feature map as large as the gear needs it that needs most: its
// address then serves all of them, also where the device cannot reserve addresses.
void ShareSeparateRegions(std::span<const GearPlan> gears);

}  // namespace plimsoll::compile
