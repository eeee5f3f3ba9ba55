#include "plimsoll/base/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

#include "plimsoll/base/text.h"

namespace plimsoll {
namespace {

// From here on a mapping of its own: freed, it leaves the process at once.
constexpr Bytes kOwnMapping = KiB(256);
constexpr size_t kSmall = 960;  // what comes and goes often

}  // namespace

int64_t ElementCount(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count = SaturatingMultiply(count, dim);
  return count;
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
  if (count <= kSmall) {
    // The heap has blocks at hand that are aligned to less.
    constexpr auto kAlign = static_cast<size_t>(kAlignment);
    void* const block = operator new(count + kAlign, std::nothrow);
    if (block == nullptr) return nullptr;
    size_t room = count + kAlign;
    void* first = block;
    std::align(kAlign, count, first, room);
    return std::shared_ptr<void>(first, [block](void*) { operator delete(block); });
  }
  void* const memory = operator new(count, kAlignment, std::nothrow);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<void>(memory, [](void* old) { operator delete(old, kAlignment); });
}

Result<Tensor> Tensor::Allocate(DataType type, std::vector<int64_t> dims) {
  Tensor tensor{.type = type, .dims = std::move(dims), .data = nullptr};
  if (type == DataType::kString) {
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
                 .why = StrCat("the host has no ", size, " left for ", Name(type), "[",
                               Join(tensor.dims, ","), "]"),
                 .remedy = "run with smaller shapes"};
  }
  return tensor;
}

std::vector<TensorView> ViewsOf(std::span<const Tensor> tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.View());
  return views;
}

std::vector<ConstTensorView> ConstViewsOf(std::span<const Tensor> tensors) {
  std::vector<ConstTensorView> views;
  for (const Tensor& tensor : tensors) views.emplace_back(tensor.View());
  return views;
}

Value Value::Of(Tensor tensor) { return {.kind = Kind::kTensor, .tensor = std::move(tensor)}; }

Value Value::Sequence(std::vector<Value> elements) {
  return {.kind = Kind::kSequence, .elements = std::move(elements)};
}

Value Value::Optional(std::vector<Value> one_or_none) {
  return {.kind = Kind::kOptional, .elements = std::move(one_or_none)};
}

Value Value::Map(Tensor keys, Tensor values) {
  Value map{.kind = Kind::kMap};
  map.elements.reserve(2);
  map.elements.push_back(Of(std::move(keys)));
  map.elements.push_back(Of(std::move(values)));
  return map;
}

}  // namespace plimsoll
