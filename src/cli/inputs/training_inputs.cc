#include "cli/inputs/training_inputs.h"

#include <algorithm>
#include <cstring>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

using kernels::HostTensor;
using kernels::HostValue;

Result<TrainingInputs> TrainingInputs::Make(const graph::Graph& graph,
                                            const std::vector<InputArgument>& arguments,
                                            const std::vector<compile::ShapeArgument>& shapes,
                                            const InputSettings& settings) {
  PLIMSOLL_ASSIGN(const std::vector<HostValue> values,
                  MakeInputs(graph, arguments, shapes, settings));
  TrainingInputs inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    const HostTensor& tensor = values[i].tensor;
    const graph::Value& port = graph[graph.root().inputs[i]];
    const auto& shape = port.declared.shape;
    Input input{tensor, 0};
    kernels::Dims dims = tensor.dims;
    if (shape && dims.size() == shape->size() + 1) {
      input.batches = dims.front();
      dims.erase(dims.begin());
    }
    if (input.batches == 0 && dims.size() != tensor.dims.size()) {
      return Error{.kind = ErrorKind::kUsage,
                   .code = "input.batches",
                   .what = "cannot make the model's inputs",
                   .where = StrCat("input '", port.name, "'"),
                   .why = "its array has no batch",
                   .remedy = "give at least one along the first dimension"};
    }
    const auto other = std::find_if(
        inputs.inputs_.begin(), inputs.inputs_.end(),
        [&](const Input& one) { return one.batches > 1 && one.batches != input.batches; });
    if (input.batches > 1 && other != inputs.inputs_.end()) {
      const size_t index = static_cast<size_t>(other - inputs.inputs_.begin());
      return Error{.kind = ErrorKind::kUsage,
                   .code = "input.batches",
                   .what = "cannot make the model's inputs",
                   .where = StrCat("input '", port.name, "'"),
                   .why = StrCat("its array has ", input.batches, " batches, that of '",
                                 graph[graph.root().inputs[index]].name, "' has ", other->batches),
                   .remedy = "give each as many, or one that is used at each step"};
    }
    inputs.tensors_.push_back({tensor.type, std::move(dims), tensor.data.get()});
    inputs.inputs_.push_back(std::move(input));
  }
  return inputs;
}

Status TrainingInputs::CopyForEachStep() {
  for (const TensorView& tensor : tensors_) {
    PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(tensor.type, tensor.dims));
    copies_.push_back(std::move(copy));
  }
  return {};
}

std::span<const TensorView> TrainingInputs::At(int64_t step) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    auto* data = static_cast<std::byte*>(input.tensor.data.get());
    if (input.batches > 0) {
      data += step % input.batches * (input.tensor.size().value() / input.batches);
    }
    if (!copies_.empty()) {
      std::memcpy(copies_[i].data.get(), data, static_cast<size_t>(copies_[i].size().value()));
      data = static_cast<std::byte*>(copies_[i].data.get());
    }
    tensors_[i].data = data;
  }
  return tensors_;
}

}  // namespace plimsoll::cli
