#pragma once

#include <optional>

#include "graph/graph.h"
#include "kernels/host_value.h"

namespace plimsoll::compile {

// What shape inference knows of a value as a tensor of int64, int32, bool, float32 or float64;
// nothing where it does not know every element. Inside a loop's body that may be true of one
// iteration only.
std::optional<kernels::HostTensor> KnownTensor(const graph::Value& value);

}  // namespace plimsoll::compile
