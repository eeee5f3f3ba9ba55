#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Loop, and Scan from version 9: one body that runs again and again.
bool IsLoop(const graph::Node& node);

// Whether what is in this body runs several times in one run of the model.
bool RunsRepeatedly(const graph::Graph& graph, graph::SubgraphId body);

// A value that each iteration hands to the next.
struct CarriedValue {
  graph::ValueId initial;  // that the node reads
  graph::ValueId input;    // of the body
  graph::ValueId result;   // of the body: the next iteration's input
  graph::ValueId output;   // of the node; not valid where nobody wants it
};

// A tensor of which each iteration reads or writes one slice.
struct WalkedValue {
  graph::ValueId whole;  // of the node; not valid where nobody wants it
  graph::ValueId slice;  // of the body
  int64_t axis = 0;      // of `whole`
  bool backward = false;
};

// What a node with IsLoop hands to its body and takes from it.
struct LoopParts {
  graph::SubgraphId body;
  std::vector<CarriedValue> carried;
  std::vector<WalkedValue> read;       // slice by slice
  std::vector<WalkedValue> collected;  // slices of the node's outputs
  // Of Loop, each of them perhaps not valid.
  graph::ValueId trips;      // how often it runs at most
  graph::ValueId condition;  // whether it runs at all
  graph::ValueId number;     // the body's: of the iteration
  graph::ValueId running;    // the body's: true
  graph::ValueId goes_on;    // that the body makes; not valid where it is always true
  // Of Scan: how often the body runs; nothing where only a run tells.
  std::optional<int64_t> length;
};

// Shapes must have been inferred.
LoopParts PartsOfLoop(const graph::Graph& graph, graph::NodeId node);

// How a slice lies in its whole: `blocks` runs of `block` bytes, one behind the other in the slice
// and `stride` bytes apart in the whole, which begin `step` bytes further for the next slice.
struct SliceLayout {
  int64_t blocks = 0;
  Bytes block;
  Bytes stride;
  int64_t length = 0;  // slices of the whole
};
SliceLayout LayoutOf(const graph::Graph& graph, const WalkedValue& walked);

// Why the node cannot run inside a plan although all shapes are known; nothing where it can.
std::optional<std::string> WhyNotInPlan(const graph::Graph& graph, graph::NodeId node);

// Gives each carried result a value of its own where it is the input of another carried value, so
// that handing them on one after the other loses none. Ids stay valid.
void SeparateCarried(graph::Graph& graph);

}  // namespace plimsoll::compile
