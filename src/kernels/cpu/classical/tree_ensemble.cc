#include "kernels/cpu/classical/tree_ensemble.h"

#include <algorithm>
#include <limits>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

bool Within(int64_t at, size_t size) { return at >= 0 && at < static_cast<int64_t>(size); }

bool IsPart(int64_t begin, int64_t end, size_t size) {
  return begin >= 0 && begin <= end && end <= static_cast<int64_t>(size);
}

}  // namespace

std::optional<std::string> TreeEnsemble::Fault(int64_t features) const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (SaturatingAdd(std::ssize(nodes), std::ssize(leaves)) >= kMost || features > kMost) {
    return StrCat("more than ", kMost, " nodes or features");
  }
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

}  // namespace plimsoll::kernels::cpu
