#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/passes/pass.h"
#include "compile/plan_model.h"
#include "config/run_config.h"
#include "engine/debug/run_monitor.h"
#include "engine/graph/input_ranges.h"
#include "engine/graph/plain_graph.h"
#include "engine/memory/feature_memory.h"
#include "engine/node_by_node/interpreter.h"
#include "engine/run/executable.h"
#include "engine/run/ports.h"
#include "engine/run/run_batches.h"
#include "engine/run/run_options.h"
#include "engine/run/run_record.h"
#include "engine/run/stream_set.h"
#include "engine/run/streamed_run.h"
#include "engine/weights/packed_store.h"
#include "engine/weights/session_weights.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

struct LoadOptions {
  bool optimise = true;  // off: the graph as the file has it, node by node
  // The graph is compiled to be looked at: its memory can be taken (Reserve), but it does not run.
  // Constants are neither packed nor copied, only counted, and their data may be missing.
  bool only_plan = false;
  // The form of constants that kernels can pack; none: as memory_optimization_policy says.
  std::optional<compile::WeightForms> weight_forms;
  size_t kept_plans = 64;     // sets of shapes that stay compiled; the last one always does
  compile::PlanOptions plan;  // how hard to plan, and what to obey
  bool open_shapes = false;   // compile_dynamic_mode: the sizes of inputs are the caller's choice
  std::optional<config::ShapeRanges> shape_ranges;  // dynamic_inputs_shape_range
  std::string dynamic_dims;                         // gears (gears.h), which rule over ranges
  // ac_parallel_enable: host operators of graphs with open sizes run in parallel with the others,
  // on streams of this device.
  bool separate_host_operators = false;
  std::shared_ptr<device::Device> streams_of;
  device::DeviceId streams_device;
  int threads = 1;                      // of each kernel that runs on a stream
  std::shared_ptr<SessionDebug> debug;  // what looks at runs; null: nothing does
  std::vector<bool> variables;  // by input: keeps its size whatever is opened; empty: none is one
};

// What a graph holds now.
struct GraphMemory {
  Bytes planned_peak;  // of the plan that ran last; 0 before
  Bytes feature_map;   // that the last run took, with the regions outside it
  Bytes weights;       // constants that kernels read, packed or plain, shared ones included
  PackedStore::Packed packed;
  int plans = 0;        // kept
  Bytes merged_blocks;  // of that plan: continuous groups of all gears, given to nobody else
  Bytes merged_cost;    // what these add to the arena
};

// One model of a session: simplified once, compiled for each set of input shapes that it meets (a
// bounded number is kept, the longest unused goes first), run inside the plan of that set. A set
// whose sizes only data tells, and graphs with strings, sequences or loops, are run node by node.
// Gears are sets of shapes that are compiled at once, in one arena, and always kept.
//
// Runs of one graph wait for each other. After a failed run it is as it was before.
class LoadedGraph {
 public:
  static Result<std::unique_ptr<LoadedGraph>> Load(graph::Graph graph, const LoadOptions& options,
                                                   std::shared_ptr<FeatureMemory> memory,
                                                   std::shared_ptr<SessionWeights> weights,
                                                   std::string name = "graph");

  // What errors and reports call it.
  const std::string& name() const { return name_; }
  GraphShapes shapes() const {
    return takes_one_shape_ ? GraphShapes::kStatic : GraphShapes::kDynamic;
  }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // Compiles for inputs of these shapes, whose data is not looked at, ahead of the first run with
  // them. Null: they cannot be planned, and `reason` says why.
  Result<std::shared_ptr<const Executable>> Compile(std::span<const TensorView> inputs,
                                                    std::string* reason = nullptr);

  // Takes the memory that a run over inputs of these shapes takes, and gives back what such a run
  // gives back. Fails with run.dynamic where only the run tells how much that is.
  Status Reserve(std::span<const TensorView> inputs);

  // Runs over the caller's memory. Outputs must be of the type and shape that the run makes. Inputs
  // that the plan updates (PlanOptions::updates) hold their new values afterwards; a run that fails
  // when it has begun to write them says so in `half_applied`. Of a graph with batches one runs
  // (RunBatches), and outputs of the others are neither looked at nor written.
  Status Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const RunOptions& options, bool* half_applied = nullptr);

  // The same for values of any kind, into memory that is made for them. Outputs of other batches
  // are absent.
  Result<std::vector<kernels::HostValue>> RunValues(std::vector<kernels::HostValue> inputs,
                                                    const RunOptions& options);
  const std::vector<std::string>& batches() const { return batches_.names(); }
  Result<std::string> BatchFor(std::span<const TensorView> inputs, const std::string& named) const;

  // Bytes of the feature map for inputs of these shapes; takes none of them.
  Result<Bytes> FeatureMapSize(std::span<const TensorView> inputs);
  // Runs take this memory of the caller's, from now on, as long as the graph is loaded or another
  // is given: which is refused (run.base) once the graph has run, unless its plans allow the base
  // to change. A run whose feature map does not fit in it fails (run.base_size).
  Status SetFeatureMapBase(std::byte* base, Bytes size);

  GraphMemory memory() const;
  void AddWeightsTo(HeldWeights& weights) const;  // constants that kernels read, packed or plain
  RunRecord last_run() const;                     // of those inside a plan; empty before
  // Of the shapes that were met last; null: none were, or they are run node by node.
  std::shared_ptr<const Executable> last_executable() const;

 private:
  // What is known of one set of input shapes.
  struct Entry {
    std::vector<kernels::Dims> dims;
    std::shared_ptr<const Executable> executable;  // null: run node by node
    std::string reason;                            // then: why
    bool gear = false;                             // never goes
    std::optional<StreamedRun> streamed;           // where nodes are on several streams
    Executable::Addresses addresses;               // bound to these two
    const std::byte* arena = nullptr;
    std::vector<std::byte*> areas;
    std::vector<RunRecord::StableAddress> stable;  // in these two
  };
  // Memory for one run of a plan; areas_at_ has the rest.
  struct RunMemory {
    FeatureMap taken;  // for this run alone
    std::byte* arena = nullptr;
  };

  LoadedGraph(graph::Graph graph, const LoadOptions& options, std::shared_ptr<FeatureMemory> memory,
              std::shared_ptr<SessionWeights> weights, std::string name);
  HeldWeights PlainWeights() const;  // the caller holds the lock
  HeldWeights Weights() const;       // likewise
  Status HoldConstants(graph::Graph& graph);
  Status CheckRuns() const;
  Status CheckCount(size_t inputs) const;
  Status CheckShapes(std::span<const TensorView> inputs) const;
  Status CheckInputs(std::span<const TensorView> inputs) const;
  Result<Entry*> EntryFor(std::span<const TensorView> inputs);
  Result<Entry> MakeEntry(const std::vector<kernels::Dims>& dims);
  Status MakeGears();
  Status SetExecutable(Entry& entry, compile::CompiledModel model);
  Result<StreamSet*> Streams(size_t count);
  KernelThreads ThreadsOnStreams() const;
  void ForgetLongestUnused();
  Result<graph::Graph> GraphFor(const std::vector<kernels::Dims>& dims) const;
  Result<compile::CompiledModel> CompileGraph(graph::Graph graph,
                                              const std::vector<kernels::Dims>& dims,
                                              const std::string& gear = {});
  Result<RunMemory> TakeMemory(const Program& program);
  Status Bind(Entry& entry, std::byte* arena);
  Result<std::byte*> TakePorts(Bytes size);
  Status ReservePorts(const Executable& executable, std::span<const TensorView> inputs);
  Status RunOnHost(Entry& entry, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs, Executable::Call call,
                   const std::string& batch);
  Status RunOnDevice(Entry& entry, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs, Executable::Call call,
                     const std::string& batch);
  Status RunBound(Entry& entry, Executable::Call call);
  Status RunPlanned(Entry& entry, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs, const RunOptions& options,
                    const std::string& batch, bool* half_applied = nullptr);
  Result<std::vector<kernels::HostValue>> RunNodeByNode(std::vector<kernels::HostValue> inputs,
                                                        const RunOptions& options,
                                                        const std::string& batch);
  // Whether a run of the batch makes output `i`.
  bool Makes(const std::string& batch, size_t i) const {
    return outputs_[i].batch.empty() || outputs_[i].batch == batch;
  }

  mutable std::mutex mutex_;
  std::string name_;
  std::optional<PlainGraph> plain_;
  graph::Graph graph_;  // simplified; shapes as far as they hold for every run
  LoadOptions options_;
  // Every input's size is fixed. Then the constants go to the one plan, and are not here after.
  bool takes_one_shape_ = false;
  std::optional<Error> failure_;  // of compiling that plan, which cannot be tried again
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  bool own_streams_ = false;  // its nodes ask for several
  InputRanges ranges_;
  RunBatches batches_;
  std::vector<compile::PassReport> passes_;
  PackedStore packed_;
  std::vector<std::shared_ptr<const void>> assumed_;  // addresses of constants that are missing
  std::list<Entry> entries_;                          // most recently used first
  std::vector<const void*> read_;                     // by the run that goes on: one for each input
  std::vector<void*> written_;                        // likewise for each output
  std::optional<Interpreter> interpreter_;
  std::shared_ptr<FeatureMemory> memory_;
  const DeviceSide side_;
  FeatureMap kept_;  // between runs, where the policy says so
  std::unique_ptr<AreaMemory> areas_;
  std::unique_ptr<AreaMemory> ports_;  // where the host cannot reach the device
  std::vector<std::byte*> areas_at_;   // of the run that goes on: one for each area
  // Where operands that never move lay in the first run that had them.
  std::map<std::string, const void*> stable_;
  std::byte* base_ = nullptr;  // of the caller's memory, where one was given
  Bytes base_size_;
  bool ran_ = false;
  Bytes last_feature_map_;
  RunRecord last_run_;
  std::unique_ptr<StreamSet> streams_;  // made when first needed
  GraphDebug debug_;
};

}  // namespace plimsoll::engine
