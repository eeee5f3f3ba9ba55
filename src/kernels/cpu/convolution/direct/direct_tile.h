#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Filters of a panel.
inline constexpr int64_t kDirectFilters = 16;
// Panels that a tile of few places has at most.
inline constexpr int64_t kMostDirectPanels = 4;

// One tap of a window: how far its input and its weights lie from those of the first tap.
struct DirectTap {
  int64_t source = 0;
  int64_t weights = 0;
};

// Sums of the filters of one panel, or of some, at some output places, all of which meet the input
// under the same taps. Channels lie in blocks of `block` in the input and of `to_block` in the
// result, where one is a plain tensor.
struct DirectTile {
  const float* source = nullptr;
  const int64_t* places = nullptr;   // of the input under the first tap, by output place
  const int64_t* results = nullptr;  // of the result, by output place
  int64_t count = 0;                 // output places, at most DirectPlaces()
  const DirectTap* taps = nullptr;
  int64_t tap_count = 0;
  int64_t block = 0;
  int64_t channel_blocks = 0;
  int64_t source_stride = 0;        // from one block of channels to the next
  const float* weights = nullptr;   // of a tap: [channel block][channel][kDirectFilters]
  int64_t panels = 1;               // 1, or DirectPanels(count)
  int64_t panel_stride = 0;         // from the weights of one panel to those of the next
  const float* bias = nullptr;      // kDirectFilters numbers for each panel, or null
  const float* residual = nullptr;  // as the result, or null
  float* to = nullptr;
  int64_t to_block = 0;
  int64_t to_stride = 0;  // from one block of filters to the next
  int64_t filters = 0;    // that the result has, whole blocks of them
};

// With the widest vectors of the machine. Few places want several panels, so that sums do not wait
// for one another.
int64_t DirectPlaces();
int64_t DirectPanels(int64_t places);
void SumDirectTile(const DirectTile& tile);

}  // namespace plimsoll::kernels::cpu
