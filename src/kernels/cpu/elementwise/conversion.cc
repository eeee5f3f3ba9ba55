#include "kernels/cpu/elementwise/conversion.h"

#include <type_traits>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

using IntegersAndBool =
    TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>;
using NumbersAndBool = TypeList<float, double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                                uint8_t, uint16_t, uint32_t, uint64_t, bool>;

template <typename T, typename WideType>
void WidenDense(const void* from, int64_t first, void* wide, int64_t count) {
  const T* in = static_cast<const T*>(from) + first;
  auto* out = static_cast<WideType*>(wide);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<WideType>(in[i]);
}

// Types without a C++ type of their own, one element at a time.
template <DataType kType>
void WidenSmall(const void* from, int64_t first, void* wide, int64_t count) {
  auto* out = static_cast<double*>(wide);
  for (int64_t i = 0; i < count; ++i) out[i] = LoadDouble(kType, from, first + i);
}

template <DataType kType>
void WidenSmallInteger(const void* from, int64_t first, void* wide, int64_t count) {
  auto* out = static_cast<int64_t*>(wide);
  for (int64_t i = 0; i < count; ++i) out[i] = LoadInteger(kType, from, first + i);
}

template <typename T, typename WideType>
T Narrowed(WideType value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (kIsHalf<T>) {
    return T(RoundedToOdd(static_cast<double>(value)));
  } else if constexpr (std::is_same_v<T, uint64_t> && std::is_same_v<WideType, double>) {
    return value >= 0x1p63 && value < 0x1p64 ? static_cast<uint64_t>(value)
                                             : static_cast<uint64_t>(ToInt64(value));
  } else if constexpr (std::is_integral_v<T> && std::is_same_v<WideType, double>) {
    return static_cast<T>(ToInt64(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename WideType>
void NarrowDense(const void* wide, void* to, int64_t first, int64_t count) {
  const auto* in = static_cast<const WideType*>(wide);
  T* out = static_cast<T*>(to) + first;
  for (int64_t i = 0; i < count; ++i) out[i] = Narrowed<T>(in[i]);
}

template <DataType kType, typename WideType>
void NarrowSmallInteger(const void* wide, void* to, int64_t first, int64_t count) {
  const auto* in = static_cast<const WideType*>(wide);
  for (int64_t i = 0; i < count; ++i) {
    StoreInteger(kType, to, first + i, Narrowed<int64_t>(in[i]));
  }
}

template <typename WideType>
NarrowLoop NarrowFrom(DataType type) {
  switch (type) {
    case DataType::kInt4:
    case DataType::kUint4:
      return &NarrowSmallInteger<DataType::kUint4, WideType>;
    case DataType::kInt2:
    case DataType::kUint2:
      return &NarrowSmallInteger<DataType::kUint2, WideType>;
    default: {
      NarrowLoop loop = nullptr;
      VisitType<NumbersAndBool>(type, [&]<typename T>() { loop = &NarrowDense<T, WideType>; });
      return loop;
    }
  }
}

}  // namespace

WidenLoop WidenToDouble(DataType type) {
  switch (type) {
    case DataType::kFloat8E4M3FN:
      return &WidenSmall<DataType::kFloat8E4M3FN>;
    case DataType::kFloat8E4M3FNUZ:
      return &WidenSmall<DataType::kFloat8E4M3FNUZ>;
    case DataType::kFloat8E5M2:
      return &WidenSmall<DataType::kFloat8E5M2>;
    case DataType::kFloat8E5M2FNUZ:
      return &WidenSmall<DataType::kFloat8E5M2FNUZ>;
    case DataType::kFloat8E8M0:
      return &WidenSmall<DataType::kFloat8E8M0>;
    case DataType::kFloat4E2M1:
      return &WidenSmall<DataType::kFloat4E2M1>;
    case DataType::kInt4:
      return &WidenSmall<DataType::kInt4>;
    case DataType::kUint4:
      return &WidenSmall<DataType::kUint4>;
    case DataType::kInt2:
      return &WidenSmall<DataType::kInt2>;
    case DataType::kUint2:
      return &WidenSmall<DataType::kUint2>;
    default: {
      WidenLoop loop = nullptr;
      VisitType<NumbersAndBool>(type, [&]<typename T>() { loop = &WidenDense<T, double>; });
      return loop;
    }
  }
}

WidenLoop WidenToInt64(DataType type) {
  switch (type) {
    case DataType::kInt4:
      return &WidenSmallInteger<DataType::kInt4>;
    case DataType::kUint4:
      return &WidenSmallInteger<DataType::kUint4>;
    case DataType::kInt2:
      return &WidenSmallInteger<DataType::kInt2>;
    case DataType::kUint2:
      return &WidenSmallInteger<DataType::kUint2>;
    default: {
      WidenLoop loop = nullptr;
      VisitType<IntegersAndBool>(type, [&]<typename T>() { loop = &WidenDense<T, int64_t>; });
      return loop;
    }
  }
}

NarrowLoop NarrowFromDouble(DataType type) { return NarrowFrom<double>(type); }
NarrowLoop NarrowFromInt64(DataType type) { return NarrowFrom<int64_t>(type); }
NarrowLoop NarrowFromUint64(DataType type) { return NarrowFrom<uint64_t>(type); }

}  // namespace plimsoll::kernels::cpu
