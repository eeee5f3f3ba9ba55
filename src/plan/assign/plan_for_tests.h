#pragma once

#include <gtest/gtest.h>

#include "plimsoll/plan/hybrid_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {

// A problem that a test fills, and its verified plan.
class PlanTest : public testing::Test {
 protected:
  MemoryPlan PlanBy(const MemAssigner& assigner, const Effort& effort = {}) const {
    auto plan = assigner.Assign(problem_, effort);
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().Text());
    if (!plan.ok()) return Nowhere();
    const Status verified = Verify(problem_, *plan);
    EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().Text());
    return *plan;
  }
  MemoryPlan Plan() const { return PlanBy(HybridMemAssigner(1)); }

  static int64_t At(const MemoryPlan& plan, BufferId id) {
    return plan.offsets[id.index()].value();
  }
  // Why Validate refuses the problem; empty when it does not.
  std::string Refusal() const {
    const Status status = Validate(problem_);
    return status.ok() ? "" : status.error().why;
  }

  Problem problem_;

 private:
  // Of the right size, so that a test that goes on after its failure reads no table past its end.
  MemoryPlan Nowhere() const {
    MemoryPlan plan;
    plan.offsets.resize(problem_.buffers.size());
    plan.regions.resize(problem_.regions.size());
    return plan;
  }
};

}  // namespace plimsoll::plan
