#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/session_plan.h"

namespace plimsoll::cli {

// The graph that a run executes, node by node in its order: with what each is computed, how its
// tensors lie, what it makes and works in.
struct CompiledNode {
  graph::NodeId id;
  std::string kernel;       // "jit:avx2"; empty: nothing runs, as for a branch
  std::string layout;       // "plain", "blocked 8", "to blocked 8", from plain
  std::string weight_form;  // "packed", "plain"; empty: it reads no weights
  Bytes made;               // outputs
  Bytes workspace;
};
std::vector<CompiledNode> CompiledNodes(const engine::Executable& executable);

std::string CompiledText(const SessionPlan::Model& model, const std::string& file,
                         size_t nodes_before);
// {"models": [one]}
Json CompiledJson(const SessionPlan::Model& model, const std::string& file, size_t nodes_before);

}  // namespace plimsoll::cli
