#pragma once

#include <cstdint>
#include <shared_mutex>
#include <span>
#include <vector>

#include "engine/graph/load_options.h"
#include "engine/run/executable.h"
#include "engine/run/ports.h"
#include "engine/run/run_record.h"
#include "engine/variables/variable_ports.h"
#include "engine/variables/variables.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"
#include "plimsoll/engine/reports.h"

namespace plimsoll::engine {

using plimsoll::UpdateReport;

// The variables of one graph, which may be none: inputs of the graph that the caller does not give,
// and outputs that replace them, which the caller does not get. Leads from the caller's tensors to
// the graph's and back.
//
// Not thread-safe but for what is const. Runs hold a Lock while they touch variables.
class GraphVariables {
 public:
  // What loading must know of the graph's variables: what to update, which sizes stay, and that
  // options which count inputs and outputs count the caller's. A step's tasks run in one order, so
  // host operators are not put on a stream of their own. Fails (config.index) where an option names
  // an input or output that the caller does not see.
  static Status Prepare(const graph::Graph& graph, const std::vector<VariablePort>& ports,
                        LoadOptions& load);
  // Declares the variables among these inputs and outputs of a graph that was loaded with prepared
  // options. `variables` outlives this; it may be null where there are no ports.
  static Result<GraphVariables> Bind(const std::vector<Port>& inputs,
                                     const std::vector<Port>& outputs,
                                     std::vector<VariablePort> ports, Variables* variables);

  // What the caller gives and gets.
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  Status CheckInputCount(size_t given) const;
  Status CheckOutputCount(size_t given) const;
  bool updates() const { return updates_; }  // a run replaces one at least

  // The caller's tensors and the variables, in the graph's order; good until the next call. Without
  // variables these are the caller's own. Allocates nothing once it was called with such tensors.
  std::span<const TensorView> AllInputs(std::span<const TensorView> given);
  std::span<const TensorView> AllOutputs(std::span<const TensorView> given);
  // Variables that grow have, among outputs that are asked for next, the sizes of the compiled
  // graph's. Fails (variables.capacity) where one has no room for that.
  Status MakeRoom(const graph::Graph& compiled);
  void TakeNewSizes() const;  // after a run that wrote them
  std::vector<TensorView> CopyOfAllInputs(std::span<const TensorView> given) const;

  // What a run holds: alone with the variables where it updates some, next to other readers where
  // it only reads, nothing where there are none.
  struct Lock {
    std::shared_lock<std::shared_mutex> reading;
    std::unique_lock<std::shared_mutex> writing;
  };
  Result<Lock> LockForRun() const;  // fails (variables.half_applied) as Variables::CheckWhole

  // Under that lock. The caller's values and the variables as they are; then the graph's outputs:
  // variables get their new values, and the caller's are given back, of which none is a variable's
  // own memory. Where assigning fails, `half_applied` says whether it had begun.
  Result<std::vector<kernels::HostValue>> AllValues(std::vector<kernels::HostValue> given) const;
  Result<std::vector<kernels::HostValue>> Assign(std::vector<kernels::HostValue> outputs,
                                                 bool& half_applied) const;
  void CountStep() const;  // of a run that updates
  // The error of step `step` of `steps`; notes what a half applied step may have written.
  Error Failed(const Error& error, int64_t step, int64_t steps, bool half_applied) const;

  // How variables get their new values; null: node by node.
  UpdateReport ReportOf(const Executable* executable) const;
  RunRecord SeenOf(RunRecord record) const;  // of the caller's inputs and outputs alone

 private:
  struct Bound {
    VariablePort port;
    const Variable* variable = nullptr;
  };

  GraphVariables() = default;
  Status CheckRoom(const Variable& variable, const kernels::Dims& dims) const;
  Status CheckCount(size_t given, const std::vector<Port>& ports, const char* what) const;
  Status Detach(kernels::HostValue& value) const;

  Variables* variables_ = nullptr;
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
