#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/classical/ordered_trees.h"
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

  // Rows to score, at most kBlockRows, and what that takes.
  struct Block {
    const float* floats = nullptr;  // `count` of `features` each, where orders_rows(); or
    const double* rows = nullptr;
    int64_t count = 0;
    int64_t features = 0;
    double* scores = nullptr;  // a row has room for targets() + 1
    double* seen = nullptr;    // likewise
    uint64_t* keys = nullptr;  // keys()
  };
  void Score(const Block& block) const;
  bool orders_rows() const { return ordered_.has_value(); }
  int64_t keys() const { return ordered_ ? kBlockRows * ordered_->features() : 0; }

 private:
  static constexpr size_t kTogether = OrderedTrees::kLanes;
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

  // Walks that go on at once: rows of one tree from `row` on, or trees of one row from `tree` on.
  struct Lanes {
    bool are_rows = false;
    int64_t row = 0;
    size_t tree = 0;
    int32_t height = 0;  // of the highest tree
    bool has_nan = false;
  };

  int32_t StepOf(const TreeEnsemble::Child& child) const;
  std::vector<int32_t> FindHeights() const;
  std::vector<double> FindLeafScores() const;
  bool Goes(int32_t at, double value) const;
  void FindLeaves(const Block& block, const Lanes& lanes, uint32_t* leaves) const;
  void CountLeaves(const Block& block, const Lanes& lanes, const uint32_t* leaves) const;
  void CountVotes(const Part& votes, double* scores, double* seen) const;
  void Count(const Vote& vote, double* scores, double* seen) const;

  std::optional<OrderedTrees> ordered_;  // else what follows, up to roots_
  std::vector<Step> steps_;
  std::vector<Part> members_of_;  // parts of members_, for the nodes
  std::vector<double> members_;
  std::vector<int32_t> roots_;  // filled up to a multiple of kTogether with a leaf without votes
  std::vector<Part> leaves_;    // parts of votes_, for the steps behind the nodes
  std::vector<Vote> votes_;
  std::vector<double> leaf_scores_;  // targets_ of each leaf; empty: its votes are counted
  std::vector<int32_t> heights_;     // of the trees, so many steps lead to every leaf
  std::vector<double> base_;
  int32_t nodes_ = 0;
  size_t trees_ = 0;
  int64_t targets_ = 0;
  Aggregate aggregate_ = Aggregate::kSum;
};

}  // namespace plimsoll::kernels::cpu
