#include <array>
#include <cstring>

#include "kernels/cpu/elementwise/conversion.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/text_conversion.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/cast_rows.h"
#include "kernels/cpu/vector/half_rows.h"
#include "kernels/parallel.h"

// Cast, CastLike and BitCast. Pairs of types that models cast between have a loop of their own; the
// rest goes through a wide type, a piece at a time. Each piece is read before it is written, so
// types of one width may be cast in place.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

bool IsSmallFloat(DataType type) { return graph::IsFloating(type) && graph::Bits(type) <= 8; }

// Sub-byte elements share bytes, so two threads must not write next to each other.
int64_t GrainFor(DataType from, DataType to, int64_t count) {
  const bool packed = graph::Bits(from) < 8 || graph::Bits(to) < 8;
  return packed ? count : kElementGrain;
}

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

template <typename From, typename To>
UnaryLoop DirectLoop() {
  if constexpr (kIsHalf<From>) {
    return [](const void* from, void* to, int64_t count, const Coefficients&) {
      WidenRow(static_cast<const From*>(from), count, static_cast<float*>(to));
    };
  } else {
    return [](const void* from, void* to, int64_t count, const Coefficients&) {
      NarrowRow(static_cast<const float*>(from), count, static_cast<To*>(to));
    };
  }
}

// The loop for a pair of types that models cast between; null for others.
UnaryLoop FindDirectLoop(DataType from, DataType to) {
  UnaryLoop loop = FindVectorCast(from, to);
  if (loop != nullptr) return loop;
  using Partners = TypeList<Float16, Bfloat16>;
  if (from == DataType::kFloat32) {
    VisitType<Partners>(to, [&]<typename T>() { loop = DirectLoop<float, T>(); });
  } else if (to == DataType::kFloat32) {
    VisitType<Partners>(from, [&]<typename T>() { loop = DirectLoop<T, float>(); });
  }
  return loop;
}

// How a float of 8 or 4 bits is made from a wider one.
struct SmallFloatRule {
  DataType type;
  bool saturate;
  ScaleRounding rounding;

  uint8_t Bits(double value) const {
    const float wide = RoundedToOdd(value);
    if (type == DataType::kFloat8E8M0) return FloatToScale(wide, rounding, saturate);
    return FloatToSmallFloat(Describe(type), wide, saturate);
  }
};

Result<KernelPointer> MakeToSmallFloat(const KernelSite& site, const SmallFloatRule& rule) {
  const DataType from = site.inputs[0].type;
  const WidenLoop widen = WidenToDouble(from);
  if (widen == nullptr) return NoKernelForType(site, from);
  const int64_t count = site.outputs[0].elements();
  return MakeKernel([=, grain = GrainFor(from, rule.type, count)](const KernelCall& call) {
    ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      const int width = graph::Bits(rule.type);
      std::array<double, kWidePiece> wide;
      for (int64_t at = begin; at < end; at += kWidePiece) {
        const int64_t piece = std::min(kWidePiece, end - at);
        widen(call.inputs[0], at, wide.data(), piece);
        for (int64_t i = 0; i < piece; ++i) {
          StoreBits(width, call.outputs[0], at + i, rule.Bits(wide[static_cast<size_t>(i)]));
        }
      }
    });
    ClearPadding(rule.type, call.outputs[0], count);
  });
}

Result<KernelPointer> MakeByWideType(const KernelSite& site, DataType from, DataType to) {
  const bool floating = graph::IsFloating(from);
  const WidenLoop widen = floating ? WidenToDouble(from) : WidenToInt64(from);
  const NarrowLoop narrow = floating                    ? NarrowFromDouble(to)
                            : from == DataType::kUint64 ? NarrowFromUint64(to)
                                                        : NarrowFromInt64(to);
  if (widen == nullptr || narrow == nullptr) {
    return NoKernelForType(site, widen == nullptr ? from : to);
  }
  const int64_t count = site.outputs[0].elements();
  return MakeKernel([=, grain = GrainFor(from, to, count)](const KernelCall& call) {
    ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      WideBuffer wide;
      for (int64_t at = begin; at < end; at += kWidePiece) {
        const int64_t piece = std::min(kWidePiece, end - at);
        widen(call.inputs[0], at, wide.bytes, piece);
        narrow(wide.bytes, call.outputs[0], at, piece);
      }
    });
    ClearPadding(to, call.outputs[0], count);
  });
}

Result<KernelPointer> MakeCopy(KernelSite& site) {
  return MakeKernel(
      [bytes = static_cast<size_t>(site.outputs[0].size().value())](const KernelCall& call) {
        if (call.inputs[0] != call.outputs[0] && bytes > 0) {
          std::memcpy(call.outputs[0], call.inputs[0], bytes);
        }
      });
}

Result<ScaleRounding> ReadRounding(const KernelSite& site) {
  const std::string mode = site.attributes().String("round_mode", "up");
  if (mode == "up") return ScaleRounding::kUp;
  if (mode == "down") return ScaleRounding::kDown;
  if (mode == "nearest") return ScaleRounding::kNearest;
  return site.BadInput("attribute round_mode is none of up, down and nearest");
}

Result<KernelPointer> MakeCast(KernelSite& site) {
  const DataType from = site.inputs[0].type;
  const DataType to = site.outputs[0].type;
  if (from == DataType::kString || to == DataType::kString) return MakeTextCast(site);
  if (from == to) return MakeCopy(site);
  if (IsSmallFloat(to)) {
    PLIMSOLL_ASSIGN(const ScaleRounding rounding, ReadRounding(site));
    const bool saturate = site.attributes().Int("saturate", 1) != 0;
    return MakeToSmallFloat(site, {to, saturate, rounding});
  }
  if (const UnaryLoop loop = FindDirectLoop(from, to)) return MakeUnaryKernel(site, loop);
  return MakeByWideType(site, from, to);
}

constexpr KernelRow kCastRows[] = {
    {"", "Cast", 6, graph::kNewest, MakeCast},
    {"", "CastLike", 15, graph::kNewest, MakeCast},
    {"", "BitCast", 26, graph::kNewest, MakeCopy},
};

}  // namespace

std::span<const KernelRow> CastKernels() { return kCastRows; }

}  // namespace plimsoll::kernels::cpu
