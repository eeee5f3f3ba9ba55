#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/loaded_graph.h"
#include "engine/run/run_options.h"
#include "engine/run/run_record.h"
#include "engine/variables/variable_ports.h"
#include "engine/variables/variables.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"
#include "plimsoll/engine/reports.h"

namespace plimsoll::engine {

using plimsoll::UpdateReport;

// A graph of a session whose inputs are in part variables: the caller gives the other inputs and
// gets the outputs that replace no variable. A run of a graph that updates variables is a training
// step, `steps` of them in a row.
//
// Thread-safe; runs of one graph wait for each other. A step that fails or is cancelled before its
// first variable is written leaves all as they were; one that fails behind that says so
// (variables.half_applied), and see Variables. Node by node, and where every new value is copied,
// variables change only once the step has succeeded.
class GraphVariables {
 public:
  // What loading must know of the graph's variables: what to update, which sizes stay, and that
  // options which count inputs and outputs count the caller's. A step's tasks run in one order, so
  // host operators are not put on a stream of their own. Fails (config.index) where an option names
  // an input or output that the caller does not see.
  static Status Prepare(const graph::Graph& graph, const std::vector<VariablePort>& ports,
                        LoadOptions& load);
  // Declares the variables. `graph` was loaded with prepared options; `variables` outlives this.
  static Result<std::unique_ptr<GraphVariables>> Bind(std::shared_ptr<LoadedGraph> graph,
                                                      std::vector<VariablePort> ports,
                                                      Variables& variables);

  // What the caller gives and gets.
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  Result<std::shared_ptr<const Executable>> Compile(std::span<const TensorView> inputs,
                                                    std::string* reason);
  Result<std::string> BatchFor(std::span<const TensorView> inputs, const std::string& named);
  Result<Bytes> FeatureMapSize(std::span<const TensorView> inputs);
  Status Reserve(std::span<const TensorView> inputs);
  Status Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const RunOptions& options, int64_t steps);
  Result<std::vector<kernels::HostValue>> RunValues(std::vector<kernels::HostValue> inputs,
                                                    const RunOptions& options, int64_t steps);

  UpdateReport report() const;                      // for the shapes that were met last
  RunRecord SeenOf(const RunRecord& record) const;  // of the caller's inputs and outputs alone

 private:
  struct Bound {
    VariablePort port;
    const Variable* variable = nullptr;
  };

  GraphVariables(std::shared_ptr<LoadedGraph> graph, Variables& variables)
      : graph_(std::move(graph)), variables_(variables) {}
  Status CheckCount(size_t given, const std::vector<Port>& ports, const char* what) const;
  void Fill(std::span<const TensorView> inputs, std::span<const TensorView> outputs);
  Status RunSteps(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                  const RunOptions& options, int64_t steps);
  Result<std::vector<kernels::HostValue>> RunNodeByNode(
      const std::vector<kernels::HostValue>& inputs, const RunOptions& options, int64_t steps);
  Status Detach(kernels::HostValue& value) const;
  Status Assign(const std::vector<kernels::HostValue>& outputs, bool& half_applied);
  Status Failed(const Error& error, int64_t step, int64_t steps, bool half_applied);

  const std::shared_ptr<LoadedGraph> graph_;
  Variables& variables_;
  std::mutex mutex_;
  bool updates_ = false;
  std::vector<Bound> bound_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<size_t> given_;        // by input of the caller's: its place in the graph
  std::vector<size_t> wanted_;       // by output of the caller's
  std::vector<TensorView> read_;     // of the run that goes on, by input of the graph
  std::vector<TensorView> written_;  // by output of the graph
};

}  // namespace plimsoll::engine
