#include "cli/training_inputs.h"

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

using kernels::HostTensor;
using kernels::HostValue;

Result<TrainingInputs> TrainingInputs::Make(const graph::Graph& graph,
                                            const std::vector<InputArgument>& arguments,
                                            const std::vector<compile::ShapeArgument>& shapes) {
  PLIMSOLL_ASSIGN(const std::vector<HostValue> values, MakeInputs(graph, arguments, shapes));
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
    inputs.tensors_.push_back({tensor.type, std::move(dims), tensor.data.get()});
    inputs.inputs_.push_back(std::move(input));
  }
  return inputs;
}

std::span<const engine::Tensor> TrainingInputs::At(int64_t step) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].batches == 0) continue;
    const int64_t batch = inputs_[i].tensor.size().value() / inputs_[i].batches;
    tensors_[i].data =
        static_cast<std::byte*>(inputs_[i].tensor.data.get()) + step % inputs_[i].batches * batch;
  }
  return tensors_;
}

}  // namespace plimsoll::cli
