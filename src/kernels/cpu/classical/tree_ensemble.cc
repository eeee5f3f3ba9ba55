#include "kernels/cpu/classical/tree_ensemble.h"

#include <algorithm>
#include <cmath>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

bool Within(int64_t at, size_t size) { return at >= 0 && at < static_cast<int64_t>(size); }

bool IsPart(int64_t begin, int64_t end, size_t size) {
  return begin >= 0 && begin <= end && end <= static_cast<int64_t>(size);
}

}  // namespace

std::optional<std::string> TreeEnsemble::Fault(int64_t features) const {
  const auto lost = [this](const Child& child) {
    return !Within(child.at, child.is_leaf ? leaves.size() : nodes.size());
  };
  for (const Node& node : nodes) {
    if (node.feature < 0 || node.feature >= features) {
      return StrCat("a node reads feature ", node.feature, " of ", features);
    }
    if (lost(node.when_true) || lost(node.when_false))
      return "a node has a child that is not there";
    if (!IsPart(node.members_begin, node.members_end, members.size())) {
      return "a node tests for members that are not there";
    }
  }
  for (const Leaf& leaf : leaves) {
    if (!IsPart(leaf.begin, leaf.end, votes.size())) return "a leaf has votes that are not there";
  }
  for (const Vote& vote : votes) {
    if (vote.target < 0 || vote.target >= targets) {
      return StrCat("a leaf votes for target ", vote.target, " of ", targets);
    }
  }
  if (std::any_of(roots.begin(), roots.end(), lost)) return "a tree has a root that is not there";
  if (!base.empty() && static_cast<int64_t>(base.size()) != targets) {
    return StrCat("there are ", base.size(), " base values for ", targets, " targets");
  }
  if (HasCycle()) return "a tree comes back to a node that it has left";
  return std::nullopt;
}

// A walk in depth: a child that is still open is an ancestor.
bool TreeEnsemble::HasCycle() const {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(nodes.size(), Mark::kNew);
  std::vector<int64_t> path;
  for (size_t start = 0; start < nodes.size(); ++start) {
    path.push_back(static_cast<int64_t>(start));
    while (!path.empty()) {
      const auto at = static_cast<size_t>(path.back());
      if (marks[at] != Mark::kNew) {
        marks[at] = Mark::kDone;
        path.pop_back();
        continue;
      }
      marks[at] = Mark::kOpen;
      for (const Child& child : {nodes[at].when_true, nodes[at].when_false}) {
        if (child.is_leaf) continue;
        const Mark mark = marks[static_cast<size_t>(child.at)];
        if (mark == Mark::kOpen) return true;
        if (mark == Mark::kNew) path.push_back(child.at);
      }
    }
  }
  return false;
}

bool TreeEnsemble::Goes(const Node& node, double value) const {
  if (node.missing_is_true && std::isnan(value)) return true;
  switch (node.branch) {
    case Branch::kLessEqual:
      return value <= node.split;
    case Branch::kLess:
      return value < node.split;
    case Branch::kGreaterEqual:
      return value >= node.split;
    case Branch::kGreater:
      return value > node.split;
    case Branch::kEqual:
      return value == node.split;
    case Branch::kNotEqual:
      return value != node.split;
    case Branch::kMember:
      return std::find(members.begin() + node.members_begin, members.begin() + node.members_end,
                       value) != members.begin() + node.members_end;
  }
  return false;
}

void TreeEnsemble::Count(const Vote& vote, std::span<double> scores, std::span<double> seen) const {
  const auto target = static_cast<size_t>(vote.target);
  double& score = scores[target];
  if (aggregate == Aggregate::kMin && seen[target] != 0) {
    score = std::min(score, vote.weight);
  } else if (aggregate == Aggregate::kMax && seen[target] != 0) {
    score = std::max(score, vote.weight);
  } else {
    score += vote.weight;
  }
  seen[target] = 1;
}

void TreeEnsemble::Score(std::span<const double> row, std::span<double> scores,
                         std::span<double> seen) const {
  std::fill(scores.begin(), scores.end(), 0);
  std::fill(seen.begin(), seen.end(), 0);
  for (Child at : roots) {
    while (!at.is_leaf) {
      const Node& node = nodes[static_cast<size_t>(at.at)];
      at = Goes(node, row[static_cast<size_t>(node.feature)]) ? node.when_true : node.when_false;
    }
    const Leaf& leaf = leaves[static_cast<size_t>(at.at)];
    for (int64_t vote = leaf.begin; vote < leaf.end; ++vote) {
      Count(votes[static_cast<size_t>(vote)], scores, seen);
    }
  }
  if (aggregate == Aggregate::kAverage && !roots.empty()) {
    for (double& score : scores) score /= static_cast<double>(roots.size());
  }
  for (size_t target = 0; target < base.size(); ++target) scores[target] += base[target];
}

}  // namespace plimsoll::kernels::cpu
