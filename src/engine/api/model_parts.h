#pragma once

#include "graph/graph.h"
#include "plimsoll/engine/model.h"

namespace plimsoll {

// What a Model shares among its copies.
struct Model::Parts {
  graph::Graph graph;
  ModelInfo info;
};

// A value of a graph as callers see it.
PortInfo MakePortInfo(std::string name, const graph::ValueType& type, std::string batch = {});

}  // namespace plimsoll
