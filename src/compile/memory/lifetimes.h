#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/memory/reuse_rules.h"
#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/timeline.h"
#include "compile/passes/stable_values.h"
#include "compile/placement/target.h"
#include "graph/graph.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::compile {

struct LifetimeOptions {
  // The base of the feature map may change between runs (ge.featureBaseRefreshable). What must keep
  // its address then lives in a region of its own.
  bool feature_base_refreshable = false;
  // The session gives each run another feature map, so the same holds.
  bool feature_map_moves = false;
  // The graph will be compiled for no other shapes. Else each value that keeps its address has a
  // region of its own, which can grow without moving the others.
  bool one_shape = true;
  // One area for everything that must be zero before it is used, cleared at once (policy 0). Off:
  // each node clears its own just before it runs (policy 1), and the memory is reused freely.
  bool clear_together = true;
  ReuseOptions reuse;
  // What each node's kernel needs while it runs, by node; empty: nothing.
  std::vector<Bytes> workspaces;
  Target target;  // whose kernels these are
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
  // A region outside the feature map, with a base of its own: memory of another type, or of values
  // that keep their addresses while the feature map moves.
  struct SeparateRegion {
    plan::RegionId region;
    bool stable = false;  // its base never changes while the graph is loaded
    bool grows = false;   // other shapes may need more of it
    std::string key;      // tells it from the others of its type, whatever the shapes
  };
  std::vector<SeparateRegion> separate_regions;
  // An operand that lies in a group only for its node: what the node reads is copied there before
  // it runs, what it makes is copied from there after it.
  struct GroupCopy {
    graph::NodeId node;
    bool input = false;
    size_t index = 0;
    plan::BufferId buffer;
  };
  std::vector<GroupCopy> group_copies;  // in the order of the run
  // Memory of the caller's that the run may use for its own: a region per input or output.
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

// From a graph and an order to a problem: one buffer per storage (a group of them where pieces of
// it come to life at different times), in the region that its home and its node's attributes ask
// for. Fails (graph.continuous, graph.group) where operands cannot lie side by side as asked.
Result<PlannedBuffers> BuildProblem(const graph::Graph& graph, const JoinedStorages& joined,
                                    const Timeline& timeline, const StableValues& stable,
                                    const ReuseRules& rules, const std::vector<bool>& constant,
                                    const LifetimeOptions& options);

// Whether a storage takes no room in the feature map: the caller's memory stands for it, it is
// memory of another type, or its address must outlast the feature map's base.
bool IsNoNeedAssignMemory(const graph::Graph& graph, const StableValues& stable,
                          const JoinedStorage& storage, const LifetimeOptions& options);

// The region of this type, stability and key outside the feature map, made when first asked for.
plan::RegionId SeparateRegionFor(plan::MemoryType type, const PlannedBuffers::SeparateRegion& like,
                                 PlannedBuffers& planned);

// The life of memory that is needed during one step only.
plan::Use LifeAt(const Timeline& timeline, size_t step);

}  // namespace plimsoll::compile
