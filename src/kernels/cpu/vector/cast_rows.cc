#include "kernels/cpu/vector/cast_rows.h"

#include "kernels/cpu/elementwise/conversion.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/cast_rows.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloats;
constexpr hn::Rebind<int32_t, decltype(kFloats)> kInts;
constexpr hn::Rebind<uint32_t, decltype(kFloats)> kWords;
constexpr hn::Rebind<uint8_t, decltype(kFloats)> kBytes;
constexpr hn::ScalableTag<int64_t> kLongs;
constexpr hn::Rebind<double, decltype(kLongs)> kDoubles;
constexpr hn::Rebind<uint64_t, decltype(kLongs)> kLongWords;
constexpr hn::Rebind<float, decltype(kLongs)> kShortFloats;
constexpr hn::Rebind<int32_t, decltype(kLongs)> kShortInts;
constexpr hn::Rebind<uint32_t, decltype(kLongs)> kShortWords;
constexpr hn::Rebind<uint8_t, decltype(kLongs)> kShortBytes;

// vector(i) casts the elements from i on and tells whether it could; one(i) casts one.
template <class D, typename Vector, typename One>
HWY_INLINE void CastAll(D d, int64_t count, const Vector& vector, const One& one) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (vector(i)) continue;
    for (int64_t k = i; k < i + lanes; ++k) one(k);
  }
  for (; i < count; ++i) one(i);
}

template <typename V>
HWY_INLINE bool FitInts(V x) {
  return hn::AllTrue(kFloats, hn::Lt(hn::Abs(x), hn::Set(kFloats, 2147483648.0f)));
}

void FloatsToInts(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const float*>(from);
  auto* const out = static_cast<int32_t*>(to);
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        const auto x = hn::LoadU(kFloats, in + i);
        if (!FitInts(x)) return false;
        hn::StoreU(hn::ConvertTo(kInts, x), kInts, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<int32_t>(ToInt64(in[i])); });
}

void FloatsToBytes(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const float*>(from);
  auto* const out = static_cast<uint8_t*>(to);
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        const auto x = hn::LoadU(kFloats, in + i);
        if (!FitInts(x)) return false;
        const auto low = hn::And(hn::ConvertTo(kInts, x), hn::Set(kInts, 255));
        hn::StoreU(hn::DemoteTo(kBytes, low), kBytes, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<uint8_t>(ToInt64(in[i])); });
}

void FloatsToBools(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const float*>(from);
  auto* const out = static_cast<uint8_t*>(to);
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        const auto zero = hn::Eq(hn::LoadU(kFloats, in + i), hn::Zero(kFloats));
        const auto one = hn::IfThenZeroElse(hn::RebindMask(kInts, zero), hn::Set(kInts, 1));
        hn::StoreU(hn::DemoteTo(kBytes, one), kBytes, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i] != 0; });
}

// Bools are bytes of 0 and 1.
void BytesToFloats(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const uint8_t*>(from);
  auto* const out = static_cast<float*>(to);
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        const auto wide = hn::PromoteTo(kInts, hn::LoadU(kBytes, in + i));
        hn::StoreU(hn::ConvertTo(kFloats, wide), kFloats, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i]; });
}

void BytesToInts(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const uint8_t*>(from);
  auto* const out = static_cast<int32_t*>(to);
  CastAll(
      kInts, count,
      [=](int64_t i) HWY_ATTR {
        hn::StoreU(hn::PromoteTo(kInts, hn::LoadU(kBytes, in + i)), kInts, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i]; });
}

void BytesToLongs(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const uint8_t*>(from);
  auto* const out = static_cast<int64_t*>(to);
  CastAll(
      kLongs, count,
      [=](int64_t i) HWY_ATTR {
        const auto wide = hn::PromoteTo(kShortInts, hn::LoadU(kShortBytes, in + i));
        hn::StoreU(hn::PromoteTo(kLongs, wide), kLongs, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i]; });
}

void LongsToBools(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const uint64_t*>(from);
  auto* const out = static_cast<uint8_t*>(to);
  CastAll(
      kLongs, count,
      [=](int64_t i) HWY_ATTR {
        const auto zero = hn::Eq(hn::LoadU(kLongWords, in + i), hn::Zero(kLongWords));
        const auto one = hn::IfThenZeroElse(zero, hn::Set(kLongWords, 1));
        hn::StoreU(hn::TruncateTo(kShortBytes, one), kShortBytes, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i] != 0; });
}

void IntsToFloats(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const int32_t*>(from);
  auto* const out = static_cast<float*>(to);
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        hn::StoreU(hn::ConvertTo(kFloats, hn::LoadU(kInts, in + i)), kFloats, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<float>(in[i]); });
}

void FloatsToLongs(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const float*>(from);
  auto* const out = static_cast<int64_t*>(to);
  const auto one = [=](int64_t i) { out[i] = ToInt64(in[i]); };
  const auto long_ones = [=](int64_t i) HWY_ATTR {
    const auto x = hn::PromoteTo(kDoubles, hn::LoadU(kShortFloats, in + i));
    const auto limit = hn::Set(kDoubles, 9223372036854775808.0);
    if (!hn::AllTrue(kDoubles, hn::Lt(hn::Abs(x), limit))) return false;
    hn::StoreU(hn::ConvertTo(kLongs, x), kLongs, out + i);
    return true;
  };
#if HWY_TARGET == HWY_SCALAR
  CastAll(kLongs, count, long_ones, one);
#else
  const auto lanes = static_cast<int64_t>(hn::Lanes(kLongs));
  CastAll(
      kFloats, count,
      [=](int64_t i) HWY_ATTR {
        const auto x = hn::LoadU(kFloats, in + i);
        if (!FitInts(x)) return long_ones(i) && long_ones(i + lanes);
        // As most do, and every instruction set has a vector of them.
        const auto ints = hn::ConvertTo(kInts, x);
        hn::StoreU(hn::PromoteTo(kLongs, hn::LowerHalf(ints)), kLongs, out + i);
        hn::StoreU(hn::PromoteTo(kLongs, hn::UpperHalf(kShortInts, ints)), kLongs, out + i + lanes);
        return true;
      },
      one);
#endif
}

// By way of double, which has every integer of up to 53 bits.
void LongsToFloats(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const int64_t*>(from);
  auto* const out = static_cast<float*>(to);
  CastAll(
      kLongs, count,
      [=](int64_t i) HWY_ATTR {
        const auto x = hn::LoadU(kLongs, in + i);
        const auto limit = hn::Set(kLongs, int64_t{1} << 53);
        if (!hn::AllTrue(kLongs, hn::And(hn::Lt(x, limit), hn::Gt(x, hn::Neg(limit))))) {
          return false;
        }
        const auto wide = hn::ConvertTo(kDoubles, x);
        hn::StoreU(hn::DemoteTo(kShortFloats, wide), kShortFloats, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<float>(in[i]); });
}

void IntsToLongs(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const int32_t*>(from);
  auto* const out = static_cast<int64_t*>(to);
  CastAll(
      kLongs, count,
      [=](int64_t i) HWY_ATTR {
        hn::StoreU(hn::PromoteTo(kLongs, hn::LoadU(kShortInts, in + i)), kLongs, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i]; });
}

void LongsToInts(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const uint64_t*>(from);
  auto* const out = static_cast<uint32_t*>(to);
  CastAll(
      kLongs, count,
      [=](int64_t i) HWY_ATTR {
        const auto low = hn::TruncateTo(kShortWords, hn::LoadU(kLongWords, in + i));
        hn::StoreU(low, kShortWords, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<uint32_t>(in[i]); });
}

void FloatsToDoubles(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const float*>(from);
  auto* const out = static_cast<double*>(to);
  CastAll(
      kDoubles, count,
      [=](int64_t i) HWY_ATTR {
        hn::StoreU(hn::PromoteTo(kDoubles, hn::LoadU(kShortFloats, in + i)), kDoubles, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = in[i]; });
}

void DoublesToFloats(const void* from, void* to, int64_t count, const Coefficients&) {
  const auto* const in = static_cast<const double*>(from);
  auto* const out = static_cast<float*>(to);
  CastAll(
      kDoubles, count,
      [=](int64_t i) HWY_ATTR {
        hn::StoreU(hn::DemoteTo(kShortFloats, hn::LoadU(kDoubles, in + i)), kShortFloats, out + i);
        return true;
      },
      [=](int64_t i) { out[i] = static_cast<float>(in[i]); });
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(FloatsToInts);
HWY_EXPORT(FloatsToBytes);
HWY_EXPORT(FloatsToBools);
HWY_EXPORT(BytesToFloats);
HWY_EXPORT(BytesToInts);
HWY_EXPORT(BytesToLongs);
HWY_EXPORT(LongsToBools);
HWY_EXPORT(IntsToFloats);
HWY_EXPORT(FloatsToLongs);
HWY_EXPORT(LongsToFloats);
HWY_EXPORT(IntsToLongs);
HWY_EXPORT(LongsToInts);
HWY_EXPORT(FloatsToDoubles);
HWY_EXPORT(DoublesToFloats);

UnaryLoop FindVectorCast(graph::DataType from, graph::DataType to) {
  using graph::DataType;
  struct Row {
    DataType from;
    DataType to;
    UnaryLoop loop;
  };
  // Without this the first entry taken from a table would choose again in every call.
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const Row rows[] = {
      {DataType::kFloat32, DataType::kInt32, HWY_DYNAMIC_DISPATCH(FloatsToInts)},
      {DataType::kFloat32, DataType::kUint8, HWY_DYNAMIC_DISPATCH(FloatsToBytes)},
      {DataType::kFloat32, DataType::kBool, HWY_DYNAMIC_DISPATCH(FloatsToBools)},
      {DataType::kUint8, DataType::kFloat32, HWY_DYNAMIC_DISPATCH(BytesToFloats)},
      {DataType::kBool, DataType::kFloat32, HWY_DYNAMIC_DISPATCH(BytesToFloats)},
      {DataType::kUint8, DataType::kInt32, HWY_DYNAMIC_DISPATCH(BytesToInts)},
      {DataType::kBool, DataType::kInt32, HWY_DYNAMIC_DISPATCH(BytesToInts)},
      {DataType::kUint8, DataType::kInt64, HWY_DYNAMIC_DISPATCH(BytesToLongs)},
      {DataType::kBool, DataType::kInt64, HWY_DYNAMIC_DISPATCH(BytesToLongs)},
      {DataType::kInt64, DataType::kBool, HWY_DYNAMIC_DISPATCH(LongsToBools)},
      {DataType::kInt32, DataType::kFloat32, HWY_DYNAMIC_DISPATCH(IntsToFloats)},
      {DataType::kFloat32, DataType::kInt64, HWY_DYNAMIC_DISPATCH(FloatsToLongs)},
      {DataType::kInt64, DataType::kFloat32, HWY_DYNAMIC_DISPATCH(LongsToFloats)},
      {DataType::kInt32, DataType::kInt64, HWY_DYNAMIC_DISPATCH(IntsToLongs)},
      {DataType::kInt64, DataType::kInt32, HWY_DYNAMIC_DISPATCH(LongsToInts)},
      {DataType::kFloat32, DataType::kFloat64, HWY_DYNAMIC_DISPATCH(FloatsToDoubles)},
      {DataType::kFloat64, DataType::kFloat32, HWY_DYNAMIC_DISPATCH(DoublesToFloats)},
  };
  for (const Row& row : rows) {
    if (row.from == from && row.to == to) return row.loop;
  }
  return nullptr;
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
