#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Attribute `output_dtype`, or kUndefined where it is absent or 0.
Result<DataType> OutputType(const InferContext& context) {
  const int64_t number = context.attributes().Int("output_dtype", 0);
  if (number == 0) return DataType::kUndefined;
  const std::optional<DataType> type = DataTypeFromOnnx(number);
  if (!type) return context.Fail(StrCat("output_dtype ", number, " is no element type"));
  return *type;
}

// A scale is for the whole tensor, for each slice of an axis, or for each block along an axis.
Status CheckScale(const InferContext& context) {
  const Shape* data = context.input_shape(0);
  const Shape* scale = context.input_shape(1);
  const Shape* zero = context.input_shape(2);
  const bool one_zero = zero != nullptr && ElementCount(*zero) == Dim(1);
  if (scale != nullptr && zero != nullptr && !one_zero && scale->size() != zero->size()) {
    return context.Fail(
        StrCat("the scale ", Text(*scale), " and the zero point ", Text(*zero), " differ in rank"));
  }
  if (data == nullptr || scale == nullptr || scale->size() != 1 || data->size() < 2) return {};
  if (scale->front() == Dim(1)) return {};
  const int64_t axis = context.attributes().Int("axis", 1);
  const std::optional<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(data->size()));
  if (!normal) return context.Fail(StrCat("axis ", axis, " is outside of ", Text(*data)));
  return CheckEqual(context, StrCat("the scales and axis ", *normal, " of ", Text(*data)),
                    scale->front(), (*data)[static_cast<size_t>(*normal)]);
}

void SetLikeData(InferContext& context, DataType type) {
  const Shape* data = context.input_shape(0);
  SetTensor(context, 0, type, data == nullptr ? std::nullopt : std::optional<Shape>(*data));
}

Status InferQuantizeLinear(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  PLIMSOLL_TRY(CheckScale(context));
  PLIMSOLL_ASSIGN(const DataType wanted, OutputType(context));
  const DataType zero = context.input_data_type(2);
  if (wanted != DataType::kUndefined && zero != DataType::kUndefined && wanted != zero) {
    return context.Fail(
        StrCat("output_dtype is ", Name(wanted), ", but the zero point is ", Name(zero)));
  }
  DataType type = wanted != DataType::kUndefined ? wanted : zero;
  if (type == DataType::kUndefined && !context.has_input(2)) type = DataType::kUint8;
  SetLikeData(context, type);
  return {};
}

Status InferDequantizeLinear(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckScale(context));
  DataType type = DataType::kFloat32;
  if (context.version() >= 19) type = context.input_data_type(1);
  if (context.version() >= 23) {
    PLIMSOLL_ASSIGN(const DataType wanted, OutputType(context));
    if (wanted != DataType::kUndefined) type = wanted;
  }
  SetLikeData(context, type);
  return {};
}

Status InferDynamicQuantizeLinear(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  SetLikeData(context, DataType::kUint8);
  context.SetOutput(1, DataType::kFloat32, {});
  context.SetOutput(2, DataType::kUint8, {});
  return {};
}

constexpr OperatorRow kQuantizationRows[] = {
    {"", "QuantizeLinear", 10, kNewest, 2, 3, 1, 1, InferQuantizeLinear, kOverFirstInput},
    {"", "DequantizeLinear", 10, kNewest, 2, 3, 1, 1, InferDequantizeLinear, kOverFirstInput},
    {"", "DynamicQuantizeLinear", 11, kNewest, 1, 1, 3, 3, InferDynamicQuantizeLinear},
};

}  // namespace

std::span<const OperatorRow> QuantizationRows() { return kQuantizationRows; }

}  // namespace plimsoll::graph::operators
