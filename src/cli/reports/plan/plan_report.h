#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/reports/memory_table.h"
#include "compile/memory/technique.h"
#include "compile/plan_model.h"
#include "engine/api/feature_map_lives.h"
#include "engine/run/executable.h"
#include "engine/session.h"
#include "graph/graph.h"
#include "plimsoll/engine/reports.h"

namespace plimsoll::cli {

// What `plimsoll plan` tells of one model, as plain data. `reason` is why it is an estimate.
struct PlanReport : plimsoll::PlanReport {
  // What the figures describe.
  enum class Subject {
    kProgram,   // the compiled program: what a run executes
    kFile,      // the file's graph, since the caller asked for it
    kEstimate,  // likewise, since the model cannot be planned before it runs
  };
  // Operators that need zeroed memory, and what atomic_clean_policy does to the peak.
  struct Clearing {
    int policy = 0;
    int nodes = 0;
    Bytes cleared;
    Bytes area;           // of the one clear under 0
    Bytes peak_together;  // under 0
    Bytes peak_separate;  // under 1
    // What the area, which nobody else may use, adds to the peak.
    Bytes area_cost() const { return std::max(peak_together - peak_separate, Bytes(0)); }
  };

  // Large blocks that hold the continuous groups of several batches or gears.
  struct MergedBatches {
    size_t blocks = 0;
    Bytes bytes;
    Bytes cost;  // what they add to the waterline
  };

  std::string file;
  bool dynamic = false;  // the file leaves sizes of its inputs open
  Bytes caller;          // inputs and outputs
  Subject subject = Subject::kProgram;
  bool optimal_order() const {
    return order_lower_bound > Bytes(0) && lower_bound <= order_lower_bound;
  }
  engine::PackedStore::Packed packed;
  int missing_weights = 0;
  Bytes missing_bytes;
  std::string order;
  size_t gears = 0;  // that share the feature map; what else is told is of the one that was given
  double planning_ms = 0;
  int sizes_from_data = 0;       // that count as 1 here
  std::vector<Bytes> waterline;  // live bytes of the feature map, step by step
  std::string peak_node;
  std::vector<engine::FeatureMapLives::Owner> peak_owners;  // largest first
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<compile::Technique> techniques;
  std::optional<compile::FusionCounts> fusion;  // of what a run executes
  MergedBatches merged_batches;
  std::optional<Clearing> clearing;
  // Of an estimate: how a run will be cut, where data tells sizes.
  struct Cuts {
    int64_t stretches = 0;  // that are planned when their sizes are known
    int64_t planned_nodes = 0;
    std::vector<std::string> single;  // nodes that run by themselves
  };
  std::optional<Cuts> cuts;
};

inline constexpr const char* kWhatPackingBuys =
    "kernels read packed weights from front to back; as they are, each run reads them in strides "
    "or "
    "packs them again";

// Of a plan of a graph, whichever it is.
PlanReport MakePlanReport(const graph::Graph& graph, const compile::PlannedModel& model);
// Of what a run executes.
PlanReport MakePlanReport(const engine::Executable& executable, const engine::GraphMemory& memory);

// Models of one session, and what that takes.
struct PlanReports {
  struct Remedy {
    std::string text;
    Bytes total;  // what the session would take from the device then
  };
  std::vector<PlanReport> models;               // at least one
  int policy = 0;                               // static_memory_policy
  std::optional<engine::SessionMemory> memory;  // nothing where a model could not be planned
  Bytes program;                                // resident in this process
  Bytes usable;                                 // of this machine's memory; 0: not known
  std::optional<Bytes> limit;
  std::vector<Remedy> remedies;  // that would help to keep the limit

  Bytes total() const { return memory->device.total(); }  // only where memory is known
  MemoryTable table() const;                              // likewise
};

std::string PlanText(const PlanReports& reports, bool color);
// "models", and what the session takes.
Json PlanJson(const PlanReports& reports);

// The buffers of the feature map, with their names, as a table that `plimsoll pack --check` reads.
std::string PlanCsv(const compile::PlannedModel& model);

}  // namespace plimsoll::cli
