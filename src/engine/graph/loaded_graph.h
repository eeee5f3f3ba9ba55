#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph_compiler.h"
#include "engine/graph/graph_ports.h"
#include "engine/graph/load_options.h"
#include "engine/graph/shape_cache.h"
#include "engine/memory/feature_memory.h"
#include "engine/memory/kept_blocks.h"
#include "engine/run/graph_runner.h"
#include "engine/run/run_options.h"
#include "engine/variables/graph_variables.h"
#include "engine/weights/session_weights.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What a graph holds now.
struct GraphMemory {
  Bytes planned_peak;  // of the plan that ran last; 0 before
  Bytes feature_map;   // that the last run took, with the regions outside it
  Bytes weights;       // constants that kernels read, packed or plain, shared ones included
  PackedStore::Packed packed;
  int plans = 0;            // kept
  Bytes merged_blocks;      // of that plan: continuous groups of all gears, given to nobody else
  Bytes merged_cost;        // what these add to the arena
  StretchCounts stretches;  // of the last run that was not planned as a whole
};

// What graphs of a session have together.
struct SharedParts {
  std::shared_ptr<FeatureMemory> memory;
  std::shared_ptr<SessionWeights> weights;
  Variables* variables = nullptr;  // outlives the graphs; null: no graph has some
};

// One model of a session: simplified once, compiled for each set of input shapes that it meets (a
// bounded number is kept, the longest unused goes first), run inside the plan of that set. A set
// with sizes that only data tells, and graphs with strings or sequences, are run node by node, in
// stretches that are planned where that is possible (Stretches).
// Gears are sets of shapes that are compiled at once, in one arena, and always kept.
//
// Inputs may in part be variables: the caller gives the other inputs and gets the outputs that
// replace no variable. A run of a graph that updates variables is a training step,
// LoadOptions::steps of them in a row.
//
// Thread-safe; runs of one graph wait for each other. After a failed run it is as it was before: a
// step that fails or is cancelled before its first variable is written leaves all as they were; one
// that fails behind that says so (variables.half_applied), and see Variables. Node by node, and
// where every new value is copied, variables change only once the step has succeeded.
class LoadedGraph {
 public:
  static Result<std::unique_ptr<LoadedGraph>> Load(graph::Graph graph, const LoadOptions& options,
                                                   const SharedParts& parts,
                                                   std::string name = "graph",
                                                   std::vector<VariablePort> variables = {});

  // What errors and reports call it.
  const std::string& name() const { return name_; }
  GraphShapes shapes() const { return shapes_; }
  // What the caller gives and gets.
  const std::vector<Port>& inputs() const { return variables_.inputs(); }
  const std::vector<Port>& outputs() const { return variables_.outputs(); }

  // Compiles for inputs of these shapes, whose data is not looked at, ahead of the first run with
  // them. Null: they cannot be planned, and `reason` says why.
  Result<std::shared_ptr<const Executable>> Compile(std::span<const TensorView> inputs,
                                                    std::string* reason = nullptr);

  // Takes the memory that a run over inputs of these shapes takes, and gives back what such a run
  // gives back. Fails with run.dynamic where only the run tells how much that is.
  Status Reserve(std::span<const TensorView> inputs);

  // Tensors for the outputs of a run of the executable. Pages of those that nobody holds any more
  // serve the next ones.
  Result<std::vector<Tensor>> MakeOutputs(const Executable& executable, const std::string& batch);
  // Gives those pages back to the system.
  void TrimOutputs() { output_blocks_->Trim(); }

  // Runs over the caller's memory. Outputs must be of the type and shape that the run makes. Of a
  // graph with batches one runs (RunBatches), and outputs of the others are neither looked at nor
  // written.
  Status Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const RunOptions& options);

  // The same for values of any kind, into memory that is made for them. Outputs of other batches
  // are absent.
  Result<std::vector<kernels::HostValue>> RunValues(std::vector<kernels::HostValue> inputs,
                                                    const RunOptions& options);
  const std::vector<std::string>& batches() const { return ports_.batches().names(); }
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
  // How variables get their new values, for the shapes that were met last; all zero without.
  UpdateReport updates() const;

 private:
  LoadedGraph(std::string name, const LoadOptions& options, GraphPorts ports,
              std::unique_ptr<GraphCompiler> compiler, GraphVariables variables,
              const GraphRunner::Options& runs, const SharedParts& parts);
  Status CheckRuns() const;
  int64_t steps() const { return variables_.updates() ? steps_ : 1; }
  // The caller of these holds the lock.
  Result<ShapeCache::Entry*> EntryFor(std::span<const TensorView> all_inputs);
  HeldWeights PlainWeights() const;
  HeldWeights Weights() const;

  Status RunStep(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const RunOptions& options, bool& half_applied);
  Result<std::vector<kernels::HostValue>> RunNodeByNode(std::vector<kernels::HostValue> inputs,
                                                        const RunOptions& options);
  Result<std::vector<kernels::HostValue>> RunStepNodeByNode(std::vector<kernels::HostValue> inputs,
                                                            const RunOptions& options,
                                                            bool& half_applied);

  const std::string name_;
  const GraphShapes shapes_;
  const bool only_plan_;
  const int64_t steps_;
  const size_t kept_plans_;
  const GraphPorts ports_;
  // Of what follows. A run takes its lock on the variables before it.
  const std::shared_ptr<KeptBlocks> output_blocks_ = std::make_shared<KeptBlocks>();
  mutable std::mutex mutex_;
  GraphVariables variables_;
  const std::unique_ptr<GraphCompiler> compiler_;
  ShapeCache cache_;
  GraphRunner runner_;
  bool gave_back_code_ = false;
};

}  // namespace plimsoll::engine
