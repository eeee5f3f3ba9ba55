#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/classical/tree_ensemble.h"

namespace plimsoll::kernels::cpu {

// A checked ensemble as rows go through it: several walks at once, for each step waits for the one
// before it, and without branches, for which way a row goes cannot be foretold. The sum of a row is
// the same whatever rows are beside it. Const, so several threads may use it.
class TreeWalk {
 public:
  static constexpr int64_t kBlockRows = 16;  // fewest cache misses of a call

  explicit TreeWalk(const TreeEnsemble& trees);

  int64_t targets() const { return targets_; }
  int64_t row_work() const;  // of one row, in multiplications

  // The scores of `rows` rows of `features` each. A row of `scores` and of `seen` has room for
  // targets() + 1.
  void Score(const double* rows, int64_t count, int64_t features, double* scores,
             double* seen) const;

 private:
  static constexpr size_t kTogether = 8;
  static constexpr int64_t kFewRows = 4;

  // A node, or behind all of them a leaf, whose children are itself.
  struct Step {
    double split = 0;
    int32_t feature = 0;
    int32_t children[2] = {0, 0};  // when false, when true
    Branch branch = Branch::kLessEqual;
    bool missing_is_true = false;
  };

  struct Part {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // Walks that go on at once.
  struct Lanes {
    const double* rows[kTogether];
    int32_t at[kTogether];  // steps
  };

  int32_t StepOf(const TreeEnsemble::Child& child) const;
  std::vector<int32_t> FindHeights() const;
  std::vector<double> FindLeafScores() const;
  bool Goes(int32_t at, double value) const;
  template <typename Rule>
  bool StepBy(const Rule& goes, Lanes& lanes) const;
  template <typename Rule>
  void WalkBy(const Rule& goes, int32_t height, Lanes& lanes) const;
  void Walk(int32_t height, Lanes& lanes) const;
  void CountLeaf(int32_t at, double* scores, double* seen) const;
  void Count(const Vote& vote, double* scores, double* seen) const;

  std::vector<Step> steps_;
  std::vector<Part> leaves_;      // parts of votes_, for the steps behind the nodes
  std::vector<Part> members_of_;  // parts of members_, for the nodes
  std::vector<double> members_;
  std::vector<Vote> votes_;
  std::vector<double> leaf_scores_;  // targets_ of each leaf; empty: its votes are counted
  std::vector<int32_t> roots_;    // filled up to a multiple of kTogether with a leaf without votes
  std::vector<int32_t> heights_;  // of the trees, so many steps lead to every leaf
  std::vector<double> base_;
  int32_t nodes_ = 0;
  size_t trees_ = 0;
  int64_t targets_ = 0;
  Aggregate aggregate_ = Aggregate::kSum;
  std::optional<Branch> branch_;  // of all nodes, where it is one
  bool has_missing_ = false;      // a node sends NaN where it would not go by its branch
};

}  // namespace plimsoll::kernels::cpu
