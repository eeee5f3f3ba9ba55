#include "cli/peer/compare_values.h"

#include <cmath>
#include <complex>

#include "engine/node_by_node/host_tensors.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using kernels::HostTensor;
using kernels::HostValue;

bool Near(double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

std::string Place(const HostTensor& tensor, int64_t index) {
  std::string text = "[";
  std::vector<int64_t> place(tensor.dims.size());
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    place[i] = index % tensor.dims[i];
    index /= tensor.dims[i];
  }
  return text + Join(place, ",") + "]";
}

// A complex tensor is compared as its real and imaginary parts.
HostTensor AsReal(const HostTensor& tensor) {
  HostTensor real = tensor;
  if (tensor.type == DataType::kComplex64) real.type = DataType::kFloat32;
  if (tensor.type == DataType::kComplex128) real.type = DataType::kFloat64;
  if (real.type != tensor.type) real.dims.push_back(2);
  return real;
}

std::optional<std::string> TypesDiffer(const HostValue& got, const HostValue& expected) {
  if (engine::TypeOf(got) == engine::TypeOf(expected)) return std::nullopt;
  return StrCat("it is ", Text(engine::TypeOf(got)), ", expected ", Text(engine::TypeOf(expected)));
}

std::optional<std::string> StringsDiffer(const HostTensor& got, const HostTensor& expected) {
  const auto* a = static_cast<const std::string*>(got.data.get());
  const auto* b = static_cast<const std::string*>(expected.data.get());
  for (int64_t i = 0; i < got.elements(); ++i) {
    if (a[i] != b[i]) {
      return StrCat("element ", Place(got, i), " is '", a[i], "', expected '", b[i], "'");
    }
  }
  return std::nullopt;
}

std::optional<std::string> TensorsDiffer(const HostTensor& got, const HostTensor& expected,
                                         const Tolerance& tolerance) {
  if (got.type == DataType::kString) return StringsDiffer(got, expected);
  const HostTensor a = AsReal(got);
  const HostTensor b = AsReal(expected);
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = kernels::LoadDouble(a.type, a.data.get(), i);
    const double y = kernels::LoadDouble(b.type, b.data.get(), i);
    if (Near(x, y, tolerance)) continue;
    if (wrong++ == 0) first = StrCat("element ", Place(a, i), " is ", x, ", expected ", y);
  }
  if (wrong == 0) return std::nullopt;
  return StrCat(first, " (", wrong, " of ", a.elements(), " elements are wrong)");
}

}  // namespace

std::optional<std::string> FirstDifference(const HostValue& got, const HostValue& expected,
                                           const Tolerance& tolerance) {
  if (got.kind != expected.kind) return TypesDiffer(got, expected);
  if (got.kind == HostValue::Kind::kTensor) {
    if (got.tensor.type != expected.tensor.type || got.tensor.dims != expected.tensor.dims) {
      return TypesDiffer(got, expected);
    }
    return TensorsDiffer(got.tensor, expected.tensor, tolerance);
  }
  if (got.elements.size() != expected.elements.size()) {
    return StrCat("it has ", got.elements.size(), " elements, expected ", expected.elements.size());
  }
  for (size_t i = 0; i < got.elements.size(); ++i) {
    const auto difference = FirstDifference(got.elements[i], expected.elements[i], tolerance);
    if (difference) return StrCat("in element ", i, " ", *difference);
  }
  return std::nullopt;
}

std::optional<std::string> FirstImpossible(const HostValue& got, const HostValue& expected,
                                           const Tolerance& tolerance) {
  if (auto difference = TypesDiffer(got, expected)) return difference;
  if (got.kind != HostValue::Kind::kTensor) return "it is no tensor";
  const HostTensor& a = got.tensor;
  const HostTensor& b = expected.tensor;
  bool zero_or_one = true;
  for (int64_t i = 0; i < b.elements(); ++i) {
    const double y = kernels::LoadDouble(b.type, b.data.get(), i);
    zero_or_one &= y == 0 || y == 1;
  }
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = kernels::LoadDouble(a.type, a.data.get(), i);
    const double y = kernels::LoadDouble(b.type, b.data.get(), i);
    const bool possible = zero_or_one
                              ? x == 0 || x == 1
                              : x == 0 || Near(x, y, tolerance) || (y == 0 && std::isfinite(x));
    if (!possible) return StrCat("element ", Place(a, i), " is ", x, ", which cannot be drawn");
  }
  return std::nullopt;
}

}  // namespace plimsoll::cli
