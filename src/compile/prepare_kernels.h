#pragma once

#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// What kernels are made for.
enum class Purpose {
  kToRun,   // they pack their constants, whose plain form goes where nobody reads it
  kToLook,  // to know what they need
};

// Says yes to every packing and does none: for kernels that are made to be looked at.
class NoPacking : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void*, Bytes, std::string_view, Bytes, const Fill&) override {
    return static_cast<const void*>(this);
  }
  void Forget(const void*, Bytes) override {}
};

// One of kernels::Alternatives, and the workspace that is welcome of it; empty: none of them.
struct KernelChoice {
  std::string alternative = {};
  Bytes most_workspace = Bytes(kSaturated);

  bool operator==(const KernelChoice&) const = default;
};

using TradesByNode = std::vector<std::vector<kernels::Trade>>;

// Kernels for every node that carries no body, in the order of the bodies. `most_workspace` is what
// is welcome of each node's; empty: as much as they like. `choices` are by node; empty: none.
// `trades` takes in what kernels offer, where it is given.
Status PrepareKernels(CompiledModel& model, const CompileOptions& options, Purpose purpose,
                      const std::vector<Bytes>& most_workspace,
                      const std::vector<KernelChoice>& choices = {},
                      TradesByNode* trades = nullptr);

// The same trades of nodes that have offered some, with at most that workspace of each node.
TradesByNode TradesWithin(const CompiledModel& model, const CompileOptions& options,
                          const TradesByNode& offered, const std::vector<Bytes>& most_workspace);

// Whether the node's constants may be packed.
bool MayPack(const graph::Node& node);

}  // namespace plimsoll::compile
