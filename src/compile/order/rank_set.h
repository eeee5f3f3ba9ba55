#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::compile {

// A set of numbers below a limit that finds the next larger one in a few steps: a tree of words,
// each bit of which says whether the word below it holds anything.
class RankSet {
 public:
  explicit RankSet(int32_t limit) {
    for (int32_t words = limit; levels_.empty() || words > 1;) {
      words = (words + kBits - 1) / kBits;
      levels_.emplace_back(static_cast<size_t>(words > 0 ? words : 1));
    }
  }

  void Insert(int32_t number) {
    for (std::vector<uint64_t>& level : levels_) {
      level[number / kBits] |= uint64_t{1} << (number % kBits);
      number /= kBits;
    }
  }

  void Erase(int32_t number) {
    for (std::vector<uint64_t>& level : levels_) {
      level[number / kBits] &= ~(uint64_t{1} << (number % kBits));
      if (level[number / kBits] != 0) return;
      number /= kBits;
    }
  }

  // The smallest that is at least `number`; -1 where there is none.
  int32_t Next(int32_t number) const {
    for (size_t up = 0; up < levels_.size(); ++up) {
      if (static_cast<size_t>(number / kBits) >= levels_[up].size()) return -1;
      const uint64_t word = levels_[up][number / kBits] >> (number % kBits);
      if (word != 0) return Down(up, number + __builtin_ctzll(word));
      number = number / kBits + 1;
    }
    return -1;
  }

 private:
  static constexpr int32_t kBits = 64;

  int32_t Down(size_t level, int32_t number) const {
    while (level > 0) {
      --level;
      number = number * kBits + __builtin_ctzll(levels_[level][number]);
    }
    return number;
  }

  std::vector<std::vector<uint64_t>> levels_;
};

}  // namespace plimsoll::compile
