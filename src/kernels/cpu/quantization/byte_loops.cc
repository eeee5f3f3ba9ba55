#include "kernels/cpu/quantization/byte_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/byte_loops.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/narrow_bytes-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kWide;
constexpr hn::Rebind<int32_t, decltype(kWide)> kWhole;
using WideVector = hn::Vec<decltype(kWide)>;

FloatRange Range(const float* data, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kWide));
  WideVector low = hn::Zero(kWide);
  WideVector high = hn::Zero(kWide);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const WideVector x = hn::LoadU(kWide, data + i);
    low = hn::Min(x, low);
    high = hn::Max(x, high);
  }
  FloatRange range{hn::GetLane(hn::MinOfLanes(kWide, low)),
                   hn::GetLane(hn::MaxOfLanes(kWide, high))};
  for (; i < count; ++i) {
    range.least = std::min(range.least, data[i]);
    range.most = std::max(range.most, data[i]);
  }
  return range;
}

// What is not a number becomes the lowest one.
template <typename T>
HWY_INLINE hn::Vec<hn::Rebind<T, decltype(kWide)>> ToBytes(WideVector x, int32_t zero_point) {
  constexpr float kLow = std::numeric_limits<T>::min();
  constexpr float kHigh = std::numeric_limits<T>::max();
  const auto zero = static_cast<float>(zero_point);
  const WideVector kept =
      hn::Min(hn::Max(x, hn::Set(kWide, kLow - zero)), hn::Set(kWide, kHigh - zero));
  const auto moved = hn::Add(hn::NearestInt(kept), hn::Set(kWhole, zero_point));
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 1) {  // nothing is out of range any more
    const hn::Rebind<uint8_t, decltype(kWide)> bytes;
    const hn::Rebind<uint32_t, decltype(kWide)> words;
    return hn::BitCast(hn::Rebind<T, decltype(kWide)>(),
                       hn::TruncateTo(bytes, hn::BitCast(words, moved)));
  }
#endif
  return hn::DemoteTo(hn::Rebind<T, decltype(kWide)>(), moved);
}

// Bytes of the floats that value(place) gives, as many as fill whole vectors; how many.
template <typename T, typename Value>
HWY_INLINE int64_t StoreWholeVectors(int64_t count, int32_t zero_point, const Value& value,
                                     T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kWide));
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(T) == 1) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      _mm_storeu_si128(
          reinterpret_cast<__m128i*>(out + i),
          NarrowToBytes<std::is_signed_v<T>>(value(i).raw, value(i + lanes).raw, zero_point));
    }
  }
#endif
  const hn::Rebind<T, decltype(kWide)> bytes;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(ToBytes<T>(value(i), zero_point), bytes, out + i);
  }
  return i;
}

template <typename T>
HWY_INLINE void Quantize(const float* x, int64_t count, float scale, int32_t zero_point, T* out) {
  const hn::Rebind<T, decltype(kWide)> bytes;
  const WideVector divisor = hn::Set(kWide, scale);
  const int64_t i = StoreWholeVectors(
      count, zero_point, [&](int64_t at) { return hn::Div(hn::LoadU(kWide, x + at), divisor); },
      out);
  if (i == count) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN T made[HWY_MAX_BYTES];
  std::copy(x + i, x + count, rest);
  hn::StoreU(ToBytes<T>(hn::Div(hn::Load(kWide, rest), divisor), zero_point), bytes, made);
  std::copy_n(made, count - i, out + i);
}

template <typename T>
HWY_INLINE void Dequantize(const T* x, int64_t count, float scale, int32_t zero_point, float* out) {
  const hn::Rebind<T, decltype(kWide)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(kWide));
  const WideVector factor = hn::Set(kWide, scale);
  const auto zero = hn::Set(kWhole, zero_point);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto moved = hn::Sub(hn::PromoteTo(kWhole, hn::LoadU(bytes, x + i)), zero);
    hn::StoreU(hn::Mul(hn::ConvertTo(kWide, moved), factor), kWide, out + i);
  }
  for (; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero_point) * scale;
  }
}

void QuantizeToBytes(const float* x, int64_t count, float scale, int32_t zero, uint8_t* out) {
  Quantize(x, count, scale, zero, out);
}
void QuantizeToSignedBytes(const float* x, int64_t count, float scale, int32_t zero, int8_t* out) {
  Quantize(x, count, scale, zero, out);
}
void QuantizeToWords(const float* x, int64_t count, float scale, int32_t zero, uint16_t* out) {
  Quantize(x, count, scale, zero, out);
}
void QuantizeToSignedWords(const float* x, int64_t count, float scale, int32_t zero, int16_t* out) {
  Quantize(x, count, scale, zero, out);
}
void DequantizeBytes(const uint8_t* x, int64_t count, float scale, int32_t zero, float* out) {
  Dequantize(x, count, scale, zero, out);
}
void DequantizeSignedBytes(const int8_t* x, int64_t count, float scale, int32_t zero, float* out) {
  Dequantize(x, count, scale, zero, out);
}
void DequantizeWords(const uint16_t* x, int64_t count, float scale, int32_t zero, float* out) {
  Dequantize(x, count, scale, zero, out);
}
void DequantizeSignedWords(const int16_t* x, int64_t count, float scale, int32_t zero, float* out) {
  Dequantize(x, count, scale, zero, out);
}

template <typename T>
HWY_INLINE WideVector OperandLessZero(const T* from, int64_t step, int64_t at, int32_t zero) {
  const hn::Rebind<T, decltype(kWide)> bytes;
  if (step == 0) return hn::Set(kWide, static_cast<float>(from[0] - zero));
  return hn::ConvertTo(
      kWide, hn::Sub(hn::PromoteTo(kWhole, hn::LoadU(bytes, from + at)), hn::Set(kWhole, zero)));
}

template <typename T>
HWY_INLINE WideVector Combined(const ByteOperands& o, const T* a, const T* b, int64_t at) {
  const WideVector left = OperandLessZero(a, o.step_a, at, o.zero_a);
  const WideVector right = OperandLessZero(b, o.step_b, at, o.zero_b);
  const WideVector factor = hn::Set(kWide, o.factor_a);
  const WideVector offset = hn::Set(kWide, o.offset);
  // The Min, without effect on bytes, keeps compilers from fusing the product with the sum.
  const WideVector most = hn::Set(kWide, std::numeric_limits<float>::max());
  if (o.divisor != 0) {
    const WideVector first = hn::Min(hn::Mul(left, factor), most);
    const WideVector second = hn::Min(hn::Mul(right, hn::Set(kWide, o.factor_b)), most);
    const WideVector made = o.product ? hn::Mul(first, second) : hn::Add(first, second);
    return hn::Div(made, hn::Set(kWide, o.divisor));
  }
  if (o.product) return hn::Add(hn::Min(hn::Mul(hn::Mul(left, right), factor), most), offset);
  return hn::MulAdd(left, factor, hn::MulAdd(right, hn::Set(kWide, o.factor_b), offset));
}

template <typename T>
HWY_INLINE void CombineOf(const ByteOperands& o, int64_t count, T* out) {
  const hn::Rebind<T, decltype(kWide)> bytes;
  const auto* a = static_cast<const T*>(o.a);
  const auto* b = static_cast<const T*>(o.b);
  const auto zero = static_cast<int32_t>(o.divisor == 0 ? 0 : o.offset);
  const int64_t i = StoreWholeVectors(
      count, zero, [&](int64_t at) { return Combined(o, a, b, at); }, out);
  if (i == count) return;
  T left[HWY_MAX_BYTES] = {};
  T right[HWY_MAX_BYTES] = {};
  T made[HWY_MAX_BYTES];
  std::copy_n(a + i * o.step_a, o.step_a == 0 ? 1 : count - i, left);
  std::copy_n(b + i * o.step_b, o.step_b == 0 ? 1 : count - i, right);
  hn::StoreU(ToBytes<T>(Combined(o, left, right, 0), zero), bytes, made);
  std::copy_n(made, count - i, out + i);
}

#if HWY_TARGET == HWY_AVX3
// With VBMI, which looks up 64 bytes in half of a table at once; not every processor with AVX-512
// has it.
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi"))) void TranslateByVbmi(
    const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to) {
  __m512i parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = _mm512_loadu_si512(table.data() + 64 * i);
  for (int64_t i = 0; i < count; i += 64) {
    const __mmask64 inside = count - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(inside, from + i);
    const __m512i low = _mm512_permutex2var_epi8(parts[0], bytes, parts[1]);
    const __m512i high = _mm512_permutex2var_epi8(parts[2], bytes, parts[3]);
    _mm512_mask_storeu_epi8(to + i, inside,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high));
  }
}
#endif

void Translate(const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to) {
#if HWY_TARGET == HWY_AVX3
  static const bool has_vbmi = __builtin_cpu_supports("avx512vbmi") != 0;
  if (has_vbmi) return TranslateByVbmi(table, from, count, to);
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

void Combine(const ByteOperands& given, int64_t count, void* out) {
  const ByteOperands operands = given;
  if (operands.is_signed) {
    CombineOf(operands, count, static_cast<int8_t*>(out));
  } else {
    CombineOf(operands, count, static_cast<uint8_t*>(out));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Range);
HWY_EXPORT(QuantizeToBytes);
HWY_EXPORT(QuantizeToSignedBytes);
HWY_EXPORT(QuantizeToWords);
HWY_EXPORT(QuantizeToSignedWords);
HWY_EXPORT(DequantizeBytes);
HWY_EXPORT(DequantizeSignedBytes);
HWY_EXPORT(DequantizeWords);
HWY_EXPORT(DequantizeSignedWords);
HWY_EXPORT(Combine);
HWY_EXPORT(Translate);

FloatRange RangeOfFloats(const float* data, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Range)(data, count);
}

DynamicScale DynamicScaleOf(const FloatRange& range) {
  const float scale = range.most > range.least ? (range.most - range.least) / 255 : 1;
  const float zero = std::clamp(std::nearbyint(-range.least / scale), 0.0F, 255.0F);
  return {.scale = scale, .zero_point = static_cast<uint8_t>(zero)};
}

void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeToBytes)(x, count, scale, zero_point, out);
}
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, int8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeToSignedBytes)(x, count, scale, zero_point, out);
}
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeToWords)(x, count, scale, zero_point, out);
}
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, int16_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeToSignedWords)(x, count, scale, zero_point, out);
}
void DequantizeRun(const uint8_t* x, int64_t count, float scale, int32_t zero_point, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeBytes)(x, count, scale, zero_point, out);
}
void DequantizeRun(const int8_t* x, int64_t count, float scale, int32_t zero_point, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeSignedBytes)(x, count, scale, zero_point, out);
}
void DequantizeRun(const uint16_t* x, int64_t count, float scale, int32_t zero_point, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeWords)(x, count, scale, zero_point, out);
}
void DequantizeRun(const int16_t* x, int64_t count, float scale, int32_t zero_point, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeSignedWords)(x, count, scale, zero_point, out);
}
void TranslateBytes(const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(Translate)(table, from, count, to);
}
void CombineBytes(const ByteOperands& operands, int64_t count, void* out) {
  HWY_DYNAMIC_DISPATCH(Combine)(operands, count, out);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
