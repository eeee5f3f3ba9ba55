#include <limits>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/families.h"
#include "kernels/parallel.h"

// Clip: Min(high, Max(x, low)). A NaN passes through.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

using ClipLoop = void (*)(const void* from, void* to, int64_t begin, int64_t end, const void* low,
                          const void* high);

// A bound that is null does not bind.
template <typename T>
void Clip(const void* from, void* to, int64_t begin, int64_t end, const void* low,
          const void* high) {
  using W = Wide<T>;
  using Limits = std::numeric_limits<W>;
  const W least = low != nullptr         ? static_cast<W>(*static_cast<const T*>(low))
                  : Limits::has_infinity ? -Limits::infinity()
                                         : Limits::lowest();
  const W most = high != nullptr        ? static_cast<W>(*static_cast<const T*>(high))
                 : Limits::has_infinity ? Limits::infinity()
                                        : Limits::max();
  const auto* in = static_cast<const T*>(from);
  auto* out = static_cast<T*>(to);
  for (int64_t i = begin; i < end; ++i) {
    W x = static_cast<W>(in[i]);
    x = x < least ? least : x;
    x = x > most ? most : x;
    out[i] = static_cast<T>(x);
  }
}

void ClipFloat32(const void* from, void* to, int64_t begin, int64_t end, const void* low,
                 const void* high) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Coefficients bounds{low != nullptr ? *static_cast<const float*>(low) : -kInfinity,
                            high != nullptr ? *static_cast<const float*>(high) : kInfinity};
  Float32().clip(static_cast<const float*>(from) + begin, static_cast<float*>(to) + begin,
                 end - begin, bounds);
}

using ClipOtherNumbers = TypeList<double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                                  uint8_t, uint16_t, uint32_t, uint64_t>;

ClipLoop LoopFor(DataType type) {
  ClipLoop loop = type == DataType::kFloat32 ? &ClipFloat32 : nullptr;
  VisitType<ClipOtherNumbers>(type, [&]<typename T>() { loop = &Clip<T>; });
  return loop;
}

// Up to version 10 the bounds are attributes.
Result<KernelPointer> MakeClipByAttributes(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  const ClipLoop loop = LoopFor(type);
  if (loop == nullptr) return NoKernelForType(site, type);
  constexpr double kMost = std::numeric_limits<float>::max();
  double low = 0;  // room for a bound of any type
  double high = 0;
  StoreDouble(type, &low, 0, site.attributes().Float("min", -kMost));
  StoreDouble(type, &high, 0, site.attributes().Float("max", kMost));
  return MakeKernel([loop, low, high, count = site.outputs[0].elements()](const KernelCall& call) {
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      loop(call.inputs[0], call.outputs[0], begin, end, &low, &high);
    });
  });
}

Result<KernelPointer> MakeClip(KernelSite& site) {
  const ClipLoop loop = LoopFor(site.inputs[0].type);
  if (loop == nullptr) return NoKernelForType(site, site.inputs[0].type);
  const bool has_low = site.has_input(1);
  const bool has_high = site.has_input(2);
  return MakeKernel([=, count = site.outputs[0].elements()](const KernelCall& call) {
    const void* low = has_low ? call.inputs[1] : nullptr;
    const void* high = has_high ? call.inputs[2] : nullptr;
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      loop(call.inputs[0], call.outputs[0], begin, end, low, high);
    });
  });
}

constexpr KernelRow kClipRows[] = {
    {"", "Clip", 6, 10, MakeClipByAttributes},
    {"", "Clip", 11, graph::kNewest, MakeClip},
};

}  // namespace

std::span<const KernelRow> ClipKernels() { return kClipRows; }

}  // namespace plimsoll::kernels::cpu
