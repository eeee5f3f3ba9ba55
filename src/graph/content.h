#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "graph/tensor.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {

// What is known of a small tensor's elements before anything runs, in row-major order: integers and
// bools as dimensions (so that `Shape` of a symbolic tensor is known content), floats as doubles.
// Shape rules read it (the target of a Reshape) and pass it on (a Concat of dimensions).
struct Content {
  std::variant<std::vector<Dim>, std::vector<double>> elements;

  const std::vector<Dim>* dims() const { return std::get_if<std::vector<Dim>>(&elements); }
  const std::vector<double>* doubles() const { return std::get_if<std::vector<double>>(&elements); }
  size_t size() const {
    return std::visit([](const auto& list) { return list.size(); }, elements);
  }
};

// More elements than this are data, not shape arithmetic, and are not followed.
inline constexpr int64_t kMaxContentElements = 1024;

// The content of a constant, when it is small, there, and of a type that shape arithmetic uses.
std::optional<Content> ContentOf(const ConstantTensor& tensor);

}  // namespace plimsoll::graph
