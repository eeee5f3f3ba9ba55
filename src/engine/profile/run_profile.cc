#include "engine/profile/run_profile.h"

#include <utility>

#include "base/mapped_pages.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

using profile::Event;
using Kind = profile::Event::Kind;

}  // namespace

RunProfile::RunProfile(std::shared_ptr<profile::Recorder> recorder,
                       std::shared_ptr<const PlanProfile> plan, const Place& place)
    : recorder_(std::move(recorder)),
      plan_(std::move(plan)),
      place_(place),
      run_(recorder_->NextRun()),
      streams_(plan_->streams()),
      uses_left_(new std::atomic<int32_t>[plan_->lives().size()]()) {
  Event begin = Blank(Kind::kRunBegin);
  begin.bytes = place_.size.value();
  begin.address = reinterpret_cast<uint64_t>(place_.arena);
  recorder_->Record(begin);
  if (recorder_->recording()) TellResident(recorder_->Now());
}

RunProfile::~RunProfile() {
  std::vector<Event> events;
  for (size_t i = 0; i < plan_->lives().size(); ++i) {
    if (uses_left_[i].load() > 0) {
      events.push_back(OfLife(Kind::kRelease, static_cast<uint32_t>(i)));
    }
  }
  events.push_back(Blank(Kind::kRunEnd));
  recorder_->Record(events);
  if (recorder_->recording()) TellResident(recorder_->Now());
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
      if (uses_left_[life].load() == 0 || uses_left_[life].fetch_sub(1) != 1) continue;
      progress.events.push_back(OfLife(Kind::kRelease, life));
      progress.events.back().stream = static_cast<int16_t>(stream);
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
      uses_left_[life].store(static_cast<int32_t>(about.last_steps.size()));
      progress.events.push_back(OfLife(Kind::kAllocate, life));
      progress.events.back().stream = static_cast<int16_t>(stream);
    }
  }
}

void RunProfile::Tell(Progress& progress) {
  if (progress.events.empty()) return;
  recorder_->Record(progress.events);
  progress.events.clear();
}

void RunProfile::BeforeTask(size_t task) {
  const PlanProfile::TaskSteps& steps = plan_->Of(task);
  // What a run does before its first node belongs to the first step.
  const int64_t reached = task == 0 ? std::max<int64_t>(steps.reached, 0) : steps.reached;
  const auto stream = static_cast<size_t>(steps.stream);
  if (reached < 0 || plan_->StepsOf(stream) == 0) return;
  Reach(stream, static_cast<size_t>(reached));
  Tell(streams_[stream]);
}

void RunProfile::AfterTask(size_t task) {
  const PlanProfile::TaskSteps& steps = plan_->Of(task);
  if (steps.done == 0) return;
  const auto stream = static_cast<size_t>(steps.stream);
  const auto done = static_cast<size_t>(steps.done);
  if (streams_[stream].begun < done) Reach(stream, done - 1);
  End(streams_[stream], stream, done);
  Tell(streams_[stream]);
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
