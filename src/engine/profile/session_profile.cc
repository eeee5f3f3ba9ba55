#include "engine/profile/session_profile.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "plimsoll/base/text.h"
#include "profile/csv/csv_files.h"
#include "profile/recording_report.h"
#include "profile/report_page.h"
#include "profile/trace/torch_snapshot.h"
#include "profile/trace/trace_json.h"

namespace plimsoll::engine {
namespace {

constexpr std::array<std::string_view, 4> kOwnNames = {"output", "device", "memory_limit",
                                                       "events"};
constexpr std::array<std::string_view, 19> kNamesWithoutEffect = {"storage_limit",
                                                                  "training_trace",
                                                                  "task_trace",
                                                                  "task_time",
                                                                  "aicpu",
                                                                  "fp_point",
                                                                  "bp_point",
                                                                  "aic_metrics",
                                                                  "l2",
                                                                  "msproftx",
                                                                  "runtime_api",
                                                                  "hccl",
                                                                  "ge_api",
                                                                  "host_sys",
                                                                  "host_sys_usage",
                                                                  "host_sys_usage_freq",
                                                                  "sys_hardware_mem_freq",
                                                                  "sys_io_sampling_freq",
                                                                  "sys_interconnection_freq"};

Error BadOptions(std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = "profile.options",
               .what = "cannot read what the recorder is told",
               .where = "profiling_options",
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status CheckNames(const nlohmann::json& options) {
  std::vector<std::string> known(kOwnNames.begin(), kOwnNames.end());
  known.insert(known.end(), kNamesWithoutEffect.begin(), kNamesWithoutEffect.end());
  for (const auto& [name, value] : options.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto nearest = NearestName(name, known);
    return BadOptions(StrCat("'", name, "' is not known"),
                      nearest ? StrCat("did you mean '", *nearest, "'?")
                              : "use output, device, memory_limit and events");
  }
  for (const std::string_view name : kOwnNames) {
    if (options.contains(name) && !options.at(std::string(name)).is_string()) {
      return BadOptions(StrCat("'", name, "' is no text"), "give it in quotes");
    }
  }
  return {};
}

}  // namespace

Result<ProfileOptions> ParseProfileOptions(const std::string& text) {
  ProfileOptions made;
  if (Trim(text).empty()) return made;
  const auto options = nlohmann::json::parse(text, nullptr, false);
  if (!options.is_object()) {
    return BadOptions("it is no JSON object", R"(write it as {"output": "FOLDER"})");
  }
  PLIMSOLL_TRY(CheckNames(options));
  made.folder = options.value("output", "");
  made.device_type = options.value("device", "");
  const std::string events = options.value("events", "on");
  if (events != "on" && events != "off") {
    return BadOptions(StrCat("events is '", events, "'"), "write on or off");
  }
  made.events = events == "on";
  const std::string limit = options.value("memory_limit", "");
  if (limit.empty()) return made;
  const auto bytes = ParseBytes(limit);
  if (!bytes || *bytes <= Bytes(0)) {
    return BadOptions(StrCat("memory_limit '", limit, "' is no size"), "write it as 256MiB");
  }
  made.limit = *bytes;
  return made;
}

std::vector<std::filesystem::path> ProfileFiles::All() const {
  std::vector<std::filesystem::path> files = {operator_memory, memory_record, static_op_mem, trace,
                                              snapshot};
  if (!report.empty()) files.push_back(report);
  return files;
}

SessionProfile::SessionProfile(ProfileOptions options, profile::RecorderOptions recorder)
    : options_(std::move(options)), recorder_([&] {
        recorder.limit = options_.limit;
        return std::make_shared<profile::Recorder>(recorder);
      }()) {}

void SessionProfile::SetDevice(const std::string& kind, int ordinal) {
  device_ = ordinal;
  if (options_.device_type.empty()) options_.device_type = kind == "cuda" ? "GPU" : "CPU";
}

bool SessionProfile::HasNewPlans() {
  const std::lock_guard lock(mutex_);
  const size_t now = recorder_->plans();
  return std::exchange(plans_, now) != now;
}

void SessionProfile::Start() {
  if (!options_.events) return;
  const std::lock_guard lock(mutex_);
  if (recorder_->recording()) return;
  held_before_.clear();
  for (const auto& [place, event] : held_) held_before_.push_back(event);
  recorder_->Start();
}

profile::Recording SessionProfile::Take() {
  const std::lock_guard lock(mutex_);
  profile::Recording recording = recorder_->Stop();
  recording.held = std::exchange(held_before_, {});
  return recording;
}

void SessionProfile::SetHeld(profile::Component component, const std::vector<HeldPiece>& pieces) {
  using Kind = profile::Event::Kind;
  const std::lock_guard lock(mutex_);
  std::map<uint64_t, const HeldPiece*> now;
  for (const HeldPiece& piece : pieces) {
    if (piece.size > Bytes(0)) now[reinterpret_cast<uint64_t>(piece.address)] = &piece;
  }
  std::vector<profile::Event> events;
  for (auto held = held_.begin(); held != held_.end();) {
    const auto [of, address] = held->first;
    const auto still = now.find(address);
    const bool stays = still != now.end() && still->second->size.value() == held->second.bytes;
    if (of != component || stays) {
      if (of == component) now.erase(still);
      ++held;
      continue;
    }
    events.push_back(held->second);
    events.back().kind = Kind::kRelease;
    held = held_.erase(held);
  }
  for (const auto& [address, piece] : now) {
    profile::Event event;
    event.kind = Kind::kAllocate;
    event.component = component;
    event.bytes = piece->size.value();
    event.address = address;
    event.device = static_cast<int16_t>(device_);
    event.name = recorder_->Intern(piece->name);
    event.item = recorder_->Intern(piece->graph);
    held_.emplace(std::pair{component, address}, event);
    events.push_back(event);
  }
  recorder_->Record(events);
}

Result<ProfileFiles> SessionProfile::Write(const profile::Recording& recording,
                                           const Writing& writing) const {
  std::string stamp = profile::ProfileStamp();
  const std::filesystem::path& folder = writing.folder.empty() ? options_.folder : writing.folder;
  const auto named = [&](const char* kind, const char* ending) {
    return folder / StrCat(kind, "_", stamp, ending);
  };
  while (std::filesystem::exists(named("operator_memory", ".csv"))) {
    stamp = profile::ProfileStamp();
  }
  ProfileFiles files{.operator_memory = named("operator_memory", ".csv"),
                     .memory_record = named("memory_record", ".csv"),
                     .static_op_mem = named("static_op_mem", ".csv"),
                     .trace = named("trace", ".json"),
                     .snapshot = named("snapshot", ".pickle"),
                     .report = named("report", ".html"),
                     .dropped = recording.dropped};
  const profile::DeviceColumn column{options_.device_type.empty() ? "CPU" : options_.device_type};
  const auto write = profile::WriteProfileFile;
  PLIMSOLL_TRY(write(files.operator_memory, profile::OperatorMemoryCsv(recording, column)));
  PLIMSOLL_TRY(write(files.memory_record, profile::MemoryRecordCsv(recording, column)));
  PLIMSOLL_TRY(write(files.static_op_mem, profile::StaticOpMemCsv(recording, device_)));
  PLIMSOLL_TRY(write(files.trace, profile::TraceJson(recording, column.type)));
  PLIMSOLL_TRY(write(files.snapshot, profile::TorchSnapshot(recording)));
  const std::string model = recording.plans.empty() ? "runs" : recording.plans.front().model;
  profile::ReportPlan plan = profile::MakeRecordedPlan(recording, model);
  if (plan.steps.empty()) {
    files.report.clear();
    return files;
  }
  plan.machine = writing.machine;
  const profile::Report report{.title = model, .plans = {std::move(plan)}};
  PLIMSOLL_TRY(write(files.report, profile::ReportPage(report)));
  return files;
}

}  // namespace plimsoll::engine
