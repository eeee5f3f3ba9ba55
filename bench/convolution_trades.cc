// Draws 3 x 3 convolutions and times each in the maker's own way and in the ways that trade memory
// for time (kernels::Trade), by turns: what is saved beside what was estimated, in parts of the
// maker's own time. Usage: convolution_trades [seed [count [threads]]]
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "heap_weights.h"
#include "kernels/blocking.h"
#include "kernels/host_value.h"
#include "kernels/kernel_table.h"
#include "kernels/parallel.h"

namespace {

using plimsoll::graph::Attributes;
using plimsoll::graph::DataType;
using plimsoll::kernels::AllocateOnHeap;
using plimsoll::kernels::Dims;
using plimsoll::kernels::FilledTensor;
using plimsoll::kernels::HeapWeights;
using plimsoll::kernels::HostTensor;
using plimsoll::kernels::KernelPointer;
using plimsoll::kernels::Trade;

// Out of every cache, as weights are between the runs of a model.
void Evict(const HeapWeights& weights) {
  for (const HostTensor& form : weights.forms()) {
    for (int64_t i = 0; i < form.elements(); i += 64) {
      _mm_clflush(static_cast<const std::byte*>(form.data.get()) + i);
    }
  }
  _mm_mfence();
}

struct Shape {
  int64_t batch, channels, filters, height, width, dilation;
  bool residual;
};

Shape Draw(std::mt19937& random) {
  const auto of = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  const auto channels = [&] {
    constexpr int64_t kUsual[] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
    return of(0, 2) > 0 ? kUsual[of(0, 10)] : of(9, 300);
  };
  constexpr int64_t kSizes[] = {7, 10, 13, 14, 20, 26, 28, 40, 56, 65, 80, 112, 160};
  while (true) {
    Shape shape{};
    shape.batch = of(0, 4) == 0 ? of(2, 4) : 1;
    shape.channels = channels();
    shape.filters = of(0, 1) == 0 ? shape.channels : channels();
    shape.height = of(0, 2) > 0 ? kSizes[of(0, 12)] : of(4, 120);
    shape.width = of(0, 2) > 0 ? shape.height : of(4, 120);
    shape.dilation = of(0, 5) == 0 ? of(2, 4) : 1;
    shape.residual = of(0, 3) == 0;
    const int64_t work = shape.batch * shape.channels * shape.filters * shape.height * shape.width;
    if (work > 1'000'000 && work < 300'000'000) return shape;
  }
}

// A node with its tensors, whose kernel can be made in several ways.
class Convolution {
 public:
  explicit Convolution(const Shape& shape) {
    const int64_t block = plimsoll::kernels::BlockSize();
    const auto blocked = [&](int64_t channels) {
      return Dims{shape.batch, (channels + block - 1) / block, shape.height, shape.width, block};
    };
    std::vector<Dims> dims = {
        blocked(shape.channels), {shape.filters, shape.channels, 3, 3}, {shape.filters}};
    if (shape.residual) dims.push_back(blocked(shape.filters));
    Attributes attributes;
    attributes.Set("pads", std::vector<int64_t>(4, shape.dilation));
    attributes.Set("dilations", std::vector<int64_t>(2, shape.dilation));
    attributes.Set("channels", shape.channels);
    attributes.Set("block", block);
    attributes.Set("input_blocked", int64_t{1});
    attributes.Set("output_blocked", int64_t{1});
    attributes.Set("activation", std::string("Relu"));
    plimsoll::graph::GraphBuilder builder;
    std::vector<plimsoll::graph::ValueId> ports;
    for (const Dims& one : dims) {
      inputs_.push_back(FilledTensor(one));
      ports.push_back(builder.Input(
          "input" + std::to_string(ports.size()),
          plimsoll::graph::ValueType::Tensor(DataType::kFloat32, plimsoll::graph::ShapeOf(one))));
    }
    builder.Nodes("FusedConv", ports, 1, attributes, "plimsoll");
    graph_ = builder.Build();
    graph_.nodes[0].version = 1;
    output_ = FilledTensor(blocked(shape.filters));
  }

  KernelPointer Make(const std::string& name, std::vector<Trade>* trades) {
    plimsoll::kernels::KernelSite site{.graph = graph_,
                                       .id = plimsoll::graph::NodeId(0),
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
    return *plimsoll::kernels::PrepareKernel(site);
  }

  // Milliseconds of one run. Weights come from memory, as where there are more layers than caches
  // hold the weights of.
  double Time(const plimsoll::kernels::Kernel& kernel, const HostTensor& workspace) const {
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

 private:
  plimsoll::graph::Graph graph_;
  std::vector<HostTensor> inputs_;
  HostTensor output_;
  HeapWeights weights_;
};

void Report(const Shape& shape) {
  constexpr int kRounds = 9;
  constexpr double kMultiplications = 46e6;  // in a millisecond, to show estimates beside times
  Convolution convolution(shape);
  std::vector<Trade> trades;
  std::vector<std::string> names = {""};
  std::vector<KernelPointer> kernels;
  kernels.push_back(convolution.Make("", &trades));
  for (const Trade& trade : trades) {
    names.push_back(trade.name);
    kernels.push_back(convolution.Make(trade.name, nullptr));
  }
  std::vector<HostTensor> workspaces;
  for (const KernelPointer& kernel : kernels) {
    workspaces.push_back(
        *AllocateOnHeap(DataType::kUint8, {std::max<int64_t>(kernel->workspace().value(), 1)}));
  }
  std::vector<std::vector<double>> times(kernels.size());
  for (int round = 0; round <= kRounds; ++round) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      const double spent = convolution.Time(*kernels[i], workspaces[i]);
      if (round > 0) times[i].push_back(spent);
    }
  }
  for (std::vector<double>& some : times) std::sort(some.begin(), some.end());
  const double usual = times[0][kRounds / 3];
  std::printf("%ld x %4ld > %4ld @ %3ldx%-3ld d%ld %-12s %8.3f ms", shape.batch, shape.channels,
              shape.filters, shape.height, shape.width, shape.dilation,
              std::string(kernels[0]->implementation()).c_str(), usual);
  for (size_t i = 1; i < kernels.size(); ++i) {
    const double spent = times[i][kRounds / 3];
    std::printf("  %s %8.3f = %.2f (estimated %.2f)", names[i].c_str(), spent, spent / usual,
                1 - trades[i - 1].saved / kMultiplications / usual);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1);
  const int count = argc > 2 ? std::atoi(argv[2]) : 20;
  const plimsoll::kernels::ThreadScope threads(argc > 3 ? std::atoi(argv[3]) : 1);
  for (int i = 0; i < count; ++i) Report(Draw(random));
}
