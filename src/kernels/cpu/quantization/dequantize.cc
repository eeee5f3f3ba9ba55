#include <algorithm>
#include <array>

#include "kernels/cpu/convolution/scale_layout.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/byte_loops.h"
#include "kernels/cpu/quantization/dequantize_rows.h"
#include "kernels/parallel.h"

// DequantizeLinear: (x - zero point) * scale.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

struct DequantizeRule {
  DataType from;
  DataType scale;
  bool has_zero;
  DataType to;

  void RunRow(const ScaleLayout::Row& row, const KernelCall& call) const {
    for (int64_t i = 0; i < row.length; ++i) {
      const int64_t at = row.scale + i * row.step;
      const double zero = has_zero ? LoadDouble(from, call.inputs[2], at) : 0;
      const auto moved = static_cast<float>(LoadDouble(from, call.inputs[0], row.first + i) - zero);
      const auto factor = static_cast<float>(LoadDouble(scale, call.inputs[1], at));
      StoreDouble(to, call.outputs[0], row.first + i, moved * factor);
    }
  }
};

// `zeros` is null where there are none; `scales` and it begin at the row's first.
template <typename T>
void DequantizeRow(const T* x, const T* zeros, const float* scales, int64_t step, int64_t count,
                   float* out) {
  if (step == 0) {
    DequantizeRun(x, count, *scales, zeros == nullptr ? T(0) : *zeros, out);
  } else {
    DequantizeColumns(x, zeros, scales, count, out);
  }
}

// The usual case: integers of whole bytes to float32.
template <typename T>
KernelPointer MakeToFloat32(const ScaleLayout& layout, bool has_zero) {
  return MakeKernel([=](const KernelCall& call) {
    ForEachPiece(layout, [&](const ScaleLayout::Row& row) {
      const T* const zeros = has_zero ? static_cast<const T*>(call.inputs[2]) + row.scale : nullptr;
      DequantizeRow(static_cast<const T*>(call.inputs[0]) + row.first, zeros,
                    static_cast<const float*>(call.inputs[1]) + row.scale, row.step, row.length,
                    static_cast<float*>(call.outputs[0]) + row.first);
    });
  });
}

// Likewise of 4 bits, some of which at a time become bytes.
KernelPointer MakeFourBitsToFloat32(const ScaleLayout& layout, bool has_zero, bool is_signed) {
  return MakeKernel([=](const KernelCall& call) {
    ForEachPiece(layout, [&](const ScaleLayout::Row& row) {
      std::array<int8_t, 512> bytes;
      std::array<int8_t, 512> zeros;
      for (int64_t i = 0; i < row.length;) {
        const int64_t count = std::min<int64_t>(row.length - i, bytes.size());
        const int64_t scale = row.scale + i * row.step;
        UnpackFourBits(call.inputs[0], row.first + i, count, is_signed, bytes.data());
        if (has_zero) {
          UnpackFourBits(call.inputs[2], scale, row.step == 0 ? 1 : count, is_signed, zeros.data());
        }
        DequantizeRow(bytes.data(), has_zero ? zeros.data() : nullptr,
                      static_cast<const float*>(call.inputs[1]) + scale, row.step, count,
                      static_cast<float*>(call.outputs[0]) + row.first + i);
        i += count;
      }
    });
  });
}

Result<KernelPointer> MakeDequantize(KernelSite& site) {
  PLIMSOLL_ASSIGN(const ScaleLayout layout, ScaleLayout::Make(site));
  const DequantizeRule rule{site.inputs[0].type, site.inputs[1].type, site.has_input(2),
                            site.outputs[0].type};
  KernelPointer kernel;
  if (rule.scale == DataType::kFloat32 && rule.to == DataType::kFloat32) {
    const bool is_signed = rule.from == DataType::kInt4;
    if (is_signed || rule.from == DataType::kUint4) {
      return MakeFourBitsToFloat32(layout, rule.has_zero, is_signed);
    }
    VisitType<TypeList<int8_t, uint8_t, int16_t, uint16_t>>(
        rule.from, [&]<typename T>() { kernel = MakeToFloat32<T>(layout, rule.has_zero); });
  }
  if (kernel != nullptr) return kernel;
  if (!graph::IsFloating(rule.to)) return NoKernelForType(site, rule.to);
  if (!graph::IsFloating(rule.from) && !graph::IsInteger(rule.from)) {
    return NoKernelForType(site, rule.from);
  }
  return MakeKernel([=](const KernelCall& call) {
    ParallelFor(layout.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) rule.RunRow(layout.At(row), call);
    });
  });
}

constexpr KernelRow kDequantizeRows[] = {
    {"", "DequantizeLinear", 10, graph::kNewest, MakeDequantize}};

}  // namespace

std::span<const KernelRow> DequantizeKernels() { return kDequantizeRows; }

}  // namespace plimsoll::kernels::cpu
