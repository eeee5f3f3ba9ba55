#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// In a model that rounds floats to whole numbers a last bit decides what follows, so that functions
// and normalisations of float32 there take ONNX Runtime's steps: Gelu, Sigmoid and Swish get an
// attribute float_steps, and a LayerNormalization of a sum that ONNX Runtime takes in gets
// running_means. Nothing is counted.
FusionCounts TakeFloatSteps(graph::Graph& graph, const FusionSwitches& switches = {});

// Before constants are folded: products of which one factor is a number that ONNX Runtime works out
// in each run, since it depends on a size that the file leaves open, get float_steps, and do not
// become one with what takes them.
FusionCounts KeepOpenFactors(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
