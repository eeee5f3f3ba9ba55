#include "kernels/element_types.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace plimsoll::kernels {
namespace {

using graph::DataType;

template <typename T>
T Load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

template <typename T>
void Store(void* data, int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + index * int64_t{sizeof(T)}, &value, sizeof(T));
}

int64_t SignExtended(int width, uint8_t bits) {
  const int sign = 1 << (width - 1);
  return (bits ^ sign) - sign;
}

double LoadFloating(DataType type, const void* data, int64_t index) {
  switch (type) {
    case DataType::kFloat32:
      return Load<float>(data, index);
    case DataType::kFloat64:
      return Load<double>(data, index);
    case DataType::kFloat16:
      return static_cast<float>(Load<Float16>(data, index));
    case DataType::kBfloat16:
      return static_cast<float>(Load<Bfloat16>(data, index));
    case DataType::kFloat8E8M0:
      return ScaleToFloat(Load<uint8_t>(data, index));
    default:
      return SmallFloatToFloat(Describe(type), LoadBits(graph::Bits(type), data, index));
  }
}

void StoreFloating(DataType type, void* data, int64_t index, double value) {
  switch (type) {
    case DataType::kFloat32:
      return Store(data, index, static_cast<float>(value));
    case DataType::kFloat64:
      return Store(data, index, value);
    case DataType::kFloat16:
      return Store(data, index, Float16(RoundedToOdd(value)));
    case DataType::kBfloat16:
      return Store(data, index, Bfloat16(RoundedToOdd(value)));
    case DataType::kFloat8E8M0:
      return Store(data, index, FloatToScale(RoundedToOdd(value), ScaleRounding::kNearest, true));
    default: {
      const uint8_t bits = FloatToSmallFloat(Describe(type), RoundedToOdd(value), true);
      return StoreBits(graph::Bits(type), data, index, bits);
    }
  }
}

}  // namespace

uint8_t LoadBits(int width, const void* data, int64_t index) {
  const int64_t bit = index * width;
  const auto byte = Load<uint8_t>(data, bit / 8);
  return static_cast<uint8_t>((byte >> (bit % 8)) & ((1 << width) - 1));
}

void StoreBits(int width, void* data, int64_t index, uint8_t bits) {
  const int64_t bit = index * width;
  const int mask = ((1 << width) - 1) << (bit % 8);
  const int old = Load<uint8_t>(data, bit / 8);
  Store(data, bit / 8, static_cast<uint8_t>((old & ~mask) | ((bits << (bit % 8)) & mask)));
}

void ClearPadding(DataType type, void* data, int64_t count) {
  const int64_t used = count * graph::Bits(type) % 8;
  if (used == 0) return;
  const int64_t last = count * graph::Bits(type) / 8;
  Store(data, last, static_cast<uint8_t>(Load<uint8_t>(data, last) & ((1 << used) - 1)));
}

float ScaleToFloat(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
}

uint8_t FloatToScale(float value, ScaleRounding rounding, bool saturate) {
  constexpr uint8_t kNan = 255;
  constexpr int kBias = 127;
  if (std::isnan(value)) return kNan;
  const float size = std::abs(value);
  if (std::isinf(size)) return saturate ? kNan - 1 : kNan;
  if (size < std::ldexp(1.0f, -kBias)) return saturate ? 0 : kNan;
  int exponent = 0;
  const float mantissa = 2 * std::frexp(size, &exponent);  // 1 up to 2
  exponent -= 1;
  if (rounding == ScaleRounding::kUp && mantissa > 1) ++exponent;
  if (rounding == ScaleRounding::kNearest && mantissa >= 1.5f) ++exponent;
  if (exponent > kBias) return saturate ? kNan - 1 : kNan;
  return static_cast<uint8_t>(exponent + kBias);
}

float RoundedToOdd(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || std::isnan(value) || std::isinf(rounded)) {
    return rounded;
  }
  const auto bits = std::bit_cast<uint32_t>(rounded);
  if ((bits & 1u) != 0) return rounded;
  const bool rounded_up = std::abs(static_cast<double>(rounded)) > std::abs(value);
  return std::bit_cast<float>(rounded_up ? bits - 1 : bits + 1);
}

const SmallFloat& Describe(DataType type) {
  static constexpr SmallFloat kE4M3FN{4, 3, 7, false, false};
  static constexpr SmallFloat kE4M3FNUZ{4, 3, 8, false, true};
  static constexpr SmallFloat kE5M2{5, 2, 15, true, false};
  static constexpr SmallFloat kE5M2FNUZ{5, 2, 16, false, true};
  static constexpr SmallFloat kE2M1{2, 1, 1, false, false};
  switch (type) {
    case DataType::kFloat8E4M3FN:
      return kE4M3FN;
    case DataType::kFloat8E4M3FNUZ:
      return kE4M3FNUZ;
    case DataType::kFloat8E5M2:
      return kE5M2;
    case DataType::kFloat8E5M2FNUZ:
      return kE5M2FNUZ;
    default:
      assert(type == DataType::kFloat4E2M1);
      return kE2M1;
  }
}

float SmallFloatToFloat(const SmallFloat& kind, uint8_t bits) {
  const int width = kind.exponent_bits + kind.mantissa_bits;
  const bool negative = (bits >> width) & 1;
  const int magnitude = bits & ((1 << width) - 1);
  const int exponent = magnitude >> kind.mantissa_bits;
  const int mantissa = magnitude & ((1 << kind.mantissa_bits) - 1);
  const bool top = exponent == (1 << kind.exponent_bits) - 1;
  if (kind.unsigned_zero && negative && magnitude == 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (kind.has_infinity && top) {
    const float special = mantissa == 0 ? std::numeric_limits<float>::infinity()
                                        : std::numeric_limits<float>::quiet_NaN();
    return negative ? -special : special;
  }
  const bool is_byte = width == 7;
  if (is_byte && !kind.unsigned_zero && !kind.has_infinity && magnitude == 0x7f) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float value =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - kind.bias - kind.mantissa_bits)
                    : std::ldexp(static_cast<float>(mantissa + (1 << kind.mantissa_bits)),
                                 exponent - kind.bias - kind.mantissa_bits);
  return negative ? -value : value;
}

uint8_t FloatToSmallFloat(const SmallFloat& kind, float value, bool saturate) {
  const int width = kind.exponent_bits + kind.mantissa_bits;
  const int all = (1 << width) - 1;
  const int sign = std::signbit(value) ? 1 << width : 0;
  const bool has_nan = width == 7;
  // The patterns of the largest number, and of what lies beyond it.
  int largest = all;
  if (kind.has_infinity) largest = all - (1 << kind.mantissa_bits);
  if (has_nan && !kind.has_infinity && !kind.unsigned_zero) largest = all - 1;
  int nan = sign | all;
  if (kind.unsigned_zero) nan = 1 << width;
  if (kind.has_infinity) nan = sign | (largest + 1) | (1 << (kind.mantissa_bits - 1));
  if (std::isnan(value)) return static_cast<uint8_t>(has_nan ? nan : 1 << width);
  const float size = std::abs(value);
  const float limit = SmallFloatToFloat(kind, static_cast<uint8_t>(largest));
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent - 1, 1 - kind.bias);
  const float step = std::ldexp(1.0f, exponent - kind.mantissa_bits);
  const float rounded = std::isinf(size) ? size : std::nearbyint(size / step) * step;
  if (rounded > limit) {
    if (saturate || !has_nan) return static_cast<uint8_t>(sign | largest);
    return static_cast<uint8_t>(kind.has_infinity ? sign | (largest + 1) : nan);
  }
  if (rounded == 0) return static_cast<uint8_t>(kind.unsigned_zero ? 0 : sign);
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent - 1, 1 - kind.bias);
  const int mantissa = static_cast<int>(std::ldexp(rounded, kind.mantissa_bits - exponent));
  const int normal = 1 << kind.mantissa_bits;
  const int field = mantissa < normal ? 0 : exponent + kind.bias;
  return static_cast<uint8_t>(sign | (field << kind.mantissa_bits) | (mantissa & (normal - 1)));
}

double LoadDouble(DataType type, const void* data, int64_t index) {
  if (type == DataType::kUint64) return static_cast<double>(Load<uint64_t>(data, index));
  if (graph::IsFloating(type)) return LoadFloating(type, data, index);
  return static_cast<double>(LoadInteger(type, data, index));
}

int64_t LoadInteger(DataType type, const void* data, int64_t index) {
  switch (type) {
    case DataType::kBool:
    case DataType::kUint8:
      return Load<uint8_t>(data, index);
    case DataType::kInt8:
      return Load<int8_t>(data, index);
    case DataType::kInt16:
      return Load<int16_t>(data, index);
    case DataType::kUint16:
      return Load<uint16_t>(data, index);
    case DataType::kInt32:
      return Load<int32_t>(data, index);
    case DataType::kUint32:
      return Load<uint32_t>(data, index);
    case DataType::kInt64:
    case DataType::kUint64:
      return Load<int64_t>(data, index);
    case DataType::kUint4:
    case DataType::kUint2:
      return LoadBits(graph::Bits(type), data, index);
    case DataType::kInt4:
    case DataType::kInt2:
      return SignExtended(graph::Bits(type), LoadBits(graph::Bits(type), data, index));
    default:
      return static_cast<int64_t>(LoadFloating(type, data, index));
  }
}

void StoreDouble(DataType type, void* data, int64_t index, double value) {
  if (graph::IsFloating(type)) return StoreFloating(type, data, index, value);
  StoreInteger(type, data, index, static_cast<int64_t>(value));
}

void StoreInteger(DataType type, void* data, int64_t index, int64_t value) {
  switch (graph::IsFloating(type) ? 0 : graph::Bits(type)) {
    case 0:
      return StoreFloating(type, data, index, static_cast<double>(value));
    case 8:
      return Store(data, index, static_cast<uint8_t>(value));
    case 16:
      return Store(data, index, static_cast<uint16_t>(value));
    case 32:
      return Store(data, index, static_cast<uint32_t>(value));
    case 64:
      return Store(data, index, value);
    default:
      return StoreBits(graph::Bits(type), data, index, static_cast<uint8_t>(value));
  }
}

}  // namespace plimsoll::kernels
