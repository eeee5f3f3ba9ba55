#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantization/byte_quads.h"
#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/quad_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void QuadGroup(const uint8_t* const (&rows)[4], int64_t column, uint8_t flip,
                          int32_t* quads) {
  const hn::CappedTag<uint8_t, kGroupColumns> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(bytes));
  const auto flipped = hn::Set(bytes, flip);
  for (int64_t i = 0; i < kGroupColumns; i += lanes) {
    const auto row = [&](int at) {
      return rows[at] == nullptr ? hn::Zero(bytes)
                                 : hn::Xor(hn::LoadU(bytes, rows[at] + column + i), flipped);
    };
    hn::StoreInterleaved4(row(0), row(1), row(2), row(3), bytes,
                          reinterpret_cast<uint8_t*>(quads + i));
  }
}

void Interleave(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, uint8_t beyond,
                int32_t* quads, int64_t group_stride) {
  int64_t column = 0;
  for (; column + kGroupColumns <= count; column += kGroupColumns, quads += group_stride) {
    QuadGroup(rows, column, flip, quads);
  }
  if (column == count) return;
  // The last columns, as many as a group has where there are so many, before those beyond.
  uint8_t rest[4][2 * kGroupColumns];
  const uint8_t* from[4] = {};
  for (int i = 0; i < 4; ++i) {
    if (rows[i] == nullptr) continue;
    if (count >= kGroupColumns) {
      std::memcpy(rest[i], rows[i] + count - kGroupColumns, kGroupColumns);
      std::memset(rest[i] + kGroupColumns, beyond, kGroupColumns);
      from[i] = rest[i] + kGroupColumns - (count - column);
    } else {
      std::memset(rest[i], beyond, kGroupColumns);
      std::copy_n(rows[i], count, rest[i]);
      from[i] = rest[i];
    }
  }
  QuadGroup(from, 0, flip, quads);
}

void InterleavePlanes(const uint8_t* rows, int64_t stride, int64_t channels, int64_t count,
                      uint8_t flip, uint8_t beyond, int32_t* quads) {
  // So many groups that the cache holds one quad of each, wherever they lie.
  constexpr int64_t kColumns = 8 * kGroupColumns;
  const int64_t words = QuadsOf(channels);
  for (int64_t column = 0; column < count; column += kColumns) {
    for (int64_t word = 0; word < words; ++word) {
      const uint8_t* some[4] = {};
      for (int64_t i = 0; i < std::min<int64_t>(4, channels - 4 * word); ++i) {
        some[i] = rows + (4 * word + i) * stride + column;
      }
      Interleave(some, std::min(kColumns, count - column), flip, beyond,
                 quads + column * words + word * kGroupColumns, words * kGroupColumns);
    }
  }
}

void Split(const int32_t* words, int64_t count, int32_t* even, int32_t* odd) {
  const int64_t whole = count / (2 * kLanes) * (2 * kLanes);
  for (int64_t i = 0; i < whole; i += 2 * kLanes) {
    Sums first = hn::Zero(kSums);
    Sums second = hn::Zero(kSums);
    hn::LoadInterleaved2(kSums, words + i, first, second);
    hn::StoreU(first, kSums, even + i / 2);
    hn::StoreU(second, kSums, odd + i / 2);
  }
  for (int64_t i = whole; i < count; ++i) {
    int32_t* const to = i % 2 == 0 ? even : odd;
    to[i / 2] = words[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Interleave);
HWY_EXPORT(InterleavePlanes);
HWY_EXPORT(Split);

void QuadRows(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, uint8_t beyond,
              int32_t* quads, int64_t group_stride) {
  HWY_DYNAMIC_DISPATCH(Interleave)(rows, count, flip, beyond, quads, group_stride);
}

void QuadPlanes(const uint8_t* rows, int64_t stride, int64_t channels, int64_t count, uint8_t flip,
                uint8_t beyond, int32_t* quads) {
  HWY_DYNAMIC_DISPATCH(InterleavePlanes)(rows, stride, channels, count, flip, beyond, quads);
}

void SplitWords(const int32_t* words, int64_t count, int32_t* even, int32_t* odd) {
  HWY_DYNAMIC_DISPATCH(Split)(words, count, even, odd);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
