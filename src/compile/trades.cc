#include "compile/trades.h"

#include <algorithm>

namespace plimsoll::compile {
namespace {

using graph::ConstantId;
using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using kernels::Trade;

constexpr int64_t kBudgetPart = 16;
constexpr int64_t kLeastBudgetPart = 40;
// What is resident while a model loads, besides packed constants, and the part of all constants
// that may be resident then beyond them.
constexpr Bytes kLoading(int64_t{9} << 20);
constexpr int64_t kLoadingPart = 10;
// The constants of a model below which most of what is resident then is the program.
constexpr Bytes kSmallModel(int64_t{48} << 20);

// A larger form of a constant, with all nodes that would read it.
struct LargerForm {
  std::string name;
  Bytes more;
  double saved = 0;
};

// From a constant's next smaller form to a larger one.
struct TradeStep {
  size_t constant = 0;
  size_t form = 0;
  Bytes more;
  double saved = 0;

  double Ratio() const { return saved / static_cast<double>(std::max<int64_t>(more.value(), 1)); }
};

const Trade* FindTrade(const std::vector<Trade>& trades, const std::string& name, Bytes room) {
  const auto found = std::ranges::find_if(
      trades, [&](const Trade& trade) { return trade.name == name && trade.workspace <= room; });
  return found == trades.end() ? nullptr : &*found;
}

// The constants of a graph that kernels would hold in larger forms.
class TradedConstants {
 public:
  TradedConstants(const Graph& graph, const TradesByNode& trades, const std::vector<Bytes>& room,
                  const KeptTrades* kept)
      : graph_(graph), readers_(graph.constants.size()), forms_(graph.constants.size()) {
    for (const graph::Subgraph& body : graph.subgraphs) {
      for (const NodeId id : body.nodes) {
        for (const ValueId input : graph[id].inputs) {
          if (input.valid() && graph[input].constant.valid()) {
            readers_[graph[input].constant.index()].push_back(id);
          }
        }
      }
    }
    for (size_t i = 0; i < readers_.size(); ++i) AddForms(i, trades, room, kept);
  }

  const std::vector<NodeId>& readers(size_t constant) const { return readers_[constant]; }
  const LargerForm& form(const TradeStep& step) const { return forms_[step.constant][step.form]; }

  // The best for each byte first; those of one constant from the smallest form on.
  std::vector<TradeStep> Steps() const {
    std::vector<TradeStep> steps;
    for (size_t i = 0; i < forms_.size(); ++i) {
      const auto own = StepsOf(i);
      steps.insert(steps.end(), own.begin(), own.end());
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const TradeStep& a, const TradeStep& b) { return a.Ratio() > b.Ratio(); });
    return steps;
  }

 private:
  // Forms that every reader offers, the smallest first.
  void AddForms(size_t constant, const TradesByNode& trades, const std::vector<Bytes>& room,
                const KeptTrades* kept) {
    const std::vector<NodeId>& readers = readers_[constant];
    if (readers.empty()) return;
    for (const Trade& first : trades[readers[0].index()]) {
      LargerForm form{.name = first.name, .more = first.packed};
      if (kept == nullptr) form.more -= first.usual;
      const bool all = std::ranges::all_of(readers, [&](NodeId id) {
        const Trade* const trade = FindTrade(trades[id.index()], first.name, room[id.index()]);
        if (trade == nullptr || !Reads(id, *trade, constant)) return false;
        form.saved += trade->saved;
        return true;
      });
      if (all && (kept == nullptr || kept->Allows(graph_[ConstantId(constant)], form.name))) {
        forms_[constant].push_back(form);
      }
    }
    std::stable_sort(forms_[constant].begin(), forms_[constant].end(),
                     [](const LargerForm& a, const LargerForm& b) { return a.more < b.more; });
  }

  bool Reads(NodeId id, const Trade& trade, size_t constant) const {
    const ValueId input = graph_[id].inputs[trade.input];
    return graph_[input].constant == ConstantId(constant);
  }

  // Leaves out forms that are worse for each byte than a larger one.
  std::vector<TradeStep> StepsOf(size_t constant) const {
    std::vector<TradeStep> steps;
    for (size_t i = 0; i < forms_[constant].size(); ++i) {
      const LargerForm& form = forms_[constant][i];
      TradeStep step{constant, i, form.more, form.saved};
      while (!steps.empty()) {
        const LargerForm& before = forms_[constant][steps.back().form];
        step.more = form.more - before.more;
        step.saved = form.saved - before.saved;
        if (step.Ratio() <= steps.back().Ratio()) break;
        steps.pop_back();
        step = {constant, i, form.more, form.saved};
      }
      if (step.saved > 0) steps.push_back(step);
    }
    return steps;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;    // by constant
  std::vector<std::vector<LargerForm>> forms_;  // by constant
};

}  // namespace

Bytes TradeBudget(const CompiledModel& model, Bytes peak) {
  const Graph& graph = model.graph;
  std::vector<bool> packed(graph.constants.size());
  for (size_t node = 0; node < model.packed_inputs.size(); ++node) {
    const std::vector<ValueId>& inputs = graph.nodes[node].inputs;
    for (size_t i = 0; i < inputs.size() && i < 64; ++i) {
      if ((model.packed_inputs[node] >> i & 1) == 0) continue;
      const graph::ConstantId constant = graph[inputs[i]].constant;
      if (constant.valid()) packed[constant.index()] = true;
    }
  }
  int64_t constants = 0;
  int64_t plain = 0;  // read where they are mapped, some of them after loading
  for (size_t i = 0; i < packed.size(); ++i) {
    const int64_t size = graph.constants[i].Size().value();
    constants += size;
    if (!packed[i]) plain += size;
  }
  const int64_t total = constants + peak.value();
  if (constants < kSmallModel.value()) return Bytes(total / kBudgetPart);
  const int64_t loading = constants / kLoadingPart + plain - kLoading.value();
  return Bytes(std::clamp(loading, total / kLeastBudgetPart, total / kBudgetPart));
}

std::vector<KernelChoice> ChooseTrades(const Graph& graph, const TradesByNode& trades,
                                       const std::vector<Bytes>& room, Bytes budget,
                                       const KeptTrades* kept) {
  const TradedConstants constants(graph, trades, room, kept);
  std::vector<KernelChoice> choices(graph.nodes.size());
  std::vector<bool> refused(graph.constants.size());
  for (const TradeStep& step : constants.Steps()) {
    if (step.more > budget) refused[step.constant] = true;
    if (refused[step.constant]) continue;
    budget -= step.more;
    for (const NodeId id : constants.readers(step.constant)) {
      choices[id.index()] = {constants.form(step).name, room[id.index()]};
    }
  }
  return choices;
}

void Keep(const Graph& graph, const TradesByNode& trades, const std::vector<KernelChoice>& choices,
          KeptTrades& kept) {
  std::map<const void*, std::string> chosen;
  for (size_t i = 0; i < choices.size(); ++i) {
    for (const Trade& trade : trades[i]) {
      if (trade.name != choices[i].alternative) continue;
      const ValueId input = graph.nodes[i].inputs[trade.input];
      chosen.emplace(graph[graph[input].constant].bytes.data(), trade.name);
    }
  }
  kept.Keep(std::move(chosen));
}

}  // namespace plimsoll::compile
