#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/classical/tree_ensemble.h"

namespace plimsoll::kernels::cpu {

// Trees whose nodes all ask whether a feature is below or above a split, in a form that takes few
// instructions a step and no branch: numbers are whole ones of the same order, every question is
// "at most?", a node's children lie one behind the other, and a leaf is its own child. Walks go on
// kLanes at once, for each step waits for the one before it. Const, so several threads may use it.
class OrderedTrees {
 public:
  static constexpr int64_t kLanes = 8;

  // Nothing where a node asks for something else, or where parts of trees are shared. The ensemble
  // is a checked one; `padding` more trees are a leaf that has the number behind all others.
  static std::optional<OrderedTrees> Of(const TreeEnsemble& trees, size_t padding);

  // Those that nodes look at; one at least.
  int64_t features() const { return std::max<int64_t>(std::ssize(features_), 1); }
  // They, of at most kLanes rows that lie `stride` apart, as whole numbers, [features()][kLanes].
  // Gives whether one is NaN.
  bool MakeKeys(const float* rows, int64_t stride, int64_t count, uint64_t* keys) const;
  bool MakeKeys(const double* rows, int64_t stride, int64_t count, uint64_t* keys) const;

  // The numbers of the leaves that kLanes rows come to in a tree, or one row, the lane `row`, in
  // kLanes trees. `height`: steps to the farthest leaf of them.
  void LeavesOfRows(size_t tree, int32_t height, const uint64_t* keys, bool has_nan,
                    uint32_t* leaves) const;
  void LeavesOfTrees(size_t first_tree, int32_t height, const uint64_t* keys, int64_t row,
                     bool has_nan, uint32_t* leaves) const;

 private:
  // Beside the key that a feature is at most for the first child.
  struct Link {
    uint32_t feature = 0;      // its number in features_, times kLanes
    uint32_t first_child = 0;  // the other lies behind it
  };

  void FindFeatures(const TreeEnsemble& trees);
  uint32_t NumberOf(int64_t feature) const;
  bool Add(const TreeEnsemble& trees, const TreeEnsemble::Child& root);
  uint32_t Place();
  void PlaceLeaf(uint32_t at, size_t leaf);
  template <int64_t kApart>
  void Walk(const uint32_t* roots, int64_t roots_apart, int32_t height, const uint64_t* keys,
            bool has_nan, uint32_t* leaves) const;

  template <typename T>
  bool MakeKeysOf(const T* rows, int64_t stride, int64_t count, uint64_t* keys) const;

  std::vector<int64_t> features_;  // in ascending order
  std::vector<uint64_t> most_;
  std::vector<Link> links_;
  std::vector<uint8_t> nan_child_;  // 0 or 1
  std::vector<uint32_t> leaf_;      // the number of each that is one
  std::vector<uint32_t> roots_;
};

}  // namespace plimsoll::kernels::cpu
