#include "engine/node_by_node/host_tensors.h"

#include <algorithm>
#include <cstring>

#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::DataType;
using graph::ValueType;
using kernels::Dims;
using kernels::HostTensor;
using kernels::HostValue;

// A tensor around one of its axes: `outer` blocks, each `count` slices of `inner` elements.
struct AroundAxis {
  int64_t outer = 1;
  int64_t inner = 1;
};

AroundAxis Around(const Dims& slice, int64_t axis) {
  AroundAxis around;
  for (size_t i = 0; i < slice.size(); ++i) {
    (static_cast<int64_t>(i) < axis ? around.outer : around.inner) *= slice[i];
  }
  return around;
}

// Copies `inner` elements from place to place, for any element of whole bytes and for strings.
void CopyElements(DataType type, const void* from, int64_t from_index, void* to, int64_t to_index,
                  int64_t count) {
  if (type == DataType::kString) {
    const auto* texts = static_cast<const std::string*>(from) + from_index;
    std::copy(texts, texts + count, static_cast<std::string*>(to) + to_index);
    return;
  }
  const int64_t width = graph::Bits(type) / 8;
  std::memcpy(static_cast<std::byte*>(to) + to_index * width,
              static_cast<const std::byte*>(from) + from_index * width,
              static_cast<size_t>(count * width));
}

Status CheckWholeBytes(DataType type) {
  if (type == DataType::kString || graph::Bits(type) % 8 == 0) return {};
  return Error{.kind = ErrorKind::kUnsupported,
               .code = "run.slices",
               .what = "cannot slice a tensor in a loop",
               .where = "",
               .why = StrCat("elements of ", graph::Name(type), " share bytes"),
               .remedy = "cast to int8 around the loop"};
}

Status CheckSlice(const HostTensor& slice, int64_t number, DataType type, const Dims& dims) {
  if (slice.type == type && slice.dims == dims) return {};
  return Error{
      .kind = ErrorKind::kRunFailed,
      .code = "run.slices",
      .what = "cannot collect what a loop gives",
      .where = StrCat("iteration ", number),
      .why = StrCat("its slice is ", Text(TypeOf(HostValue::Of(slice))), ", the first one was ",
                    Text(ValueType::Tensor(type, graph::ShapeOf(dims)))),
      .remedy = ""};
}

}  // namespace

ValueType TypeOf(const HostValue& value) {
  switch (value.kind) {
    case HostValue::Kind::kTensor:
      return ValueType::Tensor(value.tensor.type, graph::ShapeOf(value.tensor.dims));
    case HostValue::Kind::kSequence:
      return ValueType::Sequence(value.elements.empty() ? ValueType()
                                                        : TypeOf(value.elements.front()));
    case HostValue::Kind::kOptional:
      return ValueType::Optional(value.elements.empty() ? ValueType()
                                                        : TypeOf(value.elements.front()));
    default:
      return {};
  }
}

Result<HostTensor> TakeSlice(const HostTensor& tensor, int64_t axis, int64_t index,
                             const kernels::AllocateTensor& allocate) {
  PLIMSOLL_TRY(CheckWholeBytes(tensor.type));
  Dims dims = tensor.dims;
  const int64_t count = dims[static_cast<size_t>(axis)];
  dims.erase(dims.begin() + axis);
  const AroundAxis around = Around(dims, axis);
  PLIMSOLL_ASSIGN(HostTensor slice, allocate(tensor.type, dims));
  for (int64_t i = 0; i < around.outer; ++i) {
    CopyElements(tensor.type, tensor.data.get(), (i * count + index) * around.inner,
                 slice.data.get(), i * around.inner, around.inner);
  }
  return slice;
}

Status GrowingStack::Add(const HostTensor& slice, const kernels::AllocateTensor& allocate) {
  constexpr int64_t kFirstRoom = 8;
  PLIMSOLL_TRY(CheckWholeBytes(slice.type));
  if (!empty()) {
    const Dims dims(whole_.dims.begin() + 1, whole_.dims.end());
    PLIMSOLL_TRY(CheckSlice(slice, count_, whole_.type, dims));
  }
  const int64_t elements = slice.elements();
  if (empty() || count_ == whole_.dims[0]) {
    Dims dims = slice.dims;
    dims.insert(dims.begin(), empty() ? kFirstRoom : 2 * count_);
    PLIMSOLL_ASSIGN(HostTensor larger, allocate(slice.type, dims));
    if (!empty()) {
      CopyElements(slice.type, whole_.data.get(), 0, larger.data.get(), 0, count_ * elements);
    }
    whole_ = std::move(larger);
  }
  CopyElements(slice.type, slice.data.get(), 0, whole_.data.get(), count_ * elements, elements);
  ++count_;
  return {};
}

HostTensor GrowingStack::Take() {
  whole_.dims[0] = count_;
  return std::move(whole_);
}

Result<HostTensor> Stack(const std::vector<HostTensor>& slices, int64_t axis,
                         const kernels::AllocateTensor& allocate) {
  const HostTensor& first = slices.front();
  PLIMSOLL_TRY(CheckWholeBytes(first.type));
  Dims dims = first.dims;
  const auto count = static_cast<int64_t>(slices.size());
  dims.insert(dims.begin() + axis, count);
  const AroundAxis around = Around(first.dims, axis);
  PLIMSOLL_ASSIGN(HostTensor whole, allocate(first.type, dims));
  for (int64_t s = 0; s < count; ++s) {
    const HostTensor& slice = slices[static_cast<size_t>(s)];
    PLIMSOLL_TRY(CheckSlice(slice, s, first.type, first.dims));
    for (int64_t i = 0; i < around.outer; ++i) {
      CopyElements(first.type, slice.data.get(), i * around.inner, whole.data.get(),
                   (i * count + s) * around.inner, around.inner);
    }
  }
  return whole;
}

}  // namespace plimsoll::engine
