#include "kernels/host_value.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels {
namespace {

// From here on a mapping of its own: freed, it leaves the process at once.
constexpr Bytes kOwnMapping = KiB(256);

}  // namespace

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
  const Bytes size = tensor.size();
  tensor.data = size.saturated() ? nullptr : AllocateBytes(size);
  if (tensor.data == nullptr) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "run.memory",
                 .what = "cannot make a tensor",
                 .where = "",
                 .why = StrCat("the host has no ", size, " left for ", graph::Name(type),
                               graph::Text(graph::ShapeOf(dims))),
                 .remedy = "run with smaller shapes"};
  }
  return tensor;
}

std::shared_ptr<void> AllocateBytes(Bytes size) {
  const auto count = static_cast<size_t>(std::max<int64_t>(size.value(), 1));
  if (size >= kOwnMapping) {
    void* const memory =
        mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    return std::shared_ptr<void>(memory, [count](void* old) { munmap(old, count); });
  }
  constexpr std::align_val_t kAlignment{64};
  void* const memory = operator new(count, kAlignment, std::nothrow);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<void>(memory, [](void* old) { operator delete(old, kAlignment); });
}

bool IsReadInPlace(const graph::ConstantTensor& constant) {
  const auto width = static_cast<uintptr_t>(std::max(graph::Bits(constant.type) / 8, 1));
  const bool aligned = reinterpret_cast<uintptr_t>(constant.bytes.data()) % width == 0;
  return constant.type != graph::DataType::kString && aligned && constant.storage != nullptr;
}

Result<HostTensor> ToHostTensor(const graph::ConstantTensor& constant) {
  if (constant.missing) {
    return Error{
        .kind = ErrorKind::kBadFile,
        .code = "run.weights_missing",
        .what = "cannot run the model",
        .where = StrCat("tensor '", constant.name, "'"),
        .why = StrCat("its data lies in '", constant.external_file, "', which is not there"),
        .remedy = "put the file next to the model"};
  }
  HostTensor tensor{.type = constant.type, .dims = constant.dims, .data = nullptr};
  if (IsReadInPlace(constant)) {
    tensor.data = std::shared_ptr<void>(std::const_pointer_cast<void>(constant.storage),
                                        const_cast<std::byte*>(constant.bytes.data()));
    return tensor;
  }
  PLIMSOLL_ASSIGN(tensor, AllocateOnHeap(constant.type, constant.dims));
  if (constant.type == graph::DataType::kString) {
    std::copy(constant.strings.begin(), constant.strings.end(),
              static_cast<std::string*>(tensor.data.get()));
  } else if (!constant.bytes.empty()) {
    std::memcpy(tensor.data.get(), constant.bytes.data(), constant.bytes.size());
  }
  return tensor;
}

graph::ConstantTensor ToConstant(const HostTensor& tensor) {
  graph::ConstantTensor constant;
  constant.type = tensor.type;
  constant.dims = tensor.dims;
  constant.storage = tensor.data;
  if (tensor.type == graph::DataType::kString) {
    const auto* texts = static_cast<const std::string*>(tensor.data.get());
    constant.strings.assign(texts, texts + tensor.elements());
  } else {
    constant.bytes = {static_cast<const std::byte*>(tensor.data.get()),
                      static_cast<size_t>(tensor.size().value())};
  }
  return constant;
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
