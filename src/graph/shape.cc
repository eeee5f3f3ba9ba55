#include "graph/shape.h"

#include <algorithm>

namespace plimsoll::graph {

std::string Text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ",";
    out += shape[i].Text();
  }
  return out + "]";
}

Dim ElementCount(const Shape& shape) {
  Dim count(1);
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

bool IsStatic(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_number(); });
}

std::vector<int64_t> StaticDims(const Shape& shape) {
  std::vector<int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) dims.push_back(dim.number());
  return dims;
}

Shape ShapeOf(const std::vector<int64_t>& dims) { return Shape(dims.begin(), dims.end()); }

}  // namespace plimsoll::graph
