#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/ids.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"
#include "plimsoll/device/device.h"
#include "plimsoll/engine/model.h"
#include "plimsoll/engine/reports.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll {

using GraphId = Id<struct GraphTag>;  // a model that a session holds

// The form in which kernels read weights that they could pack.
enum class WeightForm {
  kAsConfigured,  // as memory_optimization_policy says
  kPacked,        // packed: fastest
  kSmaller,       // packed or plain, whichever takes fewer bytes
  kPlain,         // as they are
};

// Lets sessions that keep weights as files (external_weight) hold each packed weight once: give the
// same object to all of them. A packed weight goes with the last graph that uses it. Thread-safe;
// may go before the sessions.
//
//   const auto shared = std::make_shared<SharedWeights>();
//   PLIMSOLL_ASSIGN(Session one, Session::Create({.shared_weights = shared}));
//   PLIMSOLL_ASSIGN(Session other, Session::Create({.shared_weights = shared}));
class SharedWeights {
 public:
  SharedWeights();
  ~SharedWeights();
  SharedWeights(const SharedWeights&) = delete;
  SharedWeights& operator=(const SharedWeights&) = delete;

 private:
  friend class Session;
  struct Parts;
  const std::shared_ptr<Parts> parts_;
};

// How a session runs and what it may take.
struct SessionOptions {
  int threads = 1;  // of each run; 0: the processors that this process may use
  // Each thread that helps a run's own stays on one processor. Worth it where the program has the
  // machine for itself, harmful where others work on it.
  bool pin_threads = false;
  // The device that runs, by its name ("cpu", "far:0": device::ParseDeviceName; a kind may be the
  // program's own, device::RegisterDeviceKind), or an object of the caller's, which goes before the
  // name. Its memory must be one that the session's kernels can reach.
  std::string device_name = "cpu";
  std::shared_ptr<device::Device> device = {};
  // Where feature maps come from; none: from the device, as the policy says. Thread-safe.
  std::shared_ptr<memory::Allocator> allocator = {};
  // Run configuration (docs/options.md), by name: {{"static_memory_policy", "2"}}. These go before
  // the environment.
  std::map<std::string, std::string> config = {};
  // The same from files (JSON, TOML), which go before the environment and behind `config`.
  std::vector<std::string> config_files = {};
  // The options are those of an explicit NPURunConfig, whose own defaults hold: training, for one.
  bool npu_run_config = false;
  // Who places buffers: one of plan::AssignerNames(), also one that the program registered; empty:
  // as the configuration says.
  std::string assigner = {};
  WeightForm weights = WeightForm::kAsConfigured;
  // Where sessions look for packed weights that another has made; none: each has its own.
  std::shared_ptr<SharedWeights> shared_weights = {};
  bool optimise = true;  // off: graphs as their files have them, node by node
  // Graphs are planned and not run: no memory is taken, and weights may be missing. Afterwards
  // memory() tells what a session that runs them would take.
  bool only_plan = false;
  // Counts what runs do to memory, so that StartProfiling can open a window at any time.
  bool profiling = false;
};

// A variable of a graph: the input that it is, and the output that replaces it after each run.
// Without an output it is only read. Where the model leaves sizes open, `dims` are the variable's:
// of a cache of keys and values with room for so many. One that a Concat appends to (present =
// Concat(past, new)) begins without rows and grows up to these sizes; a run that needs more is
// refused (variables.capacity).
struct VariableName {
  std::string input;
  std::string output;
  std::string group = {};  // what the model calls its kind, such as "parameters"; empty: nothing
  std::vector<int64_t> dims = {};  // empty: as the model has them
};

// A tensor that stays between runs.
struct VariableInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  Bytes size;
};

// What one run is told in addition to its tensors.
struct RunOptions {
  // Looked at between nodes: a run that sees true ends with run.cancelled. A training step that has
  // begun to write its variables goes to its end first.
  const std::atomic<bool>* cancelled = nullptr;
  // The batch to run, of a graph whose nodes carry batch labels; empty: the one that the sizes of
  // the inputs name.
  std::string batch = {};
  // Gives the inputs of each step 0, 1, ... of a loop (iterations_per_loop); the run's own inputs
  // are left empty then. What it gives must stay until it is called again. A graph that updates no
  // variables has step 0 alone. Only for the Run into memory of the caller's.
  std::function<Result<std::vector<ConstTensorView>>(int64_t step)> feed = {};
};

// Holds models and runs them inside their plans.
//
//   PLIMSOLL_ASSIGN(const Model model, Model::Open("model.onnx"));
//   PLIMSOLL_ASSIGN(Session session, Session::Create({.threads = 4}));
//   PLIMSOLL_ASSIGN(const GraphId graph, session.Add(model));
//   PLIMSOLL_ASSIGN(std::vector<Tensor> inputs, session.MakeInputs(graph, {{"batch", {8}}}));
//   PLIMSOLL_ASSIGN(const PlanReport plan, session.Plan(graph, ConstViewsOf(inputs)));
//   PLIMSOLL_ASSIGN(std::vector<Tensor> outputs, session.Run(graph, inputs));
//
// Ids are never used again. An error in one graph leaves the others as they are, and no call
// throws. Thread-safe: graphs run side by side as far as graph_max_parallel_model_num says, and
// wait beyond it; runs of one graph wait for each other; where all graphs run in one memory
// (static_memory_policy 2 and 4) a second run is refused with session.busy. A graph that is
// unloaded while it runs goes when that run has ended.
class Session {
 public:
  // Fails with kind kUsage where an option is unknown or contradicts another, and as the device
  // does.
  static Result<Session> Create(const SessionOptions& options = {});
  // What these options and the environment amount to, as JSON: {"static_memory_policy": {"value":
  // "2", "origin": "program", ...}, ...}. Fails where Create would refuse the configuration.
  static Result<std::string> EffectiveConfigJson(const SessionOptions& options);
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  ~Session();

  // Adds a model. `variables` names the inputs that are variables of the session, and the outputs
  // that replace them; empty: in training, what the model's metadata `state` says, else none.
  Result<GraphId> Add(const Model& model, const std::vector<VariableName>& variables = {});
  // The graph's memory goes back to the device, or to the pool that other graphs take from.
  Status Unload(GraphId graph);

  // What the caller gives and gets; variables are not among them.
  Result<std::vector<PortInfo>> Inputs(GraphId graph) const;
  Result<std::vector<PortInfo>> Outputs(GraphId graph) const;
  // The batches of a graph whose nodes carry batch labels; empty for others.
  Result<std::vector<std::string>> Batches(GraphId graph) const;

  // Sizes by name: of an input ({"x", {1, 3, 224, 224}}) or of a symbol ({"batch", {8}}).
  using Shapes = std::map<std::string, std::vector<int64_t>>;
  // Tensors of zeros for all inputs, in their order. Fails (input.shape) where a size is still
  // open, (input.kind) where an input is no plain tensor.
  Result<std::vector<Tensor>> MakeInputs(GraphId graph, const Shapes& shapes = {}) const;
  // Tensors for all outputs of a run over inputs of these shapes. Fails with run.dynamic where
  // their sizes are known only after the run. Compiles as Plan does.
  // `batch`: as RunOptions::batch; outputs that other batches make are left empty.
  Result<std::vector<Tensor>> MakeOutputs(GraphId graph, std::span<const ConstTensorView> inputs,
                                          const std::string& batch = {});

  // Plans a run over inputs of these shapes, whose elements are not looked at, and compiles it
  // ahead of the first run with them. Takes no memory for feature maps.
  Result<PlanReport> Plan(GraphId graph, std::span<const ConstTensorView> inputs);
  // Where that plan has the buffers of the feature map. Fails with run.dynamic where there is none.
  Result<std::vector<PlacedBuffer>> PlacedBuffers(GraphId graph,
                                                  std::span<const ConstTensorView> inputs);
  // Takes the memory that such a run takes, and runs nothing. Fails with run.dynamic where only a
  // run tells how much that is.
  Status Reserve(GraphId graph, std::span<const ConstTensorView> inputs);

  // Runs into the caller's memory. Allocates nothing once a graph has met the shapes, save where
  // RunOptions::feed is given. Inputs are not written to, unless ge.exec.inputReuseMemIndexes lends
  // them to the plan. Fails with run.dynamic where sizes are known only after the run. For a graph
  // that updates variables this is a training step, or iterations_per_loop of them in a row: the
  // outputs are those of the last. Of a graph with batches one is run; outputs of the others are
  // not written, and their views may be left empty.
  Status Run(GraphId graph, std::span<const ConstTensorView> inputs,
             std::span<const TensorView> outputs, const RunOptions& options = {});
  // The same into tensors that are made for it, whose sizes only the run may tell. Fails
  // (run.output_kind) before it runs where an output is no tensor.
  Result<std::vector<Tensor>> Run(GraphId graph, const std::vector<Tensor>& inputs,
                                  const RunOptions& options = {});
  // The same for values of any kind. Outputs of other batches are absent.
  Result<std::vector<Value>> RunValues(GraphId graph, std::vector<Value> inputs,
                                       const RunOptions& options = {});
  // Of the last run inside a plan; empty before.
  Result<RunReport> LastRun(GraphId graph) const;

  // Memory of the caller's for a graph's feature map: how much a run over these inputs needs, and
  // where it lies from now on. A second place is refused (run.base) once the graph has run, unless
  // ge.featureBaseRefreshable says that it may change.
  Result<Bytes> FeatureMapSize(GraphId graph, std::span<const ConstTensorView> inputs);
  Status SetFeatureMapBase(GraphId graph, std::byte* base, Bytes size);

  // Opens a profiling window: from now on it is kept what runs do to memory and how long their
  // operators take, also of runs that have begun. Nothing changes where one is open. Fails with
  // profile.off in a session without SessionOptions::profiling and profiling_config; the latter
  // opens a window when the session is made.
  Status StartProfiling();
  // Closes the window and writes its files (docs/profiling.md) into `folder`; empty: where
  // profiling_options says, else the current one. A window that is open when the session goes is
  // written then. Fails with profile.closed where none is open, and with profile.write.
  Result<ProfilingFiles> StopProfiling(const std::string& folder = {});

  // Gives back to the device what no graph holds. Returns the bytes given back.
  Result<Bytes> Trim();
  SessionMemory memory() const;

  // Variables are shared by name among the session's graphs and stay when graphs are unloaded. They
  // begin as zeros, or as the constant that the model has for them.
  std::vector<VariableInfo> Variables() const;  // by name
  // From and to tensors of the variable's type and shape, without strides.
  Status SetVariable(const std::string& name, const ConstTensorView& from);
  Status GetVariable(const std::string& name, const TensorView& into) const;
  // All of them and the number of steps, in one file. A kill at any moment leaves the old file or
  // the new one; a restore that fails changes nothing.
  Status SaveVariables(const std::string& path) const;
  Status RestoreVariables(const std::string& path);
  int64_t steps() const;  // training steps that the variables have seen
  Result<UpdateReport> Updates(GraphId graph) const;

 private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace plimsoll
