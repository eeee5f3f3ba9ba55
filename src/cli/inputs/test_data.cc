#include "cli/inputs/test_data.h"

#include "onnx/values/tensor_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::Dim;
using graph::ValueType;
using onnx::StoredValue;

ValueType TypeOf(const StoredValue& stored, const ValueType& declared) {
  const ValueType element = declared.element == nullptr ? ValueType() : *declared.element;
  switch (stored.kind) {
    case StoredValue::Kind::kTensor:
      return ValueType::Tensor(stored.tensor.type, graph::ShapeOf(stored.tensor.dims));
    case StoredValue::Kind::kOptional:
      return stored.elements.empty() ? declared
                                     : ValueType::Optional(TypeOf(stored.elements[0], element));
    case StoredValue::Kind::kSequence:
      break;
  }
  if (stored.elements.empty()) return declared;
  ValueType common = TypeOf(stored.elements[0], element);
  for (const StoredValue& next : stored.elements) {
    const ValueType type = TypeOf(next, element);
    if (type == common || !common.shape || !type.shape) continue;
    if (common.shape->size() != type.shape->size()) {
      common.shape.reset();
      continue;
    }
    for (size_t i = 0; i < type.shape->size(); ++i) {
      if (!((*common.shape)[i] == (*type.shape)[i])) (*common.shape)[i] = Dim::Symbol("?element");
    }
  }
  return ValueType::Sequence(std::move(common));
}

enum class Agreement { kYes, kUnknown, kNo };

Agreement Agree(const ValueType& computed, const StoredValue& stored) {
  if (computed.kind == ValueType::Kind::kUnknown) return Agreement::kUnknown;
  if (stored.kind != StoredValue::Kind::kTensor) {
    const bool same_kind = stored.kind == StoredValue::Kind::kSequence
                               ? computed.kind == ValueType::Kind::kSequence
                               : computed.kind == ValueType::Kind::kOptional;
    if (!same_kind) return Agreement::kNo;
    Agreement all = Agreement::kYes;
    for (const StoredValue& element : stored.elements) {
      const Agreement one =
          computed.element == nullptr ? Agreement::kUnknown : Agree(*computed.element, element);
      all = std::max(all, one);
    }
    return all;
  }
  if (!computed.is_tensor() || computed.data_type != stored.tensor.type) return Agreement::kNo;
  if (!computed.shape) return Agreement::kUnknown;
  if (computed.shape->size() != stored.tensor.dims.size()) return Agreement::kNo;
  Agreement all = Agreement::kYes;
  for (size_t i = 0; i < stored.tensor.dims.size(); ++i) {
    const Dim& dim = (*computed.shape)[i];
    if (!dim.is_number()) all = Agreement::kUnknown;
    if (dim.is_number() && dim.number() != stored.tensor.dims[i]) return Agreement::kNo;
  }
  return all;
}

}  // namespace

Status GiveStoredInputs(graph::Graph& graph, const std::filesystem::path& folder) {
  const auto& inputs = graph.root().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto file = folder / StrCat("input_", i, ".pb");
    if (!std::filesystem::exists(file)) continue;
    graph::Value& value = graph[inputs[i]];
    PLIMSOLL_ASSIGN(const StoredValue stored, onnx::ReadStoredValue(file, value.declared));
    value.type = TypeOf(stored, value.declared);
    if (stored.kind == StoredValue::Kind::kTensor) value.content = ContentOf(stored.tensor);
  }
  return {};
}

Result<TestDataCheck> CompareStoredOutputs(const graph::Graph& graph,
                                           const std::filesystem::path& folder) {
  TestDataCheck check;
  const auto& outputs = graph.root().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto file = folder / StrCat("output_", i, ".pb");
    if (!std::filesystem::exists(file)) continue;
    const graph::Value& value = graph[outputs[i]];
    PLIMSOLL_ASSIGN(const StoredValue stored, onnx::ReadStoredValue(file, value.declared));
    const Agreement agreement = Agree(value.type, stored);
    if (agreement == Agreement::kUnknown) {
      ++check.undetermined;
      continue;
    }
    ++check.checked;
    if (agreement == Agreement::kNo) {
      check.mismatches.push_back(StrCat("output ", i, " '", value.name, "': computed ",
                                        Text(value.type), ", stored ",
                                        Text(TypeOf(stored, value.declared))));
    }
  }
  return check;
}

}  // namespace plimsoll::cli
