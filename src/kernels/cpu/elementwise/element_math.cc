#include <cmath>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/elementwise/float32_mathematics.h"
#include "kernels/cpu/families.h"

// Mathematical functions of one input. Integers wrap where the result does not fit.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

struct Absolute {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    if constexpr (std::is_unsigned_v<T>) return x;
    if constexpr (std::is_integral_v<T>) {
      // Without a comparison, which vectors of 64 bits lack on older processors.
      using Bits = std::make_unsigned_t<T>;
      const auto sign = static_cast<Bits>(Bits{0} - (static_cast<Bits>(x) >> (8 * sizeof(T) - 1)));
      return static_cast<T>(static_cast<Bits>((static_cast<Bits>(x) + sign) ^ sign));
    } else {
      return std::abs(x);
    }
  }
};

struct Negative {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(std::make_unsigned_t<T>(0) - x);
    } else {
      return -x;
    }
  }
};

// -1, 0 or 1; a NaN stays one.
struct Sign {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    if constexpr (!std::is_integral_v<T>) {
      if (std::isnan(x)) return x;
    }
    return static_cast<T>((x > 0) - (x < 0));
  }
};

struct Reciprocal {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return 1 / x;
  }
};

// Integers go through double: the standard allows them for Erf.
struct ErrorFunction {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(std::erf(static_cast<double>(x)));
    } else {
      return std::erf(x);
    }
  }
};

// A function of the C library for floats and doubles.
template <float (*kFloat)(float), double (*kDouble)(double)>
struct Library {
  static float Apply(float x, const Coefficients&) { return kFloat(x); }
  static double Apply(double x, const Coefficients&) { return kDouble(x); }
};

template <typename Op, typename List>
Result<KernelPointer> MakeMath(KernelSite& site) {
  return MakeUnaryKernel(site, UnaryLoopFor<Op, List>(site.inputs[0].type));
}

template <float (*kFloat)(float), double (*kDouble)(double)>
Result<KernelPointer> MakeLibrary(KernelSite& site) {
  return MakeMath<Library<kFloat, kDouble>, AllFloats>(site);
}

// With a loop of its own for float32.
template <typename Op, typename List, UnaryLoop Float32Functions::*kFloat32>
Result<KernelPointer> MakeFast(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  return MakeUnaryKernel(
      site, type == DataType::kFloat32 ? Float32().*kFloat32 : UnaryLoopFor<Op, List>(type));
}

template <typename Op, typename List, UnaryLoop Float32Mathematics::*kFloat32>
Result<KernelPointer> MakeFast(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  return MakeUnaryKernel(
      site, type == DataType::kFloat32 ? Float32Math().*kFloat32 : UnaryLoopFor<Op, List>(type));
}

using OtherFloats = TypeList<double, Float16, Bfloat16>;
using OtherNumbers = TypeList<double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                              uint16_t, uint32_t, uint64_t>;

constexpr KernelRow kElementMathRows[] = {
    {"", "Abs", 6, graph::kNewest, MakeFast<Absolute, OtherNumbers, &Float32Mathematics::absolute>},
    {"", "Neg", 6, graph::kNewest, MakeFast<Negative, OtherNumbers, &Float32Mathematics::negative>},
    {"", "Sign", 9, graph::kNewest, MakeFast<Sign, OtherNumbers, &Float32Mathematics::sign>},
    {"", "Reciprocal", 6, graph::kNewest,
     MakeFast<Reciprocal, OtherFloats, &Float32Mathematics::reciprocal>},
    {"", "Floor", 6, graph::kNewest,
     MakeFast<Library<floorf, floor>, OtherFloats, &Float32Mathematics::floor>},
    {"", "Ceil", 6, graph::kNewest,
     MakeFast<Library<ceilf, ceil>, OtherFloats, &Float32Mathematics::ceil>},
    {"", "Round", 11, graph::kNewest,
     MakeFast<Library<nearbyintf, nearbyint>, OtherFloats, &Float32Mathematics::round>},
    {"", "Sqrt", 6, graph::kNewest,
     MakeFast<Library<sqrtf, sqrt>, OtherFloats, &Float32Functions::square_root>},
    {"", "Exp", 6, graph::kNewest,
     MakeFast<Library<expf, exp>, OtherFloats, &Float32Functions::exp>},
    {"", "Log", 6, graph::kNewest,
     MakeFast<Library<logf, log>, OtherFloats, &Float32Mathematics::log>},
    {"", "Erf", 9, graph::kNewest, MakeFast<ErrorFunction, OtherNumbers, &Float32Functions::erf>},
    {"", "Sin", 7, graph::kNewest,
     MakeFast<Library<sinf, sin>, OtherFloats, &Float32Mathematics::sin>},
    {"", "Cos", 7, graph::kNewest,
     MakeFast<Library<cosf, cos>, OtherFloats, &Float32Mathematics::cos>},
    {"", "Tan", 7, graph::kNewest, MakeLibrary<tanf, tan>},
    {"", "Asin", 7, graph::kNewest, MakeLibrary<asinf, asin>},
    {"", "Acos", 7, graph::kNewest, MakeLibrary<acosf, acos>},
    {"", "Atan", 7, graph::kNewest,
     MakeFast<Library<atanf, atan>, OtherFloats, &Float32Mathematics::atan>},
    {"", "Sinh", 9, graph::kNewest, MakeLibrary<sinhf, sinh>},
    {"", "Cosh", 9, graph::kNewest, MakeLibrary<coshf, cosh>},
    {"", "Tanh", 6, graph::kNewest,
     MakeFast<Library<tanhf, tanh>, OtherFloats, &Float32Functions::tanh>},
    {"", "Asinh", 9, graph::kNewest, MakeLibrary<asinhf, asinh>},
    {"", "Acosh", 9, graph::kNewest, MakeLibrary<acoshf, acosh>},
    {"", "Atanh", 9, graph::kNewest, MakeLibrary<atanhf, atanh>},
};

}  // namespace

std::span<const KernelRow> ElementMathKernels() { return kElementMathRows; }

}  // namespace plimsoll::kernels::cpu
