#pragma once

#include "plimsoll/base/data_type.h"

// The element types under the name that graphs, kernels and passes know them by.
namespace plimsoll::graph {

using plimsoll::Bits;
using plimsoll::DataType;
using plimsoll::DataTypeFromName;
using plimsoll::DataTypeFromOnnx;
using plimsoll::IsFloating;
using plimsoll::IsInteger;
using plimsoll::Name;
using plimsoll::SizeOf;

}  // namespace plimsoll::graph
