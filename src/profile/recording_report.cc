#include "profile/recording_report.h"

#include <algorithm>
#include <map>

#include "plimsoll/base/text.h"

namespace plimsoll::profile {
namespace {

constexpr size_t kMostRecordedTensors = 100'000;
constexpr uint64_t kFarApart = uint64_t{1} << 20;  // bytes between two blocks of addresses

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

// Memory that was held, from one moment to another.
struct Held {
  const Event* taken = nullptr;
  int64_t end = 0;
};

// Where addresses are drawn: without the space between blocks that lie far apart.
class DrawnAddresses {
 public:
  explicit DrawnAddresses(const std::vector<Held>& all) {
    std::map<uint64_t, uint64_t> ranges;  // end by begin
    for (const Held& held : all) {
      uint64_t& end = ranges[held.taken->address];
      end = std::max(end, held.taken->address + static_cast<uint64_t>(held.taken->bytes));
    }
    uint64_t last = 0;
    for (const auto& [begin, end] : ranges) {
      if (starts_.empty() || begin > last + kFarApart) {
        starts_[begin] = drawn_ + (starts_.empty() ? 0 : last - block_);
        drawn_ = starts_[begin];
        block_ = begin;
      }
      last = std::max(last, end);
    }
    size_ = starts_.empty() ? 0 : drawn_ + (last - block_);
  }

  Offset Of(uint64_t address) const {
    const auto block = std::prev(starts_.upper_bound(address));
    return Offset(static_cast<int64_t>(block->second + (address - block->first)));
  }
  Bytes size() const { return Bytes(static_cast<int64_t>(size_)); }

 private:
  std::map<uint64_t, uint64_t> starts_;  // where the block that begins at an address is drawn
  uint64_t drawn_ = 0;
  uint64_t block_ = 0;
  uint64_t size_ = 0;
};

class RecordedPlan {
 public:
  explicit RecordedPlan(const Recording& recording) : recording_(recording) {}

  ReportPlan Make() {
    AddSteps();
    plan_.regions.push_back({"feature maps", "feature_map", Bytes(0), LowerBound(), true});
    AddFeatureMaps();
    AddConstants(Component::kWeights, TensorKind::kWeight, {"weights", "weights"});
    AddConstants(Component::kVariables, TensorKind::kVariable, {"variables", "variables"});
    // That of a plan may count bytes that no operator holds, such as an area that is cleared once.
    plan_.lower_bound = std::min(plan_.regions.front().lower_bound, plan_.peak);
    AddReserved();
    AddNotes();
    return std::move(plan_);
  }

 private:
  int64_t steps() const { return static_cast<int64_t>(plan_.steps.size()); }

  // What the plans that ran need at least.
  Bytes LowerBound() const {
    int64_t bound = 0;
    for (const Event& event : recording_.events) {
      const PlanTable* const plan = recording_.Plan(event.plan);
      if (event.kind != Event::Kind::kRunBegin || plan == nullptr) continue;
      bound = std::max(bound, plan->lower_bound);
    }
    return Bytes(bound);
  }

  void AddTensor(ReportTensor tensor) {
    if (plan_.tensors.size() == kMostRecordedTensors) {
      ++left_out_;
    } else {
      plan_.tensors.push_back(std::move(tensor));
    }
  }

  void AddFeatureMaps() {
    const std::vector<Held> all = FindHeld(Component::kFeatureMaps);
    const DrawnAddresses addresses(all);
    std::vector<Bytes> change(plan_.steps.size() + 1);
    for (const Held& held : all) {
      if (steps() == 0) break;  // nothing ran
      const int64_t begin = StepDuring(held.taken->time);
      const int64_t end = std::min(std::max(StepAt(held.end), begin + 1), steps());
      change[static_cast<size_t>(begin)] += Bytes(held.taken->bytes);
      change[static_cast<size_t>(end)] -= Bytes(held.taken->bytes);
      ReportTensor tensor = Describe(*held.taken);
      tensor.offset = addresses.Of(held.taken->address);
      tensor.begin = begin;
      tensor.end = end;
      tensor.producer = begin;
      if (tensor.end - 1 > begin) tensor.readers = {tensor.end - 1};
      AddTensor(std::move(tensor));
    }
    Bytes now(recording_.before[static_cast<size_t>(Component::kFeatureMaps)].allocated);
    for (int64_t i = 0; i < steps(); ++i) {
      plan_.live.push_back(std::max(now += change[static_cast<size_t>(i)], Bytes(0)));
      plan_.peak = std::max(plan_.peak, plan_.live.back());
    }
    plan_.regions.front().bytes = addresses.size();
  }

  // What runs find and leave behind, in a region of its own.
  void AddConstants(Component component, TensorKind kind, const ReportRegion& region) {
    const std::vector<Held> all = FindHeld(component);
    if (all.empty() || steps() == 0) return;
    const DrawnAddresses addresses(all);
    for (const Held& held : all) {
      ReportTensor tensor;
      tensor.name = recording_.Name(held.taken->name);
      tensor.kind = kind;
      tensor.bytes = Bytes(held.taken->bytes);
      tensor.offset = addresses.Of(held.taken->address);
      tensor.region = static_cast<int32_t>(plan_.regions.size());
      tensor.begin = StepDuring(held.taken->time);
      tensor.end = std::min(std::max(StepAt(held.end), tensor.begin + 1), steps());
      if (held.taken->item != 0) {
        tensor.rule = StrCat("It was brought by ", recording_.Name(held.taken->item), ".");
      }
      AddTensor(std::move(tensor));
    }
    plan_.regions.push_back(region);
    plan_.regions.back().bytes = addresses.size();
  }

  void AddSteps() {
    std::vector<const Event*> operators;
    for (const Event& event : recording_.events) {
      if (event.kind == Event::Kind::kOperator) operators.push_back(&event);
    }
    std::stable_sort(operators.begin(), operators.end(),
                     [](const Event* a, const Event* b) { return a->time < b->time; });
    for (const Event* event : operators) {
      ReportStep step;
      step.name = recording_.Name(event->name);
      step.start_us = Microseconds(event->time);
      step.took_us = Microseconds(event->bytes);
      const PlanTable* const plan = recording_.Plan(event->plan);
      if (plan != nullptr && event->item < plan->operators.size()) {
        const PlanTable::Operator& about = plan->operators[event->item];
        step.type = recording_.Name(about.type);
        step.module = recording_.Name(about.module);
        step.kernel = recording_.Name(about.kernel);
        step.read = Bytes(about.read);
        step.written = Bytes(about.written);
        step.operations = about.operations;
      }
      plan_.steps.push_back(std::move(step));
      starts_.push_back(event->time);
      ends_.push_back(event->time + event->bytes);
      plan_.end_us = std::max(plan_.end_us, Microseconds(event->time + event->bytes));
    }
    plan_.timed = true;
  }

  // The first operator that begins then or later.
  int64_t StepAt(int64_t time) const {
    return std::lower_bound(starts_.begin(), starts_.end(), time) - starts_.begin();
  }

  // The operator that runs then, or the next one; the last, where there is none.
  int64_t StepDuring(int64_t time) const {
    const int64_t next = StepAt(time);
    const bool runs = next > 0 && time < ends_[static_cast<size_t>(next - 1)];
    return std::min<int64_t>(runs ? next - 1 : next, static_cast<int64_t>(starts_.size()) - 1);
  }

  std::vector<Held> FindHeld(Component component) const {
    std::vector<Held> all;
    std::map<std::pair<int16_t, uint64_t>, size_t> now;  // by device and address
    const auto see = [&](const Event& event) {
      if (event.component != component || event.bytes <= 0) return;
      const std::pair place{event.device, event.address};
      if (event.kind == Event::Kind::kAllocate) {
        now[place] = all.size();
        all.push_back({&event, recording_.end + 1});
      } else if (event.kind == Event::Kind::kRelease) {
        const auto held = now.find(place);
        if (held == now.end()) return;  // from before the window
        all[held->second].end = event.time;
        now.erase(held);
      }
    };
    for (const Event& event : recording_.held) see(event);
    for (const Event& event : recording_.events) see(event);
    return all;
  }

  ReportTensor Describe(const Event& event) const {
    ReportTensor tensor;
    tensor.name = recording_.Name(event.name);
    tensor.bytes = Bytes(event.bytes);
    tensor.kind = TensorKind::kActivation;
    const PlanTable* plan = recording_.Plan(event.plan);
    if (event.run == 0 || plan == nullptr || event.item >= plan->lives.size()) return tensor;
    const PlanTable::Life& life = plan->lives[event.item];
    if (life.value != 0) tensor.name = recording_.Name(life.value);
    tensor.type = recording_.Name(life.type);
    tensor.shape = recording_.Name(life.shape);
    tensor.kind = life.kind;
    return tensor;
  }

  void AddReserved() {
    Bytes now(recording_.before[static_cast<size_t>(Component::kFeatureMaps)].reserved);
    Bytes most = now;
    size_t step = 0;
    for (const Event& event : recording_.events) {
      if (event.component != Component::kFeatureMaps || !event.is_memory()) continue;
      for (; step < starts_.size() && starts_[step] < event.time; ++step) {
        plan_.reserved.push_back(std::max(now, Bytes(0)));
      }
      now += Bytes(event.reserved());
      most = std::max(most, now);
    }
    plan_.reserved.resize(starts_.size(), std::max(now, Bytes(0)));
    plan_.device = most;
  }

  void AddNotes() {
    for (const PlanTable& plan : recording_.plans) {
      plan_.notes.emplace_back(plan.graph, StrCat("its plan's peak is ", Bytes(plan.planned)));
    }
    if (recording_.dropped > 0) {
      plan_.notes.emplace_back("recorder", StrCat(recording_.dropped, " events found no room"));
    }
    if (left_out_ > 0) {
      plan_.notes.emplace_back("left out", StrCat(left_out_, " later tensors are not drawn"));
    }
  }

  const Recording& recording_;
  ReportPlan plan_;
  std::vector<int64_t> starts_;  // of steps
  std::vector<int64_t> ends_;    // likewise
  int64_t left_out_ = 0;
};

}  // namespace

ReportPlan MakeRecordedPlan(const Recording& recording, const std::string& name) {
  ReportPlan plan = RecordedPlan(recording).Make();
  plan.name = name;
  plan.source = "run";
  plan.subject = "recorded runs";
  return plan;
}

}  // namespace plimsoll::profile
