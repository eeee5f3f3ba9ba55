#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/answer.h"
#include "cli/inputs/test_data.h"
#include "compile/shapes/shapes.h"
#include "graph/dims/open_dimensions.h"
#include "graph/graph.h"

namespace plimsoll::cli {

// What `plimsoll inspect` knows of a model, as plain data: gathered once, written as text or JSON.
struct ModelReport {
  struct Port {
    std::string name;
    std::string type;
    std::optional<Bytes> bytes;  // where every dimension is a number
  };
  struct Weights {
    std::string type;
    int tensors = 0;
    Bytes bytes;
  };
  struct Operator {
    std::string name;
    int count = 0;
    int64_t parameters = 0;  // elements of the constants that its nodes are the first to read
    // Additions and multiplications of one run, of products, convolutions and attention; a body is
    // counted once.
    int64_t operations = 0;
    int uncounted = 0;  // nodes that have such operations, of sizes that are not known
  };
  struct Unsupported {
    std::string name;  // of the operator
    std::string node;  // the first that needs it
    int count = 0;
    std::string nearest;  // a supported operator with a similar name; may be empty
  };

  std::string file;
  int ir_version = 0;
  std::string producer;
  std::vector<std::pair<std::string, int>> opsets;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  graph::OpenDimensions open;
  int nodes = 0;  // bodies included
  int bodies = 0;
  std::vector<Operator> operators;  // most frequent first
  std::vector<Weights> weights;     // by type, largest first
  Bytes weight_bytes;
  int missing_tensors = 0;
  std::vector<std::string> missing_files;
  std::vector<Port> largest_values;  // of what nodes make; at most five
  std::vector<std::pair<std::string, std::string>> memory_attributes;  // node, what it asks for
  std::vector<Unsupported> unsupported;
  compile::DeclaredCheck declared;
  std::optional<TestDataCheck> test_data;
};

ModelReport MakeReport(const graph::Graph& graph, std::string file,
                       const compile::Bindings& bindings);

std::string ReportText(const ModelReport& report, bool color);
// {"models": [one]}
Json ReportJson(const ModelReport& report);

}  // namespace plimsoll::cli
