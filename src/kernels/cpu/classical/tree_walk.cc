#include "kernels/cpu/classical/tree_walk.h"

#include <algorithm>
#include <bit>
#include <cmath>
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
  for (const TreeEnsemble::Node& node : trees.nodes) {
    steps_.push_back({.split = node.split,
                      .feature = static_cast<int32_t>(node.feature),
                      .children = {StepOf(node.when_false), StepOf(node.when_true)},
                      .branch = node.branch,
                      .missing_is_true = node.missing_is_true});
    members_of_.push_back({node.members_begin, node.members_end});
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
  ordered_ = OrderedTrees::Of(trees, roots_.size() - trees_);
  if (ordered_) {
    steps_ = {};
    members_of_ = {};
    members_ = {};
    roots_ = {};
  }
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

// The numbers of the leaves that kTogether walks come to; of rows that are not there, any.
void TreeWalk::FindLeaves(const Block& block, const Lanes& lanes, uint32_t* leaves) const {
  if (ordered_) {
    constexpr int64_t kRows = OrderedTrees::kLanes;
    const uint64_t* const keys = block.keys + lanes.row / kRows * kRows * ordered_->features();
    if (lanes.are_rows) {
      ordered_->LeavesOfRows(lanes.tree, lanes.height, keys, lanes.has_nan, leaves);
    } else {
      ordered_->LeavesOfTrees(lanes.tree, lanes.height, keys, lanes.row % kRows, lanes.has_nan,
                              leaves);
    }
    return;
  }
  for (size_t i = 0; i < kTogether; ++i) {
    const auto lane = static_cast<int64_t>(i);
    const int64_t row = std::min(lanes.row + (lanes.are_rows ? lane : 0), block.count - 1);
    const double* const features = block.rows + row * block.features;
    int32_t at = roots_[lanes.tree + (lanes.are_rows ? 0 : i)];
    while (at < nodes_) {
      const Step& step = steps_[static_cast<size_t>(at)];
      at = step.children[Goes(at, features[step.feature])];
    }
    leaves[i] = static_cast<uint32_t>(at - nodes_);
  }
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

void TreeWalk::CountVotes(const Part& votes, double* scores, double* seen) const {
  const bool is_sum = aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage;
  for (const Vote& vote : std::span(votes_.data() + votes.begin, votes_.data() + votes.end)) {
    if (is_sum) {
      scores[vote.target] += vote.weight;
    } else {
      Count(vote, scores, seen);
    }
  }
}

void TreeWalk::CountLeaves(const Block& block, const Lanes& lanes, const uint32_t* leaves) const {
  const int64_t stride = targets_ + 1;
  const int64_t apart = lanes.are_rows ? stride : 0;
  double* const scores = block.scores + lanes.row * stride;
  const auto count = static_cast<int64_t>(kTogether);
  const int64_t used = lanes.are_rows ? std::min(count, block.count - lanes.row) : count;
  if (leaf_scores_.empty()) {
    double* const seen = block.seen + lanes.row * stride;
    for (int64_t i = 0; i < used; ++i) {
      CountVotes(leaves_[leaves[i]], scores + i * apart, seen + i * apart);
    }
    return;
  }
  const double* const leaf_scores = leaf_scores_.data();
  for (int64_t i = 0; i < used; ++i) {
    const double* const added = leaf_scores + leaves[i] * targets_;
    for (int64_t target = 0; target < targets_; ++target)
      scores[i * apart + target] += added[target];
  }
}

void TreeWalk::Score(const Block& block) const {
  const int64_t stride = targets_ + 1;
  constexpr auto kLanes = static_cast<int64_t>(kTogether);
  std::fill_n(block.scores, block.count * stride, 0);
  std::fill_n(block.seen, block.count * stride, 0);
  // Lanes are rows of one tree, or where there are few rows trees of one row.
  Lanes lanes{.are_rows = block.count >= kFewRows};
  for (int64_t row = 0; ordered_ && row < block.count; row += kLanes) {
    const int64_t count = std::min(kLanes, block.count - row);
    const int64_t first = row * block.features;
    uint64_t* const keys = block.keys + row * ordered_->features();
    lanes.has_nan |= block.floats != nullptr
                         ? ordered_->MakeKeys(block.floats + first, block.features, count, keys)
                         : ordered_->MakeKeys(block.rows + first, block.features, count, keys);
  }
  const size_t lane_trees = lanes.are_rows ? 1 : kTogether;
  for (lanes.tree = 0; lanes.tree < trees_; lanes.tree += lane_trees) {
    const auto heights = std::span(heights_).subspan(lanes.tree, lane_trees);
    lanes.height = *std::ranges::max_element(heights);
    for (lanes.row = 0; lanes.row < block.count; lanes.row += lanes.are_rows ? kLanes : 1) {
      uint32_t leaves[kTogether];
      FindLeaves(block, lanes, leaves);
      CountLeaves(block, lanes, leaves);
    }
  }
  const double divisor =
      aggregate_ == Aggregate::kAverage ? static_cast<double>(std::max<size_t>(trees_, 1)) : 1;
  for (int64_t row = 0; row < block.count; ++row) {
    for (int64_t target = 0; target < targets_; ++target) {
      double& score = block.scores[row * stride + target];
      score /= divisor;
      if (!base_.empty()) score += base_[static_cast<size_t>(target)];
    }
  }
}

}  // namespace plimsoll::kernels::cpu
