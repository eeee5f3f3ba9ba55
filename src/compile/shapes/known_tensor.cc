#include "compile/shapes/known_tensor.h"

#include <limits>

namespace plimsoll::compile {
namespace {

using graph::DataType;
using kernels::HostTensor;

template <typename Element>
bool Fill(const std::vector<graph::Dim>& elements, void* to) {
  auto* out = static_cast<Element*>(to);
  for (const graph::Dim& element : elements) {
    if (!element.is_number() || element.number() < std::numeric_limits<Element>::lowest() ||
        element.number() > std::numeric_limits<Element>::max()) {
      return false;
    }
    *out++ = static_cast<Element>(element.number());
  }
  return true;
}

template <typename Element>
bool Fill(const std::vector<double>& elements, void* to) {
  auto* out = static_cast<Element*>(to);
  for (const double element : elements) *out++ = static_cast<Element>(element);
  return true;
}

bool Fill(const graph::Content& content, DataType type, void* to) {
  if (const std::vector<graph::Dim>* dims = content.dims()) {
    switch (type) {
      case DataType::kInt64:
        return Fill<int64_t>(*dims, to);
      case DataType::kInt32:
        return Fill<int32_t>(*dims, to);
      case DataType::kBool:
        return Fill<bool>(*dims, to);
      default:
        return false;
    }
  }
  if (type == DataType::kFloat32) return Fill<float>(*content.doubles(), to);
  return type == DataType::kFloat64 && Fill<double>(*content.doubles(), to);
}

}  // namespace

std::optional<HostTensor> KnownTensor(const graph::Value& value) {
  if (!value.content || !value.type.is_tensor() || !value.type.shape ||
      !IsStatic(*value.type.shape)) {
    return std::nullopt;
  }
  const kernels::Dims dims = StaticDims(*value.type.shape);
  if (kernels::ElementCount(dims) != static_cast<int64_t>(value.content->size())) {
    return std::nullopt;
  }
  auto tensor = kernels::AllocateOnHeap(value.type.data_type, dims);
  const bool filled = tensor.ok() && Fill(*value.content, value.type.data_type, tensor->data.get());
  return filled ? std::optional<HostTensor>(*std::move(tensor)) : std::nullopt;
}

}  // namespace plimsoll::compile
