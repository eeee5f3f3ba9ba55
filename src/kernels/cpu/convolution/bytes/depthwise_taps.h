#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// The taps of filters that see one channel each, as quads for rows of results (byte_taps.h). A quad
// whose neighbours are not bounded is taken apart into several. Constant weights are packed so
// once, where the site has a place for them; others are read filter by filter.
class DepthwiseTaps {
 public:
  static constexpr int64_t kMostTaps = 256;

  // Bytes of weights, each less its zero point.
  struct Weights {
    const void* data = nullptr;
    bool is_signed = false;
    const void* zeros = nullptr;  // null: 0
    int64_t zero_count = 1;       // one, or one a filter
  };
  // Of one filter; offsets are from the first place of a map that it sees.
  struct Filter {
    const int64_t* offsets = nullptr;
    const int32_t* weights = nullptr;
    int64_t quads = 0;
    int32_t sum = 0;  // of all weights
  };
  // Where a filter's quads lie that are not packed.
  struct Scratch {
    static constexpr int64_t kMostParts = 6;  // of a quad that bounding takes apart
    std::array<int64_t, kMostTaps * kMostParts> offsets;
    std::array<int32_t, kMostTaps * kMostParts> weights;
  };

  DepthwiseTaps() = default;
  // `lines`: where the line of each row of the kernel begins.
  DepthwiseTaps(const Window& window, const std::vector<int64_t>& lines);

  Status Pack(const KernelSite& site, size_t weights, size_t zeros);
  Filter Of(const Weights& weights, int64_t filter, Scratch& scratch) const;

 private:
  int64_t quads() const { return static_cast<int64_t>(offsets_.size()); }
  // Calls part(quad, weights of its taps) for each part of a filter's quads; the sum of all
  // weights.
  template <typename Part>
  int32_t Visit(const Weights& weights, int64_t filter, const Part& part) const;
  template <typename W, typename Part>
  int32_t VisitOf(const Weights& weights, int64_t filter, const Part& part) const;
  void Fill(const Weights& weights, int64_t filters, int64_t parts, int32_t* packed) const;

  int64_t height_ = 0;
  int64_t width_ = 0;
  int64_t together_ = 1;          // taps of a quad
  std::vector<int64_t> offsets_;  // of each quad of a filter
  // Sums, weights of all parts; where some quad is in several parts, also the first part of each
  // filter and the quad of each part.
  const int32_t* packed_ = nullptr;
  int64_t filters_ = 0;  // packed
  int64_t parts_ = 0;
};

}  // namespace plimsoll::kernels::cpu
