#include "kernels/host_value.h"

#include <new>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels {

HostValue HostValue::Of(HostTensor tensor) {
  HostValue value;
  value.kind = Kind::kTensor;
  value.tensor = std::move(tensor);
  return value;
}

HostValue HostValue::Sequence(std::vector<HostValue> elements) {
  HostValue value;
  value.kind = Kind::kSequence;
  value.elements = std::move(elements);
  return value;
}

HostValue HostValue::Optional(std::vector<HostValue> one_or_none) {
  HostValue value;
  value.kind = Kind::kOptional;
  value.elements = std::move(one_or_none);
  return value;
}

HostValue HostValue::Map(HostTensor keys, HostTensor values) {
  HostValue value;
  value.kind = Kind::kMap;
  value.elements = {Of(std::move(keys)), Of(std::move(values))};
  return value;
}

Result<HostTensor> AllocateOnHeap(graph::DataType type, const Dims& dims) {
  HostTensor tensor{.type = type, .dims = dims, .data = nullptr};
  if (type == graph::DataType::kString) {
    tensor.data =
        std::shared_ptr<std::string[]>(new std::string[static_cast<size_t>(tensor.elements())]);
    return tensor;
  }
  constexpr std::align_val_t kAlignment{64};
  const Bytes size = tensor.size();
  void* const memory =
      size.saturated() ? nullptr :
                       operator new(static_cast<size_t>(std::max<int64_t>(size.value(), 1)),
                                    kAlignment, std::nothrow);
  if (memory == nullptr) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "run.memory",
                 .what = "cannot make a tensor",
                 .where = "",
                 .why = StrCat("the host has no ", size, " left for ", graph::Name(type),
                               graph::Text(graph::ShapeOf(dims))),
                 .remedy = "run with smaller shapes"};
  }
  tensor.data = std::shared_ptr<void>(memory, [](void* old) { operator delete(old, kAlignment); });
  return tensor;
}

Error HostSite::BadInput(std::string why) const {
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "kernel.input",
               .what = StrCat("cannot run ", graph::Describe(graph, id)),
               .where = "",
               .why = std::move(why),
               .remedy = ""};
}

}  // namespace plimsoll::kernels
