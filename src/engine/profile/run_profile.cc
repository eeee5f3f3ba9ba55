#include "engine/profile/run_profile.h"

#include <utility>

#include "base/mapped_pages.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

using profile::Event;
using Kind = profile::Event::Kind;

// Memory that a thread keeps from one run to its next: a short run would feel the heap.
thread_local std::vector<uint32_t> spare_changes;
thread_local std::vector<Event> told_events;

// One use less of a life; whether it was the last. `shared`: other threads may end uses of it too.
bool EndUse(std::atomic<int32_t>& left, bool shared) {
  if (shared) return left.load() > 0 && left.fetch_sub(1) == 1;
  const int32_t now = left.load(std::memory_order_relaxed);
  if (now > 0) left.store(now - 1, std::memory_order_relaxed);
  return now == 1;
}

}  // namespace

RunProfile::RunProfile(std::shared_ptr<profile::Recorder> recorder,
                       std::shared_ptr<const PlanProfile> plan, const Place& place)
    : recorder_(std::move(recorder)),
      plan_(std::move(plan)),
      place_(place),
      run_(recorder_->NextRun()),
      streams_(plan_->streams()),
      uses_left_(new std::atomic<int32_t>[plan_->lives().size()]()) {
  streams_.front().changes.swap(spare_changes);
  if (!recorder_->recording()) return;
  Event begin = Blank(Kind::kRunBegin);
  begin.bytes = place_.size.value();
  begin.address = reinterpret_cast<uint64_t>(place_.arena);
  recorder_->Record(begin);
  TellResident(recorder_->Now());
}

RunProfile::~RunProfile() {
  for (size_t i = 0; i < streams_.size(); ++i) Tell(i);
  std::vector<Event> events;
  for (size_t i = 0; i < plan_->lives().size(); ++i) {
    if (uses_left_[i].load(std::memory_order_relaxed) > 0) {
      events.push_back(OfLife(Kind::kRelease, static_cast<uint32_t>(i)));
    }
  }
  const bool recording = recorder_->recording();
  if (recording) events.push_back(Blank(Kind::kRunEnd));
  if (!events.empty()) recorder_->Record(events);
  if (recording) TellResident(recorder_->Now());
  streams_.front().changes.swap(spare_changes);
}

Event RunProfile::Blank(Kind kind) const {
  Event event;
  event.kind = kind;
  event.plan = plan_->id();
  event.run = run_;
  event.step = static_cast<int32_t>(place_.step);
  event.device = static_cast<int16_t>(place_.device);
  return event;
}

Event RunProfile::OfLife(Kind kind, uint32_t life) const {
  const RunLife& about = plan_->lives()[life];
  Event event = Blank(kind);
  event.bytes = about.handed_out;
  event.address = reinterpret_cast<uint64_t>(place_.arena) + static_cast<uint64_t>(about.offset);
  event.item = life;
  event.name = plan_->NameOfLife(life);
  return event;
}

void RunProfile::End(Progress& progress, size_t stream, size_t place) {
  for (; progress.ended < place; ++progress.ended) {
    for (const uint32_t life : plan_->EndsAt(stream, progress.ended)) {
      if (!EndUse(uses_left_[life], streams_.size() > 1)) continue;
      progress.changes.push_back(2 * life + 1);
    }
  }
}

void RunProfile::Reach(size_t stream, size_t place) {
  Progress& progress = streams_[stream];
  for (; progress.begun <= place; ++progress.begun) {
    End(progress, stream, progress.begun);
    for (const uint32_t life : plan_->BeginsAt(stream, progress.begun)) {
      const RunLife& about = plan_->lives()[life];
      if (about.batch != kEveryBatch && about.batch != place_.batch) continue;
      uses_left_[life].store(static_cast<int32_t>(about.last_steps.size()),
                             std::memory_order_relaxed);
      progress.changes.push_back(2 * life);
    }
  }
}

void RunProfile::Tell(size_t stream) {
  std::vector<uint32_t>& changes = streams_[stream].changes;
  if (changes.empty()) return;
  const auto ends = [](uint32_t change) { return change % 2 == 1; };
  size_t told = 0;
  while (told < changes.size() && !recording()) {
    int64_t released = 0;
    int64_t taken = 0;
    size_t next = told;
    for (; next < changes.size() && ends(changes[next]); ++next) {
      released += plan_->lives()[changes[next] / 2].handed_out;
    }
    for (; next < changes.size() && !ends(changes[next]); ++next) {
      taken += plan_->lives()[changes[next] / 2].handed_out;
    }
    if (!recorder_->CountOnly(released, taken)) break;
    told = next;
  }
  told_events.clear();
  for (; told < changes.size(); ++told) {
    const Kind kind = ends(changes[told]) ? Kind::kRelease : Kind::kAllocate;
    told_events.push_back(OfLife(kind, changes[told] / 2));
    told_events.back().stream = static_cast<int16_t>(stream);
  }
  if (!told_events.empty()) recorder_->Record(told_events);
  changes.clear();
}

void RunProfile::BeforeTask(size_t task) {
  const PlanProfile::TaskSteps& steps = plan_->Of(task);
  // What a run does before its first node belongs to the first step.
  const int64_t reached = task == 0 ? std::max<int64_t>(steps.reached, 0) : steps.reached;
  const auto stream = static_cast<size_t>(steps.stream);
  if (reached >= 0 && plan_->StepsOf(stream) > 0) Reach(stream, static_cast<size_t>(reached));
  Tell(stream);
}

void RunProfile::AfterTask(size_t task) {
  const PlanProfile::TaskSteps& steps = plan_->Of(task);
  if (steps.done == 0) return;
  const auto stream = static_cast<size_t>(steps.stream);
  const auto done = static_cast<size_t>(steps.done);
  if (streams_[stream].begun < done) Reach(stream, done - 1);
  End(streams_[stream], stream, done);
  // What a task gives back on a stream of several may be another's at once; else it is told with
  // what the next task takes.
  if (streams_.size() > 1) Tell(stream);
}

RunProfile::Operator::Operator(RunProfile* run, graph::NodeId node)
    : run_(run != nullptr && run->recorder_->recording() ? run : nullptr),
      node_(node),
      begin_(run_ == nullptr ? 0 : run_->recorder_->Now()) {}

RunProfile::Operator::~Operator() {
  if (run_ == nullptr) return;
  const int64_t end = run_->recorder_->Now();
  Event event = run_->Blank(Kind::kOperator);
  event.time = std::max<int64_t>(begin_, 1);
  event.bytes = end - begin_;
  event.item = static_cast<uint32_t>(node_.index());
  event.name = run_->plan_->NameOfNode(node_);
  event.stream = static_cast<int16_t>(run_->plan_->StreamOf(node_));
  run_->recorder_->Record(event);
  run_->TellResident(end);
}

void RunProfile::TellResident(int64_t now) {
  if (!recorder_->ResidentIsDue(now)) return;
  Event event = Blank(Kind::kResident);
  event.bytes = ResidentBytes().value();
  recorder_->Record(event);
}

kernels::AllocateTensor RunProfile::Observed(graph::NodeId node, kernels::AllocateTensor allocate,
                                             bool reserves) const {
  Event about = Blank(Kind::kAllocate);
  about.run = 0;  // tensors may outlive the run, and are told apart by their addresses
  about.name = plan_->NameOfNode(node);
  return [about, reserves, recorder = recorder_, allocate = std::move(allocate)](
             graph::DataType type, const kernels::Dims& dims) -> Result<kernels::HostTensor> {
    PLIMSOLL_ASSIGN(kernels::HostTensor tensor, allocate(type, dims));
    const Bytes size = tensor.size().RoundUp(plan::kDefaultAlignment);
    if (size == Bytes(0) || tensor.data == nullptr) return tensor;
    void* const at = tensor.data.get();
    const auto tell = [about, reserves, size, at, recorder](bool made) {
      Event events[2] = {about, about};
      for (Event& event : events) {
        event.bytes = size.value();
        event.address = reinterpret_cast<uint64_t>(at);
      }
      events[made ? 0 : 1].kind = made ? Kind::kReserve : Kind::kUnreserve;
      events[made ? 1 : 0].kind = made ? Kind::kAllocate : Kind::kRelease;
      if (reserves) {
        recorder->Record(events);
      } else {
        recorder->Record(events[made ? 1 : 0]);
      }
    };
    tell(true);
    tensor.data = std::shared_ptr<void>(at, [tell, memory = std::move(tensor.data)](void*) mutable {
      tell(false);
      memory.reset();
    });
    return tensor;
  };
}

}  // namespace plimsoll::engine
