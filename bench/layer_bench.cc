// Times the layers of ResNet-50 and BERT-base by themselves, one thread, batch 1: what the kernels
// cost without an engine around them. Usage: layer_bench [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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

using plimsoll::Status;
using plimsoll::graph::Attributes;
using plimsoll::graph::DataType;
using plimsoll::kernels::AllocateOnHeap;
using plimsoll::kernels::Dims;
using plimsoll::kernels::FilledTensor;
using plimsoll::kernels::HeapWeights;
using plimsoll::kernels::HostTensor;

struct Layer {
  std::string name;
  int times = 1;  // in the model
  std::string op;
  std::vector<Dims> inputs;  // the second and third are constants
  Attributes attributes;
  double operations = 0;  // multiplications and additions
};

// Milliseconds of processor time of the fastest of some rounds: waiting for the processor, which
// others may use too, does not count.
double Measure(const Layer& layer, int rounds, std::string& implementation) {
  plimsoll::graph::GraphBuilder builder;
  std::vector<plimsoll::graph::ValueId> ports;
  std::vector<HostTensor> tensors;
  for (const Dims& dims : layer.inputs) {
    tensors.push_back(FilledTensor(dims));
    ports.push_back(builder.Input(
        "input" + std::to_string(ports.size()),
        plimsoll::graph::ValueType::Tensor(DataType::kFloat32, plimsoll::graph::ShapeOf(dims))));
  }
  builder.Nodes(layer.op, ports, 1, layer.attributes, "plimsoll");
  plimsoll::graph::Graph graph = builder.Build();
  graph.nodes[0].version = 1;
  const plimsoll::graph::NodeId node(0);
  plimsoll::graph::InferContext context(graph, node, nullptr);
  Status status = plimsoll::graph::FindOperator("plimsoll", layer.op, 1)->infer(context);
  HeapWeights weights;
  plimsoll::kernels::KernelSite site{
      .graph = graph, .id = node, .inputs = {}, .outputs = {}, .packed_weights = &weights};
  std::vector<const void*> from;
  for (size_t i = 0; i < tensors.size(); ++i) {
    site.inputs.push_back({.type = DataType::kFloat32,
                           .dims = tensors[i].dims,
                           .data = tensors[i].data.get(),
                           .constant = i == 1 || i == 2});
    from.push_back(tensors[i].data.get());
  }
  const auto& made = graph[graph.nodes[0].outputs[0]].type;
  if (!status.ok() || !made.shape) {
    std::fprintf(stderr, "%s: no shape\n", layer.name.c_str());
    std::exit(1);
  }
  site.outputs.push_back(
      {.type = DataType::kFloat32, .dims = plimsoll::graph::StaticDims(*made.shape)});
  const auto kernel = plimsoll::kernels::PrepareKernel(site);
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s: %s\n", layer.name.c_str(), kernel.error().Text().c_str());
    std::exit(1);
  }
  implementation = std::string((**kernel).implementation());
  const HostTensor output = FilledTensor(site.outputs[0].dims);
  const HostTensor workspace = *AllocateOnHeap(DataType::kUint8, {(**kernel).workspace().value()});
  void* const to[] = {output.data.get()};
  double best = 1e9;
  for (int round = 0; round <= rounds; ++round) {
    const std::clock_t start = std::clock();
    status = (**kernel).Run({.inputs = from, .outputs = to, .workspace = workspace.data.get()});
    const double spent = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!status.ok()) std::exit(1);
    if (round > 0) best = std::min(best, spent);
  }
  return best;
}

int64_t Blocks(int64_t channels) {
  const int64_t block = plimsoll::kernels::BlockSize();
  return (channels + block - 1) / block;
}

Layer Convolution(int times, int64_t channels, int64_t filters, int64_t size, int64_t kernel,
                  int64_t stride, bool residual = false) {
  const int64_t block = plimsoll::kernels::BlockSize();
  const int64_t made = (size + kernel / 2 * 2 - kernel) / stride + 1;
  const bool first = channels == 3;
  Layer layer;
  layer.times = times;
  layer.op = "FusedConv";
  layer.name = "conv " + std::to_string(kernel) + "x" + std::to_string(kernel) + "/" +
               std::to_string(stride) + " " + std::to_string(channels) + ">" +
               std::to_string(filters) + " @" + std::to_string(size);
  layer.inputs = {first ? Dims{1, 3, size, size} : Dims{1, Blocks(channels), size, size, block},
                  {filters, channels, kernel, kernel},
                  {filters}};
  if (residual) layer.inputs.push_back({1, Blocks(filters), made, made, block});
  layer.attributes.Set("pads", std::vector<int64_t>(4, kernel / 2));
  layer.attributes.Set("strides", std::vector<int64_t>(2, stride));
  layer.attributes.Set("channels", channels);
  layer.attributes.Set("block", block);
  layer.attributes.Set("input_blocked", int64_t{!first});
  layer.attributes.Set("output_blocked", int64_t{1});
  layer.attributes.Set("activation", std::string("Relu"));
  layer.operations = 2.0 * static_cast<double>(made * made * filters * channels * kernel * kernel);
  return layer;
}

Layer Product(int times, int64_t rows, int64_t depth, int64_t columns, std::string activation) {
  Layer layer;
  layer.times = times;
  layer.op = "FusedMatMul";
  layer.name = "product " + std::to_string(rows) + "x" + std::to_string(depth) + "x" +
               std::to_string(columns) + " " + activation;
  layer.inputs = {{rows, depth}, {depth, columns}, {columns}};
  layer.attributes.Set("activation", std::move(activation));
  layer.operations = 2.0 * static_cast<double>(rows * depth * columns);
  return layer;
}

std::vector<Layer> ResNet50() {
  std::vector<Layer> layers = {Convolution(1, 3, 64, 224, 7, 2)};
  struct Stage {
    int64_t in, width, size;
    int blocks;
  };
  for (const Stage& stage : {Stage{64, 64, 56, 3}, Stage{256, 128, 56, 4}, Stage{512, 256, 28, 6},
                             Stage{1024, 512, 14, 3}}) {
    const int64_t stride = stage.in == 64 ? 1 : 2;
    const int64_t made = stage.size / stride;
    const int64_t wide = stage.width * 4;
    layers.push_back(Convolution(1, stage.in, stage.width, stage.size, 1, 1));
    layers.push_back(Convolution(1, stage.width, stage.width, stage.size, 3, stride));
    layers.push_back(Convolution(1, stage.in, wide, stage.size, 1, stride));
    layers.push_back(Convolution(stage.blocks, stage.width, wide, made, 1, 1, true));
    layers.push_back(Convolution(stage.blocks - 1, wide, stage.width, made, 1, 1));
    layers.push_back(Convolution(stage.blocks - 1, stage.width, stage.width, made, 3, 1));
  }
  layers.push_back(Product(1, 1, 2048, 1000, ""));
  return layers;
}

std::vector<Layer> BertBase() {
  return {Product(48, 128, 768, 768, ""), Product(12, 128, 768, 3072, "Gelu"),
          Product(12, 128, 3072, 768, "")};
}

void Report(const char* model, const std::vector<Layer>& layers, int rounds) {
  double total = 0;
  double operations = 0;
  for (const Layer& layer : layers) {
    std::string implementation;
    const double spent = Measure(layer, rounds, implementation);
    std::printf("%-34s %2d x %8.3f ms %7.1f GF/s  %s\n", layer.name.c_str(), layer.times, spent,
                layer.operations / spent * 1e-6, implementation.c_str());
    total += layer.times * spent;
    operations += layer.times * layer.operations;
  }
  std::printf("%s: %.1f ms, %.1f GF/s\n", model, total, operations / total * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 20;
  const plimsoll::kernels::ThreadScope threads(1);
  Report("ResNet-50", ResNet50(), rounds);
  Report("BERT-base, products with weights", BertBase(), rounds);
}
