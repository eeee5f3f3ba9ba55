#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/debug/run_monitor.h"
#include "engine/node_by_node/kept_kernels.h"
#include "engine/node_by_node/stretches.h"
#include "engine/run/host_side.h"
#include "engine/run/stream_set.h"
#include "engine/weights/session_weights.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs a graph node by node: each node's shapes are worked out and its kernel prepared when the
// walk reaches it with sizes other than those of the time before (KeptKernels), its outputs are
// taken from `allocate`, and what nobody reads any more is given back at once. The way for graphs
// whose sizes only data tells, for sequences, optionals and strings, and for working out constants
// at load. With stretches, nodes between those whose sizes only data tells run inside plans of
// their own. With streams, independent host operators of the model run on the second of them in
// parallel with the walk, in memory of the process; the streams that nodes ask for
// (plimsoll.stream) do not count here.
//
// One run at a time an object. A failed run leaves nothing behind.
class Interpreter {
 public:
  explicit Interpreter(graph::Graph graph);

  struct Options {
    kernels::AllocateTensor allocate = kernels::AllocateOnHeap;
    const std::atomic<bool>* cancelled = nullptr;        // looked at between nodes
    kernels::HoldConstant hold = kernels::ToHostTensor;  // asked once for each that a run reaches
    StreamSet* streams = nullptr;  // two of them; null: everything runs in the walk
    // Of this graph; null: every node runs by itself, as it does where something looks at the run,
    // with streams, and in a graph with batches.
    Stretches* stretches = nullptr;
    // Nodes of other batches are left out, and what they make is absent; none: every node runs.
    std::optional<std::string> batch = {};
    bool deterministic = false;     // kernels::KernelSite::deterministic
    RunMonitor* monitor = nullptr;  // looks at the run; null: nothing does
    bool records_tensors = false;   // the monitor's recorder is told of what `allocate` gives
    bool tensors_reserve = false;   // which counts as taken from the device
    // Told of each value as it is made, by the thread that makes it.
    std::function<void(graph::ValueId, const kernels::HostValue&)> observe = {};
  };

  // One value for each input of the graph, in order; gives one for each output.
  Result<std::vector<kernels::HostValue>> Run(std::vector<kernels::HostValue> inputs,
                                              const Options& options);
  void AddTo(HeldWeights& weights) const;  // constants that runs have read so far
  StretchCounts counts() const;            // of the last run

 private:
  using Values = std::vector<kernels::HostValue>;

  // What is known of a node before anything runs.
  struct NodeFacts {
    std::vector<graph::ValueId> constants;                 // that running it reads
    std::vector<graph::ValueId> last_reads;                // dead once it has run
    const kernels::HostOperator* host_operator = nullptr;  // null: it has none
    bool control_flow = false;
    bool has_kernel = false;
    // Its output may have the memory of its input. What a body gives has memory of its own: it may
    // become the caller's, beside inputs and weights.
    bool as_view = false;
  };

  Result<Values> RunBody(graph::SubgraphId id, Values inputs);
  Status CheckGoesOn(graph::NodeId next);
  bool UsesStretches() const;
  Status RunStretch(Stretches::Part& part);
  void CountSingle(graph::NodeId id);
  Status Visit(graph::NodeId id);
  Status LaunchNode(graph::NodeId id);
  Status RunNode(graph::NodeId id, const kernels::AllocateTensor& allocate);
  Status RunNodeWith(graph::NodeId id, const kernels::AllocateTensor& allocate);
  Status RunOnHostValues(graph::NodeId id, const kernels::AllocateTensor& allocate);
  Status RunKernel(graph::NodeId id, const kernels::AllocateTensor& allocate);
  void Release(const std::vector<graph::ValueId>& values);
  Status LoadConstant(graph::ValueId id);
  void Put(graph::ValueId id, kernels::HostValue value);
  // Values of a node of host values. Those that are lent are not copied, which takes long for a
  // sequence, and come back when it has run; one that nobody reads any more may be changed.
  bool IsLent(graph::NodeId id, size_t input) const;
  Values InputsOf(graph::NodeId id);
  void TakeBack(graph::NodeId id, Values inputs);
  std::vector<NodeFacts> FindFacts() const;

  graph::Graph graph_;            // types and contents of values change as the walk learns them
  std::vector<NodeFacts> facts_;  // by node
  KeptKernels kernels_;
  const bool has_batches_;
  Values values_;                      // by value
  StretchCounts counts_;               // without the names of single nodes
  std::vector<graph::NodeId> single_;  // that ran by themselves in this run, each once
  std::vector<bool> counted_;          // by node: is among them
  int64_t prepared_before_ = 0;        // kernels, when the run began
  std::vector<bool> read_constants_;   // by value: a constant that this run has read
  Options options_;
  std::vector<bool> independent_;  // by node: runs on the host's stream; empty: not worked out
  std::optional<HostSide> side_;
  std::vector<graph::ValueId> unreleased_;  // dead once the host's stream has been waited for
};

}  // namespace plimsoll::engine
