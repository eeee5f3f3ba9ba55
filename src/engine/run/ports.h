#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "kernels/kernel.h"

namespace plimsoll::engine {

// A tensor of the caller's: where its elements lie, and how.
struct Tensor {
  graph::DataType type = graph::DataType::kUndefined;
  kernels::Dims dims;
  void* data = nullptr;
  std::optional<kernels::Dims> strides = {};  // in elements; none: row-major without gaps
  // `data` is an address of the session's device, whose memory the host may not reach.
  bool on_device = false;
};

struct Port {
  std::string name;
  graph::ValueType type;   // as declared; symbols where the size is the caller's choice
  std::string batch = {};  // of an output: the batch that makes it; empty: every run does
};

}  // namespace plimsoll::engine
