#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Random numbers that depend on a seed and a position alone, so that they can be made in any order
// and by any thread, and are the same in every run.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : seed_(Scrambled(seed)) {}

  // From 0 on, below 1, in steps of 2^-53.
  double Uniform(int64_t position) const {
    return static_cast<double>(Bits(position) >> 11) * 0x1p-53;
  }

  // Mean 0, deviation 1, by the polar form of two uniform numbers.
  double Normal(int64_t position) const {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform(2 * position)));
    return radius * std::cos(2 * M_PI * Uniform(2 * position + 1));
  }

 private:
  // The finisher of SplitMix64: each bit of the input reaches each bit of the output.
  static uint64_t Scrambled(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  uint64_t Bits(int64_t position) const {
    return Scrambled(seed_ + static_cast<uint64_t>(position) * 0x9e3779b97f4a7c15u);
  }

  uint64_t seed_;
};

// The stream of the node's attribute `seed`; where it has none, one of its own by its place in the
// graph.
inline RandomStream StreamOf(const KernelSite& site) {
  const graph::Attribute* seed = site.attributes().Find("seed");
  if (seed == nullptr) return RandomStream(1 + site.id.index());
  const int64_t whole = site.attributes().Int("seed", 0);
  const double real = site.attributes().Float("seed", static_cast<double>(whole));
  return RandomStream(std::bit_cast<uint64_t>(real));
}

}  // namespace plimsoll::kernels::cpu
