#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/element_types.h"
#include "kernels/kernel.h"

// Kernels that make each output element from the elements at the same place of their inputs. A
// kernel is a loop over a run of elements, chosen by type; how runs follow from shapes, and how
// they are spread over threads, is written once. Loops read an element before they write it, so
// the output may be the memory of any input that has its shape and width.
namespace plimsoll::kernels::cpu {

// Elements that are worth a thread of their own.
inline constexpr int64_t kElementGrain = 32768;

// Numbers that attributes give to an operator of one input.
struct Coefficients {
  double alpha = 0;
  double beta = 0;
};

using UnaryLoop = void (*)(const void* from, void* to, int64_t count, const Coefficients&);
// Steps are 0 (one element for the whole run) or 1.
using BinaryLoop = void (*)(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
                            int64_t count);

// Bytes from one element to the next; asserts that the type has whole bytes or is string.
int64_t ElementBytes(graph::DataType type);

// Kernels over the site's first inputs and its first output. Unsupported where `loop` is null, for
// the sake of makers that found none for the type.
Result<KernelPointer> MakeUnaryKernel(const KernelSite& site, UnaryLoop loop,
                                      const Coefficients& coefficients = {});
Result<KernelPointer> MakeBinaryKernel(const KernelSite& site, BinaryLoop loop);
// The same with the two inputs exchanged.
Result<KernelPointer> MakeSwappedBinaryKernel(const KernelSite& site, BinaryLoop loop);
// `loop` over all inputs from left to right, and at last over that and `last`, one element, where
// that is not null; `last` is copied.
Result<KernelPointer> MakeFoldKernel(const KernelSite& site, BinaryLoop loop,
                                     BinaryLoop last_loop = nullptr, const void* last = nullptr);

// "this operator has no kernel for float8e5m2".
Error NoKernelForType(const KernelSite& site, graph::DataType type);

// Elements that a loop makes before it writes the first of them: their number being fixed and no
// other memory in the way, the compiler makes vectors of them, where none is wider than 8 bytes.
inline constexpr int64_t kMadeTogether = 16;

// to[i] = make(i) for i below `count`, out of elements of type T; the output may be what `make`
// reads.
template <typename T, bool kTogether = true, typename Made, typename Make>
void MakeElements(Made* to, int64_t count, const Make& make) {
  int64_t i = 0;
  if constexpr (kTogether && sizeof(T) <= 8 && sizeof(Made) <= 8) {
    for (; i + kMadeTogether <= count; i += kMadeTogether) {
      std::array<Made, kMadeTogether> made;
      for (int64_t k = 0; k < kMadeTogether; ++k) made[static_cast<size_t>(k)] = make(i + k);
      std::copy_n(made.data(), kMadeTogether, to + i);
    }
  }
  for (; i < count; ++i) to[i] = make(i);
}

// Loops out of an operation Op::Apply over the type to compute in; Result is the type it gives.
template <typename Op, typename T, typename Made = T>
void UnaryLoopOf(const void* from, void* to, int64_t count, const Coefficients& coefficients) {
  const auto* in = static_cast<const T*>(from);
  const Coefficients own = coefficients;
  MakeElements<T>(static_cast<Made*>(to), count, [&](int64_t i) {
    return static_cast<Made>(Op::Apply(static_cast<Wide<T>>(in[i]), own));
  });
}

template <typename Op, typename T, typename Made = T>
void BinaryLoopOf(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
                  int64_t count) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  auto* out = static_cast<Made*>(to);
  // The vectors that every processor has compare no elements of 8 bytes.
  constexpr bool kTogether = sizeof(T) < 8 || !requires { Op::kChooses; };
  const auto made = [](const T& x, const T& y) {
    return static_cast<Made>(Op::Apply(static_cast<Wide<T>>(x), static_cast<Wide<T>>(y)));
  };
  if (step_a == 1 && step_b == 1) {
    MakeElements<T, kTogether>(out, count, [&](int64_t i) { return made(left[i], right[i]); });
  } else if (count > 0 && step_a == 1) {
    MakeElements<T, kTogether>(out, count,
                               [&, y = right[0]](int64_t i) { return made(left[i], y); });
  } else if (count > 0 && step_b == 1) {
    MakeElements<T, kTogether>(out, count,
                               [&, x = left[0]](int64_t i) { return made(x, right[i]); });
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = made(left[i * step_a], right[i * step_b]);
  }
}

// The loop for the type, null where List does not have it.
template <typename Op, typename List>
UnaryLoop UnaryLoopFor(graph::DataType type) {
  UnaryLoop loop = nullptr;
  VisitType<List>(type, [&]<typename T>() { loop = &UnaryLoopOf<Op, T>; });
  return loop;
}

template <typename Op, typename List>
BinaryLoop BinaryLoopFor(graph::DataType type) {
  BinaryLoop loop = nullptr;
  VisitType<List>(type, [&]<typename T>() { loop = &BinaryLoopOf<Op, T>; });
  return loop;
}

// An unsigned integer as wide as the type, for operations whose bits do not depend on the sign.
graph::DataType UnsignedOfWidth(graph::DataType type);

using UnsignedIntegers = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using SignedIntegers = TypeList<int8_t, int16_t, int32_t, int64_t>;

}  // namespace plimsoll::kernels::cpu
