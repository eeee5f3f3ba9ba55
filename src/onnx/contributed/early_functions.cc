#include <limits>

#include "onnx/contributed/compositions.h"
#include "plimsoll/base/text.h"

// Operators that were experimental in the first operator sets: converters of that time wrote them
// in front of vision models, and ONNX Runtime keeps running them.
namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;

// An attribute as a number of the type of the input.
Name Parameter(FunctionWriter& f, std::string_view name, double otherwise) {
  return f.Make("CastLike", {f.Float32(f.given().Float(name, otherwise)), f.in(0)});
}

}  // namespace

Status WriteAffine(FunctionWriter& f) {
  const Name scaled = f.Make("Mul", {f.in(0), Parameter(f, "alpha", 1)});
  f.Add("Add", {scaled, Parameter(f, "beta", 0)}, {f.out(0)});
  return {};
}

Status WriteScale(FunctionWriter& f) {
  f.Add("Mul", {f.in(0), Parameter(f, "scale", 1)}, {f.out(0)});
  return {};
}

Status WriteScaledTanh(FunctionWriter& f) {
  const Name bent = f.Make("Tanh", {f.Make("Mul", {f.in(0), Parameter(f, "beta", 0)})});
  f.Add("Mul", {bent, Parameter(f, "alpha", 0)}, {f.out(0)});
  return {};
}

Status WriteParametricSoftplus(FunctionWriter& f) {
  const Name bent = f.Make("Softplus", {f.Make("Mul", {f.in(0), Parameter(f, "beta", 0)})});
  f.Add("Mul", {bent, Parameter(f, "alpha", 0)}, {f.out(0)});
  return {};
}

// One bias for each channel of [batch, channels, height, width].
Status WriteImageScaler(FunctionWriter& f) {
  const std::vector<double>* bias = f.given().Floats("bias");
  if (bias == nullptr || bias->empty()) return CannotWrite("it has no bias");
  const Name column =
      f.Make("Reshape", {f.Make("Constant", {}, {{"value_floats", *bias}}), f.Int64s({-1, 1, 1})});
  const Name scaled = f.Make("Mul", {f.in(0), Parameter(f, "scale", 1)});
  f.Add("Add", {scaled, f.Make("CastLike", {column, f.in(0)})}, {f.out(0)});
  return {};
}

// `border` is left, top, right and bottom; `scale` the height and width that are left, where given.
Status WriteCrop(FunctionWriter& f) {
  const std::vector<int64_t>* border = f.given().Ints("border");
  const std::vector<int64_t>* scale = f.given().Ints("scale");
  if (border == nullptr || border->size() != 4) return CannotWrite("its border is not 4 numbers");
  const bool sized = scale != nullptr && !scale->empty();
  if (sized && scale->size() != 2) return CannotWrite("its scale is not 2 numbers");
  const int64_t left = (*border)[0];
  const int64_t top = (*border)[1];
  const auto end = [&](size_t axis) {
    const int64_t cut = (*border)[3 - axis];
    if (sized) return (axis == 0 ? top : left) + (*scale)[axis];
    return cut == 0 ? std::numeric_limits<int64_t>::max() : -cut;
  };
  f.Add("Slice", {f.in(0), f.Int64s({top, left}), f.Int64s({end(0), end(1)}), f.Int64s({2, 3})},
        {f.out(0)});
  return {};
}

Status WriteDynamicSlice(FunctionWriter& f) {
  f.Add("Slice", {f.in(0), f.in(1), f.in(2), f.in(3)}, {f.out(0)});
  return {};
}

}  // namespace plimsoll::onnx
