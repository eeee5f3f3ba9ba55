#include <cmath>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/conversion.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/families.h"
#include "kernels/parallel.h"

// Pow. The result has the base's type; an exponent of another type is widened piece by piece.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// By squaring, cut to the low bits. A negative exponent gives 1 divided by the power, towards zero.
template <typename T>
T IntegerPower(T base, int64_t exponent) {
  using Bits = std::make_unsigned_t<T>;
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return exponent % 2 == 0 ? T(1) : base;
    return 0;
  }
  Bits made = 1;
  for (auto square = static_cast<Bits>(base); exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) made = static_cast<Bits>(made * square);
    square = static_cast<Bits>(square * square);
  }
  return static_cast<T>(made);
}

template <typename T>
T Power(T base, double exponent) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(ToInt64(std::pow(static_cast<double>(base), exponent)));
  } else if (static_cast<float>(exponent) == exponent) {
    return std::pow(base, static_cast<T>(exponent));
  } else {
    return static_cast<T>(std::pow(static_cast<double>(base), exponent));
  }
}

template <typename T>
T Power(T base, int64_t exponent) {
  if constexpr (std::is_integral_v<T>) {
    return IntegerPower(base, exponent);
  } else {
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

// Exponents that models use for squares and cubes do not need logarithms.
template <typename T>
bool RunSimplePower(const T* base, int64_t step, double exponent, T* out, int64_t count) {
  if (exponent != 2 && exponent != 3) return false;
  if constexpr (std::is_same_v<T, float>) {
    if (step == 1) {
      (exponent == 2 ? Float32().square : Float32().cube)(base, out, count, {});
      return true;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<Wide<T>>(base[i * step]);
    out[i] = static_cast<T>(exponent == 2 ? x * x : x * x * x);
  }
  return true;
}

// One run; exponents are Exponent (double or int64_t), widened already.
template <typename T, typename Exponent>
void PowerLoop(const void* base, int64_t step_base, const void* exponent, int64_t step_exponent,
               void* to, int64_t count) {
  const auto* in = static_cast<const T*>(base);
  const auto* exponents = static_cast<const Exponent*>(exponent);
  auto* out = static_cast<T*>(to);
  if constexpr (kIsFloat<T>) {
    if (step_exponent == 0 &&
        RunSimplePower(in, step_base, static_cast<double>(*exponents), out, count)) {
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(
        Power(static_cast<Wide<T>>(in[i * step_base]), exponents[i * step_exponent]));
  }
}

using BaseTypes = TypeList<float, double, Float16, Bfloat16, int32_t, int64_t>;

Result<KernelPointer> MakePow(KernelSite& site) {
  const DataType exponent = site.inputs[1].type;
  const bool floating = graph::IsFloating(exponent);
  BinaryLoop loop = nullptr;
  VisitType<BaseTypes>(site.inputs[0].type, [&]<typename T>() {
    loop = floating ? &PowerLoop<T, double> : &PowerLoop<T, int64_t>;
  });
  const WidenLoop widen = floating ? WidenToDouble(exponent) : WidenToInt64(exponent);
  if (loop == nullptr) return NoKernelForType(site, site.inputs[0].type);
  if (widen == nullptr) return NoKernelForType(site, exponent);
  const auto plan =
      Broadcast<2>::Make(site.outputs[0].dims, {site.inputs[0].dims, site.inputs[1].dims});
  if (!plan) return site.Unsupported("too many axes broadcast in different ways");
  return MakeKernel([=, plan = *plan,
                     bytes = ElementBytes(site.inputs[0].type)](const KernelCall& call) {
    ParallelFor(plan.count(), kElementGrain / 8, [&](int64_t begin, int64_t end) {
      plan.ForEachRun(
          begin, end, [&](int64_t position, int64_t count, const auto& offsets, const auto& steps) {
            WideBuffer exponents;
            const auto* from = static_cast<const std::byte*>(call.inputs[0]);
            auto* to = static_cast<std::byte*>(call.outputs[0]);
            for (int64_t at = 0; at < count;) {
              const int64_t piece = steps[1] == 0 ? count : std::min(kWidePiece, count - at);
              widen(call.inputs[1], offsets[1] + at * steps[1], exponents.bytes,
                    steps[1] == 0 ? 1 : piece);
              loop(from + (offsets[0] + at * steps[0]) * bytes, steps[0], exponents.bytes, steps[1],
                   to + (position + at) * bytes, piece);
              at += piece;
            }
          });
    });
  });
}

constexpr KernelRow kPowerRows[] = {{"", "Pow", 7, graph::kNewest, MakePow}};

}  // namespace

std::span<const KernelRow> PowerKernels() { return kPowerRows; }

}  // namespace plimsoll::kernels::cpu
