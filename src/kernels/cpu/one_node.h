#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "kernels/element_types.h"
#include "kernels/host_value.h"
#include "kernels/run_once.h"

// For tests: a graph of one node, worked out over tensors written down in the test.
namespace plimsoll::kernels::cpu {

inline HostTensor Strings(Dims dims, const std::vector<std::string>& elements) {
  HostTensor tensor = *AllocateOnHeap(graph::DataType::kString, std::move(dims));
  std::copy(elements.begin(), elements.end(), static_cast<std::string*>(tensor.data.get()));
  return tensor;
}

template <typename T>
HostTensor Numbers(Dims dims, const std::vector<T>& elements) {
  HostTensor tensor = *AllocateOnHeap(kDataTypeOf<T>, std::move(dims));
  std::copy(elements.begin(), elements.end(), static_cast<T*>(tensor.data.get()));
  return tensor;
}

template <typename T>
std::vector<T> ElementsOf(const HostTensor& tensor) {
  const auto* first = static_cast<const T*>(tensor.data.get());
  return std::vector<T>(first, first + tensor.elements());
}

struct OneNode {
  std::string op;
  std::vector<std::pair<std::string, graph::Attribute>> attributes;
  size_t outputs = 1;
  std::string domain = "";
  int version = 20;

  graph::Graph Build(const std::vector<HostTensor>& inputs) const {
    graph::GraphBuilder builder(version);
    std::vector<graph::ValueId> ports;
    for (const HostTensor& input : inputs) {
      const std::string name = "input" + std::to_string(ports.size());
      const bool present = input.type != graph::DataType::kUndefined;
      ports.push_back(present ? builder.Input(name, graph::ValueType::Tensor(
                                                        input.type, graph::ShapeOf(input.dims)))
                              : graph::ValueId());
    }
    graph::Attributes set;
    for (const auto& [name, value] : attributes) set.Set(name, value);
    builder.Nodes(op, ports, outputs, set, domain);
    return builder.Build();
  }

  // Infers the shapes, prepares the kernel and runs it.
  Result<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs) const {
    graph::Graph graph = Build(inputs);
    const graph::NodeId node(0);
    graph::InferContext context(graph, node, nullptr);
    PLIMSOLL_TRY(graph::FindOperator(domain, op, version)->infer(context));
    return RunOnce(graph, node, inputs);
  }

  // Runs the operator over host values: sequences, optionals, maps.
  Result<HostValue> RunOnHost(std::vector<HostValue> inputs) const {
    const graph::Graph graph = Build(std::vector<HostTensor>(inputs.size()));
    HostSite site{.graph = graph,
                  .id = graph::NodeId(0),
                  .inputs = std::move(inputs),
                  .outputs = std::vector<HostValue>(outputs),
                  .allocate = AllocateOnHeap};
    PLIMSOLL_TRY(FindHostOperator(domain, op, version)->run(site));
    return std::move(site.outputs[0]);
  }
};

}  // namespace plimsoll::kernels::cpu
