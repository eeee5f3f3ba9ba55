#include "onnx/values/attribute_parser.h"

#include <string>
#include <utility>
#include <vector>

#include "onnx/values/tensor_decoder.h"
#include "onnx/values/type_decoder.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

// An AttributeProto as it stands: at most one of these is meant, and the kind may come last.
struct AttributeParts {
  int64_t kind = schema::attribute::kUndefinedKind;
  int64_t found = schema::attribute::kUndefinedKind;  // the kind of the last field that was set
  int64_t integer = 0;
  float number = 0;
  std::string_view text;
  ByteSpan message;  // a tensor, graph or type
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string_view> texts;
  std::vector<ByteSpan> tensors;
  std::vector<ByteSpan> graphs;
};

void ReadField(WireCursor& cursor, AttributeParts& parts) {
  using namespace schema::attribute;  // NOLINT: the field and kind numbers, for this table
  const auto found = [&](Kind kind) { parts.found = kind; };
  switch (cursor.number()) {
    case kKind:
      parts.kind = cursor.Int();
      return;
    case kFloat:
      parts.number = cursor.Float();
      return found(kFloatKind);
    case kInt:
      parts.integer = cursor.Int();
      return found(kIntKind);
    case kString:
      parts.text = cursor.Blob();
      return found(kStringKind);
    case kTensor:
      parts.message = cursor.Bytes();
      return found(kTensorKind);
    case kGraph:
      parts.message = cursor.Bytes();
      return found(kGraphKind);
    case kType:
      parts.message = cursor.Bytes();
      return found(kTypeKind);
    case kFloats:
      cursor.AppendFloats(parts.numbers);
      return found(kFloatsKind);
    case kInts:
      cursor.AppendInts(parts.integers);
      return found(kIntsKind);
    case kStrings:
      parts.texts.push_back(cursor.Blob());
      return found(kStringsKind);
    case kTensors:
      parts.tensors.push_back(cursor.Bytes());
      return found(kTensorsKind);
    case kGraphs:
      parts.graphs.push_back(cursor.Bytes());
      return found(kGraphsKind);
    case kSparseTensor:
      return found(kSparseTensorKind);
    case kSparseTensors:
      return found(kSparseTensorsKind);
    case kTypes:
      return found(kTypesKind);
    default:
      return;
  }
}

}  // namespace

Status ParseAttribute(const Source& source, ByteSpan message, int depth, ExternalFiles& files,
                      Budget& budget, GraphParser& graphs, AttributeRecord& attribute) {
  AttributeParts parts;
  parts.message = message.last(0);
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::attribute::kName) {
      attribute.name = cursor.Text();
    } else if (cursor.number() == schema::attribute::kReference) {
      attribute.reference = cursor.Text();
    } else {
      ReadField(cursor, parts);
    }
  }
  PLIMSOLL_TRY(cursor.status());
  PLIMSOLL_TRY(budget.Spend(parts.integers.size() * sizeof(int64_t) +
                            parts.numbers.size() * sizeof(double) +
                            parts.texts.size() * sizeof(std::string) +
                            parts.tensors.size() * sizeof(graph::ConstantTensor)));
  const std::string where =
      StrCat(source.At(message.data()), ", attribute ", Quote(attribute.name));
  if (attribute.name.empty()) {
    return source.BadFile("onnx.attribute", where, "an attribute has no name");
  }
  if (!attribute.reference.empty()) {
    attribute.kind = AttributeRecord::Kind::kReference;
    return {};
  }
  const bool undefined = parts.kind == schema::attribute::kUndefinedKind;
  switch (undefined ? parts.found : parts.kind) {
    case schema::attribute::kFloatKind:
      attribute.value = double{parts.number};
      return {};
    case schema::attribute::kIntKind:
      attribute.value = parts.integer;
      return {};
    case schema::attribute::kStringKind:
      attribute.value = std::string(parts.text);
      return budget.Spend(parts.text.size());
    case schema::attribute::kFloatsKind:
      attribute.value = std::move(parts.numbers);
      return {};
    case schema::attribute::kIntsKind:
      attribute.value = std::move(parts.integers);
      return {};
    case schema::attribute::kStringsKind:
      attribute.value = std::vector<std::string>(parts.texts.begin(), parts.texts.end());
      return budget.Spend(message.size());
    case schema::attribute::kTensorKind: {
      PLIMSOLL_ASSIGN(attribute.value, DecodeTensor(source, parts.message, files));
      return {};
    }
    case schema::attribute::kTensorsKind: {
      std::vector<graph::ConstantTensor> tensors;
      for (const ByteSpan tensor : parts.tensors) {
        PLIMSOLL_ASSIGN(tensors.emplace_back(), DecodeTensor(source, tensor, files));
      }
      attribute.value = std::move(tensors);
      return {};
    }
    case schema::attribute::kTypeKind: {
      PLIMSOLL_ASSIGN(attribute.value, DecodeType(source, parts.message));
      return {};
    }
    case schema::attribute::kGraphKind:
      attribute.kind = AttributeRecord::Kind::kGraph;
      return graphs.Graph(parts.message, depth + 1, attribute.graphs.emplace_back());
    case schema::attribute::kGraphsKind:
      attribute.kind = AttributeRecord::Kind::kGraphs;
      for (const ByteSpan graph : parts.graphs) {
        PLIMSOLL_TRY(graphs.Graph(graph, depth + 1, attribute.graphs.emplace_back()));
      }
      return {};
    case schema::attribute::kSparseTensorKind:
    case schema::attribute::kSparseTensorsKind:
      return source.Unsupported("onnx.sparse", where, "it holds a sparse tensor",
                                "save it as a dense tensor");
    case schema::attribute::kTypesKind:
      return source.Unsupported("onnx.attribute", where, "it holds a list of types");
    case schema::attribute::kUndefinedKind:
      return source.BadFile("onnx.attribute", where, "it has neither a kind nor a value");
    default:
      return source.BadFile("onnx.attribute", where,
                            StrCat("its kind ", parts.kind, " is unknown"));
  }
}

}  // namespace plimsoll::onnx
