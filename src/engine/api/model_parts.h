#pragma once

#include "engine/cache/compiled_file.h"
#include "graph/graph.h"
#include "plimsoll/engine/model.h"

namespace plimsoll {

// What a Model shares among its copies.
struct Model::Parts {
  graph::Graph graph;
  std::shared_ptr<const engine::CompiledFile> compiled;  // null: it comes from an ONNX file
  ModelInfo info;
};

// A value of a graph as callers see it.
PortInfo MakePortInfo(std::string name, const graph::ValueType& type, std::string batch = {});

}  // namespace plimsoll
