#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "profile/record/recorder.h"
#include "profile/report_data.h"

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
  std::filesystem::path report;  // empty: nothing ran
  int64_t dropped = 0;           // events that found no room

  std::vector<std::filesystem::path> All() const;
};

// Memory that a session holds beside feature maps: a weight, a variable.
struct HeldPiece {
  const void* address = nullptr;
  Bytes size;
  std::string name;
  std::string graph;  // that brought it; empty: the session's
};

// The recorder of a session's graphs. It counts from the beginning; a window is open from Start
// until Take. Thread-safe.
class SessionProfile {
 public:
  explicit SessionProfile(ProfileOptions options, profile::RecorderOptions recorder = {});

  const std::shared_ptr<profile::Recorder>& recorder() const { return recorder_; }
  // Nothing, where no events are asked for.
  void Start();
  // Closes the window.
  profile::Recording Take();
  struct Writing {
    std::filesystem::path folder = {};  // empty: that of the options
    // That it ran on, where it was measured: operators' shares of it are in the page then.
    std::optional<profile::ReportMachine> machine = {};
  };
  // Writes the tables, the trace, the snapshot and the page of a window, under one stamp that no
  // other file of the folder has.
  Result<ProfileFiles> Write(const profile::Recording& recording, const Writing& writing) const;
  Result<ProfileFiles> Write(const profile::Recording& recording) const {
    return Write(recording, {});
  }

  void SetDevice(const std::string& kind, int ordinal);
  int device() const { return device_; }
  bool HasNewPlans();  // since it was asked last
  // All that the session holds now of weights, or of variables.
  void SetHeld(profile::Component component, const std::vector<HeldPiece>& pieces);

 private:
  ProfileOptions options_;
  const std::shared_ptr<profile::Recorder> recorder_;
  int device_ = 0;
  std::mutex mutex_;
  std::map<std::pair<profile::Component, uint64_t>, profile::Event> held_;  // by address
  std::vector<profile::Event> held_before_;  // what it was when the window was opened
  size_t plans_ = 0;
};

}  // namespace plimsoll::engine
