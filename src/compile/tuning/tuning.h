#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

struct CompiledModel;

// What tuning found for one operator, or for one graph as a whole.
struct TunedChoice {
  std::string signature;  // equal for what would be compiled alike
  std::string what;       // a few words for readers
  std::string choice;  // kernels::Alternatives or a variant of the graph; empty: as without tuning
  double gain = 1;     // how many times as fast as without tuning
};

// Where results of tuning stay. Thread-safe.
class TuningStore {
 public:
  virtual ~TuningStore() = default;
  // The choice for that signature; nothing where it has not been tuned.
  virtual std::optional<std::string> Find(const std::string& signature) = 0;
  virtual void Keep(const std::vector<TunedChoice>& choices) = 0;
};

// Something that can be run again and again to see how long it takes.
struct Candidate {
  std::string name;
  std::function<Status()> run;
};

// Gives for each candidate the time of a run, in any unit. The first is what would be taken without
// tuning.
using Stopwatch = std::function<Result<std::vector<double>>(std::span<const Candidate> candidates)>;

// A compiled model with memory for a run of its own, over inputs that are always the same.
struct RunnableModel {
  std::function<Status()> run;
  std::vector<kernels::HostTensor> outputs;  // what a run writes
};
using MakeRunnable = std::function<Result<RunnableModel>(CompiledModel model,
                                                         std::shared_ptr<const void> constants)>;

// Choices by measurement, and those of earlier compilations. Results differ by rounding at most
// from what they are without; with deterministic kernels they do not differ at all.
struct TuningOptions {
  std::shared_ptr<TuningStore> store;  // null: nothing is tuned, and no earlier result is used
  bool subgraphs = false;              // aoe_mode 1: the graph as a whole is measured
  bool operators = false;              // aoe_mode 2: operators are measured one by one
  // Nodes to tune, of the compiled graph, and types of operators; both empty: all.
  std::vector<std::string> names;
  std::vector<std::string> types;
  // tune_optimization_level O1: may take the memory that plain lives would take, and measures
  // longer. O2 never takes more than without tuning.
  bool high_performance = false;
  bool deeper = false;         // feature deeper_opat: every alternative of an operator
  bool uneven_split = false;   // feature nonhomo_split: graphs without slices, too
  Stopwatch stopwatch;         // none: StopwatchFor
  MakeRunnable make_runnable;  // for `subgraphs`
};

// Whether the lists select the node: by its whole name, by its type, or by a type that was fused
// into it.
bool IsSelected(const TuningOptions& options, const graph::Graph& graph, graph::NodeId id);

// The types of standard operators that a node does the work of, its own included.
std::vector<std::string> TypesIn(const graph::Node& node);

// Everything of a node, or of a graph for one set of shapes, that decides how fast kernels are,
// elements of constants aside.
std::string SignatureOf(const graph::Graph& graph, graph::NodeId id);
std::string SignatureOf(const graph::Graph& graph);

// Candidates in turns, a bounded number of rounds; the shortest time of each.
Stopwatch StopwatchFor(bool longer);

// Whether results of two ways of computing the same are the same, up to the tolerance of the
// standard's tests; `exactly`: to the bit.
bool Agree(const kernels::HostTensor& got, const kernels::HostTensor& expected, bool exactly);

// The candidate that is faster than the first by more than 3 %, measured twice; 0 where none is.
Result<size_t> ClearlyFastest(const Stopwatch& stopwatch, const std::vector<Candidate>& candidates,
                              double* gain);

}  // namespace plimsoll::compile
