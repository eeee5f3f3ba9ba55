#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/data_type.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::graph {

// A constant tensor: a view on bytes that somebody else holds (a mapped file) or that `storage`
// keeps alive. Elements lie in row-major order, little-endian, sub-byte types packed low nibble
// first. The bytes need not be aligned.
struct ConstantTensor {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;       // empty for strings, and where `missing`
  std::vector<std::string_view> strings;  // for string tensors
  std::shared_ptr<const void> storage;    // what keeps `bytes` and `strings` valid
  // Declared in an external file that is not there. Who compiles such a model to look at it gives
  // `bytes` addresses without data (compile::AssumeMissing), which nobody reads.
  bool missing = false;
  std::string external_file;  // where external data lies, relative to the model
  Bytes external_offset;      // likewise, from the start of the file

  int64_t ElementCount() const;  // saturates
  Bytes Size() const;            // what the elements take, whether or not the data is there

  // Elements as numbers: integers and bool; empty when the type is another or the data is missing.
  std::vector<int64_t> Integers() const;
  // Floating-point elements of 16, 32 and 64 bits, and integers, widened.
  std::vector<double> Doubles() const;
};

}  // namespace plimsoll::graph
