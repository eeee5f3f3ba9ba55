#include "compile/order/search/order_beam.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "compile/order/order_cost.h"
#include "compile/order/search/order_bound.h"

namespace plimsoll::compile {
namespace {

constexpr int kWordBits = 64;

// A fixed random number for each node: a set's key is the sum of its nodes', twice over. 128 bits:
// sets that are taken for equal by mistake would spoil a proof.
struct SetKey {
  uint64_t one = 0;
  uint64_t other = 0;

  void Add(const SetKey& node) {
    one += node.one;
    other += node.other;
  }
  auto operator<=>(const SetKey&) const = default;
};

uint64_t Scatter(uint64_t number) {
  uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

class Beam {
 public:
  Beam(const OrderGraph& graph, const BeamLimits& limits)
      : graph_(graph),
        limits_(limits),
        floor_(LowestPeak(graph)),
        words_(static_cast<size_t>(graph.size() + kWordBits - 1) / kWordBits),
        levels_(static_cast<size_t>(graph.size()) + 1) {
    for (int32_t node = 0; node < graph.size(); ++node) {
      keys_.push_back({Scatter(2 * uint64_t(node)), Scatter(2 * uint64_t(node) + 1)});
    }
  }

  BeamAnswer Run() {
    if (floor_ >= limits_.bound) {
      answer_.exhaustive = true;
      return std::move(answer_);
    }
    Compete(Start());
    for (int32_t level = 0; level < graph_.size(); ++level) {
      Trim(levels_[level]);
      for (const State& state : levels_[level]) {
        if (answer_.steps >= limits_.steps || limits_.Stopped()) return std::move(answer_);
        Expand(state);
        free_sets_.push_back(state.set);
      }
      levels_[level] = {};
    }
    answer_.exhaustive = !dropped_;
    Trim(levels_.back());
    if (!levels_.back().empty()) Answer(levels_.back().front());
    return std::move(answer_);
  }

 private:
  struct State {
    int64_t peak = 0;
    int64_t live = 0;
    SetKey key;
    int32_t parent = -1;  // the choice before
    int32_t node = -1;  // the last that was chosen; what ran at once behind it is not written down
    int32_t size = 0;   // nodes that have run
    int32_t set = -1;   // which pair of bit sets: nodes that have run, nodes that may run
  };
  struct Choice {
    int32_t parent;
    int32_t node;
  };

  uint64_t* Done(int32_t set) { return sets_.data() + static_cast<size_t>(set) * 2 * words_; }
  uint64_t* Ready(int32_t set) { return Done(set) + words_; }
  static bool Has(const uint64_t* bits, int32_t node) {
    return (bits[node / kWordBits] >> (node % kWordBits) & 1U) != 0;
  }
  static void Flip(uint64_t* bits, int32_t node) {
    bits[node / kWordBits] ^= uint64_t{1} << (node % kWordBits);
  }

  int32_t NewSet() {
    if (!free_sets_.empty()) {
      const int32_t set = free_sets_.back();
      free_sets_.pop_back();
      return set;
    }
    sets_.resize(sets_.size() + 2 * words_);
    return static_cast<int32_t>(sets_.size() / (2 * words_)) - 1;
  }

  State Start() {
    State start{.peak = floor_, .live = graph_.live_before(), .key = {}, .set = NewSet()};
    std::fill_n(Done(start.set), 2 * words_, 0);
    for (int32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.predecessors(node).empty()) Flip(Ready(start.set), node);
    }
    Settle(start);
    return start;
  }

  StepCost CostOf(const State& state, int32_t node) {
    ++answer_.steps;
    const uint64_t* done = Done(state.set);
    return CostOfStep(graph_, node, [&](int32_t storage) {
      if (graph_.storage(storage).kept) return false;
      for (const int32_t user : graph_.users(storage)) {
        if (user != node && !Has(done, user)) return false;
      }
      return true;
    });
  }

  template <typename Visit>
  void ForEachReady(const State& state, Visit visit) {
    for (size_t word = 0; word < words_; ++word) {
      uint64_t bits = Ready(state.set)[word];
      for (; bits != 0; bits &= bits - 1) {
        visit(static_cast<int32_t>(word * kWordBits) + __builtin_ctzll(bits));
      }
    }
  }

  void Run(State& state, int32_t node, const StepCost& cost) {
    state.peak = std::max(state.peak, state.live + cost.rise);
    state.live += cost.delta;
    state.key.Add(keys_[node]);
    ++state.size;
    if (replaying_) answer_.order.push_back(node);
    uint64_t* done = Done(state.set);
    uint64_t* ready = Ready(state.set);
    Flip(done, node);
    Flip(ready, node);
    for (const int32_t successor : graph_.successors(node)) {
      const auto waits = graph_.predecessors(successor);
      if (std::ranges::all_of(waits, [&](int32_t before) { return Has(done, before); })) {
        Flip(ready, successor);
      }
    }
  }

  // Runs what costs nothing.
  void Settle(State& state) {
    for (bool again = true; again;) {
      again = false;
      ForEachReady(state, [&](int32_t node) {
        const StepCost cost = CostOf(state, node);
        if (cost.delta > 0 || state.live + cost.rise > state.peak) return;
        Run(state, node, cost);
        again = true;
      });
    }
  }

  void Compete(const State& state) {
    std::vector<State>& competitors = levels_[state.size];
    competitors.push_back(state);
    if (competitors.size() >= 4 * static_cast<size_t>(limits_.width) + 16) Trim(competitors);
  }

  void Expand(const State& state) {
    const auto choice = static_cast<int32_t>(choices_.size());
    choices_.push_back({state.parent, state.node});
    ForEachReady(state, [&](int32_t node) {
      const StepCost cost = CostOf(state, node);
      if (state.live + cost.rise >= limits_.bound) return;
      State next = state;
      next.parent = choice;
      next.node = node;
      next.set = NewSet();
      std::copy_n(Done(state.set), 2 * words_, Done(next.set));
      Run(next, node, cost);
      Settle(next);
      Compete(next);
    });
  }

  // Runs the choices that led to the state once more, and writes down every node.
  void Answer(const State& last) {
    std::vector<int32_t> chosen;
    if (last.node >= 0) chosen.push_back(last.node);
    for (int32_t at = last.parent; at >= 0 && choices_[at].node >= 0; at = choices_[at].parent) {
      chosen.push_back(choices_[at].node);
    }
    replaying_ = true;
    State state = Start();
    for (auto node = chosen.rbegin(); node != chosen.rend(); ++node) {
      Run(state, *node, CostOf(state, *node));
      Settle(state);
    }
    answer_.peak = state.peak;
  }

  // Keeps one state a set, and the best `width` of them, best first.
  void Trim(std::vector<State>& states) {
    std::ranges::sort(states, {}, [](const State& state) {
      return std::tuple(state.key, state.peak, state.parent, state.node);
    });
    std::vector<State> kept;
    for (const State& state : states) {
      if (!kept.empty() && kept.back().key == state.key) {
        free_sets_.push_back(state.set);
      } else {
        kept.push_back(state);
      }
    }
    std::ranges::sort(
        kept, {}, [](const State& state) { return std::tuple(state.peak, state.live, state.key); });
    if (kept.size() > static_cast<size_t>(limits_.width)) {
      dropped_ = true;
      for (size_t i = limits_.width; i < kept.size(); ++i) free_sets_.push_back(kept[i].set);
      kept.resize(limits_.width);
    }
    states = std::move(kept);
  }

  const OrderGraph& graph_;
  const BeamLimits& limits_;
  const int64_t floor_;
  const size_t words_;
  std::vector<SetKey> keys_;
  std::vector<std::vector<State>> levels_;  // by the number of nodes that have run
  std::vector<Choice> choices_;
  std::vector<uint64_t> sets_;
  std::vector<int32_t> free_sets_;
  bool dropped_ = false;
  bool replaying_ = false;
  BeamAnswer answer_;
};

}  // namespace

BeamAnswer SearchBeam(const OrderGraph& graph, const BeamLimits& limits) {
  return Beam(graph, limits).Run();
}

}  // namespace plimsoll::compile
