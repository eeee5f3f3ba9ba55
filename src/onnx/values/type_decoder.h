#pragma once

#include <string_view>

#include "graph/value_type.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// What a TypeProto says. A dimension with a name becomes the expression that the name reads as; one
// with neither number nor name, or with a negative number as some exporters write, becomes the
// anonymous symbol '?'. Opaque types come out as unknown.
Result<graph::ValueType> DecodeType(const Source& source, ByteSpan message);

// The type with its '?' dimensions distinguished: '?name.0', '?name.2'. For inputs, whose sizes are
// independent of each other.
graph::ValueType WithOwnSymbols(graph::ValueType type, std::string_view name);

}  // namespace plimsoll::onnx
