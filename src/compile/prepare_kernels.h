#pragma once

#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/kernel_looks.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

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
// They pack their constants, whose plain form goes where nobody reads it.
Status PrepareKernels(CompiledModel& model, const CompileOptions& options,
                      const std::vector<Bytes>& most_workspace,
                      const std::vector<KernelChoice>& choices);

// The same to know what kernels need: they have their workspaces, pack nothing and cannot run.
// `trades` takes in what they offer.
Status LookAtKernels(CompiledModel& model, const CompileOptions& options,
                     const std::vector<Bytes>& most_workspace,
                     const std::vector<KernelChoice>& choices, KernelLooks& looks,
                     TradesByNode& trades);

// The same trades of nodes that have offered some, with at most that workspace of each node.
TradesByNode TradesWithin(const CompiledModel& model, const CompileOptions& options,
                          const TradesByNode& offered, const std::vector<Bytes>& most_workspace);

// Whether the node's constants may be packed.
bool MayPack(const graph::Node& node);

}  // namespace plimsoll::compile
