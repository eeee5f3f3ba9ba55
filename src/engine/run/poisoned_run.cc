#include "engine/run/poisoned_run.h"

#include <algorithm>
#include <vector>

#include "engine/run/run_lives.h"
#include "engine/run/stream_set.h"
#include "engine/transfer/device_queue.h"
#include "engine/transfer/port_memory.h"
#include "kernels/queue.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

constexpr std::byte kPoison{0xff};
constexpr int64_t kGuard = 4096;

// Memory of a run under observation, looked at and filled through copies.
class ObservedMemory {
 public:
  ObservedMemory(kernels::Queue& queue, std::byte* begin) : queue_(queue), begin_(begin) {}

  Status Fill(int64_t offset, int64_t size) {
    PLIMSOLL_TRY(queue_.Finish());
    return queue_.Fill(begin_ + offset, static_cast<uint8_t>(kPoison), Bytes(size));
  }
  // One past the last byte that is no longer as it was filled; `offset` where all are.
  Result<int64_t> EndOfChanges(int64_t offset, int64_t size) {
    seen_.resize(static_cast<size_t>(size));
    PLIMSOLL_TRY(queue_.Copy(seen_.data(), begin_ + offset, Bytes(size)));
    PLIMSOLL_TRY(queue_.Finish());
    const auto last =
        std::find_if(seen_.rbegin(), seen_.rend(), [](std::byte byte) { return byte != kPoison; });
    return offset + (seen_.rend() - last);
  }

 private:
  kernels::Queue& queue_;
  std::byte* begin_;
  std::vector<std::byte> seen_;
};

class Observer {
 public:
  // `arena` begins with the feature map.
  Observer(const Executable& executable, int32_t batch, ObservedMemory arena)
      : model_(executable.model()), arena_(std::move(arena)) {
    const auto& planned = model_.planned;
    for (RunLife& life : RunLivesOf(planned, executable.program().batches)) {
      if (life.batch == kEveryBatch || life.batch == batch) lives_.push_back(std::move(life));
    }
    std::stable_sort(lives_.begin(), lives_.end(),
                     [](const RunLife& a, const RunLife& b) { return a.begin < b.begin; });
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
    const int64_t step = (task.after_bodies ? last_step_ : first_step_)[task.node.index()];
    // What a loop holds from its beginning is not born again with each slice that it reads.
    if (step < reached_) GoBack(step + (task.kind == Task::Kind::kCopySlice ? 1 : 0));
    Reach(step);
  }

  Result<PoisonedRun> Finish(int64_t feature_map) {
    Look(0, feature_map);
    PLIMSOLL_TRY(failed_);
    seen_.actual_peak = seen_.actual_peak.RoundUp(plan::kDefaultAlignment);
    return seen_;
  }

 private:
  // Another iteration of a loop: what is born from this step on is born again.
  void GoBack(int64_t step) {
    const auto first =
        std::lower_bound(lives_.begin(), lives_.end(), step,
                         [](const RunLife& life, int64_t before) { return life.begin < before; });
    next_ = static_cast<size_t>(first - lives_.begin());
    std::erase_if(alive_, [&](const RunLife* life) { return life->begin >= step; });
  }

  // Everything that is born up to this step, in order.
  void Reach(int64_t step) {
    reached_ = step;
    while (next_ < lives_.size() && lives_[next_].begin <= step) {
      const RunLife& life = lives_[next_++];
      if (life.begin > 0 && !life.cleared) {
        Look(life.offset, life.size);
        if (failed_.ok()) failed_ = arena_.Fill(life.offset, life.size);
      }
      alive_.push_back(&life);
      std::erase_if(alive_, [&](const RunLife* old) { return old->end <= life.begin; });
      Bytes live;
      for (const RunLife* one : alive_) live += Bytes(one->handed_out);
      seen_.live_peak = std::max(seen_.live_peak, live);
    }
  }

  // Notes the highest byte of a place that is no longer as it was filled.
  void Look(int64_t offset, int64_t size) {
    const int64_t begin = std::max(offset, seen_.actual_peak.value());
    if (!failed_.ok() || begin >= offset + size) return;
    const Result<int64_t> end = arena_.EndOfChanges(begin, offset + size - begin);
    if (!end.ok()) {
      failed_ = end.status();
    } else if (*end > begin) {
      seen_.actual_peak = Bytes(*end);
    }
  }

  const compile::CompiledModel& model_;
  ObservedMemory arena_;
  Status failed_;
  std::vector<RunLife> lives_;
  std::vector<int64_t> first_step_;  // by node
  std::vector<int64_t> last_step_;   // by node
  size_t next_ = 0;
  int64_t reached_ = 0;
  std::vector<const RunLife*> alive_;
  PoisonedRun seen_;
};

// Blocks of a device for the time of a run.
class PlainMemory {
 public:
  explicit PlainMemory(DeviceSide side) : side_(std::move(side)) {}
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  ~PlainMemory() {
    // A device that refuses leaves nothing to be done about it here.
    for (const device::Address at : taken_)
      (void)side_.device->memory().FreePlain(side_.id, at).ok();
  }

  Result<std::byte*> Take(Bytes size, device::MemoryType type = device::MemoryType::kDevice) {
    PLIMSOLL_ASSIGN(const device::Address at,
                    side_.device->memory().AllocatePlain(side_.id, size, type));
    taken_.push_back(at);
    return reinterpret_cast<std::byte*>(at);
  }

 private:
  DeviceSide side_;
  std::vector<device::Address> taken_;
};

// `begin`: memory of the program's total, with a guard before it and one behind it; `areas` lie
// behind its arena, or elsewhere.
Result<PoisonedRun> RunPoisonedIn(const Executable& executable, Executable::Call call,
                                  std::byte* begin, std::span<std::byte* const> areas,
                                  kernels::Queue& queue) {
  const int64_t size = executable.program().total().value();
  std::byte* const arena = begin + kGuard;
  ObservedMemory whole(queue, begin);
  PLIMSOLL_TRY(whole.Fill(0, size + 2 * kGuard));
  Executable::Addresses addresses = executable.Bind(arena, areas);
  call.queue = &queue;
  Observer observer(executable, call.batch, ObservedMemory(queue, arena));
  PLIMSOLL_TRY(executable.Run(addresses, call, [&](const Task& task) { observer.Before(task); }));
  const auto& planned = executable.model().planned;
  PLIMSOLL_ASSIGN(
      PoisonedRun seen,
      observer.Finish(planned.plan.regions[planned.buffers.feature_map.index()].size.value()));
  PLIMSOLL_ASSIGN(const int64_t before, whole.EndOfChanges(0, kGuard));
  PLIMSOLL_ASSIGN(const int64_t behind, whole.EndOfChanges(kGuard + size, kGuard));
  seen.wrote_outside = before > 0 || behind > kGuard + size;
  return seen;
}

}  // namespace

Result<PoisonedRun> RunPoisoned(const Executable& executable, const Executable::Call& call) {
  const DeviceSide& side = executable.side();
  if (side.host_reachable) {
    kernels::HostQueue queue;
    const int64_t size = executable.program().total().value() + 2 * kGuard;
    PLIMSOLL_ASSIGN(const kernels::HostTensor memory,
                    kernels::AllocateOnHeap(graph::DataType::kUint8, {size}));
    auto* const begin = static_cast<std::byte*>(memory.data.get());
    const auto areas = AreasBehind(executable.program(), begin + kGuard);
    return RunPoisonedIn(executable, call, begin, areas, queue);
  }
  PlainMemory memory(side);
  StreamSet stream(side.device, side.id);
  PLIMSOLL_TRY(stream.Grow(1));
  DeviceQueue queue(side, stream.At(0), executable.model().threads);
  const auto on_host = [](const void* data) { return PortAddress{const_cast<void*>(data), false}; };
  std::vector<PortAddress> read;
  std::vector<PortAddress> written;
  for (const void* input : call.inputs) read.push_back(on_host(input));
  for (void* output : call.outputs) written.push_back(on_host(output));
  const auto take = [&](Bytes size) { return memory.Take(size); };
  PLIMSOLL_ASSIGN(const PortMemory ports,
                  PortMemory::Bring(executable, read, written, Bytes(0), take, queue));
  PLIMSOLL_ASSIGN(std::byte* const begin,
                  memory.Take(executable.program().total() + Bytes(2 * kGuard)));
  Executable::Call own = call;
  own.inputs = ports.inputs();
  own.outputs = ports.outputs();
  own.host_inputs = ports.host_inputs();
  std::vector<std::byte*> areas = AreasBehind(executable.program(), begin + kGuard);
  for (size_t i = 0; i < areas.size(); ++i) {
    const Area& area = executable.program().areas[i];
    if (area.type != plan::MemoryType::kHost || area.bytes == Bytes(0)) continue;
    PLIMSOLL_ASSIGN(areas[i], memory.Take(area.bytes, device::MemoryType::kHost));
  }
  PLIMSOLL_ASSIGN(const PoisonedRun seen, RunPoisonedIn(executable, own, begin, areas, queue));
  PLIMSOLL_TRY(ports.Fetch(queue));
  PLIMSOLL_TRY(queue.Finish());
  return seen;
}

}  // namespace plimsoll::engine
