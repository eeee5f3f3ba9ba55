#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// to[i] = from[i * step] for i below `count`, over vectors where every second word is taken. Reads
// nothing behind the last word that is taken.
void TakeWordsApart(const uint32_t* from, int64_t step, int64_t count, uint32_t* to);

inline void TakeWordsApart(const float* from, int64_t step, int64_t count, float* to) {
  TakeWordsApart(reinterpret_cast<const uint32_t*>(from), step, count,
                 reinterpret_cast<uint32_t*>(to));
}

}  // namespace plimsoll::kernels::cpu
