#include "kernels/host_value.h"

#include <algorithm>
#include <cstring>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels {

Result<HostTensor> AllocateOnHeap(graph::DataType type, const Dims& dims) {
  return Tensor::Allocate(type, dims);
}

bool IsReadInPlace(const graph::ConstantTensor& constant, ReadAs read) {
  const auto width = static_cast<uintptr_t>(std::max(graph::Bits(constant.type) / 8, 1));
  const bool aligned = reinterpret_cast<uintptr_t>(constant.bytes.data()) % width == 0;
  return constant.type != graph::DataType::kString && constant.storage != nullptr &&
         (aligned || read == ReadAs::kRows);
}

Result<HostTensor> ToHostTensor(const graph::ConstantTensor& constant, ReadAs read) {
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
  if (IsReadInPlace(constant, read)) {
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
