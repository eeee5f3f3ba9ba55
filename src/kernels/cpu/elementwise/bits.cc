#include <limits>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

// Logic on bools and on the bits of integers.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

struct Both {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct Either {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct OneOnly {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct Inverted {
  template <typename T>
  static T Apply(T a, const Coefficients&) {
    return static_cast<T>(~a);
  }
};

struct Opposite {
  static uint8_t Apply(uint8_t a, const Coefficients&) { return a == 0 ? 1 : 0; }
};

// A shift by a negative number of bits, or by as many as there are, shifts everything out.
template <typename T>
bool IsWithin(T bits) {
  return bits >= 0 && static_cast<uint64_t>(bits) < sizeof(T) * 8;
}

struct ShiftedLeft {
  template <typename T>
  static T Apply(T a, T bits) {
    return IsWithin(bits) ? static_cast<T>(static_cast<uint64_t>(a) << bits) : T(0);
  }
};

struct ShiftedRight {
  template <typename T>
  static T Apply(T a, T bits) {
    if (IsWithin(bits)) return static_cast<T>(a >> bits);
    return a < 0 ? static_cast<T>(-1) : T(0);
  }
};

template <typename Op>
Result<KernelPointer> MakeLogic(KernelSite& site) {
  if (site.inputs[0].type != DataType::kBool) return NoKernelForType(site, site.inputs[0].type);
  return MakeBinaryKernel(site, &BinaryLoopOf<Op, uint8_t>);
}

template <typename Op>
Result<KernelPointer> MakeBitwise(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  if (!graph::IsInteger(type)) return NoKernelForType(site, type);
  return MakeBinaryKernel(site, BinaryLoopFor<Op, UnsignedIntegers>(UnsignedOfWidth(type)));
}

Result<KernelPointer> MakeBitwiseNot(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  if (!graph::IsInteger(type)) return NoKernelForType(site, type);
  return MakeUnaryKernel(site, UnaryLoopFor<Inverted, UnsignedIntegers>(UnsignedOfWidth(type)));
}

Result<KernelPointer> MakeNot(KernelSite& site) {
  if (site.inputs[0].type != DataType::kBool) return NoKernelForType(site, site.inputs[0].type);
  return MakeUnaryKernel(site, &UnaryLoopOf<Opposite, uint8_t>);
}

Result<KernelPointer> MakeBitShift(KernelSite& site) {
  const std::string direction = site.attributes().String("direction", "");
  const DataType type = site.inputs[0].type;
  if (direction == "LEFT") {
    return MakeBinaryKernel(site, BinaryLoopFor<ShiftedLeft, AllIntegers>(type));
  }
  if (direction == "RIGHT") {
    return MakeBinaryKernel(site, BinaryLoopFor<ShiftedRight, AllIntegers>(type));
  }
  return site.BadInput("attribute direction is neither LEFT nor RIGHT");
}

constexpr KernelRow kBitsRows[] = {
    {"", "And", 7, graph::kNewest, MakeLogic<Both>},
    {"", "Or", 7, graph::kNewest, MakeLogic<Either>},
    {"", "Xor", 7, graph::kNewest, MakeLogic<OneOnly>},
    {"", "Not", 1, graph::kNewest, MakeNot},
    {"", "BitwiseAnd", 18, graph::kNewest, MakeBitwise<Both>},
    {"", "BitwiseOr", 18, graph::kNewest, MakeBitwise<Either>},
    {"", "BitwiseXor", 18, graph::kNewest, MakeBitwise<OneOnly>},
    {"", "BitwiseNot", 18, graph::kNewest, MakeBitwiseNot},
    {"", "BitShift", 11, graph::kNewest, MakeBitShift},
};

}  // namespace

std::span<const KernelRow> BitKernels() { return kBitsRows; }

}  // namespace plimsoll::kernels::cpu
