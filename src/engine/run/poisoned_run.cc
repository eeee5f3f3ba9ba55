#include "engine/run/poisoned_run.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

constexpr std::byte kPoison{0xff};
constexpr int64_t kGuard = 4096;

struct Life {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t offset = 0;
  int64_t size = 0;
  bool cleared = false;  // must keep the zeros that the run begins with
};

class Observer {
 public:
  Observer(const Executable& executable, int32_t batch, std::byte* arena)
      : model_(executable.model()), arena_(arena) {
    const auto& planned = model_.planned;
    const auto& buffers = planned.buffers.problem.buffers;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].region != planned.buffers.feature_map) continue;
      if (!Lives(executable.program(), buffers[i], batch)) continue;
      const auto [begin, end] = StepsOf(buffers[i]);
      lives_.push_back({begin, end, planned.plan.offsets[i].value(), buffers[i].size.value(),
                        buffers[i].atomic_addr_clean_id != plan::kNoClearing});
    }
    std::stable_sort(lives_.begin(), lives_.end(),
                     [](const Life& a, const Life& b) { return a.begin < b.begin; });
    first_step_.assign(model_.graph.nodes.size(), -1);
    last_step_.assign(model_.graph.nodes.size(), -1);
    for (size_t i = 0; i < planned.timeline.steps.size(); ++i) {
      const size_t node = planned.timeline.steps[i].node.index();
      if (first_step_[node] < 0) first_step_[node] = static_cast<int64_t>(i);
      last_step_[node] = static_cast<int64_t>(i);
    }
    Reach(0);
  }

  void Before(const Task& task) {
    if (!task.node.valid()) return;
    // What a branch made is copied when the branch has ended.
    const bool ends = task.kind == Task::Kind::kCopy;
    Reach((ends ? last_step_ : first_step_)[task.node.index()]);
  }

  PoisonedRun Finish(int64_t feature_map) {
    Look(0, feature_map);
    seen_.actual_peak = seen_.actual_peak.RoundUp(plan::kDefaultAlignment);
    return seen_;
  }

 private:
  // Whether a run of the batch uses the buffer.
  bool Lives(const Program& program, const plan::Buffer& buffer, int32_t batch) const {
    if (!buffer.batch.valid()) return true;
    const auto& names = model_.planned.buffers.problem.batches;
    return batch != kEveryBatch &&
           program.batches[static_cast<size_t>(batch)] == names[buffer.batch.index()];
  }

  // A life as steps of the whole run, which does the work of all streams in one.
  std::pair<int64_t, int64_t> StepsOf(const plan::Buffer& buffer) const {
    const compile::Timeline& timeline = model_.planned.timeline;
    if (timeline.steps_of_stream.size() < 2) return {buffer.life.begin, buffer.life.end};
    std::vector<plan::Use> uses = buffer.elsewhere;
    uses.push_back(buffer.life);
    int64_t begin = static_cast<int64_t>(timeline.steps.size());
    int64_t end = 0;
    for (size_t i = 0; i < timeline.steps.size(); ++i) {
      for (const plan::Use& use : uses) {
        const compile::Step& step = timeline.steps[i];
        const bool lives = use.stream.index() == static_cast<size_t>(step.stream) &&
                           step.place >= use.begin && step.place < use.end;
        if (!lives) continue;
        begin = std::min(begin, static_cast<int64_t>(i));
        end = std::max(end, static_cast<int64_t>(i) + 1);
      }
    }
    return {begin, end};
  }

  // Everything that is born up to this step, in order.
  void Reach(int64_t step) {
    while (next_ < lives_.size() && lives_[next_].begin <= step) {
      const Life& life = lives_[next_++];
      if (life.begin > 0 && !life.cleared) {
        Look(life.offset, life.size);
        std::fill_n(arena_ + life.offset, life.size, kPoison);
      }
      alive_.push_back(life);
      std::erase_if(alive_, [&](const Life& old) { return old.end <= life.begin; });
      Bytes live;
      for (const Life& one : alive_) live += Bytes(one.size);
      seen_.live_peak = std::max(seen_.live_peak, live);
    }
  }

  // Notes the highest byte of a place that is no longer as it was filled.
  void Look(int64_t offset, int64_t size) {
    for (int64_t at = offset + size; at > std::max(offset, seen_.actual_peak.value()); --at) {
      if (arena_[at - 1] == kPoison) continue;
      seen_.actual_peak = Bytes(at);
      return;
    }
  }

  const compile::CompiledModel& model_;
  std::byte* arena_;
  std::vector<Life> lives_;
  std::vector<int64_t> first_step_;  // by node
  std::vector<int64_t> last_step_;   // by node
  size_t next_ = 0;
  std::vector<Life> alive_;
  PoisonedRun seen_;
};

}  // namespace

Result<PoisonedRun> RunPoisoned(const Executable& executable, const Executable::Call& call) {
  const int64_t size = executable.program().total().value();
  PLIMSOLL_ASSIGN(const kernels::HostTensor memory,
                  kernels::AllocateOnHeap(graph::DataType::kUint8, {size + 2 * kGuard}));
  auto* const begin = static_cast<std::byte*>(memory.data.get());
  std::fill_n(begin, size + 2 * kGuard, kPoison);
  std::byte* const arena = begin + kGuard;
  Executable::Addresses addresses =
      executable.Bind(arena, AreasBehind(executable.program(), arena));
  Observer observer(executable, call.batch, arena);
  PLIMSOLL_TRY(executable.Run(addresses, call, [&](const Task& task) { observer.Before(task); }));
  const auto& planned = executable.model().planned;
  PoisonedRun seen =
      observer.Finish(planned.plan.regions[planned.buffers.feature_map.index()].size.value());
  const auto changed = [](std::byte byte) { return byte != kPoison; };
  seen.wrote_outside = std::any_of(begin, arena, changed) ||
                       std::any_of(arena + size, arena + size + kGuard, changed);
  return seen;
}

}  // namespace plimsoll::engine
