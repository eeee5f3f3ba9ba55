#include "graph/content.h"

namespace plimsoll::graph {

std::optional<Content> ContentOf(const ConstantTensor& tensor) {
  const int64_t count = tensor.ElementCount();
  if (tensor.missing || count > kMaxContentElements) return std::nullopt;
  if (tensor.type == DataType::kString) return std::nullopt;
  if (IsFloating(tensor.type)) {
    std::vector<double> numbers = tensor.Doubles();
    if (static_cast<int64_t>(numbers.size()) != count) return std::nullopt;
    return Content{std::move(numbers)};
  }
  const std::vector<int64_t> integers = tensor.Integers();
  if (static_cast<int64_t>(integers.size()) != count) return std::nullopt;
  return Content{std::vector<Dim>(integers.begin(), integers.end())};
}

}  // namespace plimsoll::graph
