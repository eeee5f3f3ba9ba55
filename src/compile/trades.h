#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/prepare_kernels.h"
#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// What was chosen for the first shapes of a graph that runs with several, by constant.
class KeptTrades {
 public:
  // Whether the constant may be held in the form of this alternative.
  bool Allows(const graph::ConstantTensor& constant, const std::string& alternative) const {
    const auto found = chosen_.find(constant.bytes.data());
    return !decided_ || (found != chosen_.end() && found->second == alternative);
  }
  bool decided() const { return decided_; }
  void Keep(std::map<const void*, std::string> chosen) {
    chosen_ = std::move(chosen);
    decided_ = true;
  }

 private:
  bool decided_ = false;
  std::map<const void*, std::string> chosen_;  // alternatives, by the address of the bytes
};

// How much memory constants may take in larger forms beyond their usual ones: a sixteenth of what
// constants and the plan take without, down to a 40th where loading a large model would else take
// a tenth more than its constants.
Bytes TradeBudget(const CompiledModel& model, Bytes peak);

// Chooses among the trades those that save most time for each byte, until the budget is spent.
// Nodes that read the same constant take the same form of it or none of them does. `room` is the
// largest workspace of each node. By node; empty choices where nothing is chosen.
//
// A graph that runs with several shapes may hold a constant in its usual form, too: with `kept` the
// whole of a larger form counts, and where the first shapes have decided others choose among what
// they took alone.
std::vector<KernelChoice> ChooseTrades(const graph::Graph& graph, const TradesByNode& trades,
                                       const std::vector<Bytes>& room, Bytes budget,
                                       const KeptTrades* kept);

// For other shapes of the graph.
void Keep(const graph::Graph& graph, const TradesByNode& trades,
          const std::vector<KernelChoice>& choices, KeptTrades& kept);

}  // namespace plimsoll::compile
