#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// What is added to the sums of products of unsigned bytes and a filter's weights: its bias less the
// zero point of the bytes times the sum of the weights. Worked out in the first run where both are
// constants, else in every run, in the workspace.
class FilterBiases {
 public:
  // Which inputs of a node hold what; the last two may be left out.
  struct Ports {
    size_t data;
    size_t data_zero;
    size_t bias;
  };
  FilterBiases(const KernelSite& site, const Ports& ports, int64_t filters,
               WorkspaceLayout& workspace);

  // `sums`: of each filter's weights. Signed bytes become unsigned ones by 128 more.
  const int32_t* For(const KernelCall& call, const int32_t* sums) const;

 private:
  struct Constant {
    std::once_flag once;
    std::vector<int32_t> biases;
  };
  void Fill(const KernelCall& call, const int32_t* sums, int32_t* biases) const;

  Ports ports_;
  int64_t filters_;
  graph::DataType data_type_;
  std::unique_ptr<Constant> constant_;
  int64_t biases_at_ = 0;
};

}  // namespace plimsoll::kernels::cpu
