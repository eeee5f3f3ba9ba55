#include "plimsoll/engine/operator.h"

#include "graph/infer_context.h"
#include "graph/registered_operators.h"
#include "kernels/registered_kernels.h"
#include "plimsoll/base/text.h"

namespace plimsoll {
namespace {

template <typename Element>
std::vector<Element> ListOf(const std::vector<Element>* list) {
  return list == nullptr ? std::vector<Element>() : *list;
}

std::vector<OperatorTensor> TensorsOf(const std::vector<kernels::TensorInfo>& infos) {
  std::vector<OperatorTensor> tensors;
  for (const kernels::TensorInfo& info : infos) {
    OperatorTensor& tensor = tensors.emplace_back();
    tensor.type = info.type;
    tensor.dims = info.dims;
    tensor.data = info.assumed ? nullptr : info.data;
    tensor.sized = info.sized;
  }
  return tensors;
}

// A kernel of the program's as the engine runs it.
class ProgramKernel final : public kernels::Kernel {
 public:
  explicit ProgramKernel(OperatorKernelPointer kernel) : kernel_(std::move(kernel)) {}
  Bytes workspace() const override { return kernel_->workspace(); }
  std::string_view implementation() const override { return "registered"; }
  Status Run(const kernels::KernelCall& call) const override {
    return kernel_->Run(
        {.inputs = call.inputs, .outputs = call.outputs, .workspace = call.workspace});
  }

 private:
  OperatorKernelPointer kernel_;
};

using KernelFunction = decltype(OperatorDefinition::make_kernel);

Result<kernels::KernelPointer> MakeProgramKernel(const KernelFunction& make,
                                                 kernels::KernelSite& site) {
  OperatorSite seen{.inputs = TensorsOf(site.inputs),
                    .outputs = TensorsOf(site.outputs),
                    .attributes = OperatorAttributes(site.attributes()),
                    .node = graph::Describe(site.graph, site.id),
                    .deterministic = site.deterministic};
  PLIMSOLL_ASSIGN(OperatorKernelPointer kernel, make(seen));
  if (kernel == nullptr) return site.Unsupported("its maker gave no kernel");
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    if (!site.outputs[i].sized) site.outputs[i].dims = seen.outputs[i].dims;
    site.outputs[i].sized = true;
  }
  return kernels::KernelPointer(std::make_unique<const ProgramKernel>(std::move(kernel)));
}

Error ErrorAt(const std::string& node, ErrorKind kind, std::string code, std::string why) {
  return Error{.kind = kind,
               .code = std::move(code),
               .what = StrCat("cannot run ", node),
               .where = "",
               .why = std::move(why),
               .remedy = ""};
}

}  // namespace

bool OperatorAttributes::Has(std::string_view name) const {
  return attributes_.Find(name) != nullptr;
}
int64_t OperatorAttributes::Int(std::string_view name, int64_t otherwise) const {
  return attributes_.Int(name, otherwise);
}
double OperatorAttributes::Float(std::string_view name, double otherwise) const {
  return attributes_.Float(name, otherwise);
}
std::string OperatorAttributes::String(std::string_view name, std::string_view otherwise) const {
  return attributes_.String(name, otherwise);
}
std::vector<int64_t> OperatorAttributes::Ints(std::string_view name) const {
  return ListOf(attributes_.Ints(name));
}
std::vector<double> OperatorAttributes::Floats(std::string_view name) const {
  return ListOf(attributes_.Floats(name));
}
std::vector<std::string> OperatorAttributes::Strings(std::string_view name) const {
  return ListOf(attributes_.Strings(name));
}

size_t ShapeInference::input_count() const { return context_.input_count(); }
size_t ShapeInference::output_count() const { return context_.output_count(); }
bool ShapeInference::HasInput(size_t input) const { return context_.has_input(input); }
DataType ShapeInference::InputType(size_t input) const { return context_.input_data_type(input); }
const std::vector<Dim>* ShapeInference::InputShape(size_t input) const {
  return context_.input_shape(input);
}
std::optional<std::vector<int64_t>> ShapeInference::InputIntegers(size_t input) const {
  return context_.input_integers(input);
}
OperatorAttributes ShapeInference::attributes() const {
  return OperatorAttributes(context_.attributes());
}
void ShapeInference::SetOutput(size_t output, DataType type, std::vector<Dim> shape) {
  if (context_.has_output(output)) context_.SetOutput(output, type, std::move(shape));
}
void ShapeInference::SetOutputOfUnknownRank(size_t output, DataType type) {
  if (context_.has_output(output)) context_.SetOutputOfUnknownRank(output, type);
}
void ShapeInference::CopyTypeAndShape(size_t output, size_t input) {
  if (context_.has_output(output)) context_.SetOutput(output, context_.input_type(input));
}
Dim ShapeInference::UnknownDim(size_t output, size_t axis) const {
  return context_.UnknownDim(output, axis);
}
Error ShapeInference::Fail(std::string why) const { return context_.Fail(std::move(why)); }

Error OperatorSite::Unsupported(std::string why) const {
  return ErrorAt(node, ErrorKind::kUnsupported, "kernel.unsupported", std::move(why));
}
Error OperatorSite::BadInput(std::string why) const {
  return ErrorAt(node, ErrorKind::kRunFailed, "kernel.input", std::move(why));
}

Status RegisterOperator(OperatorDefinition definition) {
  if (definition.make_kernel == nullptr) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "operator.definition",
                 .what = "cannot register the operator",
                 .where = StrCat(definition.domain, "::", definition.name),
                 .why = "it has no maker of kernels",
                 .remedy = "give make_kernel"};
  }
  graph::RegisteredOperator added{.domain = definition.domain,
                                  .name = definition.name,
                                  .row = {},
                                  .since = definition.since,
                                  .until = definition.until,
                                  .infer = {},
                                  .in_place = {},
                                  .deterministic = definition.deterministic};
  added.row.min_inputs = definition.min_inputs;
  added.row.max_inputs = definition.max_inputs;
  added.row.min_outputs = definition.min_outputs;
  added.row.max_outputs = definition.max_outputs;
  if (definition.infer_shapes != nullptr) {
    added.infer = [infer = std::move(definition.infer_shapes)](graph::InferContext& context) {
      ShapeInference node(context);
      return infer(node);
    };
  }
  for (const InPlacePair& pair : definition.in_place) {
    added.in_place.emplace_back(pair.output, pair.input);
  }
  PLIMSOLL_TRY(graph::RegisterOperator(std::move(added)));
  kernels::RegisterKernel(definition.domain, definition.name, definition.since, definition.until,
                          [make = std::move(definition.make_kernel)](kernels::KernelSite& site) {
                            return MakeProgramKernel(make, site);
                          });
  return {};
}

}  // namespace plimsoll
