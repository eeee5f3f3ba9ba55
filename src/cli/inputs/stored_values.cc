#include "cli/inputs/stored_values.h"

#include "onnx/values/tensor_reader.h"

namespace plimsoll::cli {
namespace {

using kernels::HostValue;
using onnx::StoredValue;

Result<HostValue> ToHostValue(const StoredValue& stored) {
  if (stored.kind == StoredValue::Kind::kTensor) {
    PLIMSOLL_ASSIGN(kernels::HostTensor tensor, kernels::ToHostTensor(stored.tensor));
    return HostValue::Of(std::move(tensor));
  }
  std::vector<HostValue> elements;
  for (const StoredValue& element : stored.elements) {
    PLIMSOLL_ASSIGN(HostValue value, ToHostValue(element));
    elements.push_back(std::move(value));
  }
  return stored.kind == StoredValue::Kind::kSequence ? HostValue::Sequence(std::move(elements))
                                                     : HostValue::Optional(std::move(elements));
}

}  // namespace

Result<HostValue> ReadHostValue(const std::filesystem::path& file,
                                const graph::ValueType& declared) {
  PLIMSOLL_ASSIGN(const StoredValue stored, onnx::ReadStoredValue(file, declared));
  return ToHostValue(stored);
}

}  // namespace plimsoll::cli
