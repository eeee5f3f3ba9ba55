#include "kernels/cpu/quantization/dequantize_rows.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/dequantize_rows.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kColumnFloats;
constexpr hn::Rebind<int32_t, decltype(kColumnFloats)> kColumnIntegers;

template <typename T>
HWY_INLINE void Columns(const T* x, const T* zeros, const float* scales, int64_t count,
                        float* out) {
  const hn::Rebind<T, decltype(kColumnFloats)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(kColumnFloats));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto whole = hn::PromoteTo(kColumnIntegers, hn::LoadU(narrow, x + i));
    if (zeros != nullptr) {
      whole = hn::Sub(whole, hn::PromoteTo(kColumnIntegers, hn::LoadU(narrow, zeros + i)));
    }
    const auto scale = hn::LoadU(kColumnFloats, scales + i);
    hn::StoreU(hn::Mul(hn::ConvertTo(kColumnFloats, whole), scale), kColumnFloats, out + i);
  }
  for (; i < count; ++i) {
    const int32_t zero = zeros == nullptr ? 0 : zeros[i];
    out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero) * scales[i];
  }
}

void ColumnsOfBytes(const uint8_t* x, const uint8_t* zeros, const float* scales, int64_t count,
                    float* out) {
  Columns(x, zeros, scales, count, out);
}
void ColumnsOfSignedBytes(const int8_t* x, const int8_t* zeros, const float* scales, int64_t count,
                          float* out) {
  Columns(x, zeros, scales, count, out);
}
void ColumnsOfWords(const uint16_t* x, const uint16_t* zeros, const float* scales, int64_t count,
                    float* out) {
  Columns(x, zeros, scales, count, out);
}
void ColumnsOfSignedWords(const int16_t* x, const int16_t* zeros, const float* scales,
                          int64_t count, float* out) {
  Columns(x, zeros, scales, count, out);
}

void Unpack(const uint8_t* packed, int64_t first, int64_t count, bool is_signed, int8_t* out) {
  const int sign = is_signed ? 8 : 0;
  const auto one = [&](int64_t i) {
    const int64_t at = first + i;
    const int bits = (packed[at / 2] >> (at % 2 * 4)) & 15;
    out[i] = static_cast<int8_t>((bits ^ sign) - sign);
  };
  int64_t i = 0;
  if (first % 2 != 0 && count > 0) one(i++);
#if HWY_TARGET != HWY_SCALAR
  constexpr hn::FixedTag<uint8_t, 16> kPacked;
  const auto low_bits = hn::Set(kPacked, 15);
  const auto signs = hn::Set(kPacked, static_cast<uint8_t>(sign));
  const auto extended = [&](auto bits) { return hn::Sub(hn::Xor(bits, signs), signs); };
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  for (; i + 32 <= count; i += 32) {
    const auto both = hn::LoadU(kPacked, packed + (first + i) / 2);
    const auto low = extended(hn::And(both, low_bits));
    const auto high = extended(hn::ShiftRight<4>(both));
    hn::StoreU(hn::InterleaveLower(low, high), kPacked, bytes + i);
    hn::StoreU(hn::InterleaveUpper(kPacked, low, high), kPacked, bytes + i + 16);
  }
#endif
  for (; i < count; ++i) one(i);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(ColumnsOfBytes);
HWY_EXPORT(ColumnsOfSignedBytes);
HWY_EXPORT(ColumnsOfWords);
HWY_EXPORT(ColumnsOfSignedWords);
HWY_EXPORT(Unpack);

void DequantizeColumns(const uint8_t* x, const uint8_t* zeros, const float* scales, int64_t count,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfBytes)(x, zeros, scales, count, out);
}
void DequantizeColumns(const int8_t* x, const int8_t* zeros, const float* scales, int64_t count,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfSignedBytes)(x, zeros, scales, count, out);
}
void DequantizeColumns(const uint16_t* x, const uint16_t* zeros, const float* scales, int64_t count,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfWords)(x, zeros, scales, count, out);
}
void DequantizeColumns(const int16_t* x, const int16_t* zeros, const float* scales, int64_t count,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfSignedWords)(x, zeros, scales, count, out);
}

void UnpackFourBits(const void* packed, int64_t first, int64_t count, bool is_signed, int8_t* out) {
  HWY_DYNAMIC_DISPATCH(Unpack)
  (static_cast<const uint8_t*>(packed), first, count, is_signed, out);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
