#include "convolution_subject.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "kernels/blocking.h"
#include "plimsoll/base/text.h"

namespace plimsoll {

using graph::Attributes;
using graph::DataType;
using kernels::AllocateOnHeap;
using kernels::Dims;
using kernels::FilledTensor;
using kernels::HostTensor;
using kernels::KernelPointer;

namespace {

// Out of every cache.
void Evict(const kernels::HeapWeights& weights) {
  for (const HostTensor& form : weights.forms()) {
    for (int64_t i = 0; i < form.elements(); i += 64) {
      _mm_clflush(static_cast<const std::byte*>(form.data.get()) + i);
    }
  }
  _mm_mfence();
}

}  // namespace

int64_t ConvolutionSubject::Multiplications() const {
  return batch * channels * filters * OutputOf(height) * OutputOf(width) * kernel * kernel;
}

std::string ConvolutionSubject::Text() const {
  return StrCat(batch, " x ", channels, " > ", filters, " @ ", height, "x", width, " k", kernel,
                " s", stride, " d", dilation, data_blocked ? "" : " plain",
                result_blocked ? "" : " to plain", residual ? " residual" : "");
}

SubjectNode::SubjectNode(const ConvolutionSubject& subject) {
  const int64_t block = kernels::BlockSize();
  const auto form = [&](bool blocked, int64_t channels, int64_t height, int64_t width) {
    if (!blocked) return Dims{subject.batch, channels, height, width};
    return Dims{subject.batch, (channels + block - 1) / block, height, width, block};
  };
  const Dims results = form(subject.result_blocked, subject.filters,
                            subject.OutputOf(subject.height), subject.OutputOf(subject.width));
  std::vector<Dims> dims = {
      form(subject.data_blocked, subject.channels, subject.height, subject.width),
      {subject.filters, subject.channels, subject.kernel, subject.kernel},
      {subject.filters}};
  if (subject.residual) dims.push_back(results);
  Attributes attributes;
  attributes.Set("pads", std::vector<int64_t>(4, subject.kernel / 2 * subject.dilation));
  attributes.Set("strides", std::vector<int64_t>(2, subject.stride));
  attributes.Set("dilations", std::vector<int64_t>(2, subject.dilation));
  attributes.Set("channels", subject.channels);
  attributes.Set("block", block);
  attributes.Set("input_blocked", int64_t{subject.data_blocked});
  attributes.Set("output_blocked", int64_t{subject.result_blocked});
  attributes.Set("activation", std::string("Relu"));
  graph::GraphBuilder builder;
  std::vector<graph::ValueId> ports;
  for (const Dims& one : dims) {
    inputs_.push_back(FilledTensor(one));
    ports.push_back(
        builder.Input(StrCat("input", ports.size()),
                      graph::ValueType::Tensor(DataType::kFloat32, graph::ShapeOf(one))));
  }
  builder.Nodes("FusedConv", ports, 1, attributes, "plimsoll");
  graph_ = builder.Build();
  graph_.nodes[0].version = 1;
  output_ = FilledTensor(results);
}

KernelPointer SubjectNode::Make(const std::string& name, std::vector<kernels::Trade>* trades) {
  kernels::KernelSite site{.graph = graph_,
                           .id = graph::NodeId(0),
                           .inputs = {},
                           .outputs = {},
                           .packed_weights = &weights_};
  site.alternatives.wanted = name;
  site.alternatives.trades = trades;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    site.inputs.push_back({.type = DataType::kFloat32,
                           .dims = inputs_[i].dims,
                           .data = inputs_[i].data.get(),
                           .constant = i == 1 || i == 2});
  }
  site.outputs.push_back({.type = DataType::kFloat32, .dims = output_.dims});
  return *kernels::PrepareKernel(site);
}

std::vector<double> SubjectNode::Times(const std::vector<KernelPointer>& ways) const {
  constexpr int kRounds = 9;
  std::vector<HostTensor> workspaces;
  for (const KernelPointer& kernel : ways) {
    workspaces.push_back(
        *AllocateOnHeap(DataType::kUint8, {std::max<int64_t>(kernel->workspace().value(), 1)}));
  }
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round <= kRounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      const double spent = Time(*ways[i], workspaces[i]);
      if (round > 0) times[i].push_back(spent);
    }
  }
  std::vector<double> low;
  for (std::vector<double>& some : times) {
    std::sort(some.begin(), some.end());
    low.push_back(some[kRounds / 3]);
  }
  return low;
}

double SubjectNode::Time(const kernels::Kernel& kernel, const HostTensor& workspace) const {
  Evict(weights_);
  std::vector<const void*> from;
  for (const HostTensor& input : inputs_) from.push_back(input.data.get());
  void* const to[] = {output_.data.get()};
  const auto start = std::chrono::steady_clock::now();
  if (!kernel.Run({.inputs = from, .outputs = to, .workspace = workspace.data.get()}).ok()) {
    std::exit(1);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace plimsoll
