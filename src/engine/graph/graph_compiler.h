#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/similar_sizes.h"
#include "compile/trades.h"
#include "engine/graph/input_ranges.h"
#include "engine/graph/load_options.h"
#include "engine/graph/plain_graph.h"
#include "engine/graph/shape_cache.h"
#include "engine/run/executable.h"
#include "engine/transfer/device_side.h"
#include "engine/weights/packed_store.h"
#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Makes a graph ready to be loaded as the options ask: sizes of inputs opened, shapes inferred,
// batch labels and streams spread. Gives what sizes its inputs may have.
Result<InputRanges> PrepareGraph(graph::Graph& graph, const LoadOptions& options);

// Compiles one graph for each set of input shapes that it meets. The graph is simplified once; its
// constants are packed once for all sets. Not thread-safe.
class GraphCompiler {
 public:
  struct Options {
    LoadOptions load;
    InputRanges ranges;            // of PrepareGraph
    bool takes_one_shape = false;  // every input's size is fixed
    bool sizes_vary = false;       // more than those of batches
    bool feature_map_moves = false;
    DeviceSide side;
  };
  // `graph` has been prepared.
  static Result<std::unique_ptr<GraphCompiler>> Make(graph::Graph graph, Options options,
                                                     std::shared_ptr<SessionWeights> weights);

  // An entry without an executable, and with a reason, where the shapes cannot be planned. A graph
  // that takes one shape hands its constants to that one plan: where it cannot be made, every later
  // call fails with the same error.
  Result<ShapeCache::Entry> Compile(std::vector<kernels::Dims> dims);
  // A part of the graph, for the host, by the same options and with the same packed constants.
  Result<std::shared_ptr<const Executable>> CompileStretch(graph::Graph graph);
  // Compiles all gears of the graph to share one arena; none where it has no gears. To be called
  // before Compile.
  Result<std::vector<ShapeCache::Entry>> CompileGears();

  // Simplified; shapes as far as they hold for every run. Of a graph that takes one shape nothing
  // is left once that can be planned. Who has it may keep it: it stays what it is now.
  const graph::Graph& graph() {
    halves_.reset();
    return graph_;
  }
  PackedStore& constants() { return packed_; }
  const PackedStore& constants() const { return packed_; }

 private:
  GraphCompiler(graph::Graph graph, Options options, std::shared_ptr<SessionWeights> weights);
  Status SimplifyGraph();
  Status HoldConstants(graph::Graph& graph);
  compile::CompileOptions OptionsOfParts() const;
  Status KeepHalves();
  Result<graph::Graph> GraphFor(const std::vector<kernels::Dims>& dims) const;
  Result<compile::CompiledModel> CompileGraph(graph::Graph graph,
                                              const std::vector<kernels::Dims>& dims,
                                              const std::string& gear = {});
  Result<std::shared_ptr<const Executable>> Build(compile::CompiledModel model);

  Options options_;
  std::optional<PlainGraph> plain_;
  graph::Graph graph_;
  // Before it was simplified, where nodes over halves then work on float32: until the first shapes
  // have decided between the two.
  std::optional<graph::Graph> halves_;
  compile::FusionCounts found_;  // by passes when the graph was simplified
  PackedStore packed_;
  std::vector<std::shared_ptr<const void>> assumed_;  // addresses of constants that are missing
  std::optional<Error> failure_;                      // of compiling the one shape
  compile::KeptTrades kept_trades_;
  compile::SimilarSizes similar_;
  bool gave_back_code_ = false;  // that compiling used
  int64_t compiled_ = 0;
};

}  // namespace plimsoll::engine
