#include "kernels/cpu/classical/tree_walk.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>

namespace plimsoll::kernels::cpu {

TreeWalk::TreeWalk(const TreeEnsemble& trees)
    : members_(trees.members),
      votes_(trees.votes),
      base_(trees.base),
      nodes_(static_cast<int32_t>(trees.nodes.size())),
      trees_(trees.roots.size()),
      targets_(trees.targets),
      aggregate_(trees.aggregate) {
  steps_.reserve(trees.nodes.size() + trees.leaves.size() + 1);
  if (!trees.nodes.empty()) branch_ = trees.nodes.front().branch;
  for (const TreeEnsemble::Node& node : trees.nodes) {
    steps_.push_back({.split = node.split,
                      .feature = static_cast<int32_t>(node.feature),
                      .children = {StepOf(node.when_false), StepOf(node.when_true)},
                      .branch = node.branch,
                      .missing_is_true = node.missing_is_true});
    members_of_.push_back({node.members_begin, node.members_end});
    if (branch_ != node.branch) branch_.reset();
    has_missing_ |= node.missing_is_true;
  }
  for (const TreeEnsemble::Leaf& leaf : trees.leaves) leaves_.push_back({leaf.begin, leaf.end});
  leaves_.emplace_back();
  for (int32_t leaf = 0; leaf < std::ssize(leaves_); ++leaf) {
    steps_.push_back({.children = {nodes_ + leaf, nodes_ + leaf}});
  }
  for (const TreeEnsemble::Child& root : trees.roots) roots_.push_back(StepOf(root));
  while (roots_.size() % kTogether != 0) {
    roots_.push_back(static_cast<int32_t>(steps_.size()) - 1);
  }
  const std::vector<int32_t> heights = FindHeights();
  for (const int32_t root : roots_) heights_.push_back(heights[static_cast<size_t>(root)]);
  leaf_scores_ = FindLeafScores();
}

// By step: how many steps lead to the farthest leaf.
std::vector<int32_t> TreeWalk::FindHeights() const {
  std::vector<int32_t> heights(steps_.size(), -1);
  std::fill(heights.begin() + nodes_, heights.end(), 0);
  std::vector<size_t> open;
  for (size_t start = 0; start < static_cast<size_t>(nodes_); ++start) {
    open.push_back(start);
    while (!open.empty()) {
      const size_t at = open.back();
      int32_t height = 0;
      for (const int32_t child : steps_[at].children) {
        const int32_t below = heights[static_cast<size_t>(child)];
        if (below < 0) open.push_back(static_cast<size_t>(child));
        height = std::max(height, below + 1);
      }
      if (open.back() != at) continue;
      heights[at] = height;
      open.pop_back();
    }
  }
  return heights;
}

// Where sums are made and most leaves vote for most targets, once for each.
std::vector<double> TreeWalk::FindLeafScores() const {
  const size_t count = leaves_.size() * static_cast<size_t>(targets_);
  const bool is_sum = aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage;
  if (!is_sum || count > 2 * (votes_.size() + leaves_.size())) return {};
  std::vector<double> scores(count);
  std::vector<bool> voted(count);
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Part& part = leaves_[leaf];
    for (const Vote& vote : std::span(votes_.data() + part.begin, votes_.data() + part.end)) {
      const size_t at = leaf * static_cast<size_t>(targets_) + static_cast<size_t>(vote.target);
      if (voted[at]) return {};
      voted[at] = true;
      scores[at] = vote.weight;
    }
  }
  return scores;
}

int32_t TreeWalk::StepOf(const TreeEnsemble::Child& child) const {
  return static_cast<int32_t>(child.at) + (child.is_leaf ? nodes_ : 0);
}

int64_t TreeWalk::row_work() const {
  constexpr int64_t kStepWork = 16;
  const size_t nodes_of_tree = static_cast<size_t>(nodes_) / std::max<size_t>(trees_, 1);
  return static_cast<int64_t>(trees_) * std::bit_width(nodes_of_tree) * kStepWork;
}

bool TreeWalk::Goes(int32_t at, double value) const {
  const Step& step = steps_[static_cast<size_t>(at)];
  if (step.missing_is_true && std::isnan(value)) return true;
  switch (step.branch) {
    case Branch::kLessEqual:
      return value <= step.split;
    case Branch::kLess:
      return value < step.split;
    case Branch::kGreaterEqual:
      return value >= step.split;
    case Branch::kGreater:
      return value > step.split;
    case Branch::kEqual:
      return value == step.split;
    case Branch::kNotEqual:
      return value != step.split;
    case Branch::kMember: {
      const Part& part = members_of_[static_cast<size_t>(at)];
      const auto end = members_.begin() + part.end;
      return std::find(members_.begin() + part.begin, end, value) != end;
    }
  }
  return false;
}

// Gives whether one was not at a leaf yet.
template <typename Rule>
inline bool TreeWalk::StepBy(const Rule& goes, Lanes& lanes) const {
  bool moved = false;
#pragma GCC unroll 8
  for (size_t i = 0; i < kTogether; ++i) {
    const int32_t at = lanes.at[i];
    const Step& step = steps_[static_cast<size_t>(at)];
    const int32_t next = step.children[goes(at, step, lanes.rows[i][step.feature])];
    moved |= next != at;
    lanes.at[i] = next;
  }
  return moved;
}

// Until all are at leaves: in a tree that is not high without looking whether they are, which
// nobody can foretell.
template <typename Rule>
void TreeWalk::WalkBy(const Rule& goes, int32_t height, Lanes& lanes) const {
  constexpr int32_t kLowTree = 6;
  int32_t step = 0;
  for (; step < std::min(height, kLowTree); ++step) StepBy(goes, lanes);
  for (bool moved = true; moved && step < height; ++step) moved = StepBy(goes, lanes);
}

void TreeWalk::Walk(int32_t height, Lanes& lanes) const {
  const auto by = [&](const auto& compare) {
    if (has_missing_) {
      WalkBy(
          [&](int32_t, const Step& step, double value) {
            const bool missing = step.missing_is_true & std::isnan(value);
            return compare(value, step.split) | missing;
          },
          height, lanes);
    } else {
      WalkBy([&](int32_t, const Step& step, double value) { return compare(value, step.split); },
             height, lanes);
    }
  };
  if (branch_ == Branch::kLessEqual) return by(std::less_equal<>());
  if (branch_ == Branch::kLess) return by(std::less<>());
  if (branch_ == Branch::kGreaterEqual) return by(std::greater_equal<>());
  if (branch_ == Branch::kGreater) return by(std::greater<>());
  WalkBy([this](int32_t node, const Step&, double value) { return Goes(node, value); }, height,
         lanes);
}

void TreeWalk::Count(const Vote& vote, double* scores, double* seen) const {
  double& score = scores[vote.target];
  if (aggregate_ == Aggregate::kMin && seen[vote.target] != 0) {
    score = std::min(score, vote.weight);
  } else if (aggregate_ == Aggregate::kMax && seen[vote.target] != 0) {
    score = std::max(score, vote.weight);
  } else {
    score += vote.weight;
  }
  seen[vote.target] = 1;
}

void TreeWalk::CountLeaf(int32_t at, double* scores, double* seen) const {
  if (!leaf_scores_.empty()) {
    const double* const added = leaf_scores_.data() + (at - nodes_) * targets_;
    for (int64_t target = 0; target < targets_; ++target) scores[target] += added[target];
    return;
  }
  const Part& part = leaves_[static_cast<size_t>(at - nodes_)];
  const bool is_sum = aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage;
  for (const Vote& vote : std::span(votes_.data() + part.begin, votes_.data() + part.end)) {
    if (is_sum) {
      scores[vote.target] += vote.weight;
    } else {
      Count(vote, scores, seen);
    }
  }
}

void TreeWalk::Score(const double* rows, int64_t count, int64_t features, double* scores,
                     double* seen) const {
  const int64_t stride = targets_ + 1;
  std::fill_n(scores, count * stride, 0);
  std::fill_n(seen, count * stride, 0);
  // Lanes are rows of one tree, or where there are few rows trees of one row.
  const bool by_rows = count >= kFewRows;
  const size_t lane_trees = by_rows ? 1 : kTogether;
  const int64_t lane_rows = by_rows ? static_cast<int64_t>(kTogether) : 1;
  for (size_t root = 0; root < trees_; root += lane_trees) {
    const auto heights = std::span(heights_).subspan(root, lane_trees);
    const int32_t height = *std::ranges::max_element(heights);
    for (int64_t row = 0; row < count; row += lane_rows) {
      const auto row_of = [&](size_t lane) {
        return std::min(row + (by_rows ? static_cast<int64_t>(lane) : 0), count - 1);
      };
      Lanes lanes;
      for (size_t lane = 0; lane < kTogether; ++lane) {
        lanes.rows[lane] = rows + row_of(lane) * features;
        lanes.at[lane] = roots_[root + (by_rows ? 0 : lane)];
      }
      Walk(height, lanes);
      const size_t used =
          by_rows ? static_cast<size_t>(std::min(lane_rows, count - row)) : kTogether;
      for (size_t lane = 0; lane < used; ++lane) {
        const int64_t own = row_of(lane) * stride;
        CountLeaf(lanes.at[lane], scores + own, seen + own);
      }
    }
  }
  const double divisor =
      aggregate_ == Aggregate::kAverage ? static_cast<double>(std::max<size_t>(trees_, 1)) : 1;
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t target = 0; target < targets_; ++target) {
      double& score = scores[row * stride + target];
      score /= divisor;
      if (!base_.empty()) score += base_[static_cast<size_t>(target)];
    }
  }
}

}  // namespace plimsoll::kernels::cpu
