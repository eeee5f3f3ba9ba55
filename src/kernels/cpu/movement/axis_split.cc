#include "kernels/cpu/movement/axis_split.h"

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

AxisSplit SplitAt(std::span<const int64_t> dims, int64_t axis) {
  const auto at = static_cast<size_t>(axis);
  return {ElementCount(dims.first(at)), dims[at], ElementCount(dims.subspan(at + 1))};
}

Result<int64_t> NormalAxis(const KernelSite& site, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return site.BadInput(StrCat("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Status IndexOutside(const Error& base, int64_t index, int64_t length) {
  Error error = base;
  error.why = StrCat("index ", index, " is outside an axis of ", length);
  return error;
}

Status CheckIndexType(const KernelSite& site, size_t input) {
  const graph::DataType type = site.inputs[input].type;
  if (type == graph::DataType::kInt32 || type == graph::DataType::kInt64) return {};
  return site.Unsupported(StrCat("indices are ", graph::Name(type), ", not int32 or int64"));
}

}  // namespace plimsoll::kernels::cpu
