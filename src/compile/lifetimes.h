#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/blocks.h"
#include "compile/reuse_rules.h"
#include "compile/timeline.h"
#include "graph/graph.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::compile {

struct LifetimeOptions {
  // The base of the feature map may change between runs (ge.featureBaseRefreshable). What must keep
  // its address then lives in a region of its own.
  bool feature_base_refreshable = false;
  // One area for everything that must be zero before it is used, cleared at once (policy 0). Off:
  // each node clears its own just before it runs (policy 1), and the memory is reused freely.
  bool clear_together = true;
  ReuseOptions reuse;
  // What each node's kernel needs while it runs, by node; empty: nothing.
  std::vector<Bytes> workspaces;
};

// A problem for plan/, and how to find the graph again in it.
struct PlannedBuffers {
  plan::Problem problem;
  std::vector<plan::BufferId> buffer_of;     // by value; where it starts is offset_in_buffer
  std::vector<Bytes> offset_in_buffer;       // by value
  std::vector<plan::BufferId> workspace_of;  // by node; not valid where it needs none
  plan::RegionId feature_map;
  plan::RegionId zero_copy;
  plan::RegionId weights;
  plan::RegionId p2p;  // not valid where nothing asks for it; likewise below
  plan::RegionId host;
  plan::RegionId fixed;  // immutable addresses beside a feature map whose base moves
  // Memory of the caller's that the run may use for its own: a region an input or output.
  struct Lent {
    plan::RegionId region;
    Home home = Home::kInput;
    int port = 0;
  };
  std::vector<Lent> lent;
  struct Note {
    std::string value;
    std::string text;
  };
  std::vector<Note> notes;  // why an input or output is copied, and the like
};

// From a graph and an order to a problem: one buffer a block (a group of them where pieces of it
// come to life at different times), in the region that its home and its node's attributes ask for.
PlannedBuffers BuildProblem(const graph::Graph& graph, const Blocks& blocks,
                            const Timeline& timeline, const std::vector<bool>& constant,
                            const LifetimeOptions& options);

// Whether a block takes no room in the feature map: the caller's memory stands for it, or its
// address must outlast the feature map's base.
bool IsNoNeedAssignMemory(const graph::Graph& graph, const Block& block,
                          const LifetimeOptions& options);

}  // namespace plimsoll::compile
