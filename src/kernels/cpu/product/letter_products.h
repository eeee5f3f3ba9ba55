#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/product/contraction.h"

namespace plimsoll::kernels::cpu {

// A contraction of float32 that sums nothing: each element of the result is one of either operand's
// times one of the other's. Rows of the result are made by vectors.
class LetterProducts {
 public:
  // Nothing where a letter is summed, where each operand lacks one of the other's (these are
  // products of columns with rows), or where rows of the result meet elements that lie apart.
  static std::optional<LetterProducts> Make(const Contraction& contraction);

  void Run(const float* a, const float* b, float* c) const;

 private:
  std::vector<ContractedAxis> axes_;  // of places of rows, from the outermost on
  ContractedAxis row_;
  int64_t rows_ = 1;
  BinaryLoop multiply_ = nullptr;
};

}  // namespace plimsoll::kernels::cpu
