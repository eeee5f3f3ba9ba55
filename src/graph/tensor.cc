#include "graph/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace plimsoll::graph {
namespace {

template <typename T>
T Load(std::span<const std::byte> bytes, size_t index) {
  T element;
  std::memcpy(&element, bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Packed elements of 4 or 2 bits, the first in the low bits.
int64_t LoadPacked(std::span<const std::byte> bytes, size_t index, int bits, bool is_signed) {
  const size_t per_byte = 8 / bits;
  const int shift = static_cast<int>(index % per_byte) * bits;
  const int mask = (1 << bits) - 1;
  const int raw = (std::to_integer<int>(bytes[index / per_byte]) >> shift) & mask;
  return is_signed && raw > mask / 2 ? raw - mask - 1 : raw;
}

int64_t LoadInteger(DataType type, std::span<const std::byte> bytes, size_t i) {
  switch (type) {
    case DataType::kUint8:
    case DataType::kBool:
      return Load<uint8_t>(bytes, i);
    case DataType::kInt8:
      return Load<int8_t>(bytes, i);
    case DataType::kUint16:
      return Load<uint16_t>(bytes, i);
    case DataType::kInt16:
      return Load<int16_t>(bytes, i);
    case DataType::kInt32:
      return Load<int32_t>(bytes, i);
    case DataType::kUint32:
      return Load<uint32_t>(bytes, i);
    case DataType::kInt64:
      return Load<int64_t>(bytes, i);
    case DataType::kUint64:
      return static_cast<int64_t>(Load<uint64_t>(bytes, i));
    case DataType::kUint4:
    case DataType::kInt4:
      return LoadPacked(bytes, i, 4, type == DataType::kInt4);
    default:
      return LoadPacked(bytes, i, 2, type == DataType::kInt2);
  }
}

}  // namespace

int64_t ConstantTensor::ElementCount() const {
  int64_t count = 1;
  for (int64_t dim : dims) count = SaturatingMultiply(count, dim);
  return count;
}

Bytes ConstantTensor::Size() const { return SizeOf(type, ElementCount()); }

std::vector<int64_t> ConstantTensor::Integers() const {
  const bool readable = IsInteger(type) || type == DataType::kBool;
  if (!readable || missing || Bytes(static_cast<int64_t>(bytes.size())) < Size()) return {};
  std::vector<int64_t> elements(static_cast<size_t>(ElementCount()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = LoadInteger(type, bytes, i);
  return elements;
}

std::vector<double> ConstantTensor::Doubles() const {
  if (missing || Bytes(static_cast<int64_t>(bytes.size())) < Size()) return {};
  if (IsInteger(type)) {
    const std::vector<int64_t> integers = Integers();
    return {integers.begin(), integers.end()};
  }
  std::vector<double> elements;
  const auto count = static_cast<size_t>(ElementCount());
  for (size_t i = 0; i < count; ++i) {
    switch (type) {
      case DataType::kFloat32:
        elements.push_back(Load<float>(bytes, i));
        break;
      case DataType::kFloat64:
        elements.push_back(Load<double>(bytes, i));
        break;
      case DataType::kFloat16:
        elements.push_back(HalfToDouble(Load<uint16_t>(bytes, i)));
        break;
      case DataType::kBfloat16:
        elements.push_back(std::bit_cast<float>(uint32_t{Load<uint16_t>(bytes, i)} << 16));
        break;
      default:
        return {};
    }
  }
  return elements;
}

}  // namespace plimsoll::graph
