#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "heap_weights.h"
#include "kernels/host_value.h"
#include "kernels/kernel_table.h"

namespace plimsoll {

struct ConvolutionSubject {
  int64_t batch = 1, channels = 1, filters = 1, height = 1, width = 1;
  int64_t kernel = 3, stride = 1, dilation = 1;
  bool data_blocked = true;
  bool result_blocked = true;
  bool residual = false;

  int64_t OutputOf(int64_t size) const { return (size - 1) / stride + 1; }
  int64_t Multiplications() const;
  std::string Text() const;
};

// A convolution with Relu and its tensors, padded so that places stay, whose kernel can be made in
// several ways.
class SubjectNode {
 public:
  explicit SubjectNode(const ConvolutionSubject& subject);

  // `name`: one of the site's alternatives; empty: the maker's own way.
  kernels::KernelPointer Make(const std::string& name, std::vector<kernels::Trade>* trades);

  // By turns: of each kernel the time that a third of its runs are below, in milliseconds. Weights
  // come from memory, as where there are more layers than caches hold the weights of.
  std::vector<double> Times(const std::vector<kernels::KernelPointer>& ways) const;

 private:
  double Time(const kernels::Kernel& kernel, const kernels::HostTensor& workspace) const;

  graph::Graph graph_;
  std::vector<kernels::HostTensor> inputs_;
  kernels::HostTensor output_;
  kernels::HeapWeights weights_;
};

}  // namespace plimsoll
