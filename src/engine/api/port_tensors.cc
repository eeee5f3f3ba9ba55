#include "engine/api/port_tensors.h"

namespace plimsoll::engine {

Result<std::vector<TensorView>> InputShapes(const graph::Graph& graph,
                                            const std::vector<compile::ShapeArgument>& shapes) {
  graph::Graph shaped = graph;
  PLIMSOLL_TRY(compile::GiveInputShapes(shaped, shapes).status());
  const auto one = [](const std::string&) { return std::optional(graph::Dim(1)); };
  std::vector<TensorView> inputs;
  for (const graph::ValueId id : graph.root().inputs) {
    const graph::ValueType& type = shaped[id].type;
    TensorView& input = inputs.emplace_back();
    if (!type.is_tensor()) continue;
    input.type = type.data_type;
    if (!type.shape) continue;
    for (const graph::Dim& dim : *type.shape) {
      input.dims.push_back(dim.Substitute(one).AsNumber().value_or(1));
    }
  }
  return inputs;
}

graph::Graph GraphOfInputs(const std::vector<Port>& ports) {
  graph::Graph inputs;
  inputs.subgraphs.resize(1);
  for (const Port& port : ports) {
    inputs[graph::Graph::kRoot].inputs.emplace_back(inputs.values.size());
    graph::Value& input = inputs.values.emplace_back();
    input.name = port.name;
    input.type = port.type;
    input.declared = port.type;
  }
  return inputs;
}

std::vector<bool> ReplacesVariable(const Executable& executable) {
  std::vector<bool> replaces(executable.model().graph.root().outputs.size());
  for (const compile::PlannedUpdate& update : executable.model().planned.updates) {
    replaces[update.ports.output] = true;
  }
  return replaces;
}

namespace {

bool IsLarge(const Tensor& tensor) {
  const Bytes size = tensor.size();
  return tensor.type != graph::DataType::kString && !size.saturated() && size >= KeptBlocks::kLeast;
}

}  // namespace

Result<std::vector<Tensor>> MakeOutputs(const Executable& executable,
                                        const std::vector<Port>& ports, const std::string& batch,
                                        KeptBlocks* blocks) {
  const graph::Graph& compiled = executable.model().graph;
  const std::vector<bool> replaces = ReplacesVariable(executable);
  std::vector<Tensor> outputs;
  Bytes large;
  for (size_t i = 0; i < replaces.size(); ++i) {
    if (replaces[i]) continue;
    const std::string& made_by = ports[outputs.size()].batch;
    Tensor& output = outputs.emplace_back();
    if (!made_by.empty() && made_by != batch) continue;
    const graph::ValueType& type = compiled[compiled.root().outputs[i]].type;
    output = {.type = type.data_type, .dims = graph::StaticDims(*type.shape)};
    if (IsLarge(output)) large += output.size();
  }
  if (blocks != nullptr && blocks->kept() > large * 2) blocks->Trim();
  for (Tensor& output : outputs) {
    if (output.type == graph::DataType::kUndefined) continue;
    if (blocks != nullptr && IsLarge(output)) output.data = blocks->Take(output.size());
    if (output.data != nullptr) continue;
    PLIMSOLL_ASSIGN(output, Tensor::Allocate(output.type, std::move(output.dims)));
  }
  return outputs;
}

}  // namespace plimsoll::engine
