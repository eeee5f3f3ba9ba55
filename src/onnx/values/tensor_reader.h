#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "graph/value_type.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// A value as the standard's test data stores it (test_data_set_0/input_0.pb).
struct StoredValue {
  enum class Kind { kTensor, kSequence, kOptional };

  Kind kind = Kind::kTensor;
  std::string name;
  graph::ConstantTensor tensor;       // of a tensor
  std::vector<StoredValue> elements;  // of a sequence; of an optional, one or none
};

// Reads a file that holds a TensorProto, SequenceProto or OptionalProto. The file itself does not
// tell which: `declared`, the type of the graph's input or output, does; an unknown type reads as a
// tensor. Tensors are views on the mapped file, which they keep alive. Maps and sparse tensors are
// unsupported. Errors as ReadModel's.
Result<StoredValue> ReadStoredValue(const std::filesystem::path& file,
                                    const graph::ValueType& declared);

}  // namespace plimsoll::onnx
