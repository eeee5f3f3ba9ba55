#include <algorithm>
#include <cmath>

#include "kernels/cpu/convolution/scale_layout.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/byte_loops.h"
#include "kernels/parallel.h"

// QuantizeLinear and DynamicQuantizeLinear.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// From the lowest to the highest number of an integer type.
struct Range {
  double low;
  double high;
};

Range RangeOf(DataType type) {
  const int bits = graph::Bits(type);
  const bool is_signed = type == DataType::kInt2 || type == DataType::kInt4 ||
                         type == DataType::kInt8 || type == DataType::kInt16 ||
                         type == DataType::kInt32;
  if (is_signed) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

// A float as the type that the division works in would hold it.
float InPrecision(DataType precision, float value) {
  if (precision == DataType::kFloat16) return Float16(value);
  if (precision == DataType::kBfloat16) return Bfloat16(value);
  return value;
}

struct QuantizeRule {
  DataType from;
  DataType scale;
  DataType zero;  // kUndefined: 0
  DataType to;
  DataType precision;
  bool saturate;

  // The scaled element, moved by the zero point and stored.
  void Store(float quotient, double zero_point, void* out, int64_t index) const {
    if (graph::IsFloating(to)) {
      const float moved = quotient + static_cast<float>(zero_point);
      StoreBits(graph::Bits(to), out, index, FloatToSmallFloat(Describe(to), moved, saturate));
      return;
    }
    const Range range = RangeOf(to);
    const double moved = std::nearbyint(static_cast<double>(quotient)) + zero_point;
    const double clipped = moved > range.low ? std::min(moved, range.high) : range.low;
    StoreInteger(to, out, index, static_cast<int64_t>(clipped));
  }

  void RunRow(const ScaleLayout::Row& row, const KernelCall& call) const {
    for (int64_t i = 0; i < row.length; ++i) {
      const int64_t at = row.scale + i * row.step;
      const auto x = static_cast<float>(LoadDouble(from, call.inputs[0], row.first + i));
      const auto divisor = static_cast<float>(LoadDouble(scale, call.inputs[1], at));
      const float quotient = InPrecision(precision, InPrecision(precision, x) / divisor);
      const double moved_by =
          zero == DataType::kUndefined ? 0 : LoadDouble(zero, call.inputs[2], at);
      Store(quotient, moved_by, call.outputs[0], row.first + i);
    }
  }
};

// The usual case: float32 to whole bytes, one scale for the row.
template <typename T>
KernelPointer MakeFromFloat32(const ScaleLayout& layout, bool has_zero) {
  return MakeKernel([=](const KernelCall& call) {
    ForEachPiece(layout, [&](const ScaleLayout::Row& row) {
      const auto zero = has_zero ? static_cast<const T*>(call.inputs[2])[row.scale] : T(0);
      QuantizeRun(static_cast<const float*>(call.inputs[0]) + row.first, row.length,
                  static_cast<const float*>(call.inputs[1])[row.scale], zero,
                  static_cast<T*>(call.outputs[0]) + row.first);
    });
  });
}

Result<KernelPointer> MakeQuantize(KernelSite& site) {
  PLIMSOLL_ASSIGN(const ScaleLayout layout, ScaleLayout::Make(site));
  const bool has_zero = site.has_input(2);
  QuantizeRule rule{.from = site.inputs[0].type,
                    .scale = site.inputs[1].type,
                    .zero = has_zero ? site.inputs[2].type : DataType::kUndefined,
                    .to = site.outputs[0].type,
                    .precision = site.inputs[1].type,
                    .saturate = site.attributes().Int("saturate", 1) != 0};
  const int64_t precision = site.attributes().Int("precision", 0);
  if (precision != 0) rule.precision = static_cast<DataType>(precision);
  const bool plain = rule.from == DataType::kFloat32 && rule.precision == DataType::kFloat32 &&
                     rule.scale == DataType::kFloat32 && layout.At(0).step == 0;
  KernelPointer kernel;
  if (plain) {
    VisitType<TypeList<int8_t, uint8_t, int16_t, uint16_t>>(
        rule.to, [&]<typename T>() { kernel = MakeFromFloat32<T>(layout, has_zero); });
  }
  if (kernel != nullptr) return kernel;
  if (rule.to == DataType::kFloat8E8M0 || graph::Bits(rule.to) > 16 || graph::Bits(rule.to) == 0) {
    return NoKernelForType(site, rule.to);
  }
  // Sub-byte elements share bytes, so one thread writes them all.
  const int64_t grain = graph::Bits(rule.to) < 8 ? layout.rows() : 1;
  return MakeKernel([=, count = site.outputs[0].elements()](const KernelCall& call) {
    ParallelFor(layout.rows(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) rule.RunRow(layout.At(row), call);
    });
    ClearPadding(rule.to, call.outputs[0], count);
  });
}

// To uint8 with the scale and the zero point that the elements, and 0, just fit.
Result<KernelPointer> MakeDynamicQuantize(KernelSite& site) {
  if (site.inputs[0].type != DataType::kFloat32) return NoKernelForType(site, site.inputs[0].type);
  return MakeKernel([count = site.inputs[0].elements()](const KernelCall& call) {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    const DynamicScale fit = DynamicScaleOf(RangeOfFloats(x, count));
    *static_cast<float*>(call.outputs[1]) = fit.scale;
    *static_cast<uint8_t*>(call.outputs[2]) = fit.zero_point;
    auto* const out = static_cast<uint8_t*>(call.outputs[0]);
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      QuantizeRun(x + begin, end - begin, fit.scale, fit.zero_point, out + begin);
    });
  });
}

constexpr KernelRow kQuantizeRows[] = {
    {"", "QuantizeLinear", 10, graph::kNewest, MakeQuantize},
    {"", "DynamicQuantizeLinear", 11, graph::kNewest, MakeDynamicQuantize},
};

}  // namespace

std::span<const KernelRow> QuantizeKernels() { return kQuantizeRows; }

}  // namespace plimsoll::kernels::cpu
