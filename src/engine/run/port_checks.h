#pragma once

#include <string>
#include <vector>

#include "engine/run/ports.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

// What a caller gives to a run, held against what the graph declares.
namespace plimsoll::engine {

std::vector<Port> PortsOf(const graph::Graph& graph, const std::vector<graph::ValueId>& values);
std::string PortList(const std::vector<Port>& ports);  // "x float32[1,3], y int64[]"

// "the run was refused", of kind kUsage.
Error BadArgument(std::string code, std::string where, std::string why, std::string remedy);

enum class Memory { kNeeded, kNotLookedAt };

// The first thing wrong with a tensor that stands for a port (`what` is "input" or "output"):
// run.kind, run.type, run.shape, run.memory or run.strides. Allocates only to say so.
Status CheckPort(const std::string& name, const graph::ValueType& type, const char* what,
                 const TensorView& tensor, Memory memory = Memory::kNeeded);

// Tensors and sequences must be what the model declares; an optional may be given as its element.
Status CheckKind(const Port& port, const kernels::HostValue& value);

}  // namespace plimsoll::engine
