#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/run_once.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The kernels of nodes that run by themselves, the last one of each node: it serves again where the
// inputs have the types and sizes that they had, and those that the operator's host_inputs name the
// same elements. A node whose results have sizes that only elements tell is prepared in every run.
//
// Different nodes may run at the same time.
class KeptKernels {
 public:
  // Types and contents of values change in the graph, which outlives the object.
  explicit KeptKernels(graph::Graph& graph) : graph_(graph), kept_(graph.nodes.size()) {}

  // Runs a node over its inputs, whose types the graph has, and gives one tensor per output.
  // `as_view`: its output is input 0 under another shape, and is to have the same memory.
  // Fails as shape rules, kernels::PrepareNode and kernels do.
  Result<std::vector<kernels::HostTensor>> Run(graph::NodeId id, kernels::InputTensors inputs,
                                               const kernels::AllocateTensor& allocate,
                                               bool deterministic, bool as_view,
                                               const kernels::RunPrepared& run);
  int64_t prepared() const { return prepared_; }  // kernels so far

 private:
  struct Kept {
    std::optional<kernels::PreparedNode> node;
    // By input: the elements that the kernel's maker saw; none: it saw none, or of a constant.
    std::vector<std::vector<std::byte>> seen;
    bool follows_elements = false;  // prepared in every run
  };

  static bool Fits(const Kept& kept, kernels::InputTensors inputs, bool deterministic);
  Status Infer(graph::NodeId id, kernels::InputTensors inputs, graph::InputSet known);
  Result<std::optional<kernels::PreparedNode>> PrepareForSizes(graph::NodeId id,
                                                               kernels::InputTensors inputs,
                                                               bool deterministic);
  Result<kernels::PreparedNode> PrepareForElements(graph::NodeId id, kernels::InputTensors inputs,
                                                   bool deterministic);
  void Keep(graph::NodeId id, kernels::InputTensors inputs, kernels::PreparedNode node);

  graph::Graph& graph_;
  std::vector<Kept> kept_;  // by node
  std::mutex inferring_;    // shows elements in the graph for as long as it infers
  std::atomic<int64_t> prepared_ = 0;
};

}  // namespace plimsoll::engine
