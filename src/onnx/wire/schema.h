#pragma once

#include <cstdint>

// The numbers of the ONNX schema that the reader looks at, one namespace a message. Fields that are
// not here (documentation, training, quantization hints, device configurations) are skipped.
namespace plimsoll::onnx::schema {

namespace model {
enum Field : uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kFunctions = 25,
};
}

namespace opset {
enum Field : uint32_t { kDomain = 1, kVersion = 2 };
}

namespace entry {  // a pair of texts
enum Field : uint32_t { kKey = 1, kValue = 2 };
}

namespace graph {
enum Field : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kSparseInitializer = 15,
};
}

namespace function {
enum Field : uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeDefault = 11,
  kOverload = 13,
};
}

namespace node {
enum Field : uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOperator = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8,
  kMetadata = 9,
};
}

namespace attribute {
enum Field : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kType = 14,
  kTypes = 15,
  kKind = 20,
  kReference = 21,
  kSparseTensor = 22,
  kSparseTensors = 23,
};
enum Kind : int64_t {
  kUndefinedKind = 0,
  kFloatKind = 1,
  kIntKind = 2,
  kStringKind = 3,
  kTensorKind = 4,
  kGraphKind = 5,
  kFloatsKind = 6,
  kIntsKind = 7,
  kStringsKind = 8,
  kTensorsKind = 9,
  kGraphsKind = 10,
  kSparseTensorKind = 11,
  kSparseTensorsKind = 12,
  kTypeKind = 13,
  kTypesKind = 14,
};
}  // namespace attribute

namespace tensor {
enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
inline constexpr int64_t kExternalLocation = 1;
}  // namespace tensor

namespace sparse_tensor {
enum Field : uint32_t { kValues = 1 };
}

namespace value_info {
enum Field : uint32_t { kName = 1, kType = 2 };
}

namespace type {
enum Field : uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kOpaque = 7,
  kSparseTensor = 8,
  kOptional = 9,
};
}

namespace tensor_type {
enum Field : uint32_t { kElementType = 1, kShape = 2 };
}

namespace element_type {  // of a sequence and of an optional
enum Field : uint32_t { kElement = 1 };
}

namespace map_type {
enum Field : uint32_t { kKey = 1, kValue = 2 };
}

namespace shape {
enum Field : uint32_t { kDim = 1 };
}

namespace dimension {
enum Field : uint32_t { kNumber = 1, kSymbol = 2 };
}

namespace stored {  // SequenceProto and OptionalProto number their fields alike
enum Field : uint32_t {
  kName = 1,
  kTensor = 3,
  kSparseTensor = 4,
  kSequence = 5,
  kMap = 6,
  kOptional = 7,
};
}

}  // namespace plimsoll::onnx::schema
