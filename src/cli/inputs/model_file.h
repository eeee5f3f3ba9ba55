#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cache/compiled_file.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// The file behind the name of a model: itself, or for "-" what standard input holds, which is read
// once and kept, as models may be opened several times.
Result<std::string> FileOfModel(const std::string& name);

// The graph of an ONNX file; "-": of standard input.
Result<graph::Graph> ReadModelGraph(const std::string& name);

// A model as a command is given it: an ONNX file, or one that plimsoll compile wrote.
struct ModelFile {
  graph::Graph graph;
  std::shared_ptr<const engine::CompiledFile> compiled;  // null: an ONNX file

  // Those of the command line, or else those that it was compiled for.
  const std::vector<std::string>& ShapesOr(const std::vector<std::string>& given) const {
    return given.empty() && compiled != nullptr ? compiled->shapes() : given;
  }
};
Result<ModelFile> ReadModelFile(const std::string& name);

}  // namespace plimsoll::cli
