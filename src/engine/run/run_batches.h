#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/run/ports.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The batches of a graph (plimsoll.batch_label), and which of them a run executes: the one that the
// caller names; else the one whose label is the run's sizes as gears write them
// ("batch=4,rows=128"); else the only one there is. Immutable; any thread may ask.
class RunBatches {
 public:
  RunBatches() = default;
  explicit RunBatches(const graph::Graph& graph);  // its labels have been spread

  const std::vector<std::string>& names() const { return names_; }

  // Empty for a graph without labels. Refuses (run.batch) a name that is no batch, and a run that
  // does not tell which of several batches it is.
  Result<std::string> Choose(const std::string& named, std::span<const TensorView> inputs) const;

 private:
  std::string SizesOf(std::span<const TensorView> inputs) const;

  std::vector<std::string> names_;
  std::vector<std::string> symbols_;
  std::vector<graph::ValueType> inputs_;
};

}  // namespace plimsoll::engine
