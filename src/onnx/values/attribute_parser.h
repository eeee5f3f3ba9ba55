#pragma once

#include "onnx/wire/external_files.h"
#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// How an attribute has its bodies read.
class GraphParser {
 public:
  virtual Status Graph(ByteSpan message, int depth, GraphRecord& graph) = 0;

 protected:
  ~GraphParser() = default;
};

// Reads an AttributeProto of a node that lies `depth` bodies deep. Where the file does not say
// which kind of attribute it is, the field that is set tells. Sparse tensors and lists of types are
// unsupported.
Status ParseAttribute(const Source& source, ByteSpan message, int depth, ExternalFiles& files,
                      Budget& budget, GraphParser& graphs, AttributeRecord& attribute);

}  // namespace plimsoll::onnx
