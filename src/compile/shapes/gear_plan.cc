#include "compile/shapes/gear_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

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
    plan.assigner = "one plan per gear";
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
      std::erase_if(plan.merged_blocks, [&](const auto& block) { return block.region == map; });
      std::erase_if(plan.notes, [](const plan::PlanNote& note) {
        return note.kind == plan::PlanNote::Kind::kMergedBatchesCost;
      });
      for (plan::ClearingArea area : joint.clearing_areas) {
        if (area.atomic_addr_clean_id != ClearingId(gear)) continue;
        area.region = map;
        area.atomic_addr_clean_id = 0;
        plan.clearing_areas.push_back(area);
      }
      for (const plan::MergedBlock& block : joint.merged_blocks) {
        plan.merged_blocks.push_back(PartOf(block, gear));
      }
      for (const plan::PlanNote& note : joint.notes) {
        if (note.kind == plan::PlanNote::Kind::kMergedBatchesCost) plan.notes.push_back(note);
      }
    }
  }

 private:
  // A merged block as one gear sees it: with its own groups.
  plan::MergedBlock PartOf(plan::MergedBlock block, size_t gear) const {
    block.region = gears_[gear].planned->buffers.feature_map;
    std::vector<uint32_t> own;
    for (const uint32_t group : block.groups) {
      if (group_of_[group].first == gear) own.push_back(group_of_[group].second);
    }
    block.groups = std::move(own);
    return block;
  }

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
    for (uint32_t i = 0; i < buffers.problem.contiguous.size(); ++i) {
      plan::Contiguous group = buffers.problem.contiguous[i];
      if (!joint_of.contains(group.members[0])) continue;
      for (BufferId& member : group.members) member = joint_of.at(member);
      problem_.contiguous.push_back(std::move(group));
      group_of_.emplace_back(gear, i);
    }
  }

  std::span<const GearPlan> gears_;
  Problem problem_;
  std::vector<std::map<BufferId, BufferId>> joint_of_;  // by gear
  std::vector<std::pair<size_t, uint32_t>> group_of_;   // by joint group: gear, and group there
};

// Strategies that name neither a gear nor a batch inside one.
void NoteUnknownBatches(std::span<const GearPlan> gears, const AssignerChoice& choice) {
  std::vector<std::string> known;
  for (const GearPlan& gear : gears) {
    const std::vector<std::string>& inside = gear.planned->buffers.problem.batches;
    known.push_back(gear.label);
    known.insert(known.end(), inside.begin(), inside.end());
  }
  for (const std::string& label : UnknownBatches(choice, known)) {
    for (const GearPlan& gear : gears) {
      gear.planned->buffers.notes.push_back(
          {label, "has a strategy (ge.plimsoll.batchStrategies), but no gear has that label"});
    }
  }
}

// What the groups' large blocks cost more than the best that is possible without them.
void SetCost(MemoryPlan& plan, Bytes without) {
  for (plan::PlanNote& note : plan.notes) {
    if (note.kind != plan::PlanNote::Kind::kMergedBatchesCost) continue;
    const Bytes cost = std::max(note.bytes, plan.total() - without);
    note.bytes = std::max(cost, Bytes(0));
  }
}

}  // namespace

Status ShareFeatureMap(std::span<const GearPlan> gears, const PlanOptions& options) {
  NoteUnknownBatches(gears, options.assigner);
  const bool one_stream = std::all_of(gears.begin(), gears.end(), [](const GearPlan& gear) {
    return gear.planned->buffers.problem.streams.empty();
  });
  if (gears.empty() || !one_stream) return {};
  const JointProblem joint(gears);
  PLIMSOLL_ASSIGN(const auto assigner, AssignerForGears(options.assigner));
  PLIMSOLL_ASSIGN(MemoryPlan plan, assigner->Assign(joint.problem(), options.effort));
  PLIMSOLL_TRY(plan::Verify(joint.problem(), plan));
  const MemoryPlan present = joint.PresentPlan();
  const bool smaller =
      present.regions[0].size < plan.regions[0].size && plan::Verify(joint.problem(), present).ok();
  const bool shares = !options.assigner.batches.no_reuse;
  if (smaller && shares) SetCost(plan, present.regions[0].size);
  const bool keep = smaller && shares && plan.merged_blocks.empty();
  joint.Apply(keep ? present : plan);
  for (const GearPlan& gear : gears) {
    PLIMSOLL_TRY(plan::Verify(gear.planned->buffers.problem, gear.planned->plan));
  }
  return {};
}

void ShareSeparateRegions(std::span<const GearPlan> gears) {
  using Key = std::tuple<plan::MemoryType, bool, std::string>;
  std::map<Key, Bytes> largest;
  const auto visit = [&](const auto& look) {
    for (const GearPlan& gear : gears) {
      for (const PlannedBuffers::SeparateRegion& separate :
           gear.planned->buffers.separate_regions) {
        const plan::MemoryType type =
            gear.planned->buffers.problem.region(separate.region).memory_type;
        look(largest[{type, separate.stable, separate.key}],
             gear.planned->plan.regions[separate.region.index()].size);
      }
    }
  };
  visit([](Bytes& most, const Bytes& size) { most = std::max(most, size); });
  visit([](const Bytes& most, Bytes& size) { size = most; });
}

}  // namespace plimsoll::compile
