#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// How computed output types compare with stored outputs (the standard's test_data_set folders).
struct TestDataCheck {
  int checked = 0;
  int undetermined = 0;  // a dimension that only data tells; all else agrees
  std::vector<std::string> mismatches;
};

// Gives the root's inputs the types, shapes and small contents of input_0.pb, input_1.pb, ...
Status GiveStoredInputs(graph::Graph& graph, const std::filesystem::path& folder);

// Compares the root's outputs with output_0.pb, ...
Result<TestDataCheck> CompareStoredOutputs(const graph::Graph& graph,
                                           const std::filesystem::path& folder);

}  // namespace plimsoll::cli
