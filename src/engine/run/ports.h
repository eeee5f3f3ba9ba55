#pragma once

#include <string>

#include "graph/graph.h"
#include "plimsoll/base/tensor.h"

namespace plimsoll::engine {

struct Port {
  std::string name;
  graph::ValueType type;   // as declared; symbols where the size is the caller's choice
  std::string batch = {};  // of an output: the batch that makes it; empty: every run does
};

// Whether a run of the batch makes the output.
inline bool Makes(const std::string& batch, const Port& output) {
  return output.batch.empty() || output.batch == batch;
}

}  // namespace plimsoll::engine
