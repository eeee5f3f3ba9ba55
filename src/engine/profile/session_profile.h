#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "profile/record/recorder.h"

namespace plimsoll::engine {

struct ProfileOptions {
  std::filesystem::path folder;  // where files go; empty: the current one
  std::string device_type;       // what the column Device says; empty: as the device is, "CPU"
  Bytes limit = MiB(64);         // of events
  bool events = true;            // off: it only counts, and writes nothing
};

// profiling_options: a JSON object with `output` (the folder), `device` (the word in the column
// Device), `memory_limit` ("256MiB") and `events` ("on", "off"); names that the documents' own
// recorder knows are taken and have no effect here. Fails with profile.options.
Result<ProfileOptions> ParseProfileOptions(const std::string& text);

// What was written.
struct ProfileFiles {
  std::filesystem::path operator_memory;
  std::filesystem::path memory_record;
  std::filesystem::path static_op_mem;
  std::filesystem::path trace;
  std::filesystem::path snapshot;
  int64_t dropped = 0;  // events that found no room

  std::vector<std::filesystem::path> All() const {
    return {operator_memory, memory_record, static_op_mem, trace, snapshot};
  }
};

// The recorder of a session's graphs. It counts from the beginning; a window is open from Start
// until Take. Thread-safe.
class SessionProfile {
 public:
  explicit SessionProfile(ProfileOptions options, profile::RecorderOptions recorder = {});

  const std::shared_ptr<profile::Recorder>& recorder() const { return recorder_; }
  // Nothing, where no events are asked for.
  void Start() {
    if (options_.events) recorder_->Start();
  }
  // Closes the window.
  profile::Recording Take() { return recorder_->Stop(); }
  // Writes the tables, the trace and the snapshot of a window, under one stamp that no other file
  // of the folder has.
  Result<ProfileFiles> Write(const profile::Recording& recording) const;

  void SetDevice(const std::string& kind, int ordinal);
  int device() const { return device_; }
  bool HasNewPlans();  // since it was asked last
  // What the session holds now beside feature maps.
  void SetHeld(profile::Component component, Bytes bytes);

 private:
  ProfileOptions options_;
  const std::shared_ptr<profile::Recorder> recorder_;
  int device_ = 0;
  std::mutex mutex_;
  int64_t held_[profile::kComponents] = {};
  size_t plans_ = 0;
};

}  // namespace plimsoll::engine
