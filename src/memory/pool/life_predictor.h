#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "memory/pool/extent_space.h"

namespace plimsoll::memory {

enum class ExpectedLife : uint8_t { kShort, kLong };

// Whether a block is likely to stay, by what became of the last one that was asked for in the same
// situation: about the same size, after the same order of requests and frees. Layers of a model
// repeat that order; what one layer leaves behind the next leaves too. A wrong guess costs a worse
// place and nothing else.
//
// One thread, no lock, no heap call; constant time.
class LifePredictor {
 public:
  using Situation = uint32_t;

  Situation Asked(int64_t size) {
    const auto magnitude = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(size)));
    const Situation situation =
        ((history_ & kHistory) * 64 + magnitude) * 2654435761u >> (32 - kSlotsLog2);
    history_ = history_ * 2 + 1;
    return situation;
  }
  void Freed() { history_ *= 2; }

  ExpectedLife Predict(Situation situation, const ExtentTable& blocks) const {
    const Last& last = last_[situation];
    if (last.block == kNoExtent) return ExpectedLife::kLong;
    const Extent& block = blocks[last.block];
    const bool lives = block.state == Extent::State::kBlock && block.generation == last.generation;
    return lives ? ExpectedLife::kLong : ExpectedLife::kShort;
  }
  void Got(Situation situation, ExtentIndex block, uint32_t generation) {
    last_[situation] = {block, generation};
  }
  void Forget() {
    last_.fill({});
    history_ = 0;
  }

 private:
  static constexpr uint32_t kHistory = 0xfff;  // the last 12 requests and frees
  static constexpr int kSlotsLog2 = 14;
  struct Last {
    ExtentIndex block = kNoExtent;
    uint32_t generation = 0;
  };
  std::array<Last, 1 << kSlotsLog2> last_;
  uint32_t history_ = 0;
};

}  // namespace plimsoll::memory
