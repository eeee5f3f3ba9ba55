#include "kernels/cpu/classical/ordered_trees.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace plimsoll::kernels::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kAnything = std::numeric_limits<uint64_t>::max();  // is above every number
constexpr uint64_t kNan = kAnything;

bool IsStrict(Branch branch) { return branch == Branch::kLess || branch == Branch::kGreaterEqual; }

bool IsTurned(Branch branch) {
  return branch == Branch::kGreater || branch == Branch::kGreaterEqual;
}

// No number is the largest below minus infinity.
bool AsksForOrder(const TreeEnsemble::Node& node) {
  if (std::isnan(node.split)) return false;
  if (IsStrict(node.branch)) return node.split != -kInfinity;
  return node.branch == Branch::kLessEqual || node.branch == Branch::kGreater;
}

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr uint64_t kInfiniteBits = uint64_t{0x7ff} << 52;

// Whole numbers in the order of the numbers; both zeros are one.
inline uint64_t KeyOf(double x) {
  const auto bits = std::bit_cast<uint64_t>(x + 0.0);
  const auto negative = static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63);
  return bits ^ (negative | kSign);
}

// Places that walks are at; named one by one, they stay in registers.
struct Places {
  uint32_t a, b, c, d, e, f, g, h;
  uint64_t Sum() const { return uint64_t{a} + b + c + d + e + f + g + h; }
};

template <typename Next>
[[gnu::always_inline]] inline void StepDown(const Next& next, Places& at) {
  at.a = next(at.a, 0);
  at.b = next(at.b, 1);
  at.c = next(at.c, 2);
  at.d = next(at.d, 3);
  at.e = next(at.e, 4);
  at.f = next(at.f, 5);
  at.g = next(at.g, 6);
  at.h = next(at.h, 7);
}

// Until all are at leaves: in a tree that is not high without looking whether they are, which
// nobody can foretell. Children lie behind their parents, so a sum that stays tells it.
template <typename Next>
[[gnu::always_inline]] inline void WalkDown(const Next& next, int32_t height, Places& at) {
  constexpr int32_t kLowTree = 6;
  constexpr int32_t kUnseen = 2;  // steps between two looks
  int32_t left = height;
  for (; left > std::max(height - kLowTree, 0); --left) StepDown(next, at);
  for (bool moved = true; moved && left > 0;) {
    for (const int32_t end = std::max(left - kUnseen, 1); left > end; --left) StepDown(next, at);
    const uint64_t before = at.Sum();
    StepDown(next, at);
    --left;
    moved = at.Sum() != before;
  }
}

}  // namespace

std::optional<OrderedTrees> OrderedTrees::Of(const TreeEnsemble& trees, size_t padding) {
  if (!std::ranges::all_of(trees.nodes, AsksForOrder)) return std::nullopt;
  OrderedTrees made;
  made.FindFeatures(trees);
  for (const TreeEnsemble::Child& root : trees.roots) {
    if (!made.Add(trees, root)) return std::nullopt;
  }
  const uint32_t empty = made.Place();
  made.PlaceLeaf(empty, trees.leaves.size());
  made.roots_.insert(made.roots_.end(), padding, empty);
  return made;
}

void OrderedTrees::FindFeatures(const TreeEnsemble& trees) {
  for (const TreeEnsemble::Node& node : trees.nodes) features_.push_back(node.feature);
  std::ranges::sort(features_);
  features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
  features_.shrink_to_fit();
}

uint32_t OrderedTrees::NumberOf(int64_t feature) const {
  const auto found = std::ranges::lower_bound(features_, feature);
  return static_cast<uint32_t>(found - features_.begin());
}

uint32_t OrderedTrees::Place() {
  most_.push_back(kAnything);
  links_.emplace_back();
  nan_child_.push_back(0);
  leaf_.push_back(0);
  return static_cast<uint32_t>(most_.size()) - 1;
}

void OrderedTrees::PlaceLeaf(uint32_t at, size_t leaf) {
  links_[at].first_child = at;
  leaf_[at] = static_cast<uint32_t>(leaf);
}

// False where there are more steps than nodes and leaves, since some are reached in two ways.
bool OrderedTrees::Add(const TreeEnsemble& trees, const TreeEnsemble::Child& root) {
  const size_t most = trees.nodes.size() + trees.leaves.size() + trees.roots.size();
  std::vector<std::pair<uint32_t, TreeEnsemble::Child>> open = {{Place(), root}};
  roots_.push_back(open.front().first);
  for (size_t i = 0; i < open.size(); ++i) {
    if (most_.size() > most) return false;
    const auto [at, child] = open[i];
    if (child.is_leaf) {
      PlaceLeaf(at, static_cast<size_t>(child.at));
      continue;
    }
    const TreeEnsemble::Node& node = trees.nodes[static_cast<size_t>(child.at)];
    const bool turned = IsTurned(node.branch);
    most_[at] = KeyOf(IsStrict(node.branch) ? std::nextafter(node.split, -kInfinity) : node.split);
    nan_child_[at] = node.missing_is_true == turned ? 1 : 0;
    const uint32_t first = Place();
    links_[at] = {.feature = NumberOf(node.feature) * uint32_t{kLanes}, .first_child = first};
    open.emplace_back(first, turned ? node.when_false : node.when_true);
    open.emplace_back(Place(), turned ? node.when_true : node.when_false);
  }
  return true;
}

template <typename T>
bool OrderedTrees::MakeKeysOf(const T* rows, int64_t stride, int64_t count, uint64_t* keys) const {
  bool has_nan = false;
  std::fill_n(keys, count < kLanes || features_.empty() ? features() * kLanes : 0, uint64_t{0});
  uint64_t* to = keys;
  for (const int64_t feature : features_) {
    for (int64_t row = 0; row < count; ++row) {
      const auto number = static_cast<double>(rows[row * stride + feature]);
      has_nan |= (std::bit_cast<uint64_t>(number) & ~kSign) > kInfiniteBits;
      to[row] = KeyOf(number);
    }
    to += kLanes;
  }
  for (size_t i = 0; has_nan && i < features_.size(); ++i) {
    for (int64_t row = 0; row < count; ++row) {
      if (std::isnan(rows[row * stride + features_[i]])) {
        keys[static_cast<int64_t>(i) * kLanes + row] = kNan;
      }
    }
  }
  return has_nan;
}

bool OrderedTrees::MakeKeys(const float* rows, int64_t stride, int64_t count,
                            uint64_t* keys) const {
  return MakeKeysOf(rows, stride, count, keys);
}

bool OrderedTrees::MakeKeys(const double* rows, int64_t stride, int64_t count,
                            uint64_t* keys) const {
  return MakeKeysOf(rows, stride, count, keys);
}

// Lane i looks at keys kApart * i behind those of lane 0.
template <int64_t kApart>
void OrderedTrees::Walk(const uint32_t* roots, int64_t roots_apart, int32_t height,
                        const uint64_t* keys, bool has_nan, uint32_t* leaves) const {
  const uint64_t* const most = most_.data();
  const Link* const links = links_.data();
  const auto root = [&](int64_t lane) { return roots[lane * roots_apart]; };
  Places at{root(0), root(1), root(2), root(3), root(4), root(5), root(6), root(7)};
  if (has_nan) {
    const uint8_t* const nan_child = nan_child_.data();
    const auto next = [=](uint32_t place, int64_t lane) -> uint32_t {
      const Link link = links[place];
      const uint64_t key = keys[link.feature + kApart * lane];
      return link.first_child + (key == kNan ? nan_child[place] : most[place] < key);
    };
    WalkDown(next, height, at);
  } else {
    const auto next = [=](uint32_t place, int64_t lane) __attribute__((always_inline))->uint32_t {
      const uint64_t key = keys[links[place].feature + kApart * lane];
      return links[place].first_child + (most[place] < key);
    };
    WalkDown(next, height, at);
  }
  const uint32_t* const leaf = leaf_.data();
  const uint32_t ends[] = {leaf[at.a], leaf[at.b], leaf[at.c], leaf[at.d],
                           leaf[at.e], leaf[at.f], leaf[at.g], leaf[at.h]};
  std::copy_n(ends, kLanes, leaves);
}

void OrderedTrees::LeavesOfRows(size_t tree, int32_t height, const uint64_t* keys, bool has_nan,
                                uint32_t* leaves) const {
  Walk<1>(roots_.data() + tree, 0, height, keys, has_nan, leaves);
}

void OrderedTrees::LeavesOfTrees(size_t first_tree, int32_t height, const uint64_t* keys,
                                 int64_t row, bool has_nan, uint32_t* leaves) const {
  Walk<0>(roots_.data() + first_tree, 1, height, keys + row, has_nan, leaves);
}

}  // namespace plimsoll::kernels::cpu
