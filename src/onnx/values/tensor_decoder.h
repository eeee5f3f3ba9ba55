#pragma once

#include "graph/tensor.h"
#include "onnx/wire/external_files.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Makes a constant of a TensorProto. Its bytes are a view on the file wherever the file holds the
// elements as they lie in memory: raw data, packed floats and doubles, external data, strings.
// Numbers that the file holds as variable-length integers are decoded into storage of their own.
//
// Refused: unknown element types, negative dimensions, more elements than a size can count, and
// data that is not exactly as long as type and dimensions ask for.
Result<graph::ConstantTensor> DecodeTensor(const Source& source, ByteSpan message,
                                           ExternalFiles& files);

}  // namespace plimsoll::onnx
