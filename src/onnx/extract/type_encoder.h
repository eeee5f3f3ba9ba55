#pragma once

#include <string>

#include "graph/value_type.h"

namespace plimsoll::onnx {

// A TypeProto. Sizes that have no name in the model are left open.
std::string EncodeType(const graph::ValueType& type);

}  // namespace plimsoll::onnx
