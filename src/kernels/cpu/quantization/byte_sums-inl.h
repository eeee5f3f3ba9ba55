// Sums of products of bytes, a group of columns at a time, and what becomes of them. Compiled once
// for each instruction set: the guard below is Highway's, which lets every target in once.
#if defined(PLIMSOLL_KERNELS_CPU_BYTE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_BYTE_SUMS_INL_H_
#undef PLIMSOLL_KERNELS_CPU_BYTE_SUMS_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_BYTE_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/narrow_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<int32_t, kGroupColumns> kSums;
constexpr hn::Repartition<float, decltype(kSums)> kFloats;
constexpr int64_t kLanes = hn::MaxLanes(kSums);
constexpr int kVectors = static_cast<int>(kGroupColumns / kLanes);
using Sums = hn::Vec<decltype(kSums)>;
using Floats = hn::Vec<decltype(kFloats)>;

// sum + the products of both halves of a and b.
HWY_INLINE Sums AddProducts(Sums sum, Sums a, Sums b) {
#if HWY_TARGET == HWY_SCALAR
  const auto low = [](Sums x) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(x)); };
  const Sums high = hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
  return hn::Add(sum, hn::Add(high, hn::Mul(low(a), low(b))));
#else
  const hn::Repartition<int16_t, decltype(kSums)> halves;
  Sums unused = hn::Zero(kSums);
  // On x86 the sums of neighbours stay at their place, and all of them in the first vector.
  return hn::ReorderWidenMulAccumulate(kSums, hn::BitCast(halves, a), hn::BitCast(halves, b), sum,
                                       unused);
#endif
}

// sum + the products of the unsigned bytes of x with the signed ones of w.
HWY_INLINE Sums AddQuads(Sums sum, Sums x, Sums w) {
#if HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_maddubs_epi16(x.raw, w.raw);
  return Sums{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
#elif HWY_TARGET == HWY_AVX3
  const __m512i pairs = _mm512_maddubs_epi16(x.raw, w.raw);
  return Sums{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#else
  // Bytes 0 and 2, then 1 and 3, as 16-bit numbers.
  const auto low = [](Sums v) {
    const Sums first = hn::And(hn::ShiftRight<24>(hn::ShiftLeft<24>(v)), hn::Set(kSums, 0xffff));
    return hn::Or(first, hn::ShiftLeft<16>(hn::ShiftRight<24>(hn::ShiftLeft<8>(v))));
  };
  const auto high = [&](Sums v) {
    const Sums first = hn::And(hn::ShiftRight<24>(hn::ShiftLeft<16>(v)), hn::Set(kSums, 0xffff));
    return hn::Or(first, hn::ShiftLeft<16>(hn::ShiftRight<24>(v)));
  };
  const Sums bytes = hn::Set(kSums, 0x00ff00ff);
  const Sums odd = hn::And(hn::ShiftRight<8>(x), bytes);
  return AddProducts(AddProducts(sum, hn::And(x, bytes), low(w)), odd, high(w));
#endif
}

// Whether the processor has AVX-512's VNNI, which not every one with AVX-512 has.
HWY_INLINE bool HasVnni() {
#if HWY_TARGET == HWY_AVX3
  static const bool has = __builtin_cpu_supports("avx512vnni") != 0;
  return has;
#else
  return false;
#endif
}

#if HWY_TARGET == HWY_AVX3
// As AddQuads, in one instruction.
HWY_INLINE Sums AddQuadsVnni(Sums sum, Sums x, Sums w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  return sum;
}
#else
HWY_INLINE Sums AddQuadsVnni(Sums sum, Sums x, Sums w) { return AddQuads(sum, x, w); }
#endif

// One a column, from `place` on, or the same for all.
template <bool kByColumns>
HWY_INLINE Sums IntegersAt(const int32_t* from, int64_t place) {
  return kByColumns ? hn::LoadU(kSums, from + place) : hn::Set(kSums, from[place]);
}
template <bool kByColumns>
HWY_INLINE Floats FloatsAt(const float* from, int64_t place) {
  return kByColumns ? hn::LoadU(kFloats, from + place) : hn::Set(kFloats, from[place]);
}

template <bool kByColumns>
HWY_INLINE Sums WithBias(Sums sum, int64_t place, const PairFinish& finish) {
  if (finish.bias == nullptr) return sum;
  return hn::Add(sum, IntegersAt<kByColumns>(finish.bias, place));
}

template <bool kByColumns>
HWY_INLINE Floats ScalesAt(const float* scales, int64_t place, const PairFinish& finish) {
  return kByColumns && finish.scale_step != 0 ? hn::LoadU(kFloats, scales + place)
                                              : hn::Set(kFloats, scales[place * finish.scale_step]);
}

// One vector of sums of one row, which begins at `column`, with its bias and times its scale.
template <bool kByColumns>
HWY_INLINE Floats Scaled(Sums sum, int64_t row, int64_t column, const PairFinish& finish) {
  const int64_t place = kByColumns ? column : row;
  return hn::Mul(hn::ConvertTo(kFloats, WithBias<kByColumns>(sum, place, finish)),
                 ScalesAt<kByColumns>(finish.scales, place, finish));
}

// The same, as the whole number that is nearest before anything is rounded: what a float cannot
// hold of the sum, the scale and their product decides where the product is close to a half.
template <bool kByColumns>
HWY_NOINLINE Floats NearestWhole(Sums sum, int64_t row, int64_t column, const PairFinish& finish) {
  const int64_t place = kByColumns ? column : row;
  const Floats scale = ScalesAt<kByColumns>(finish.scales, place, finish);
  const Sums whole = WithBias<kByColumns>(sum, place, finish);
  const Floats high = hn::ConvertTo(kFloats, whole);
  const Floats low = hn::ConvertTo(kFloats, hn::Sub(whole, hn::ConvertTo(kSums, high)));
  const Floats product = hn::Mul(high, scale);
  Floats rest = hn::MulSub(high, scale, product);
  rest = hn::MulAdd(high, ScalesAt<kByColumns>(finish.scale_rests, place, finish), rest);
  rest = hn::MulAdd(low, scale, rest);
  const Floats rounded = hn::Round(product);
  const Floats away = hn::Add(hn::Sub(product, rounded), rest);
  const Floats half = hn::Set(kFloats, 0.5F);
  const Floats one = hn::Set(kFloats, 1.0F);
  const Floats up = hn::IfThenElseZero(hn::Gt(away, half), one);
  const Floats down = hn::IfThenElseZero(hn::Lt(away, hn::Neg(half)), one);
  return hn::Sub(hn::Add(rounded, up), down);
}

// One vector of sums of one row, finished. `column` is where it begins.
template <PairFinish::Kind kKind, bool kByColumns>
HWY_INLINE void Store(Sums sum, int64_t row, int64_t column, const PairFinish& finish, int64_t at,
                      void* to) {
  using Kind = PairFinish::Kind;
  const int64_t place = kByColumns ? column : row;
  if constexpr (kKind == Kind::kInt32) {
    hn::StoreU(WithBias<kByColumns>(sum, place, finish), kSums, static_cast<int32_t*>(to) + at);
    return;
  }
  if constexpr (kKind == Kind::kFloat32) {
    Floats scaled = Scaled<kByColumns>(sum, row, column, finish);
    if (finish.addend != nullptr) {
      scaled = hn::Add(scaled, FloatsAt<kByColumns>(finish.addend, place));
    }
    hn::StoreU(scaled, kFloats, static_cast<float*>(to) + at);
    return;
  }
  Floats scaled = finish.scale_rests == nullptr
                      ? Scaled<kByColumns>(sum, row, column, finish)
                      : NearestWhole<kByColumns>(sum, row, column, finish);
  constexpr bool is_signed = kKind == Kind::kInt8;
  const auto zero = static_cast<float>(finish.zero_point);
  scaled = hn::Max(scaled, hn::Set(kFloats, (is_signed ? -128.0F : 0.0F) - zero));
  scaled = hn::Min(scaled, hn::Set(kFloats, (is_signed ? 127.0F : 255.0F) - zero));
  const Sums rounded = hn::Add(hn::NearestInt(scaled), hn::Set(kSums, finish.zero_point));
  if constexpr (is_signed) {
    const hn::Rebind<int8_t, decltype(kSums)> bytes;
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, static_cast<int8_t*>(to) + at);
  } else {
    const hn::Rebind<uint8_t, decltype(kSums)> bytes;
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, static_cast<uint8_t*>(to) + at);
  }
}

constexpr int64_t ElementSize(PairFinish::Kind kind) {
  return kind == PairFinish::Kind::kInt32 || kind == PairFinish::Kind::kFloat32 ? 4 : 1;
}

// `count` bytes, fewer than 16, by copies of a fixed size that may overlap.
HWY_INLINE void CopyFew(const char* from, int64_t count, char* to) {
  const auto both_ends = [&](auto size) {
    std::memcpy(to, from, size);
    std::memcpy(to + count - size, from + count - size, size);
  };
  if (count >= 8) {
    both_ends(std::integral_constant<int, 8>());
  } else if (count >= 4) {
    both_ends(std::integral_constant<int, 4>());
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

// A whole group as bytes.
template <PairFinish::Kind kKind, bool kByColumns>
HWY_INLINE void StoreByteGroup(const Sums* sums, int64_t row, int64_t column,
                               const PairFinish& finish, void* to) {
#if HWY_TARGET == HWY_AVX2
  if (finish.scale_rests == nullptr) {
    _mm_storeu_si128(
        static_cast<__m128i*>(to),
        NarrowToBytes<kKind == PairFinish::Kind::kInt8>(
            Scaled<kByColumns>(sums[0], row, column, finish).raw,
            Scaled<kByColumns>(sums[1], row, column + kLanes, finish).raw, finish.zero_point));
    return;
  }
#elif HWY_TARGET == HWY_AVX3
  if (finish.scale_rests == nullptr) {
    _mm_storeu_si128(static_cast<__m128i*>(to),
                     NarrowToBytes<kKind == PairFinish::Kind::kInt8>(
                         Scaled<kByColumns>(sums[0], row, column, finish).raw, finish.zero_point));
    return;
  }
#endif
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    Store<kKind, kByColumns>(sums[v], row, column + v * kLanes, finish, v * kLanes, to);
  }
}

// The end of a row, of which `columns` columns of a group count: what lies behind it is not ours,
// neither to write nor to read. Apart, so that the code of each tile stays small.
template <PairFinish::Kind kKind, bool kByColumns>
HWY_NOINLINE void StoreRowEnd(const int32_t* sums, int64_t row, int64_t column, int64_t columns,
                              const PairFinish& finish) {
  HWY_ALIGN int32_t plain[kGroupColumns];
  HWY_ALIGN float scales[kGroupColumns] = {};
  HWY_ALIGN float rests[kGroupColumns] = {};
  HWY_ALIGN float addends[kGroupColumns] = {};
  HWY_ALIGN int32_t biases[kGroupColumns] = {};
  PairFinish part = finish;
  int64_t first = column;
  if constexpr (kByColumns) {
    first = 0;
    if (finish.scale_step != 0 && finish.scales != nullptr) {
      std::copy_n(finish.scales + column, columns, scales);
      part.scales = scales;
    }
    if (finish.scale_step != 0 && finish.scale_rests != nullptr) {
      std::copy_n(finish.scale_rests + column, columns, rests);
      part.scale_rests = rests;
    }
    if (finish.addend != nullptr) {
      std::copy_n(finish.addend + column, columns, addends);
      part.addend = addends;
    }
    if (finish.bias != nullptr) {
      std::copy_n(finish.bias + column, columns, biases);
      part.bias = biases;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    Store<kKind, kByColumns>(hn::LoadU(kSums, sums + v * kLanes), row, first + v * kLanes, part,
                             v * kLanes, plain);
  }
  const int64_t size = ElementSize(finish.kind);
  char* const to = static_cast<char*>(finish.to) + (row * finish.row_stride + column) * size;
  std::copy_n(reinterpret_cast<const char*>(plain), columns * size, to);
}

// Finishes the vectors of one row of a group, of which `columns` columns count.
template <PairFinish::Kind kKind, bool kByColumns>
HWY_INLINE void StoreRow(const Sums* sums, int64_t row, int64_t column, int64_t columns,
                         const PairFinish& finish) {
  if (columns == kGroupColumns) {
    if constexpr (ElementSize(kKind) == 1) {
      StoreByteGroup<kKind, kByColumns>(
          sums, row, column, finish,
          static_cast<char*>(finish.to) + row * finish.row_stride + column);
      return;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Store<kKind, kByColumns>(sums[v], row, column + v * kLanes, finish,
                               row * finish.row_stride + column + v * kLanes, finish.to);
    }
    return;
  }
  if constexpr (ElementSize(kKind) == 1 && !kByColumns) {
    HWY_ALIGN char bytes[kGroupColumns];
    StoreByteGroup<kKind, kByColumns>(sums, row, column, finish, bytes);
    CopyFew(bytes, columns, static_cast<char*>(finish.to) + row * finish.row_stride + column);
    return;
  }
  HWY_ALIGN int32_t plain[kGroupColumns];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], kSums, plain + v * kLanes);
  StoreRowEnd<kKind, kByColumns>(plain, row, column, columns, finish);
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
