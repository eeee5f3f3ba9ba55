#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "engine/graph/loaded_graph.h"
#include "engine/memory/feature_memory.h"
#include "engine/run/run_gate.h"
#include "engine/run/run_options.h"
#include "engine/variables/variables.h"
#include "engine/weights/shared_forms.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"
#include "plimsoll/engine/reports.h"
#include "plimsoll/engine/session.h"

namespace plimsoll::engine {

using plimsoll::DeviceBytes;
using plimsoll::GraphId;
using plimsoll::SessionMemory;

struct SessionOptions {
  int threads = 1;  // of each run
  bool pin_threads = false;
  LoadOptions load;
  config::RunConfig config;
  std::shared_ptr<device::Device> device;  // none: a new one of `device_name`
  // "cpu", "far:0"; empty: what the environment variable PLIMSOLL_DEVICE says, else the CPU.
  std::string device_name;
  // Where feature maps come from; none: from the device, as the policy says. Thread-safe.
  std::shared_ptr<memory::Allocator> allocator;
  std::shared_ptr<SharedForms> shared_forms;  // of several sessions; none: its own
  std::shared_ptr<RunClock> clock;  // what limits of time are measured by; none: the system's
  // What records runs, and who opens and writes its windows; none: as profiling_config and the next
  // say. Of one session.
  std::shared_ptr<SessionProfile> profile;
  bool profiling = false;  // a window can be opened later
};

// Holds models and runs them on the CPU: add, run, unload by id.
//
//   PLIMSOLL_ASSIGN(auto session, Session::Create({}));
//   PLIMSOLL_ASSIGN(const GraphId id, session->Add(std::move(graph)));
//   PLIMSOLL_TRY(session->Run(id, inputs, outputs));
//
// Ids are never used again. An error in one graph leaves the others as they are. Thread-safe:
// graphs run side by side as far as graph_max_parallel_model_num says, and wait beyond it;
// runs of one graph wait for each other; where all graphs run in one memory (static_memory_policy 2
// and 4) a second run is refused with session.busy. A graph that is unloaded while it runs goes
// when that run has ended.
class Session {
 public:
  // With LoadOptions::only_plan no memory is taken either: the device is one of numbers.
  static Result<std::unique_ptr<Session>> Create(const SessionOptions& options);
  // Writes the profiling window that is open, unless the recorder was given to the session.
  ~Session();

  // Before Add: graphs of this file take what was compiled with it, or what is compiled goes there.
  void Serve(std::shared_ptr<const CompiledFile> file) {
    weights_->MakeCache().Serve(std::move(file));
  }
  void TellOf(std::shared_ptr<CacheSink> sink) { weights_->MakeCache().TellOf(std::move(sink)); }

  // `variables` names the inputs that are variables of the session, and the outputs that replace
  // them. Empty: in training, what the model's metadata `state` says; else none.
  Result<GraphId> Add(graph::Graph graph, const std::vector<VariableName>& variables = {});
  // Compiles for inputs of these shapes ahead of the first run with them; null where their sizes
  // cannot be planned. What it gives may outlive the session.
  Result<std::shared_ptr<const Executable>> Compile(GraphId id, std::span<const TensorView> inputs,
                                                    std::string* reason = nullptr);
  // In the caller's memory. Fails with run.dynamic where sizes are known only after the run. For a
  // graph that updates variables this is a training step, or iterations_per_loop of them in a row:
  // the outputs are those of the last. Of a graph with batches one is run; the outputs of the
  // others are not written, and their tensors may be left empty.
  Status Run(GraphId id, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const RunOptions& options = {});
  // Values of any kind, into memory that is made for them. Outputs of other batches are absent.
  Result<std::vector<kernels::HostValue>> RunValues(GraphId id,
                                                    std::vector<kernels::HostValue> inputs,
                                                    const RunOptions& options = {});
  // Takes the memory that a run over inputs of these shapes takes, and runs nothing: after it,
  // Memory() tells what the session needs. Fails with run.dynamic where only a run tells.
  Status Reserve(GraphId id, std::span<const TensorView> inputs);
  // The graph's memory goes back to the device, or to the pool that other graphs take from.
  Status Unload(GraphId id);
  // Gives back to the device what no graph holds.
  Result<Bytes> Trim();

  // Whether the graph's sizes are fixed; what its runs take depends on it.
  Result<GraphShapes> Shapes(GraphId id) const;
  // Memory of the caller's for a feature map: how much, and where (LoadedGraph tells the rules).
  Result<Bytes> FeatureMapSize(GraphId id, std::span<const TensorView> inputs);
  Status SetFeatureMapBase(GraphId id, std::byte* base, Bytes size);

  Result<std::vector<Port>> Inputs(GraphId id) const;
  // Each says which batch makes it, where that is one alone.
  Result<std::vector<Port>> Outputs(GraphId id) const;
  // As LoadedGraph::MakeOutputs.
  Result<std::vector<Tensor>> MakeOutputs(GraphId id, const Executable& executable,
                                          const std::string& batch) const;
  // The batches of a graph whose nodes carry batch labels; empty for others.
  Result<std::vector<std::string>> Batches(GraphId id) const;
  // The batch that a run over these inputs executes, whose data is not looked at: `named`
  // (RunOptions::batch), or what their sizes say; empty for a graph without batches. Fails as that
  // run would (run.batch).
  Result<std::string> BatchFor(GraphId id, std::span<const TensorView> inputs,
                               const std::string& named = {}) const;
  Result<GraphMemory> Memory(GraphId id) const;
  SessionMemory Memory() const;
  Result<RunRecord> LastRun(GraphId id) const;  // of those inside a plan; empty before
  const std::shared_ptr<SessionProfile>& profile() const { return profile_; }  // null: none records
  // plimsoll::Session tells the rules.
  Status StartProfiling();
  Result<ProfileFiles> StopProfiling(const std::filesystem::path& folder);

  // Of all graphs. They stay when graphs are unloaded.
  Variables& variables() { return variables_; }
  const Variables& variables() const { return variables_; }
  // How the graph's variables get their new values; all zero for a graph without.
  Result<UpdateReport> Updates(GraphId id) const;

 private:
  Session(const SessionOptions& options, std::shared_ptr<device::Device> device,
          device::DeviceId id, bool writes_profile);
  Result<std::shared_ptr<LoadedGraph>> Find(GraphId id) const;
  std::vector<std::shared_ptr<LoadedGraph>> Graphs() const;
  void TellHeld() const;      // weights and variables, to what records
  void TellNewPlans() const;  // the same, where a run has compiled

  const SessionOptions options_;
  const bool writes_profile_;
  const std::shared_ptr<SessionWeights> weights_;
  const std::shared_ptr<SessionProfile> profile_;
  const LoadOptions load_;  // as the configuration asks
  const std::shared_ptr<FeatureMemory> memory_;
  RunGate gate_;
  Variables variables_;
  mutable std::mutex mutex_;  // of the table
  std::map<GraphId, std::shared_ptr<LoadedGraph>> graphs_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> ranges_taken_ = false;  // a graph has dynamic_inputs_shape_range
};

}  // namespace plimsoll::engine
