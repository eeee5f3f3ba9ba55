#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/bodies/cut_stretch.h"
#include "engine/node_by_node/stretch_parts.h"
#include "engine/run/executable.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What ran how in the last run of a graph that cannot be planned as a whole.
struct StretchCounts {
  int64_t stretches = 0;  // that ran inside plans of their own, each as often as it ran
  int64_t planned_nodes = 0;
  int64_t single_nodes = 0;         // that ran by themselves, likewise
  int64_t prepared_nodes = 0;       // of these: those whose kernels were made in this run
  std::vector<std::string> single;  // these nodes, each once, in the order of the run
};

// The parts of a graph's bodies between nodes whose sizes only data tells, each compiled for the
// sizes of what it reads and kept by these: a bounded number for each place in a body, of which the
// longest unused goes first. Sizes that follow from what data tells are compiled when they come for
// the second time, so that sizes which never come again cost no compilation.
//
// Where sizes follow from elements of a small tensor that a part reads (the limit of a Range, the
// shape of an Expand), these elements are assumed to come again, as sizes are: a part is kept by
// them too, and goes on past such a node. Of a tensor whose elements turn out to change, no more
// are assumed at that place.
//
// Runs of one object come one after the other.
class Stretches {
 public:
  // Compiles a graph whose shapes are known, to run on the host.
  using Compile = std::function<Result<std::shared_ptr<const Executable>>(graph::Graph graph)>;
  Stretches(Compile compile, size_t kept) : compile_(std::move(compile)), kept_(kept) {}

  using Part = StretchPart;
  // What comes next.
  struct Found {
    Part* part = nullptr;  // that can run; null: nodes run by themselves,
    size_t end = 0;        // up to this one
  };
  // What begins with node `first` of the body, for values as they are now. `graph` has the types of
  // all values that have been made; those of others may change.
  Result<Found> Find(graph::Graph& graph, graph::SubgraphId body, size_t first,
                     const std::vector<kernels::HostValue>& values);

  // Runs the part over these values, and gives what it makes, in the order of its outputs.
  Result<std::vector<kernels::HostTensor>> Run(Part& part,
                                               const std::vector<kernels::HostValue>& values,
                                               const kernels::AllocateTensor& allocate,
                                               const std::atomic<bool>* cancelled);
  void EndRun() { arena_ = {}; }  // gives back what parts worked in

  void AddTo(HeldWeights& weights) const;

 private:
  // A place in a body.
  struct Place {
    StretchParts parts;
    int64_t misses = 0;  // in a row: sizes that were not known
    int64_t hits = 0;
    // By value: how often its elements were others than those of the part used last, which had the
    // same sizes; less what hits have paid for.
    std::map<graph::ValueId, int64_t> changes;

    static constexpr int64_t kFewChanges = 4;  // of a value that is assumed all the same
    bool Assumes(graph::ValueId value) const;
    void CountHit();
    void CountChanges(const std::vector<kernels::HostValue>& values);
  };

  static Found FoundAt(Part& part);
  size_t MostKept(const graph::Graph& graph, graph::SubgraphId body) const;  // parts of a place
  static Result<Part> MakePart(graph::Graph& graph, const Place& place, graph::SubgraphId body,
                               size_t first, const std::vector<kernels::HostValue>& values);
  Status TakeArena(Bytes size, const kernels::AllocateTensor& allocate);
  void CompilePart(const graph::Graph& graph, Part& part) const;

  const Compile compile_;
  const size_t kept_;
  std::map<std::pair<size_t, size_t>, Place> places_;  // by body and first node
  kernels::HostTensor arena_;                          // of the run that goes on
};

}  // namespace plimsoll::engine
