#include "plan/packing/packing_strategies.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <tuple>

namespace plimsoll::plan {
namespace {

using Pick = PackingSearch::Pick;
using Key = PackingStrategy::Key;

constexpr PackingStrategy kPlain[] = {
    {Pick::kFewest, Key::kLength, false},    {Pick::kTightest, Key::kSize, true},
    {Pick::kSequence, Key::kArea, false},    {Pick::kTightest, Key::kArea, false},
    {Pick::kFewest, Key::kArea, false},      {Pick::kTightest, Key::kLength, false},
    {Pick::kSequence, Key::kLength, true},   {Pick::kTroubled, Key::kSize, true},
    {Pick::kTightest, Key::kSections, true}, {Pick::kSequence, Key::kSize, true},
};
static_assert(std::size(kPlain) == kPlainStrategies);

// A perturbed key lies within this share of the key.
constexpr double kPerturbation = 0.5;

std::vector<int64_t> Breadths(const SectionedPacking& packing) {
  std::vector<int64_t> sums(packing.live.size());
  for (size_t s = 0; s < sums.size(); ++s) {
    for (int32_t item : packing.live[s]) sums[s] += packing.items[item].size;
  }
  std::vector<int64_t> breadths;
  for (const SectionedItem& item : packing.items) {
    breadths.push_back(*std::max_element(sums.begin() + item.first, sums.begin() + item.last));
  }
  return breadths;
}

}  // namespace

PackingStrategy StrategyOf(int64_t number, uint64_t shuffle) {
  PackingStrategy strategy = kPlain[number];
  strategy.shuffle = shuffle;
  return strategy;
}

int64_t LubyShare(int64_t round) {
  int64_t ahead = 1;
  while (ahead < round + 1) ahead = 2 * ahead + 1;
  return ahead == round + 1 ? (ahead + 1) / 2 : LubyShare(round - ahead / 2);
}

std::vector<int32_t> StrategySequence(const SectionedPacking& packing,
                                      const std::vector<double>& lengths,
                                      const PackingStrategy& strategy) {
  const std::vector<int64_t> breadths =
      strategy.breadth_first ? Breadths(packing) : std::vector<int64_t>(packing.items.size());
  std::mt19937_64 random(strategy.shuffle);
  std::vector<std::tuple<int64_t, double, double>> priorities;
  for (size_t i = 0; i < packing.items.size(); ++i) {
    const SectionedItem& item = packing.items[i];
    const auto size = static_cast<double>(item.size);
    const double sections = item.last - item.first;
    double first = 0;
    double second = 0;
    switch (strategy.key) {
      case Key::kArea:
        first = size * lengths[i];
        break;
      case Key::kLength:
        first = lengths[i];
        second = size;
        break;
      case Key::kSections:
        first = size * sections;
        break;
      case Key::kWidth:
        first = sections;
        second = size;
        break;
      case Key::kSize:
        first = size;
        second = sections;
        break;
    }
    if (strategy.shuffle != 0) {
      const double share = static_cast<double>(random() >> 11) / static_cast<double>(1ll << 53);
      first *= 1 - kPerturbation * share;
    }
    priorities.emplace_back(breadths[i], first, second);
  }
  std::vector<int32_t> sequence(packing.items.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::stable_sort(sequence.begin(), sequence.end(),
                   [&](int32_t a, int32_t b) { return priorities[a] > priorities[b]; });
  return sequence;
}

}  // namespace plimsoll::plan
