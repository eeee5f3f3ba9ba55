#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/debug/run_monitor.h"
#include "engine/memory/run_memory.h"
#include "engine/node_by_node/interpreter.h"
#include "engine/run/bound_executable.h"
#include "engine/run/ports.h"
#include "engine/run/run_record.h"
#include "engine/run/stream_set.h"
#include "engine/transfer/device_side.h"
#include "engine/weights/packed_store.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs what one graph was compiled to, for whatever shapes: takes memory, binds addresses, brings
// inputs and outputs to where the plan has them, and runs on the host or on the device's streams;
// or node by node. Tensors have been checked. Not thread-safe. After a failed run it is as before.
class GraphRunner {
 public:
  struct Options {
    KernelThreads threads;
    bool pin_threads = false;
    bool deterministic = false;  // of kernels that node by node runs prepare
    bool separate_host_operators = false;
    Bytes input_fusion_size;
    GraphDebug debug;
  };
  GraphRunner(const Options& options, const DeviceSide& side, RunMemory memory);

  // What one run is about.
  struct Call {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const std::vector<Port>& ports;  // of the outputs
    const std::string& batch;
    const std::atomic<bool>* cancelled = nullptr;
    std::atomic<int64_t>* task = nullptr;  // these two: Executable::Call
    bool* half_applied = nullptr;
  };
  // Fails as Executable::Run does, as memory does, and with run.stable_address. Runs of an
  // executable in the memory of the run before allocate nothing.
  Status Run(BoundExecutable& bound, const Call& call);
  // Takes the memory that such a run takes.
  Status Reserve(const Executable& executable, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs);

  // What runs node by node, the same in every run.
  struct Unplanned {
    const graph::Graph& graph;
    PackedStore& constants;
    Stretches::Compile compile;  // for its stretches
    size_t kept_plans = 0;
  };
  Result<std::vector<kernels::HostValue>> RunNodeByNode(const Unplanned& unplanned,
                                                        std::vector<kernels::HostValue> inputs,
                                                        const std::atomic<bool>* cancelled,
                                                        const std::string& batch);
  StretchCounts stretch_counts() const;  // of the last run node by node

  RunMemory& memory() { return memory_; }
  const RunMemory& memory() const { return memory_; }
  const RunRecord& last_run() const { return last_run_; }  // inside a plan; empty before
  void AddTo(HeldWeights& weights) const;  // constants that node by node runs have read

 private:
  Result<StreamSet*> Streams(size_t count);
  Status Bind(BoundExecutable& bound, std::byte* arena);
  Status RunBound(BoundExecutable& bound, Executable::Call call);
  std::unique_ptr<RunProfile> RecordRun(const std::shared_ptr<const PlanProfile>& plan,
                                        RunProfile::Place place) const;
  Status RunOnHost(BoundExecutable& bound, const Call& call, Executable::Call run);
  Status RunOnDevice(BoundExecutable& bound, const Call& call, Executable::Call run);

  const Options options_;
  GraphDebug debug_;
  const DeviceSide side_;
  RunMemory memory_;
  StreamSet streams_;
  // Where operands that never move lay in the first run that had them.
  std::map<std::string, const void*> stable_;
  std::vector<const void*> read_;  // by the run that goes on: one for each input
  std::vector<void*> written_;     // likewise for each output
  std::optional<Interpreter> interpreter_;
  std::optional<Stretches> stretches_;
  std::shared_ptr<const PlanProfile> names_;  // of node by node runs that are recorded
  RunRecord last_run_;
};

}  // namespace plimsoll::engine
