#include "engine/debug/operand_tensors.h"

#include <array>

#include "engine/debug/dump_file.h"
#include "engine/debug/npy_format.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

void SetType(const graph::Graph& graph, graph::ValueId value, OperandTensor& operand) {
  if (!value.valid()) return;
  operand.value = graph[value].name;
  const graph::ValueType& type = graph[value].type;
  if (!type.is_tensor() || !type.shape || !graph::IsStatic(*type.shape)) return;
  operand.type = type.data_type;
  operand.dims = graph::StaticDims(*type.shape);
}

std::vector<OperandTensor> OperandsOf(const graph::Graph& graph,
                                      const std::vector<graph::ValueId>& values,
                                      const std::vector<kernels::TensorInfo>* infos, bool input) {
  std::vector<OperandTensor> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    OperandTensor operand{.input = input, .index = i};
    SetType(graph, values[i], operand);
    if (infos != nullptr && i < infos->size()) {
      operand.type = (*infos)[i].type;
      operand.dims = (*infos)[i].dims;
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

template <typename Element, typename Load>
std::vector<Element> Widened(int64_t elements, const Load& load) {
  std::vector<Element> wide(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    wide[static_cast<size_t>(i)] = static_cast<Element>(load(i));
  }
  return wide;
}

}  // namespace

std::string Describe(const OperandTensor& operand) {
  return StrCat(operand.role(), " ", operand.index, " ('", operand.value, "')");
}

OperatorTensors TensorsOf(const KernelRun& run) {
  const graph::Node& node = run.graph[run.node];
  OperatorTensors tensors{.graph = run.graph, .node = run.node};
  tensors.inputs =
      OperandsOf(run.graph, node.inputs, run.site == nullptr ? nullptr : &run.site->inputs, true);
  tensors.outputs = OperandsOf(run.graph, node.outputs,
                               run.site == nullptr ? nullptr : &run.site->outputs, false);
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    tensors.inputs[i].address = const_cast<void*>(run.call.inputs[i]);
  }
  for (size_t i = 0; i < tensors.outputs.size(); ++i) {
    tensors.outputs[i].address = run.call.outputs[i];
  }
  tensors.queue = run.later ? &run.queue : nullptr;
  return tensors;
}

OperatorTensors TensorsOf(const graph::Graph& graph, graph::NodeId node,
                          std::span<const kernels::HostValue> inputs,
                          std::span<const kernels::HostValue> outputs) {
  OperatorTensors tensors{.graph = graph, .node = node};
  const auto add = [&](std::span<const kernels::HostValue> values,
                       const std::vector<graph::ValueId>& ids, bool input) {
    std::vector<OperandTensor> operands;
    for (size_t i = 0; i < values.size() && i < ids.size(); ++i) {
      OperandTensor operand{.input = input, .index = i};
      if (ids[i].valid()) operand.value = graph[ids[i]].name;
      if (values[i].kind == ValueKind::kTensor) {
        operand.type = values[i].tensor.type;
        operand.dims = values[i].tensor.dims;
        operand.address = values[i].tensor.data.get();
      }
      operands.push_back(std::move(operand));
    }
    return operands;
  };
  tensors.inputs = add(inputs, graph[node].inputs, true);
  tensors.outputs = add(outputs, graph[node].outputs, false);
  return tensors;
}

Result<FetchedBytes> Fetch(kernels::Queue* queue, const void* address, Bytes size) {
  FetchedBytes fetched;
  const auto count = static_cast<size_t>(size.value());
  if (queue == nullptr) {
    fetched.bytes = {static_cast<const std::byte*>(address), count};
    return fetched;
  }
  fetched.copy.resize(count);
  PLIMSOLL_TRY(queue->Copy(fetched.copy.data(), address, size));
  PLIMSOLL_TRY(queue->Finish());
  fetched.bytes = fetched.copy;
  return fetched;
}

Status WriteTensorFile(const std::filesystem::path& path, DataType type,
                       std::span<const int64_t> dims, std::span<const std::byte> bytes) {
  const auto write = [&](DataType written, std::span<const std::byte> elements) {
    const std::string header = *NpyHeader(written, dims);
    const std::array parts = {std::as_bytes(std::span(header)), elements};
    return WriteNewFile(path, parts);
  };
  if (NpyTypeName(type)) return write(type, bytes);
  const int64_t elements = ElementCount(dims);
  if (IsFloating(type)) {
    const auto wide = Widened<float>(
        elements, [&](int64_t i) { return kernels::LoadDouble(type, bytes.data(), i); });
    return write(DataType::kFloat32, std::as_bytes(std::span(wide)));
  }
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  const auto wide = Widened<int8_t>(
      elements, [&](int64_t i) { return kernels::LoadInteger(type, bytes.data(), i); });
  return write(is_signed ? DataType::kInt8 : DataType::kUint8, std::as_bytes(std::span(wide)));
}

}  // namespace plimsoll::engine
