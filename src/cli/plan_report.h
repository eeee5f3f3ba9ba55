#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compile/plan_model.h"
#include "engine/executable.h"
#include "graph/graph.h"

namespace plimsoll::cli {

// What `plimsoll plan` tells, as plain data.
struct PlanReport {
  struct Region {
    std::string name;
    std::string kind;
    Bytes bytes;
    Bytes lower_bound;
    int64_t alignment = 0;
    int buffers = 0;
    bool from_device = true;  // taken by us, so that it counts against a limit
  };
  struct Owner {
    std::string name;
    Bytes bytes;
  };
  struct Remedy {
    std::string text;
    Bytes total;  // what the model would take from the device then
  };

  struct Port {
    std::string name;
    bool input = true;
    bool in_place = true;  // the caller's memory is used where it lies
    std::string reason;    // why not
  };
  // Operators that need zeroed memory, and what atomic_clean_policy does to the peak.
  struct Clearing {
    int policy = 0;
    int nodes = 0;
    Bytes cleared;
    Bytes area;           // of the one clear under 0
    Bytes peak_together;  // under 0
    Bytes peak_apart;     // under 1
    // What the area, which nobody else may use, adds to the peak.
    Bytes area_cost() const { return std::max(peak_together - peak_apart, Bytes(0)); }
  };

  // Large blocks that hold the continuous groups of several batches or gears.
  struct MergedBatches {
    size_t blocks = 0;
    Bytes bytes;
    Bytes cost;  // what they add to the waterline
  };

  std::string file;
  Bytes peak;
  Bytes lower_bound;
  Bytes file_order_lower_bound;
  std::optional<Bytes> compiled_peak;  // what a run takes; nothing where that is not known
  Bytes weights;
  Bytes total;  // of all regions taken from the device
  int nodes = 0;
  int buffers = 0;
  bool optimal = false;
  bool deadline_hit = false;
  std::string assigner;
  std::string order;
  double planning_ms = 0;
  std::vector<Region> regions;
  std::vector<std::string> counted_as_one;  // symbols
  std::vector<Bytes> waterline;             // live bytes of the feature map, step by step
  std::string peak_node;
  std::vector<Owner> peak_owners;  // largest first
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<Port> ports;
  MergedBatches merged_batches;
  std::optional<Clearing> clearing;
  std::optional<Bytes> limit;
  std::vector<Remedy> remedies;  // that would help to keep the limit
};

PlanReport MakePlanReport(const graph::Graph& graph, const compile::PlannedModel& model,
                          std::string file);

// What a run of the model executes, in place of what the plan of the graph as it was read says.
void AddCompiled(const engine::Executable& executable, PlanReport& report);

// Models of one session, and what that takes.
struct PlanReports {
  std::vector<PlanReport> models;  // at least one
  int policy = 0;                  // static_memory_policy
  // For feature maps, once each model has run; nothing where one is not known.
  std::optional<Bytes> feature_map_reserved;
  Bytes weights;
  Bytes variables;
};

std::string PlanText(const PlanReports& reports, bool color);
// One model: its figures and the session's in one object. Several: a list, and the session beside.
std::string PlanJson(const PlanReports& reports);

// The buffers of the feature map as a table that `plimsoll pack --check` reads.
std::string PlanCsv(const compile::PlannedModel& model);

}  // namespace plimsoll::cli
