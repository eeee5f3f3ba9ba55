#include "compile/gear_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "plimsoll/plan/dynamic_batch_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::compile {
namespace {

using plan::BufferId;
using plan::MemoryPlan;
using plan::Problem;
using plan::RegionId;

// The feature maps of all gears as one problem with one region.
class JointProblem {
 public:
  explicit JointProblem(std::span<const GearPlan> gears) : gears_(gears) {
    problem_.AddRegion({.name = "feature map of all gears"});
    for (size_t gear = 0; gear < gears.size(); ++gear) AddGear(gear);
  }

  const Problem& problem() const { return problem_; }

  // The plans that the gears have, laid over each other.
  MemoryPlan PresentPlan() const {
    MemoryPlan plan;
    plan.offsets.resize(problem_.buffers.size());
    plan.regions.resize(1);
    plan.assigner = "one plan a gear";
    for (size_t gear = 0; gear < gears_.size(); ++gear) {
      const PlannedModel& planned = *gears_[gear].planned;
      for (const auto& [own, joint] : joint_of_[gear]) {
        plan.offsets[joint.index()] = planned.plan.offsets[own.index()];
      }
      plan.regions[0].size = std::max(plan.regions[0].size, FeatureMapPeak(planned));
      for (plan::ClearingArea area : planned.plan.clearing_areas) {
        if (area.region != planned.buffers.feature_map) continue;
        area.region = RegionId(0);
        area.atomic_addr_clean_id = ClearingId(gear);
        plan.clearing_areas.push_back(area);
      }
    }
    return plan;
  }

  // Gives the gears their part of a plan of the problem.
  void Apply(const MemoryPlan& joint) const {
    for (size_t gear = 0; gear < gears_.size(); ++gear) {
      PlannedModel& planned = *gears_[gear].planned;
      const RegionId map = planned.buffers.feature_map;
      MemoryPlan& plan = planned.plan;
      for (const auto& [own, in_joint] : joint_of_[gear]) {
        plan.offsets[own.index()] = joint.offsets[in_joint.index()];
      }
      plan.regions[map.index()].optimal = false;
      plan.regions[map.index()].size = joint.regions[0].size;
      plan.assigner = joint.assigner;
      std::erase_if(plan.clearing_areas, [&](const auto& area) { return area.region == map; });
      for (plan::ClearingArea area : joint.clearing_areas) {
        if (area.atomic_addr_clean_id != ClearingId(gear)) continue;
        area.region = map;
        area.atomic_addr_clean_id = 0;
        plan.clearing_areas.push_back(area);
      }
    }
  }

 private:
  // What is cleared together in one gear is not cleared with another's.
  static int32_t ClearingId(size_t gear) { return static_cast<int32_t>(gear); }

  void AddGear(size_t gear) {
    const PlannedBuffers& buffers = gears_[gear].planned->buffers;
    const plan::BatchId batch = problem_.AddBatch(gears_[gear].label);
    std::map<BufferId, BufferId>& joint_of = joint_of_.emplace_back();
    for (size_t i = 0; i < buffers.problem.buffers.size(); ++i) {
      if (buffers.problem.buffers[i].region != buffers.feature_map) continue;
      plan::Buffer buffer = buffers.problem.buffers[i];
      buffer.region = RegionId(0);
      buffer.batch = batch;
      if (buffer.atomic_addr_clean_id != plan::kNoClearing) {
        buffer.atomic_addr_clean_id = ClearingId(gear);
      }
      joint_of.emplace(BufferId(i), problem_.AddBuffer(std::move(buffer)));
    }
    for (plan::Contiguous group : buffers.problem.contiguous) {
      if (!joint_of.contains(group.members[0])) continue;
      for (BufferId& member : group.members) member = joint_of.at(member);
      problem_.contiguous.push_back(std::move(group));
    }
  }

  std::span<const GearPlan> gears_;
  Problem problem_;
  std::vector<std::map<BufferId, BufferId>> joint_of_;  // by gear
};

}  // namespace

Status ShareFeatureMap(std::span<const GearPlan> gears, const plan::Effort& effort) {
  const bool one_stream = std::all_of(gears.begin(), gears.end(), [](const GearPlan& gear) {
    return gear.planned->buffers.problem.streams.empty();
  });
  if (gears.empty() || !one_stream) return {};
  const JointProblem joint(gears);
  PLIMSOLL_ASSIGN(MemoryPlan plan, plan::DynamicBatchMemAssigner().Assign(joint.problem(), effort));
  PLIMSOLL_TRY(plan::Verify(joint.problem(), plan));
  const MemoryPlan present = joint.PresentPlan();
  const bool keep =
      present.regions[0].size < plan.regions[0].size && plan::Verify(joint.problem(), present).ok();
  joint.Apply(keep ? present : plan);
  for (const GearPlan& gear : gears) {
    PLIMSOLL_TRY(plan::Verify(gear.planned->buffers.problem, gear.planned->plan));
  }
  return {};
}

}  // namespace plimsoll::compile
