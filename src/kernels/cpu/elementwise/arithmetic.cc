#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/float32_arithmetic.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/half_rows.h"

// Add, Sub, Mul, Div, Mod, and the operators that fold any number of inputs: Sum, Mean, Max, Min.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

struct Plus {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};

struct Minus {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a - b);
  }
};

struct Times {
  template <typename T>
  static T Apply(T a, T b) {
    // Narrow unsigned operands would be multiplied as int, which may overflow.
    if constexpr (std::is_same_v<T, uint16_t>) return static_cast<T>(uint32_t{a} * b);
    return static_cast<T>(a * b);
  }
};

// Integers divide towards zero; by zero they give 0, and the lowest by -1 gives itself.
struct Over {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return static_cast<T>(std::make_unsigned_t<T>(0) - a);
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

// The remainder with the sign of the dividend; 0 for integers by zero.
struct TruncatedRemainder {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || b == static_cast<T>(-1)) return std::is_signed_v<T> || b == 0 ? 0 : a % b;
      return static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};

// The remainder with the sign of the divisor.
struct FlooredRemainder {
  template <typename T>
  static T Apply(T a, T b) {
    const T rest = TruncatedRemainder::Apply(a, b);
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_unsigned_v<T>) return rest;
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      if (rest == 0) return std::copysign(T(0), b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};

// A NaN on either side wins.
struct Larger {
  static constexpr bool kChooses = true;  // one of its operands
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (!std::is_integral_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
    }
    return a < b ? b : a;
  }
};

struct Smaller {
  static constexpr bool kChooses = true;
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (!std::is_integral_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
    }
    return b < a ? b : a;
  }
};

using PairLoop = BinaryLoop Float32PairLoops::*;

// Halves, some at a time, as float32.
template <typename Op, PairLoop kLoop, typename T>
void HalfLoop(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
              int64_t count) {
  constexpr int64_t kFew = 8;
  constexpr int64_t kAtOnce = 512;
  if (count < kFew) return BinaryLoopOf<Op, T>(a, step_a, b, step_b, to, count);
  std::array<float, kAtOnce> left;
  std::array<float, kAtOnce> right;
  std::array<float, kAtOnce> made;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - first);
    WidenRow(static_cast<const T*>(a) + first * step_a, step_a == 0 ? 1 : some, left.data());
    WidenRow(static_cast<const T*>(b) + first * step_b, step_b == 0 ? 1 : some, right.data());
    (Float32Pairs().*kLoop)(left.data(), step_a, right.data(), step_b, made.data(), some);
    NarrowRow(made.data(), some, static_cast<T*>(to) + first);
  }
}

// The loop over vectors of float32; null for types that are neither that nor halves.
template <typename Op, PairLoop kLoop>
BinaryLoop VectorLoop(DataType type) {
  if (type == DataType::kFloat32) return Float32Pairs().*kLoop;
  if (type == DataType::kFloat16) return &HalfLoop<Op, kLoop, Float16>;
  if (type == DataType::kBfloat16) return &HalfLoop<Op, kLoop, Bfloat16>;
  return nullptr;
}

// For operations in which integers of one width give the same bits whatever their sign.
template <typename Op, PairLoop kLoop>
BinaryLoop RingLoop(DataType type) {
  if (const BinaryLoop loop = VectorLoop<Op, kLoop>(type); loop != nullptr) return loop;
  if (graph::IsInteger(type)) return BinaryLoopFor<Op, UnsignedIntegers>(UnsignedOfWidth(type));
  return BinaryLoopFor<Op, TypeList<double>>(type);
}

template <typename Op, PairLoop kLoop>
BinaryLoop OrderedLoop(DataType type) {
  if (const BinaryLoop loop = VectorLoop<Op, kLoop>(type); loop != nullptr) return loop;
  return BinaryLoopFor<Op, TypeList<double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                    uint32_t, uint64_t>>(type);
}

BinaryLoop SumLoop(DataType type) { return RingLoop<Plus, &Float32PairLoops::add>(type); }

BinaryLoop QuotientLoop(DataType type) {
  return OrderedLoop<Over, &Float32PairLoops::divide>(type);
}

Result<KernelPointer> MakeAdd(KernelSite& site) {
  return MakeBinaryKernel(site, SumLoop(site.inputs[0].type));
}

Result<KernelPointer> MakeSub(KernelSite& site) {
  return MakeBinaryKernel(site, RingLoop<Minus, &Float32PairLoops::subtract>(site.inputs[0].type));
}

Result<KernelPointer> MakeMul(KernelSite& site) {
  return MakeBinaryKernel(site, RingLoop<Times, &Float32PairLoops::multiply>(site.inputs[0].type));
}

Result<KernelPointer> MakeDiv(KernelSite& site) {
  return MakeBinaryKernel(site, QuotientLoop(site.inputs[0].type));
}

Result<KernelPointer> MakeMod(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  const bool truncated = site.attributes().Int("fmod", 0) != 0;
  return MakeBinaryKernel(site, truncated ? BinaryLoopFor<TruncatedRemainder, AllNumbers>(type)
                                          : BinaryLoopFor<FlooredRemainder, AllNumbers>(type));
}

Result<KernelPointer> MakeSum(KernelSite& site) {
  return MakeFoldKernel(site, SumLoop(site.inputs[0].type));
}

Result<KernelPointer> MakeMean(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  double inputs = 0;  // room for the number of inputs in any type
  StoreInteger(type, &inputs, 0, static_cast<int64_t>(site.inputs.size()));
  return MakeFoldKernel(site, SumLoop(type), QuotientLoop(type), &inputs);
}

Result<KernelPointer> MakeMax(KernelSite& site) {
  return MakeFoldKernel(site, OrderedLoop<Larger, &Float32PairLoops::max>(site.inputs[0].type));
}

Result<KernelPointer> MakeMin(KernelSite& site) {
  return MakeFoldKernel(site, OrderedLoop<Smaller, &Float32PairLoops::min>(site.inputs[0].type));
}

constexpr KernelRow kArithmeticRows[] = {
    {"", "Add", 7, graph::kNewest, MakeAdd},   {"", "Sub", 7, graph::kNewest, MakeSub},
    {"", "Mul", 7, graph::kNewest, MakeMul},   {"", "Div", 7, graph::kNewest, MakeDiv},
    {"", "Mod", 10, graph::kNewest, MakeMod},  {"", "Sum", 6, graph::kNewest, MakeSum},
    {"", "Mean", 6, graph::kNewest, MakeMean}, {"", "Max", 6, graph::kNewest, MakeMax},
    {"", "Min", 6, graph::kNewest, MakeMin},
};

}  // namespace

std::span<const KernelRow> ArithmeticKernels() { return kArithmeticRows; }

}  // namespace plimsoll::kernels::cpu
