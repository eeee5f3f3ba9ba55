#include "graph/operator_row.h"
#include "onnx/contributed/compositions.h"
#include "plimsoll/base/text.h"

// Operators that say by one node what the standard says by a few.
namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

Name AsInt64(FunctionWriter& f, Name value) {
  return f.Make("Cast", {value}, {{"to", static_cast<int64_t>(graph::DataType::kInt64)}});
}

Name AsInt32(FunctionWriter& f, Name value) {
  return f.Make("Cast", {value}, {{"to", static_cast<int64_t>(graph::DataType::kInt32)}});
}

// A number of the type of `like`.
Name NumberLike(FunctionWriter& f, int64_t number, Name like) {
  return f.Make("CastLike", {f.Int64(number), like});
}

}  // namespace

// |a - b|^2 = |a|^2 - 2ab + |b|^2, which rounding may bring below zero.
Status WriteCDist(FunctionWriter& f) {
  const std::string metric = f.given().String("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") {
    return CannotWrite(StrCat("metric '", metric, "' is not known"));
  }
  const Name axes = f.Int64s({1});
  const Name a = f.Make("ReduceSumSquare", {f.in(0), axes}, {{"keepdims", int64_t{1}}});
  const Name b = f.Make("ReduceSumSquare", {f.in(1), axes}, {{"keepdims", int64_t{0}}});
  const Name products = f.Make("Gemm", {f.in(0), f.in(1), f.Make("Add", {a, b})},
                               {{"alpha", -2.0}, {"transB", int64_t{1}}});
  const Name zero = NumberLike(f, 0, f.in(0));
  if (metric == "sqeuclidean") {
    f.Add("Max", {products, zero}, {f.out(0)});
  } else {
    f.Add("Sqrt", {f.Make("Max", {products, zero})}, {f.out(0)});
  }
  return {};
}

Status WriteExpandDims(FunctionWriter& f) {
  const Name axis = f.Make("Reshape", {AsInt64(f, f.in(1)), f.Int64s({1})});
  f.Add("Unsqueeze", {f.in(0), axis}, {f.out(0)});
  return {};
}

Status WriteGatherND(FunctionWriter& f) {
  f.Add("GatherND", {f.in(0), AsInt64(f, f.in(1))}, {f.out(0)});
  return {};
}

Status WriteRange(FunctionWriter& f) {
  const auto scalar = [&](Name value) { return f.Make("Reshape", {value, f.Int64s({})}); };
  const Name step = f.has(2) ? scalar(f.in(2)) : NumberLike(f, 1, f.in(0));
  f.Add("Range", {scalar(f.in(0)), scalar(f.in(1)), step}, {f.out(0)});
  return {};
}

Status WritePad(FunctionWriter& f) {
  NamedAttributes attributes;
  f.PassOn(attributes, "mode");
  const Name pads = f.Make("Reshape", {f.in(1), f.Int64s({-1})});
  const Name value = f.has(2) ? f.Make("Reshape", {f.in(2), f.Int64s({})}) : Name();
  f.Add("Pad", {f.in(0), pads, value}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteTrilu(FunctionWriter& f) {
  NamedAttributes attributes;
  f.PassOn(attributes, "upper");
  f.Add("Trilu", {f.in(0), f.in(1)}, {f.out(0)}, std::move(attributes));
  return {};
}

// Both sides in the bytes of the result.
Status WriteQLinearWhere(FunctionWriter& f) {
  const auto side = [&](size_t first) {
    const Name number = f.Make("DequantizeLinear", {f.in(first), f.in(first + 1), f.in(first + 2)});
    return f.Make("QuantizeLinear", {number, f.in(7), f.in(8)});
  };
  f.Add("Where", {f.in(0), side(1), side(4)}, {f.out(0)});
  return {};
}

Status WriteMatMulInteger16(FunctionWriter& f) {
  f.Add("MatMul", {AsInt32(f, f.in(0)), AsInt32(f, f.in(1))}, {f.out(0)});
  return {};
}

// Windows of the last axis, one after the other.
Status WriteUnfoldTensor(FunctionWriter& f) {
  if (f.given().Int("dim", -1) != -1) return CannotWrite("it unfolds another axis than the last");
  const int64_t size = f.given().Int("size", 0);
  const int64_t step = f.given().Int("step", 1);
  if (size < 1 || step < 1) return CannotWrite("its windows have no size or step");
  const Name length = f.Make("Squeeze", {f.Make("Shape", {f.in(0)}, {{"start", int64_t{-1}}})});
  const Name end = f.Make("Sub", {length, f.Int64(size - 1)});
  const Name starts = f.Make("Range", {f.Int64(0), end, f.Int64(step)});
  const Name offsets = f.Make("Range", {f.Int64(0), f.Int64(size), f.Int64(1)});
  const Name places = f.Make("Add", {f.Make("Unsqueeze", {starts, f.Int64s({1})}), offsets});
  f.Add("Gather", {f.in(0), places}, {f.out(0)}, {{"axis", int64_t{-1}}});
  return {};
}

Status WriteScaledSiLU(FunctionWriter& f) {
  Name scale = f.in(1);
  if (scale.empty()) scale = f.Float32(f.given().Float("alpha", 1));
  const Name scaled = f.Make("Mul", {f.in(0), f.Make("CastLike", {scale, f.in(0)})});
  f.Add("Swish", {scaled}, {f.out(0)});
  return {};
}

Status WriteGatedAdd(FunctionWriter& f) {
  f.Add("Add", {f.in(0), f.Make("Mul", {f.in(1), f.in(2)})}, {f.out(0)});
  return {};
}

// Over groups of as many elements of the last axis as the scale has.
Status WriteGatedRMSNorm(FunctionWriter& f) {
  const std::string activation = f.given().String("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid") {
    return CannotWrite(StrCat("activation '", activation, "' is not known"));
  }
  const Name groups =
      f.Make("Concat", {f.Int64s({-1}), f.Make("Shape", {f.in(1)})}, {{"axis", int64_t{0}}});
  const Name normalized =
      f.Make("RMSNormalization", {f.Make("Reshape", {f.in(0), groups}), f.in(1)},
             {{"epsilon", f.given().Float("epsilon", 1e-6)}});
  const Name whole = f.Make("Reshape", {normalized, f.Make("Shape", {f.in(0)})});
  const Name gate = f.Make(activation == "sigmoid" ? "Sigmoid" : "Swish", {f.in(2)});
  f.Add("Mul", {whole, gate}, {f.out(0)});
  return {};
}

}  // namespace plimsoll::onnx
