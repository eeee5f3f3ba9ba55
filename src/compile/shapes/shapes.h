#pragma once

#include <string>
#include <vector>

#include "compile/shapes/input_shapes.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// Works out type, shape and, for shape arithmetic, content of every value from the types of the
// root's inputs (GiveInputShapes) and the operators' rows. What the file declares is not looked at,
// except for outputs of operators that have no row: those take what is declared.
//
// A branch of an `If` whose shapes cannot be is emptied (Subgraph::dropped): what the other one
// gives is what the node gives, and taking it fails.
//
// Fails (graph.shape, kind kBadFile) on other shapes that cannot be, sizes that overflow, and
// bodies nested so that inferring them would take for ever. Time is near-linear in the number of
// nodes.
Status InferShapes(graph::Graph& graph);

// The same for one node, from what its inputs are now.
Status InferNode(graph::Graph& graph, graph::NodeId node);

// How the computed types compare with what the file declares.
struct DeclaredCheck {
  struct Mismatch {
    std::string value;
    std::string declared;
    std::string computed;
    std::string node;
  };
  int checked = 0;       // computed by a rule, declared by the file, and compared
  int undetermined = 0;  // the file names a number where only data can tell us one
  std::vector<Mismatch> mismatches;
};

DeclaredCheck CheckDeclared(const graph::Graph& graph, const Bindings& bindings);

}  // namespace plimsoll::compile
