#include "kernels/kernel.h"

#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels {
namespace {

template <typename Number>
std::vector<Number> ReadAll(const TensorInfo& tensor) {
  std::vector<Number> numbers;
  const bool known = tensor.data != nullptr && !tensor.assumed;
  if (!known || tensor.type == graph::DataType::kString) return numbers;
  const int64_t count = tensor.elements();
  numbers.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Number, int64_t>) {
      numbers.push_back(LoadInteger(tensor.type, tensor.data, i));
    } else {
      numbers.push_back(LoadDouble(tensor.type, tensor.data, i));
    }
  }
  return numbers;
}

Error ErrorAt(const KernelSite& site, ErrorKind kind, std::string code, std::string why) {
  return Error{.kind = kind,
               .code = std::move(code),
               .what = StrCat("cannot run ", graph::Describe(site.graph, site.id)),
               .where = "",
               .why = std::move(why),
               .remedy = ""};
}

}  // namespace

std::vector<int64_t> TensorInfo::Integers() const { return ReadAll<int64_t>(*this); }
std::vector<double> TensorInfo::Doubles() const { return ReadAll<double>(*this); }

Error KernelSite::Unsupported(std::string why) const {
  return ErrorAt(*this, ErrorKind::kUnsupported, "kernel.unsupported", std::move(why));
}

Error KernelSite::BadInput(std::string why) const {
  return ErrorAt(*this, ErrorKind::kRunFailed, "kernel.input", std::move(why));
}

}  // namespace plimsoll::kernels
