#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/value_type.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

struct ExtractRequest {
  std::vector<std::string> from;  // values that become inputs; empty: the model's inputs
  std::vector<std::string> to;    // values that become outputs; empty: the model's outputs
  std::string data_name;          // of the new file for what lies in files next to the model
  // What a value of the model's graph is, for inputs and outputs that the file does not declare.
  std::function<graph::ValueType(const std::string&)> type_of;
};

struct ExtractedModel {
  std::string model;                    // a ModelProto
  std::vector<ByteSpan> data;           // of the file `data_name`; empty: none is needed
  std::shared_ptr<const void> storage;  // keeps `data` valid
  size_t nodes = 0;
  size_t nodes_before = 0;
  std::vector<std::string> inputs;  // those of `from`, and inputs of the model that it needs too
  std::vector<std::string> outputs;
};

// The part of a model that makes `to` out of `from`: nodes, initializers and functions as the file
// has them, with bodies and what those read. Refuses names that the model does not have
// (extract.name), and a `from` that `to` does not depend on (extract.unused).
Result<ExtractedModel> ExtractModel(const std::filesystem::path& file,
                                    const ExtractRequest& request);

}  // namespace plimsoll::onnx
