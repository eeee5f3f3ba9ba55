#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/movement/words_apart.h"

namespace plimsoll::kernels::cpu {

// Neighbouring places of one row of an image, `step` apart.
struct PlaceSpan {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Where the float32 elements of one image lie, plain or in blocks of channels.
struct ImageForm {
  int64_t places = 0;
  int64_t block = 1;  // 1: plain

  int64_t Elements(int64_t channels) const {
    return (channels + block - 1) / block * block * places;
  }
  int64_t At(int64_t channel) const { return channel / block * block * places + channel % block; }

  // Some places of `channels` channels from `channel` on become rows that begin `row` apart.
  void CopyRows(const float* image, const PlaceSpan& span, int64_t channel, int64_t channels,
                int64_t row, float* to) const {
    constexpr int64_t kWhole = 16;
    if (block == 1) {
      for (int64_t c = 0; c < channels; ++c) {
        const float* const from = image + At(channel + c) + span.first;
        if (span.step == 1 && span.count == kWhole) {
          std::copy_n(from, kWhole, to + c * row);
        } else if (span.step == 1 && span.count > kWhole) {
          std::copy_n(from, span.count, to + c * row);
        } else {
          TakeWordsApart(from, span.step, span.count, to + c * row);
        }
      }
      return;
    }
    for (int64_t c = 0; c < channels;) {
      const int64_t lane = (channel + c) % block;
      const int64_t lanes = std::min(block - lane, channels - c);
      const float* const from = image + At(channel + c) + span.first * block;
      TransposeWords(reinterpret_cast<const uint32_t*>(from), block * span.step,
                     reinterpret_cast<uint32_t*>(to + c * row), row, lanes, span.count);
      c += lanes;
    }
  }
};

}  // namespace plimsoll::kernels::cpu
