#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// What sums of a quantized convolution's filters are multiplied by (SumScale). Worked out once
// where all scales are constants, else in every run, in the workspace.
class FilterScales {
 public:
  // Which inputs of a node hold the scales of the data, of the weights (one, or one a filter) and
  // of the results.
  struct Ports {
    size_t data;
    size_t weights;
    size_t results;
  };
  struct Lines {
    const float* scales = nullptr;
    const float* rests = nullptr;  // null: products of sums and scales are rounded to floats
  };

  FilterScales(const KernelSite& site, const Ports& ports, int64_t filters, bool nearest,
               WorkspaceLayout& workspace);

  Lines For(const KernelCall& call) const;

 private:
  // From the scales at these addresses.
  void Fill(const void* data, const void* weights, const void* results, float* scales,
            float* rests) const;

  Ports ports_;
  int64_t filters_ = 0;
  bool nearest_ = false;
  graph::DataType type_ = graph::DataType::kUndefined;
  int64_t weight_scales_ = 1;
  std::vector<float> constants_;  // scales, then rests; empty where a run tells
  int64_t scales_at_ = 0;
  int64_t rests_at_ = 0;
};

}  // namespace plimsoll::kernels::cpu
