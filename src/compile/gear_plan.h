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
// Where the plans that the gears already have make a smaller arena, those are kept. Every gear's
// feature map then counts the whole arena, so that no change of gears takes more memory.
//
// Verified, each gear and all together. Gears that use several streams keep their own plans.
Status ShareFeatureMap(std::span<const GearPlan> gears, const plan::Effort& effort);

}  // namespace plimsoll::compile
