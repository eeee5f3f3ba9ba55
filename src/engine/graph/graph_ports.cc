#include "engine/graph/graph_ports.h"

#include <algorithm>

#include "compile/shapes/batch_labels.h"

namespace plimsoll::engine {

GraphPorts::GraphPorts(const graph::Graph& graph, InputRanges ranges)
    : inputs_(PortsOf(graph, graph.root().inputs)),
      outputs_(PortsOf(graph, graph.root().outputs)),
      ranges_(std::move(ranges)),
      batches_(graph) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].batch = compile::BatchOf(graph, graph.root().outputs[i]);
  }
}

bool GraphPorts::takes_one_shape() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Port& port) {
    return port.type.is_tensor() && port.type.shape && graph::IsStatic(*port.type.shape);
  });
}

bool GraphPorts::sizes_vary() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Port& port) {
    if (!port.type.is_tensor() || !port.type.shape) return true;
    const graph::Shape& shape = *port.type.shape;
    return !shape.empty() && std::any_of(shape.begin() + 1, shape.end(),
                                         [](const graph::Dim& dim) { return !dim.is_number(); });
  });
}

Status GraphPorts::CheckInputs(std::span<const TensorView> inputs, Memory memory) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (memory == Memory::kNotLookedAt && !inputs_[i].type.is_tensor()) continue;
    PLIMSOLL_TRY(ranges_.Check(i, inputs[i].dims));
    PLIMSOLL_TRY(CheckPort(inputs_[i].name, inputs_[i].type, "input", inputs[i], memory));
  }
  return {};
}

Status GraphPorts::CheckValues(std::span<const kernels::HostValue> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLIMSOLL_TRY(CheckKind(inputs_[i], inputs[i]));
    if (!inputs_[i].type.is_tensor()) continue;
    const kernels::HostTensor& tensor = inputs[i].tensor;
    PLIMSOLL_TRY(ranges_.Check(i, tensor.dims));
    PLIMSOLL_TRY(CheckPort(inputs_[i].name, inputs_[i].type, "input", tensor.View()));
  }
  return {};
}

Status GraphPorts::CheckOutputs(std::span<const TensorView> outputs, const graph::Graph& compiled,
                                const std::string& batch) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Makes(batch, outputs_[i])) continue;
    const graph::ValueType& type = compiled[compiled.root().outputs[i]].type;
    PLIMSOLL_TRY(CheckPort(outputs_[i].name, type, "output", outputs[i]));
  }
  return {};
}

}  // namespace plimsoll::engine
