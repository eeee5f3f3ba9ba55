#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"

// What a session tells of its plans, runs and memory, as plain data.
//
//   PLIMSOLL_ASSIGN(const PlanReport plan, session.Plan(graph, inputs));
//   std::cout << FormatBytes(plan.peak) << " at the peak, at least " <<
//   FormatBytes(plan.lower_bound);
namespace plimsoll {

// What becomes of the caller's memory behind one input or output.
struct PortUse {
  std::string name;
  bool input = true;
  bool in_place = true;  // kernels use the caller's memory where it lies
  std::string reason;    // why not
};

// Where a graph's bytes lie, before it runs.
struct PlanReport {
  // An address space of the plan.
  struct Region {
    std::string name;
    std::string kind;  // "feature_map", "zero_copy", "weights", ...
    Bytes bytes;
    Bytes lower_bound;  // proven: no placement is lower
    int64_t alignment = 0;
    int buffers = 0;
    bool from_device = true;  // taken by the session; else the caller's memory or the host's
  };

  bool planned = false;  // false: sizes are known only while it runs; only `reason` is filled in
  std::string reason;
  Bytes peak;                      // the waterline: what the feature map takes
  Bytes lower_bound;               // proven: no placement is lower for this order of nodes
  Bytes order_lower_bound;         // proven: no order of nodes is lower; 0: not known
  Bytes plain_peak;                // without reuse in place, in the file's order
  Bytes weights;                   // as kernels read them, packed ones included
  Bytes feature_map;               // the peak, with regions outside it that the device holds
  bool optimal_for_order = false;  // proven: the peak is the least for this order
  bool deadline_hit = false;       // a deadline cut the search short
  int nodes = 0;                   // that run
  int buffers = 0;
  std::string assigner;  // that placed the buffers
  // Where the host cannot reach the device: nodes that run on the host (conditions, index
  // arithmetic, operators that the device has no kernel for), what their memory takes, and copies
  // between the two inside a run that takes every branch.
  int64_t host_nodes = 0;
  Bytes host;           // in memory of the host, wherever the plan puts something there
  int64_t fetches = 0;  // from the device to the host
  Bytes fetched;
  int64_t sends = 0;  // from the host to the device
  Bytes sent;
  std::vector<Region> regions;
  std::vector<PortUse> ports;  // inputs, then outputs
};

// Where a buffer of a feature map lies, and during which steps of the plan, [begin, end).
struct PlacedBuffer {
  std::string name;  // of the value, or of what it is for
  Offset offset;
  Bytes size;
  int64_t begin = 0;
  int64_t end = 0;
};

// What the last planned run of a graph did, and what the graph holds since.
struct RunReport {
  // Where a value lay that keeps its address from run to run.
  struct StableAddress {
    std::string operand;
    std::string value;
    const void* address = nullptr;
  };

  std::string batch;           // that it executed; empty: the graph has none
  std::vector<PortUse> ports;  // inputs, then outputs
  int64_t clears = 0;          // of memory that an operator needs zeroed
  Bytes cleared;
  double clearing_ms = 0;
  int64_t transfers = 0;  // that brought inputs to where the plan has them
  int64_t transferred_inputs = 0;
  int64_t fused_inputs = 0;  // that came together in one transfer (input_fusion_size)
  Bytes transferred;
  std::vector<StableAddress> stable;
  Bytes planned_peak;  // of that run's plan
  Bytes feature_map;   // that the run took, with the regions outside it
  Bytes weights;       // that kernels read, packed or plain
  int plans = 0;       // sets of shapes that are kept compiled
};

// What a session takes from its device, by what it is for.
struct DeviceBytes {
  Bytes weights;
  // Feature maps as static_memory_policy has them, areas outside them (memory of another type,
  // values that keep their addresses), and tensors of graphs that are run node by node.
  Bytes feature_maps;
  Bytes variables;
  Bytes ports;        // inputs and outputs, where the host cannot reach the device
  Bytes granularity;  // what rounding up adds: to the pages and chunks of the device
  Bytes total() const { return weights + feature_maps + variables + ports + granularity; }
};

// What a session holds now.
struct SessionMemory {
  Bytes feature_maps_reserved;       // taken from the device
  Bytes peak_feature_maps_reserved;  // the most there ever were
  Bytes weights;                     // what several graphs share counts once
  Bytes variables;
  Bytes variables_reserved;  // for them, and for constants where huge pages are asked for
  Bytes host;                // areas in memory of the host
  DeviceBytes device;        // the most of everything together
};

// What a profiling window left on disk (docs/profiling.md): paths.
struct ProfilingFiles {
  std::string operator_memory;
  std::string memory_record;
  std::string static_op_mem;
  std::string trace;
  std::string snapshot;
  std::string report;          // empty: nothing ran in the window
  int64_t dropped_events = 0;  // that found no room
};

// How the variables of a graph get their new values.
struct UpdateReport {
  size_t in_place = 0;  // written over the old value by the node that makes the new one
  Bytes in_place_bytes;
  size_t copied = 0;  // at the end of each step
  Bytes copied_bytes;
  struct Copy {
    std::string variable;
    std::string reason;
  };
  std::vector<Copy> copies;
};

}  // namespace plimsoll
