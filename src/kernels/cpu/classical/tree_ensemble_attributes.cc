#include "kernels/cpu/classical/tree_ensemble_attributes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using Child = TreeEnsemble::Child;

std::vector<int64_t> Integers(const KernelSite& site, std::string_view name) {
  const std::vector<int64_t>* list = site.attributes().Ints(name);
  return list != nullptr ? *list : std::vector<int64_t>();
}

// A list of numbers, which may be a tensor: under its own name, or with "_as_tensor" after it.
std::vector<double> Numbers(const KernelSite& site, std::string_view name) {
  if (const std::vector<double>* list = site.attributes().Floats(name)) return *list;
  if (const graph::ConstantTensor* tensor = site.attributes().Tensor(name)) {
    return tensor->Doubles();
  }
  const graph::ConstantTensor* tensor = site.attributes().Tensor(StrCat(name, "_as_tensor"));
  return tensor != nullptr ? tensor->Doubles() : std::vector<double>();
}

Status CheckLengths(const KernelSite& site, std::initializer_list<size_t> lengths) {
  for (const size_t length : lengths) {
    if (length != *lengths.begin()) {
      return site.BadInput("lists of its attributes that go together have different lengths");
    }
  }
  return {};
}

// Hands each node that tests for members its part of the list, which NaN cuts into parts.
Status ShareMembers(const KernelSite& site, TreeEnsemble& trees) {
  int64_t begin = 0;
  const auto size = static_cast<int64_t>(trees.members.size());
  for (TreeEnsemble::Node& node : trees.nodes) {
    if (node.branch != Branch::kMember) continue;
    if (begin >= size) return site.BadInput("membership_values has too few sets");
    int64_t end = begin;
    while (end < size && !std::isnan(trees.members[static_cast<size_t>(end)])) ++end;
    node.members_begin = begin;
    node.members_end = end;
    begin = end + 1;
  }
  return {};
}

struct NodeLists {
  std::vector<int64_t> features, true_ids, false_ids, missing;
  std::vector<double> splits;

  NodeLists(const KernelSite& site, std::string_view split_list)
      : features(Integers(site, "nodes_featureids")),
        true_ids(Integers(site, "nodes_truenodeids")),
        false_ids(Integers(site, "nodes_falsenodeids")),
        missing(Integers(site, "nodes_missing_value_tracks_true")),
        splits(Numbers(site, split_list)) {
    if (missing.empty()) missing.resize(features.size(), 0);
  }

  TreeEnsemble::Node At(size_t i) const {
    TreeEnsemble::Node node;
    node.missing_is_true = missing[i] != 0;
    node.feature = features[i];
    node.split = splits[i];
    return node;
  }
};

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                       "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

Result<Aggregate> ReadAggregate(const KernelSite& site) {
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = site.attributes().String("aggregate_function", "");
  const int64_t number = site.attributes().Int("aggregate_function", 1);
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const bool is_it = name.empty() ? number == static_cast<int64_t>(i) : name == kNames[i];
    if (is_it) return static_cast<Aggregate>(i);
  }
  return site.BadInput(StrCat("aggregate_function '", name, "' is none of the standard's"));
}

// Nodes under their ids (tree, node), as children and votes name them.
class NodesById {
 public:
  static Result<NodesById> Read(const KernelSite& site) {
    NodesById nodes;
    const std::vector<std::string>* modes = site.attributes().Strings("nodes_modes");
    nodes.trees_ = Integers(site, "nodes_treeids");
    const std::vector<int64_t> ids = Integers(site, "nodes_nodeids");
    if (modes == nullptr) return site.BadInput("attribute nodes_modes is missing");
    PLIMSOLL_TRY(CheckLengths(site, {modes->size(), ids.size(), nodes.trees_.size()}));
    int64_t inner = 0;
    int64_t leaves = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool is_leaf = (*modes)[i] == "LEAF";
      const auto mode = std::find(std::begin(kModes), std::end(kModes), (*modes)[i]);
      if (!is_leaf && mode == std::end(kModes)) {
        return site.BadInput(StrCat("mode '", (*modes)[i], "' is none of the standard's"));
      }
      nodes.modes_.push_back(is_leaf ? Branch() : static_cast<Branch>(mode - std::begin(kModes)));
      nodes.children_.push_back({is_leaf, is_leaf ? leaves++ : inner++});
      if (!nodes.places_.emplace(std::pair(nodes.trees_[i], ids[i]), i).second) {
        return site.BadInput(StrCat("tree ", nodes.trees_[i], " has two nodes ", ids[i]));
      }
    }
    return nodes;
  }

  size_t size() const { return children_.size(); }
  int64_t tree(size_t i) const { return trees_[i]; }
  Branch mode(size_t i) const { return modes_[i]; }
  const Child& child(size_t i) const { return children_[i]; }
  std::optional<size_t> Find(int64_t tree, int64_t id) const {
    const auto found = places_.find({tree, id});
    return found == places_.end() ? std::nullopt : std::optional<size_t>(found->second);
  }

 private:
  std::vector<int64_t> trees_;
  std::vector<Branch> modes_;
  std::vector<Child> children_;
  std::map<std::pair<int64_t, int64_t>, size_t> places_;
};

// The root of a tree is the first of its nodes that is nobody's child.
Status AddRoots(const KernelSite& site, const NodesById& nodes, const std::vector<bool>& has_parent,
                TreeEnsemble& trees) {
  std::map<int64_t, std::optional<size_t>> roots;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::optional<size_t>& root = roots[nodes.tree(i)];
    if (!root && !has_parent[i]) root = i;
  }
  for (const auto& [tree, root] : roots) {
    if (!root) return site.BadInput(StrCat("tree ", tree, " has no root"));
    trees.roots.push_back(nodes.child(*root));
  }
  return {};
}

Status AddVotes(const KernelSite& site, std::string_view list, const NodesById& nodes,
                TreeEnsemble& trees) {
  const std::vector<int64_t> tree_ids = Integers(site, StrCat(list, "_treeids"));
  const std::vector<int64_t> node_ids = Integers(site, StrCat(list, "_nodeids"));
  const std::vector<int64_t> targets = Integers(site, StrCat(list, "_ids"));
  const std::vector<double> weights = Numbers(site, StrCat(list, "_weights"));
  PLIMSOLL_TRY(
      CheckLengths(site, {tree_ids.size(), node_ids.size(), targets.size(), weights.size()}));
  std::vector<std::vector<Vote>> votes(trees.leaves.size());
  for (size_t i = 0; i < tree_ids.size(); ++i) {
    const std::optional<size_t> node = nodes.Find(tree_ids[i], node_ids[i]);
    if (!node || !nodes.child(*node).is_leaf) {
      return site.BadInput(
          StrCat("node ", node_ids[i], " of tree ", tree_ids[i], " votes but is no leaf"));
    }
    votes[static_cast<size_t>(nodes.child(*node).at)].push_back({targets[i], weights[i]});
  }
  for (size_t leaf = 0; leaf < votes.size(); ++leaf) {
    trees.leaves[leaf].begin = static_cast<int64_t>(trees.votes.size());
    trees.votes.insert(trees.votes.end(), votes[leaf].begin(), votes[leaf].end());
    trees.leaves[leaf].end = static_cast<int64_t>(trees.votes.size());
  }
  return {};
}

}  // namespace

Result<TreeEnsemble> ReadFlatTrees(const KernelSite& site) {
  const NodeLists lists(site, "nodes_splits");
  const std::vector<int64_t> true_leaves = Integers(site, "nodes_trueleafs");
  const std::vector<int64_t> false_leaves = Integers(site, "nodes_falseleafs");
  const graph::ConstantTensor* mode_list = site.attributes().Tensor("nodes_modes");
  if (mode_list == nullptr) return site.BadInput("attribute nodes_modes is missing");
  const std::vector<int64_t> modes = mode_list->Integers();
  PLIMSOLL_TRY(CheckLengths(
      site, {modes.size(), lists.features.size(), lists.true_ids.size(), lists.false_ids.size(),
             lists.missing.size(), lists.splits.size(), true_leaves.size(), false_leaves.size()}));
  TreeEnsemble trees;
  PLIMSOLL_ASSIGN(trees.aggregate, ReadAggregate(site));
  trees.targets = site.attributes().Int("n_targets", 1);
  trees.members = Numbers(site, "membership_values");
  for (size_t i = 0; i < modes.size(); ++i) {
    if (modes[i] < 0 || modes[i] > static_cast<int64_t>(Branch::kMember)) {
      return site.BadInput(StrCat("mode ", modes[i], " is none of the standard's"));
    }
    TreeEnsemble::Node& node = trees.nodes.emplace_back(lists.At(i));
    node.branch = static_cast<Branch>(modes[i]);
    node.when_true = {true_leaves[i] != 0, lists.true_ids[i]};
    node.when_false = {false_leaves[i] != 0, lists.false_ids[i]};
  }
  PLIMSOLL_TRY(ShareMembers(site, trees));
  const std::vector<int64_t> targets = Integers(site, "leaf_targetids");
  const std::vector<double> weights = Numbers(site, "leaf_weights");
  PLIMSOLL_TRY(CheckLengths(site, {targets.size(), weights.size()}));
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto vote = static_cast<int64_t>(i);
    trees.votes.push_back({targets[i], weights[i]});
    trees.leaves.push_back({vote, vote + 1});
  }
  for (const int64_t root : Integers(site, "tree_roots")) trees.roots.push_back({false, root});
  return trees;
}

Result<TreeEnsemble> ReadTreesById(const KernelSite& site, std::string_view votes,
                                   int64_t targets) {
  const NodeLists lists(site, "nodes_values");
  PLIMSOLL_ASSIGN(const NodesById nodes, NodesById::Read(site));
  PLIMSOLL_TRY(
      CheckLengths(site, {nodes.size(), lists.features.size(), lists.true_ids.size(),
                          lists.false_ids.size(), lists.missing.size(), lists.splits.size()}));
  TreeEnsemble trees;
  PLIMSOLL_ASSIGN(trees.aggregate, ReadAggregate(site));
  trees.targets = targets;
  trees.base = Numbers(site, "base_values");
  std::vector<bool> has_parent(nodes.size(), false);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.child(i).is_leaf) {
      trees.leaves.emplace_back();
      continue;
    }
    const std::optional<size_t> when_true = nodes.Find(nodes.tree(i), lists.true_ids[i]);
    const std::optional<size_t> when_false = nodes.Find(nodes.tree(i), lists.false_ids[i]);
    if (!when_true || !when_false) return site.BadInput("a node has a child that is not there");
    has_parent[*when_true] = has_parent[*when_false] = true;
    TreeEnsemble::Node& node = trees.nodes.emplace_back(lists.At(i));
    node.branch = nodes.mode(i);
    node.when_true = nodes.child(*when_true);
    node.when_false = nodes.child(*when_false);
  }
  PLIMSOLL_TRY(AddRoots(site, nodes, has_parent, trees));
  PLIMSOLL_TRY(AddVotes(site, votes, nodes, trees));
  return trees;
}

}  // namespace plimsoll::kernels::cpu
