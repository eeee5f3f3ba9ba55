#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/reports/operator_report.h"
#include "cli/reports/output_summary.h"
#include "cli/reports/plan/plan_report.h"
#include "engine/profile/session_profile.h"
#include "engine/run/poisoned_run.h"
#include "engine/session.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What `plimsoll run` tells of one model.
struct ModelRun {
  std::string model;
  std::vector<double> latency_ms;
  bool planned = false;
  std::string reason;  // why not
  engine::GraphMemory memory;
  engine::PoisonedRun poisoned;                  // where planned
  engine::RunRecord last_run;                    // likewise
  std::optional<PlanReport::Clearing> clearing;  // likewise, and where something is cleared
  std::vector<engine::Port> inputs;
  int64_t heap_calls = 0;
  Bytes caller;  // inputs and outputs
  std::vector<engine::Port> outputs;
  std::string batch;                  // that ran; empty: the model has none
  std::vector<std::string> not_made;  // outputs of other batches
  std::vector<OutputSummary> made;    // the other outputs, after the last run
};

// And of the session that all of them ran in.
struct RunReport {
  std::vector<ModelRun> models;
  int64_t threads = 1;
  int policy = 0;  // static_memory_policy
  engine::SessionMemory session;
  std::optional<Bytes> limit;
  Bytes base;                                        // resident before the first model was read
  Bytes load_peak_above_base;                        // resident, at most, before the first run
  Bytes resident_above_base;                         // after the last
  std::optional<MemoryTable> predicted = {};         // where --limit asked for it
  std::optional<engine::ProfileFiles> profile = {};  // that were written
  std::optional<profile::Recorder::Counters> recorded_counters = {};  // where a recorder was there
  struct ByOperator {
    MachineSpeed machine;
    std::vector<OperatorTime> times;
  };
  std::optional<ByOperator> by_operator = {};

  MemoryTables tables() const;
};

// "models", and the session.
Json RunJson(const RunReport& report);
std::string RunText(const RunReport& report);

}  // namespace plimsoll::cli
