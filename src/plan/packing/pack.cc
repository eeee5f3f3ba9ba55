#include "plimsoll/plan/pack.h"

#include <algorithm>
#include <utility>

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

// The row that a buffer of the table's problem is a part of.
size_t RowOf(const BufferTable& table, size_t buffer) {
  const size_t rows = table.offsets.size();
  return buffer < rows ? buffer : table.problem.aliases[buffer - rows].of.index();
}

// The rows that live when most bytes do, where buffers have gaps: they stand in the way when that
// is above the capacity.
std::vector<BufferId> RowsAtThePeak(const BufferTable& table, Bytes capacity) {
  struct Change {
    int64_t moment;
    int64_t bytes;
  };
  const auto& buffers = table.problem.buffers;
  std::vector<Change> changes;
  for (const Buffer& buffer : buffers) {
    if (buffer.life.begin == buffer.life.end) continue;
    changes.push_back({buffer.life.begin, buffer.size.value()});
    changes.push_back({buffer.life.end, -buffer.size.value()});
  }
  // What ends comes before what begins at the same moment.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.moment, a.bytes) < std::pair(b.moment, b.bytes);
  });
  int64_t live = 0;
  int64_t most = capacity.value();
  std::optional<int64_t> peak;
  for (const Change& change : changes) {
    live += change.bytes;
    if (live <= most) continue;
    most = live;
    peak = change.moment;
  }
  std::vector<BufferId> rows;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Use& life = buffers[i].life;
    if (peak && life.begin <= *peak && *peak < life.end) rows.emplace_back(RowOf(table, i));
  }
  return rows;
}

// A set that cannot be placed together, where one smaller than all of them is found within the
// effort.
Status FindMinimalSet(const Problem& problem, Bytes capacity, const Effort& effort,
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
  return {};
}

// The buffers that stand in the way, when it is proven that nothing fits: all of them where no
// smaller set is found within the effort.
Status ExplainMisfit(const BufferTable& table, Bytes capacity, const Effort& effort,
                     PackAnswer& answer) {
  const Problem& problem = table.problem;
  if (!problem.aliases.empty()) {
    answer.infeasible_set = RowsAtThePeak(table, capacity);
  } else {
    PLIMSOLL_TRY(FindMinimalSet(problem, capacity, effort, answer));
  }
  if (!answer.infeasible_set.empty()) return {};
  for (size_t i = 0; i < table.offsets.size(); ++i) answer.infeasible_set.emplace_back(i);
  return {};
}

// Ten questions as hard as the one that was just answered, however long that was allowed to take.
Effort EffortToExplain(Effort effort, int64_t spent) {
  effort.steps = std::min(effort.steps, std::max(Effort().steps, SaturatingMultiply(spent, 10)));
  return effort;
}

bool IsEnough(const RegionPlan& region, std::optional<Bytes> capacity) {
  return region.optimal || region.infeasible || (capacity && region.size <= *capacity);
}

// Whole lives are intervals, for which more is searched: what is placed so is a placement with gaps
// as well, and is taken where it is lower.
Status TryWithoutGaps(const BufferTable& table, const MemAssigner& assigner, const Effort& effort,
                      MemoryPlan& plan) {
  const size_t rows = table.offsets.size();
  Problem whole = table.problem;
  for (const Alias& alias : whole.aliases) {
    Use& life = whole.buffers[alias.of.index()].life;
    life.begin = std::min(life.begin, whole.buffer(alias.buffer).life.begin);
    life.end = std::max(life.end, whole.buffer(alias.buffer).life.end);
  }
  whole.aliases.clear();
  whole.buffers.resize(rows);
  PLIMSOLL_ASSIGN(MemoryPlan other, assigner.Assign(whole, effort));
  plan.deadline_hit = plan.deadline_hit || other.deadline_hit;
  plan.steps += other.steps;
  if (other.regions.front().size >= plan.regions.front().size) return {};
  for (size_t i = rows; i < table.problem.buffers.size(); ++i) {
    other.offsets.push_back(other.offsets[RowOf(table, i)]);
  }
  RegionPlan& region = plan.regions.front();
  region.size = other.regions.front().size;
  region.optimal = region.size == region.lower_bound;
  plan.offsets = std::move(other.offsets);
  return {};
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
  for (size_t i = 0; i < table.offsets.size(); ++i) {
    problem.buffers[i].fixed_offset = table.offsets[i];
  }
  PLIMSOLL_ASSIGN(const auto assigner, MakeAssigner(options.assigner, options.threads));
  problem.regions.front().capacity = options.capacity;
  Effort effort = options.effort;
  effort.stop_at_capacity = options.capacity.has_value();
  PLIMSOLL_ASSIGN(MemoryPlan plan, assigner->Assign(problem, effort));
  if (!problem.aliases.empty() && !IsEnough(plan.regions.front(), options.capacity)) {
    PLIMSOLL_TRY(TryWithoutGaps(table, *assigner, effort, plan));
  }
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
    PLIMSOLL_TRY(ExplainMisfit(table, *options.capacity, effort_left, answer));
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
  for (const Alias& alias : table.problem.aliases) {
    plan.offsets.push_back(plan.offsets[alias.of.index()]);
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
