#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/passes/pass.h"
#include "compile/placement/place_nodes.h"
#include "compile/plan_model.h"
#include "compile/side_by_side.h"
#include "compile/tuning/tuning.h"
#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

class KeptTrades;
class SimilarSizes;

// The form in which kernels read constants that they could pack.
enum class WeightForms {
  kPacked,   // packed: fastest
  kSmaller,  // packed or plain, whichever holds fewer bytes, a plain one's workspace included
  kPlain,    // as they are
};

struct CompileOptions {
  PlanOptions plan;
  bool optimise = true;                  // off: the graph runs as it is, node by node
  FusionSwitches switches;               // patterns that passes look for
  FusionCounts found_before;             // by passes over this graph when it was loaded
  bool separate_host_operators = false;  // on a stream of their own, where they are independent
  // Where packed constants go; null: kernels read constants as they are.
  kernels::PackedWeights* packed_weights = nullptr;
  WeightForms weight_forms = WeightForms::kPacked;
  // Packed constants may take a little more memory where that saves much time (trades.h). Never
  // where memory comes first.
  bool trades_memory = true;
  KeptTrades* kept_trades = nullptr;  // of a graph that is compiled for several shapes
  SimilarSizes* similar = nullptr;    // likewise; null: each is searched for by itself
  int threads = 1;                    // that kernels are prepared for
  bool deterministic = false;         // kernels::KernelSite::deterministic
  bool sizes_vary = false;            // kernels::KernelSite::sizes_vary
  // Told of the graph when its constants are those that kernels will read, before any does; may
  // change where they lie.
  std::function<Status(graph::Graph& graph)> hold_constants;
  // What plain lives take in the file's order: the peak is kept from being above it. Nothing: not
  // known, and the fastest kernels are taken.
  std::optional<Bytes> plain_peak;
  TuningOptions tuning;
};

// A model that is ready to run inside a plan: every node that runs has its kernel, every byte its
// place. Plain data.
struct CompiledModel {
  graph::Graph graph;
  std::vector<kernels::KernelPointer> kernels;  // by node; null where nothing runs
  // By node: bit i is set where the kernel packed its constant input i and reads the plain form no
  // more.
  std::vector<uint64_t> packed_inputs;
  PlannedModel planned;
  std::vector<SideBySide> side_by_side;  // by step
  HostTransfers transfers;               // between the device and the host, inside a run
  PlanOptions plan_options;   // by which it was planned: kernels' workspaces are among them
  FusionCounts fusion;        // what passes found, from loading on
  Bytes input_fusion_size;    // as PlanOptions has it
  bool keeps_halves = false;  // made of the graph in halves that CompileModel was given
  int threads = 1;            // that a kernel may use when it runs, at most
};

// Compiles a graph that is plannable (plannable.h) for the device options.plan.lifetimes.target.
// Fails where an operator has no kernel (kUnsupported), where constants are missing, or where a
// kernel refuses its site.
//
// `halves` is the graph without the pass WidenHalves, where that has changed it: what is compiled
// where the peak would be above the plain one with float32 between nodes, and is lower with halves.
Result<CompiledModel> CompileModel(graph::Graph graph, const CompileOptions& options,
                                   std::optional<graph::Graph> halves = std::nullopt);

}  // namespace plimsoll::compile
