#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/data_type.h"
#include "plimsoll/base/status.h"

// Tensors at every boundary: what callers hand to a session and get from it, and what files hold.
//
//   std::vector<float> pixels(3 * 224 * 224);
//   const TensorView image = TensorView::Of(std::span(pixels), {1, 3, 224, 224});   // borrows
//   PLIMSOLL_ASSIGN(Tensor scores, Tensor::Allocate(DataType::kFloat32, {1, 1000}));  // owns
//   for (const float score : scores.Elements<float>()) ...
//
// Elements lie in row-major order, little-endian; types below 8 bits are packed low bits first;
// elements of a string tensor are std::string objects.
namespace plimsoll {

// The number of elements of a tensor with these dimensions: saturates; 1 for a scalar.
int64_t ElementCount(std::span<const int64_t> dims);

// A tensor that somebody else owns, to be read. A plain value.
struct ConstTensorView {
  DataType type = DataType::kUndefined;  // kUndefined: no tensor
  std::vector<int64_t> dims = {};
  const void* data = nullptr;                        // aligned to an element at least
  std::optional<std::vector<int64_t>> strides = {};  // in elements; none: row-major without gaps
  // `data` is an address of the session's device, whose memory the host may not reach.
  bool on_device = false;

  // Elements in memory of the caller's, as many as the dimensions say.
  template <typename Element>
  static ConstTensorView Of(std::span<Element> elements, std::vector<int64_t> dims) {
    return {DataTypeOf<std::remove_const_t<Element>>(), std::move(dims), elements.data()};
  }

  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return SizeOf(type, elements()); }
  // The elements; none where they are of another type than `Element`, or on the device.
  template <typename Element>
  std::span<const Element> Elements() const {
    if (type != DataTypeOf<Element>() || data == nullptr || on_device) return {};
    return {static_cast<const Element*>(data), static_cast<size_t>(elements())};
  }
};

// A tensor that somebody else owns, to be read and written. A plain value; const does not reach the
// elements, as with std::span.
struct TensorView {
  DataType type = DataType::kUndefined;  // kUndefined: no tensor
  std::vector<int64_t> dims = {};
  void* data = nullptr;                              // aligned to an element at least
  std::optional<std::vector<int64_t>> strides = {};  // in elements; none: row-major without gaps
  // `data` is an address of the session's device, whose memory the host may not reach.
  bool on_device = false;

  // Elements in memory of the caller's, as many as the dimensions say.
  template <typename Element>
  static TensorView Of(std::span<Element> elements, std::vector<int64_t> dims) {
    return {DataTypeOf<Element>(), std::move(dims), elements.data()};
  }

  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return SizeOf(type, elements()); }
  // The elements; none where they are of another type than `Element`.
  template <typename Element>
  std::span<Element> Elements() const {
    if (type != DataTypeOf<Element>() || data == nullptr || on_device) return {};
    return {static_cast<Element*>(data), static_cast<size_t>(elements())};
  }

  operator ConstTensorView() const { return {type, dims, data, strides, on_device}; }
};

// Memory of the process, aligned to 64 bytes, its bytes not set; null when there is none left.
std::shared_ptr<void> AllocateBytes(Bytes size);

// A tensor with storage of its own. Copies share the elements.
struct Tensor {
  DataType type = DataType::kUndefined;  // kUndefined: no tensor
  std::vector<int64_t> dims = {};
  std::shared_ptr<void> data = {};

  // In memory of the process; the elements are not set (strings are empty). Fails (run.memory) when
  // there is no memory left.
  static Result<Tensor> Allocate(DataType type, std::vector<int64_t> dims);

  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return SizeOf(type, elements()); }
  // The elements; none where they are of another type than `Element`.
  template <typename Element>
  std::span<Element> Elements() const {
    return View().Elements<Element>();
  }
  // A view that is good for as long as the elements are held by some tensor.
  TensorView View() const { return {type, dims, data.get()}; }
};

// The views of several tensors, to be handed to a run.
std::vector<TensorView> ViewsOf(std::span<const Tensor> tensors);
std::vector<ConstTensorView> ConstViewsOf(std::span<const Tensor> tensors);

// What a value is: a tensor, or a sequence, an optional or a map of such.
enum class ValueKind { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap };

// A value of any kind, with storage of its own.
struct Value {
  using Kind = ValueKind;
  Kind kind = Kind::kUnknown;        // kUnknown: left out
  Tensor tensor = {};                // of a tensor
  std::vector<Value> elements = {};  // of a sequence; of an optional, one or none; of a map, two:
                                     // its keys and its values, tensors [n]

  static Value Of(Tensor tensor);
  static Value Sequence(std::vector<Value> elements);
  static Value Optional(std::vector<Value> one_or_none);
  static Value Map(Tensor keys, Tensor values);
};

}  // namespace plimsoll
