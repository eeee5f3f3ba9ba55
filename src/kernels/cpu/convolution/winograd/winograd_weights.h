#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/convolution/winograd/winograd_loops.h"

namespace plimsoll::kernels::cpu {

// Weights [filters, channels, 3, 3] in the form of WinogradProduct: panels of kWinogradFilters
// filters, the last filled up with zeros as are the channels behind the last one.
struct WinogradWeights {
  int64_t results = 0;  // m
  int64_t filters = 0;
  int64_t channels = 0;
  int64_t rounded_channels = 0;

  int64_t Positions() const {
    return (results + kWinogradTaps - 1) * (results + kWinogradTaps - 1);
  }
  int64_t Panels() const { return (filters + kWinogradFilters - 1) / kWinogradFilters; }
  int64_t PanelElements() const { return Positions() * rounded_channels * kWinogradFilters; }
  int64_t Elements() const { return Panels() * PanelElements(); }

  // Panels [begin, end) of all, in the threads of the calling one.
  void Transform(const float* plain, int64_t begin, int64_t end, float* packed) const;

  // The plain weights of one channel of a panel, [tap][filter], as far as rounding has left them.
  using Taps = std::array<std::array<float, kWinogradFilters>, kWinogradTaps * kWinogradTaps>;
  void Restore(const float* panel, int64_t channel, Taps& taps) const;
};

}  // namespace plimsoll::kernels::cpu
