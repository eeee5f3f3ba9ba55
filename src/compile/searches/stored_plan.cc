#include "compile/searches/stored_plan.h"

#include <limits>

#include "compile/searches/record.h"
#include "plimsoll/plan/json.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::compile {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void WriteKnobs(RecordWriter& record, const plan::BlockReuseKnobs& knobs) {
  record.Int(knobs.use_range);
  record.Int(knobs.ascending_sort);
  record.Int(knobs.reuse_first_release);
  record.Int(knobs.memory_priority_mode);
}

std::string PlanRequest(const plan::Problem& problem, const AssignerChoice& choice,
                        std::string_view gear, const plan::Effort& effort) {
  RecordWriter record;
  record.Text("plan");
  record.Text(choice.name);
  WriteKnobs(record, choice.block_reuse);
  record.Int(choice.batches.merge_continuous);
  record.Int(choice.batches.no_reuse);
  record.Int(std::ssize(choice.batch_strategies));
  for (const auto& [label, strategy] : choice.batch_strategies) {
    record.Text(label);
    record.Int(strategy.has_value());
    if (strategy) WriteKnobs(record, *strategy);
  }
  record.Text(gear);
  record.Int(effort.steps);
  record.Int(effort.stop_at_capacity);
  record.Real(effort.good_enough);
  record.Text(plan::WriteProblemJson(problem));
  return record.bytes();
}

std::string PlanAnswer(const plan::MemoryPlan& plan) {
  RecordWriter record;
  record.Int(std::ssize(plan.offsets));
  for (const Offset offset : plan.offsets) record.Int(offset.value());
  record.Int(std::ssize(plan.regions));
  for (const plan::RegionPlan& region : plan.regions) {
    record.Int(region.size.value());
    record.Int(region.lower_bound.value());
    record.Int(region.optimal);
    record.Int(region.infeasible);
  }
  record.Int(std::ssize(plan.clearing_areas));
  for (const plan::ClearingArea& area : plan.clearing_areas) {
    record.Int(static_cast<int64_t>(area.region.index()));
    record.Int(area.atomic_addr_clean_id);
    record.Int(area.offset.value());
    record.Int(area.size.value());
  }
  record.Int(std::ssize(plan.merged_blocks));
  for (const plan::MergedBlock& block : plan.merged_blocks) {
    record.Int(static_cast<int64_t>(block.region.index()));
    record.Int(block.offset.value());
    record.Int(block.size.value());
    record.Int(std::ssize(block.groups));
    for (const uint32_t group : block.groups) record.Int(group);
  }
  record.Int(std::ssize(plan.notes));
  for (const plan::PlanNote& note : plan.notes) {
    record.Int(static_cast<int64_t>(note.kind));
    record.Int(note.buffer.valid() ? static_cast<int64_t>(note.buffer.index()) : -1);
    record.Text(note.text);
    record.Int(note.bytes.value());
  }
  record.Text(plan.assigner);
  record.Int(plan.steps);
  return record.bytes();
}

// Ids are checked here, everything else by the verifier.
class PlanReader {
 public:
  PlanReader(std::string_view bytes, const plan::Problem& problem)
      : record_(bytes), problem_(problem) {}

  std::optional<plan::MemoryPlan> Read() {
    plan::MemoryPlan plan;
    for (size_t left = record_.Count(8); left > 0; --left) {
      plan.offsets.emplace_back(record_.Int());
    }
    for (size_t left = record_.Count(32); left > 0; --left) ReadRegion(plan.regions.emplace_back());
    for (size_t left = record_.Count(32); left > 0; --left) {
      ReadArea(plan.clearing_areas.emplace_back());
    }
    for (size_t left = record_.Count(32); left > 0; --left) {
      ReadBlock(plan.merged_blocks.emplace_back());
    }
    for (size_t left = record_.Count(32); left > 0; --left) ReadNote(plan.notes.emplace_back());
    plan.assigner = record_.Text();
    plan.steps = record_.Int(0, kMost);
    if (!record_.AtEnd()) return std::nullopt;
    return plan;
  }

 private:
  template <typename Row>
  Id<Row> ReadId(size_t count) {
    return Id<Row>(static_cast<size_t>(record_.Int(0, static_cast<int64_t>(count) - 1)));
  }
  void ReadRegion(plan::RegionPlan& region) {
    region.size = Bytes(record_.Int(0, kMost));
    region.lower_bound = Bytes(record_.Int(0, kMost));
    region.optimal = record_.Int(0, 1) == 1;
    region.infeasible = record_.Int(0, 1) == 1;
  }
  void ReadArea(plan::ClearingArea& area) {
    area.region = ReadId<plan::RegionTag>(problem_.regions.size());
    area.atomic_addr_clean_id =
        static_cast<int32_t>(record_.Int(-1, std::numeric_limits<int32_t>::max()));
    area.offset = Offset(record_.Int(0, kMost));
    area.size = Bytes(record_.Int(0, kMost));
  }
  void ReadBlock(plan::MergedBlock& block) {
    block.region = ReadId<plan::RegionTag>(problem_.regions.size());
    block.offset = Offset(record_.Int(0, kMost));
    block.size = Bytes(record_.Int(0, kMost));
    for (size_t left = record_.Count(8); left > 0; --left) {
      block.groups.push_back(
          static_cast<uint32_t>(record_.Int(0, std::ssize(problem_.contiguous) - 1)));
    }
  }
  void ReadNote(plan::PlanNote& note) {
    note.kind = static_cast<plan::PlanNote::Kind>(
        record_.Int(0, static_cast<int64_t>(plan::PlanNote::Kind::kMergedBatchesCost)));
    const int64_t buffer = record_.Int(-1, std::ssize(problem_.buffers) - 1);
    if (buffer >= 0) note.buffer = plan::BufferId(static_cast<size_t>(buffer));
    note.text = record_.Text();
    note.bytes = Bytes(record_.Int());
  }

  RecordReader record_;
  const plan::Problem& problem_;
};

bool IsKept(const AssignerChoice& choice, const plan::Effort& effort) {
  return effort.deadline_ms == 0 && (choice.name.empty() || plan::IsBuiltInAssigner(choice.name));
}

}  // namespace

Result<plan::MemoryPlan> AssignOnce(const plan::Problem& problem, const AssignerChoice& choice,
                                    std::string_view gear, int threads, const plan::Effort& effort,
                                    SearchStore* store) {
  if (store != nullptr && !IsKept(choice, effort)) store = nullptr;
  const std::string request =
      store == nullptr ? std::string() : PlanRequest(problem, choice, gear, effort);
  if (store != nullptr) {
    if (const auto answer = store->Find(request)) {
      auto plan = PlanReader(*answer, problem).Read();
      if (plan && plan::Verify(problem, *plan).ok()) return *std::move(plan);
    }
  }
  PLIMSOLL_ASSIGN(const auto assigner, AssignerFor(choice, problem, gear, threads));
  PLIMSOLL_ASSIGN(plan::MemoryPlan plan, assigner->Assign(problem, effort));
  PLIMSOLL_TRY(plan::Verify(problem, plan));
  if (store != nullptr && !plan.deadline_hit) store->Keep(request, PlanAnswer(plan));
  return plan;
}

}  // namespace plimsoll::compile
