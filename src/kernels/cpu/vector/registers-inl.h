// What keeps the compiler from spending load ports and registers on addresses in the innermost
// loops of products, and from fusing steps. Compiled once for each instruction set: the guard below
// is Highway's, which lets every target in once.
#if defined(PLIMSOLL_KERNELS_CPU_VECTOR_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_VECTOR_REGISTERS_INL_H_
#undef PLIMSOLL_KERNELS_CPU_VECTOR_REGISTERS_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_VECTOR_REGISTERS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

// A vector that several instructions of a short loop take is loaded once, where there are registers
// for it: the compiler would rather have each of them load it again.
template <typename V>
HWY_INLINE void HoldInRegister(V& vector) {
#if HWY_TARGET == HWY_AVX3
  asm("" : "+v"(vector.raw));
#else
  static_cast<void>(vector);
#endif
}

// Here the vector is rounded: a product does not become one step with the sum that takes it.
template <typename V>
HWY_INLINE void RoundHere(V& vector) {
#if HWY_TARGET == HWY_AVX3
  asm("" : "+v"(vector.raw));
#elif HWY_TARGET == HWY_AVX2
  asm("" : "+x"(vector.raw));
#else
  static_cast<void>(vector);
#endif
}

// A pointer that stays in a register of its own: the compiler would work it out of others again.
HWY_INLINE const float* OwnPointer(const float* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

// One element of each of kRows rows, with a pointer for every three of them: the others are one or
// two strides away, which an address holds. Offsets of all rows would not fit into registers.
template <int kRows>
class RowPointers {
 public:
  HWY_INLINE RowPointers(const float* first, int64_t stride) {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) {
      pointers_[i] = OwnPointer(first + kRowsEach * i * stride);
    }
  }

  HWY_INLINE float At(int row, int64_t stride) const {
    return pointers_[row / kRowsEach][row % kRowsEach * stride];
  }

  HWY_INLINE void Advance(int64_t elements) {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) pointers_[i] += elements;
  }

 private:
  static constexpr int kRowsEach = 3;
  static constexpr int kPointers = (kRows + kRowsEach - 1) / kRowsEach;
  const float* pointers_[kPointers];
};

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLIMSOLL_KERNELS_CPU_VECTOR_REGISTERS_INL_H_
