// What serves a node in this engine: its own kernels or oneDNN through them, images with blocked
// channels where a model's inner layers have them. Usage: with_ours [threads] [rounds]
#include "graph/builder.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "heap_weights.h"
#include "kernels/blocking.h"
#include "kernels/host_value.h"
#include "kernels/kernel_table.h"
#include "kernels/parallel.h"
#include "shapes.h"

using library_bench::Shape;
using namespace plimsoll;
using graph::Attributes;
using graph::DataType;
using kernels::AllocateOnHeap;
using kernels::Dims;
using kernels::HeapWeights;
using kernels::HostTensor;

namespace {

struct Node {
  std::string op;
  std::string domain;
  int version = 1;
  std::vector<std::pair<DataType, Dims>> inputs;  // those from the second on are constant
  Attributes attributes;
  bool constant = true;
};

bool MayBlock(int64_t channels) { return channels % kernels::BlockSize() == 0; }

Node NodeOf(const Shape& shape) {
  Node node;
  const DataType left = shape.bytes ? DataType::kUint8 : DataType::kFloat32;
  const DataType right = shape.bytes ? DataType::kInt8 : DataType::kFloat32;
  if (shape.kind == Shape::Kind::kProduct) {
    node.op = shape.bytes ? "MatMulInteger" : "MatMul";
    node.version = shape.bytes ? 10 : 13;
    node.constant = shape.batch == 1;
    node.inputs = {{left, {shape.height, shape.channels}},
                   {right, {shape.channels, shape.filters}}};
    for (auto& input : node.inputs) {
      if (shape.batch > 1) input.second.insert(input.second.begin(), shape.batch);
    }
    return node;
  }
  const Dims weights = {shape.filters, shape.channels / shape.groups, shape.kernel_height,
                        shape.kernel_width};
  node.inputs = {{left, {1, shape.channels, shape.height, shape.width}}, {right, weights}};
  node.attributes.Set("strides", std::vector<int64_t>{shape.stride, shape.stride});
  if (shape.kind == Shape::Kind::kTransposed) {
    node.op = "ConvTranspose";
    node.version = 11;
    std::swap(node.inputs[1].second[0], node.inputs[1].second[1]);
    return node;
  }
  node.attributes.Set("pads", std::vector<int64_t>{shape.PadHeight(), shape.PadWidth(),
                                                   shape.PadHeight(), shape.PadWidth()});
  node.attributes.Set("dilations", std::vector<int64_t>{shape.dilation, shape.dilation});
  node.attributes.Set("group", shape.groups);
  node.op = "ConvInteger";
  node.version = 10;
  if (shape.bytes) return node;
  node.op = "FusedConv";
  node.domain = "plimsoll";
  node.version = 1;
  const int64_t block = kernels::BlockSize();
  const bool two_axes = shape.height > 1;
  const bool depthwise = shape.groups == shape.channels && shape.groups == shape.filters;
  const int64_t apart = depthwise ? 1 : shape.groups;  // groups end where blocks do
  const bool blocked =
      two_axes && MayBlock(shape.channels / apart) && MayBlock(shape.filters / apart);
  const bool output = two_axes && MayBlock(shape.filters) && shape.channels <= 3;
  if (blocked) {
    node.inputs[0].second = {1, shape.channels / block, shape.height, shape.width, block};
  }
  node.attributes.Set("channels", shape.channels);
  node.attributes.Set("block", block);
  node.attributes.Set("input_blocked", int64_t{blocked});
  node.attributes.Set("output_blocked", int64_t{blocked || output});
  return node;
}

void Time(const library_bench::Effort& effort, const Shape& shape) {
  const Node wanted = NodeOf(shape);
  graph::GraphBuilder builder;
  std::vector<graph::ValueId> ports;
  std::vector<HostTensor> tensors;
  for (const auto& [type, dims] : wanted.inputs) {
    tensors.push_back(*AllocateOnHeap(type, dims));
    const std::vector<float> floats = library_bench::Floats(tensors.back().elements());
    for (size_t i = 0; i < floats.size(); ++i) {
      if (type == DataType::kFloat32) static_cast<float*>(tensors.back().data.get())[i] = floats[i];
      if (type != DataType::kFloat32) static_cast<uint8_t*>(tensors.back().data.get())[i] = i % 7;
    }
    ports.push_back(builder.Input("input" + std::to_string(ports.size()),
                                  graph::ValueType::Tensor(type, graph::ShapeOf(dims))));
  }
  builder.Nodes(wanted.op, ports, 1, wanted.attributes, wanted.domain);
  graph::Graph graph = builder.Build();
  graph.nodes[0].version = wanted.version;
  graph::InferContext context(graph, graph::NodeId(0), nullptr);
  Status inferred = graph::FindOperator(wanted.domain, wanted.op, wanted.version)->infer(context);
  HeapWeights weights;
  kernels::KernelSite site{.graph = graph,
                           .id = graph::NodeId(0),
                           .inputs = {},
                           .outputs = {},
                           .packed_weights = &weights};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool constant = i > 0 && wanted.constant;
    site.inputs.push_back({.type = tensors[i].type,
                           .dims = tensors[i].dims,
                           .data = constant ? tensors[i].data.get() : nullptr,
                           .constant = constant});
  }
  const graph::ValueType& type = graph[graph.nodes[0].outputs[0]].type;
  if (!inferred.ok()) {
    std::fprintf(stderr, "%s: %s\n", shape.name.c_str(), inferred.error().Text().c_str());
    return;
  }
  site.outputs.push_back({.type = type.data_type, .dims = graph::StaticDims(*type.shape)});
  const auto kernel = kernels::PrepareKernel(site);
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s: %s\n", shape.name.c_str(), kernel.error().Text().c_str());
    return;
  }
  const HostTensor made = *AllocateOnHeap(site.outputs[0].type, site.outputs[0].dims);
  const HostTensor workspace = *AllocateOnHeap(DataType::kUint8, {(*kernel)->workspace().value()});
  const std::vector<const void*> from = {tensors[0].data.get(), tensors[1].data.get()};
  const std::vector<void*> to = {made.data.get()};
  const double time = library_bench::Fastest(effort, [&] {
    const Status done =
        (*kernel)->Run({.inputs = from, .outputs = to, .workspace = workspace.data.get()});
    if (!done.ok()) std::abort();
  });
  library_bench::Print(shape, time, std::string((*kernel)->implementation()));
}

}  // namespace

int main(int count, char** words) {
  const library_bench::Effort effort(count, words);
  const kernels::ThreadScope threads(effort.threads);
  for (const Shape& shape : library_bench::Shapes()) Time(effort, shape);
}
