#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {

// The dimensions of a tensor whose rank is known. A scalar has none.
using Shape = std::vector<Dim>;

std::string Text(const Shape& shape);                 // "[1,3,2*seq]"
Dim ElementCount(const Shape& shape);                 // saturates; symbolic where a dimension is
bool IsStatic(const Shape& shape);                    // every dimension is a number
std::vector<int64_t> StaticDims(const Shape& shape);  // only where IsStatic
Shape ShapeOf(const std::vector<int64_t>& dims);

}  // namespace plimsoll::graph
