#pragma once

#include "compile/passes/rewriter.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Chains of nodes over constants whose first node makes much of little, such as tables of filters
// that are worked out from two rows of numbers. A chain of some length costs time in every run and
// takes the memory of its result there anyway, so its result is kept as a constant. What such
// results take all together is bounded by what the weights of the model take.
class ConstantChains {
 public:
  explicit ConstantChains(const Rewriter& rewriter);

  // Whether what `first`, all of whose inputs are constants, and the nodes after it make of
  // constants alone is worth keeping. Where it is, its bytes are taken from what is left.
  bool Keeps(graph::NodeId first);

 private:
  const Rewriter& rewriter_;
  Bytes allowed_;  // for each tensor
  Bytes left_;     // for all results that are kept from now on
};

}  // namespace plimsoll::compile
