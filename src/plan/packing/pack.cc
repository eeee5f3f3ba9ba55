#include "plimsoll/plan/pack.h"

#include <algorithm>

#include "plan/assign/plan_builder.h"
#include "plan/packing/best_packing.h"
#include "plan/problem/live_sum.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {
namespace {

Error InFile(Error error, std::string_view file) {
  error.kind = ErrorKind::kBadFile;
  error.where = StrCat(file, ", ", error.where);
  return error;
}

// The buffers that stand in the way, when it is proven that nothing fits: all of them where no
// smaller set is found within the effort.
Status ExplainMisfit(const Problem& problem, Bytes capacity, const Effort& effort,
                     PackAnswer& answer) {
  PlanBuilder builder(problem);
  PLIMSOLL_TRY(builder.PreAssign({}));
  const CoveringPacking cover = Cover(builder.blocks().regions.front());
  const InfeasibleSet found = FindInfeasibleSet(
      cover.packing, capacity.value(),
      {.steps = effort.steps, .deadline_ms = effort.deadline_ms, .stop = effort.stop});
  for (const int32_t item : found.items) {
    // Every block of a table is one buffer.
    const Block& block =
        builder.blocks().regions.front().blocks[cover.blocks[static_cast<size_t>(item)]];
    answer.infeasible_set.push_back(builder.blocks().members[block.first_member].buffer);
  }
  answer.infeasible_set_minimal = found.minimal;
  if (found.items.empty()) {
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      answer.infeasible_set.push_back(BufferId(i));
    }
  }
  return {};
}

// Ten questions as hard as the one that was just answered, however long that was allowed to take.
Effort EffortToExplain(Effort effort, int64_t spent) {
  effort.steps = std::min(effort.steps, std::max(Effort().steps, SaturatingMultiply(spent, 10)));
  return effort;
}

}  // namespace

Effort DefaultEffort(const Problem& problem, std::optional<Bytes> capacity) {
  constexpr int64_t kStepsPerBuffer = 16;
  constexpr int64_t kUnlimitedSteps = int64_t{1} << 60;
  constexpr double kDeadlineMs = 10'000;
  constexpr int64_t kManyBuffers = 100'000;
  constexpr double kGoodEnough = 1e-4;
  if (capacity) return {.steps = kUnlimitedSteps, .deadline_ms = kDeadlineMs};
  const auto buffers = static_cast<int64_t>(problem.buffers.size());
  return {.steps = std::max(Effort().steps, kStepsPerBuffer * buffers),
          .good_enough = buffers > kManyBuffers ? kGoodEnough : 0};
}

Result<PackAnswer> Pack(const BufferTable& table, const PackOptions& options) {
  BufferTable copy = table;
  return PackInPlace(copy, options);
}

Result<PackAnswer> PackInPlace(BufferTable& table, const PackOptions& options) {
  Problem& problem = table.problem;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    problem.buffers[i].fixed_offset = table.offsets[i];
  }
  PLIMSOLL_ASSIGN(const auto assigner, MakeAssigner(options.assigner, options.threads));
  problem.regions.front().capacity = options.capacity;
  Effort effort = options.effort;
  effort.stop_at_capacity = options.capacity.has_value();
  PLIMSOLL_ASSIGN(MemoryPlan plan, assigner->Assign(problem, effort));
  problem.regions.front().capacity.reset();
  PLIMSOLL_TRY(Verify(problem, plan));

  PackAnswer answer;
  answer.peak_bytes = plan.regions.front().size;
  answer.lower_bound_bytes = plan.regions.front().lower_bound;
  answer.fits = !options.capacity || answer.peak_bytes <= *options.capacity;
  answer.optimal = plan.regions.front().optimal;
  answer.deadline_hit = plan.deadline_hit;
  answer.assigner = plan.assigner;
  answer.offsets = std::move(plan.offsets);
  answer.infeasible = plan.regions.front().infeasible;
  if (answer.infeasible) {
    const Effort effort_left = EffortToExplain(options.effort, plan.steps);
    PLIMSOLL_TRY(ExplainMisfit(problem, *options.capacity, effort_left, answer));
  }
  return answer;
}

Result<PackAnswer> PackText(std::string_view csv, const PackOptions& options,
                            std::string_view file) {
  PLIMSOLL_ASSIGN(BufferTable table, ReadBufferTable(csv, file));
  auto answer = PackInPlace(table, options);
  if (answer.ok() || answer.error().code == "plan.unknown_assigner") return answer;
  return InFile(answer.error(), file);
}

Result<CheckAnswer> CheckText(std::string_view csv, std::optional<Bytes> capacity,
                              std::string_view file) {
  PLIMSOLL_ASSIGN(const BufferTable table, ReadBufferTable(csv, file));
  MemoryPlan plan;
  plan.regions.resize(1);
  for (size_t i = 0; i < table.offsets.size(); ++i) {
    if (!table.offsets[i]) {
      return Error{.kind = ErrorKind::kMismatch,
                   .code = "verify.no_offset",
                   .what = "the answer is not complete",
                   .where = StrCat(file, ", line ", table.lines[i]),
                   .why = "the buffer has no offset",
                   .remedy = ""};
    }
    plan.offsets.push_back(*table.offsets[i]);
    const Offset top = *table.offsets[i] + table.problem.buffers[i].size;
    plan.regions[0].size = std::max(plan.regions[0].size, Bytes(top.value()));
  }
  if (Status status = Verify(table.problem, plan); !status.ok()) {
    Error error = status.error();
    error.where = StrCat(file, ", ", error.where);
    error.remedy.clear();
    return error;
  }
  // Of the same buffers, free to lie anywhere.
  PLIMSOLL_ASSIGN(const BlockProblem blocks, MakeBlocks(table.problem, {}));
  return CheckAnswer{.peak_bytes = plan.regions[0].size,
                     .lower_bound_bytes = Bytes(blocks.regions.front().lower_bound),
                     .fits = !capacity || plan.regions[0].size <= *capacity};
}

}  // namespace plimsoll::plan
