#include "profile/trace/trace_json.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "plimsoll/base/text.h"
#include "profile/csv/csv_files.h"
#include "profile/csv/memory_rows.h"
#include "profile/json_text.h"

namespace plimsoll::profile {
namespace {

class TraceWriter {
 public:
  TraceWriter(const Recording& recording, std::string_view device_type)
      : recording_(recording), device_type_(device_type) {}

  std::string Write() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    NameTracks();
    for (const Event& event : recording_.events) {
      if (event.kind == Event::Kind::kOperator) AddOperator(event);
      if (event.kind == Event::Kind::kRunBegin) AddPlanned(event);
      if (event.kind == Event::Kind::kResident) AddCounter("resident", event, event.bytes);
    }
    ReplayTotals(recording_, [this](const Event& event, const MemoryTotals& totals) {
      if (event.component != Component::kFeatureMaps) return AddConstant(event, totals);
      if (event.allocated() != 0) AddCounter("allocated", event, totals.allocated);
      if (event.reserved() != 0) AddCounter("reserved", event, totals.reserved);
    });
    AddFlows();
    out_ += StrCat("\n],\"otherData\":{\"dropped events\":", recording_.dropped, "}}\n");
    return std::move(out_);
  }

 private:
  using Place = std::tuple<uint32_t, uint32_t>;  // run, node

  void Begin(std::string_view phase, const Event& event, std::string_view name, int64_t time) {
    if (!first_) out_ += ",\n";
    first_ = false;
    out_ += "{\"ph\":\"";
    out_ += phase;
    out_ += "\",\"name\":";
    AppendJsonString(out_, name);
    out_ += StrCat(",\"pid\":", event.device, ",\"tid\":", event.stream, ",\"ts\":");
    AppendMicroseconds(out_, time);
  }

  void NameTracks() {
    std::set<int> devices;
    std::set<std::pair<int, int>> streams;
    for (const Event& event : recording_.events) {
      devices.insert(event.device);
      if (event.kind == Event::Kind::kOperator) streams.emplace(event.device, event.stream);
    }
    Event track;
    const auto name = [&](const char* what, const std::string& text) {
      Begin("M", track, what, 0);
      out_ += ",\"args\":{\"name\":";
      AppendJsonString(out_, text);
      out_ += "}}";
    };
    for (const int device : devices) {
      track.device = static_cast<int16_t>(device);
      track.stream = 0;
      name("process_name", StrCat(device_type_, ":", device));
    }
    for (const auto& [device, stream] : streams) {
      track.device = static_cast<int16_t>(device);
      track.stream = static_cast<int16_t>(stream);
      name("thread_name", StrCat("stream ", stream));
    }
  }

  void AddOperator(const Event& event) {
    Begin("X", event, recording_.Name(event.name), event.time);
    out_ += ",\"cat\":\"operator\",\"dur\":";
    AppendMicroseconds(out_, event.bytes);
    out_ += StrCat(",\"args\":{\"step\":", event.step);
    if (const PlanTable* const plan = recording_.Plan(event.plan)) {
      out_ += ",\"graph\":";
      AppendJsonString(out_, plan->graph);
      if (event.item < plan->operators.size()) {
        const PlanTable::Operator& about = plan->operators[event.item];
        out_ += ",\"type\":";
        AppendJsonString(out_, recording_.Name(about.type));
        out_ += ",\"kernel\":";
        AppendJsonString(out_, recording_.Name(about.kernel));
        out_ += StrCat(",\"bytes read\":", about.read, ",\"bytes written\":", about.written);
      }
    }
    out_ += "}}";
    operators_.emplace(Place{event.run, event.item}, &event);
  }

  void AddPlanned(const Event& event) {
    const PlanTable* const plan = recording_.Plan(event.plan);
    if (plan != nullptr) AddCounter("planned", event, plan->planned);
  }

  void AddCounter(std::string_view name, const Event& event, int64_t bytes) {
    Event of_device = event;
    of_device.stream = 0;
    Begin("C", of_device, name, event.time);
    out_ += StrCat(",\"args\":{\"bytes\":", bytes, "}}");
  }

  // A weight or a variable comes or goes.
  void AddConstant(const Event& event, const MemoryTotals& totals) {
    const std::string_view kind = event.component == Component::kWeights ? "weights" : "variables";
    AddCounter(kind, event, totals.allocated);
    Event of_device = event;
    of_device.stream = 0;
    Begin("i", of_device, recording_.Name(event.name), event.time);
    out_ += StrCat(",\"s\":\"p\",\"cat\":\"", kind, "\",\"args\":{\"bytes\":", event.allocated());
    if (event.item != 0) {
      out_ += ",\"graph\":";
      AppendJsonString(out_, recording_.Name(event.item));
    }
    out_ += "}}";
  }

  void AddFlows() {
    int64_t id = 0;
    for (const Event& event : recording_.events) {
      const PlanTable* const plan = recording_.Plan(event.plan);
      const bool planned = event.kind == Event::Kind::kAllocate && event.run != 0 &&
                           plan != nullptr && event.item < plan->lives.size();
      if (!planned) continue;
      const PlanTable::Life& life = plan->lives[event.item];
      const auto from = operators_.find({event.run, life.producer});
      const auto to = operators_.find({event.run, life.last_reader});
      if (life.producer == life.last_reader || from == operators_.end() || to == operators_.end()) {
        continue;
      }
      ++id;
      const std::string& name = recording_.Name(life.value);
      Begin("s", *from->second, name, from->second->time);
      out_ += StrCat(",\"cat\":\"tensor\",\"id\":", id, "}");
      Begin("f", *to->second, name, to->second->time);
      out_ += StrCat(",\"cat\":\"tensor\",\"bp\":\"e\",\"id\":", id, "}");
    }
  }

  const Recording& recording_;
  const std::string_view device_type_;
  std::string out_;
  bool first_ = true;
  std::map<Place, const Event*> operators_;
};

}  // namespace

std::string TraceJson(const Recording& recording, std::string_view device_type) {
  return TraceWriter(recording, device_type).Write();
}

}  // namespace plimsoll::profile
