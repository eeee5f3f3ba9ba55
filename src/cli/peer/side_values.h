#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Who computes: our engine as it runs models, our engine node by node without passes, or ONNX
// Runtime without optimisations.
enum class ComparedEngine { kPlimsoll, kPlain, kOrt };
std::string_view Name(ComparedEngine engine);

// What one side of a comparison made, in order of execution.
struct SideValues {
  struct Value {
    std::string name;
    std::string node;  // that made it, as errors call it
    kernels::HostTensor tensor;
    bool output = false;  // of the model
  };
  std::string name;  // "plain", "ort 1.18.0", "other.onnx, plain"
  std::vector<Value> values;

  const Value* Find(std::string_view value) const;
};

// One side and what it is run over.
struct ComparedModel {
  std::filesystem::path file;
  graph::Graph graph;
  std::vector<kernels::HostValue> inputs;
  std::string batch;
};

// Every value that a node of the model's own graph makes; of kPlimsoll the outputs alone, and the
// values in `also`, at which nothing is fused away.
Result<SideValues> ComputeSide(ComparedEngine engine, const ComparedModel& model,
                               const std::vector<graph::ValueId>& also = {});

// A folder of arrays with a list, values.json. Reading refuses what is none (compare.saved).
Status SaveSide(const std::filesystem::path& folder, const SideValues& side);
Result<SideValues> LoadSide(const std::filesystem::path& folder);

// The arrays of a NumPy archive (.npz) by their names, as values of this model.
Result<SideValues> LoadArchive(const std::string& file, const graph::Graph& graph);

}  // namespace plimsoll::cli
