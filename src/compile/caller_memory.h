#pragma once

#include <vector>

#include "compile/blocks.h"
#include "compile/reuse_rules.h"
#include "compile/timeline.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// A block of ours that lies in memory of the caller's, at a time when that holds nothing: in an
// input that was read for the last time, or in an output that is yet to be written.
struct LentPlace {
  int32_t block = -1;
  Home home = Home::kInput;
  int port = 0;  // number of the input or output
  Bytes offset;
};

// Finds such places, largest blocks first, each where it first fits; an operator that may work in
// place may write over the input that it reads last. Only for the inputs and outputs that `options`
// lists and that are used without a copy, and for runs on one stream.
std::vector<LentPlace> LendCallerMemory(const graph::Graph& graph, const Blocks& blocks,
                                        const Timeline& timeline, const ReuseOptions& options,
                                        const ReuseRules& rules);

}  // namespace plimsoll::compile
