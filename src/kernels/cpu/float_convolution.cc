#include "kernels/cpu/float_convolution.h"

#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cpu/packed_operand.h"

namespace plimsoll::kernels::cpu {
namespace {

using onednn::ConvolutionSpec;
using onednn::Form;
using onednn::Primitive;

constexpr size_t kData = 0;
constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;
constexpr size_t kResidual = 3;

// The forms of the node's tensors.
struct Forms {
  Form source;
  Form weights;
  Form destination;
};

Dims ImageDims(int64_t batch, int64_t channels, const Dims& spatial) {
  Dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// oneDNN counts weights as [groups, filters of a group, channels of a group, kernel...].
Dims WeightDims(const ConvolutionShape& shape) {
  Dims dims = {shape.GroupFilters(), shape.GroupChannels()};
  if (shape.groups > 1) dims.insert(dims.begin(), shape.groups);
  const Dims kernel = shape.window.Own(shape.window.kernel);
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

Form WeightForm(const ConvolutionShape& shape, bool transposed) {
  const Dims dims = WeightDims(shape);
  if (!transposed) return Form::Plain(dims);
  Dims strides(dims.size(), 1);
  const size_t filters = shape.groups > 1 ? 1 : 0;
  for (size_t axis = dims.size() - 1; axis > filters + 2; --axis) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  const int64_t kernel = shape.window.KernelSize();
  strides[filters] = kernel;
  strides[filters + 1] = kernel * shape.GroupFilters();
  if (shape.groups > 1) strides[0] = kernel * shape.GroupFilters() * shape.GroupChannels();
  return Form::Strided(dims, strides);
}

Forms FormsOf(const FloatConvolution& wanted) {
  const ConvolutionShape& shape = wanted.shape;
  const Dims source = ImageDims(shape.batch, shape.channels, shape.window.Own(shape.window.input));
  const Dims destination =
      ImageDims(shape.batch, shape.filters, shape.window.Own(shape.window.output));
  return {.source = wanted.source_blocked ? Form::Blocked(source) : Form::Plain(source),
          .weights = WeightForm(shape, wanted.transposed),
          .destination =
              wanted.destination_blocked ? Form::Blocked(destination) : Form::Plain(destination)};
}

ConvolutionSpec SpecOf(const KernelSite& site, const FloatConvolution& wanted, const Forms& forms) {
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  ConvolutionSpec spec;
  spec.transposed = wanted.transposed;
  spec.source = forms.source;
  spec.weights = Form::Chosen(WeightDims(shape));
  spec.destination = forms.destination;
  spec.strides = window.Own(window.strides);
  spec.dilations = window.Own(window.dilations);
  spec.pads_begin = window.Own(window.begin);
  Window::Sizes end;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    end[axis] = wanted.transposed ? window.TransposedEnd(axis) : window.End(axis);
  }
  spec.pads_end = window.Own(end);
  if (site.has_input(kBias)) spec.finish.bias = Form::Plain({shape.filters});
  spec.finish.adds_destination = site.has_input(kResidual);
  spec.finish.activation = wanted.activation;
  return spec;
}

// The fast primitive that keeps most of the node's own forms: those that are blocked; else none;
// else a slow one in the node's forms.
Result<Primitive> MakePrimitive(const KernelSite& site, const FloatConvolution& wanted,
                                const Forms& own) {
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  const Forms free = {
      .source = Form::Chosen(ImageDims(shape.batch, shape.channels, window.Own(window.input))),
      .weights = own.weights,
      .destination =
          Form::Chosen(ImageDims(shape.batch, shape.filters, window.Own(window.output)))};
  const Forms partly = {
      .source = wanted.source_blocked ? own.source : free.source,
      .weights = own.weights,
      .destination = wanted.destination_blocked ? own.destination : free.destination};
  for (const Forms& forms : {partly, free}) {
    Result<Primitive> made = MakeConvolution(SpecOf(site, wanted, forms));
    if (made.ok() && !made->IsReference()) return made;
  }
  return MakeConvolution(SpecOf(site, wanted, own));
}

// See MakeFloatConvolution.
class FloatConvolutionKernel final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const FloatConvolution& wanted) {
    const Forms forms = FormsOf(wanted);
    PLIMSOLL_ASSIGN(Primitive primitive, MakePrimitive(site, wanted, forms));
    WorkspaceLayout workspace;
    PLIMSOLL_ASSIGN(PackedOperand source,
                    PackedOperand::Make(site, kData, forms.source, primitive.source(), workspace));
    PLIMSOLL_ASSIGN(PackedOperand weights, PackedOperand::Make(site, kWeights, forms.weights,
                                                               primitive.weights(), workspace));
    std::unique_ptr<FloatConvolutionKernel> kernel(
        new FloatConvolutionKernel(std::move(primitive), std::move(source), std::move(weights)));
    PLIMSOLL_TRY(kernel->PlanDestination(site, forms.destination, workspace));
    kernel->scratchpad_ = workspace.Take(kernel->primitive_.scratchpad());
    kernel->workspace_ = workspace.total();
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return primitive_.implementation(); }

  Status Run(const KernelCall& call) const override {
    PLIMSOLL_ASSIGN(const void* const source, source_.Get(call.inputs[kData], call.workspace));
    PLIMSOLL_ASSIGN(const void* const weights, weights_.Get(call.inputs[kWeights], call.workspace));
    void* const made = unpack_ ? At(call.workspace, made_) : call.outputs[0];
    PLIMSOLL_TRY(BringResidual(call, made));
    PLIMSOLL_TRY(primitive_.Run({.source = source,
                                 .weights = weights,
                                 .bias = has_bias_ ? call.inputs[kBias] : nullptr,
                                 .destination = made,
                                 .scratchpad = At(call.workspace, scratchpad_)}));
    if (!unpack_) return {};
    return unpack_->Run({.source = made,
                         .destination = call.outputs[0],
                         .scratchpad = At(call.workspace, reorder_scratchpad_)});
  }

 private:
  FloatConvolutionKernel(Primitive primitive, PackedOperand source, PackedOperand weights)
      : primitive_(std::move(primitive)),
        source_(std::move(source)),
        weights_(std::move(weights)) {}

  Status PlanDestination(const KernelSite& site, const Form& form, WorkspaceLayout& workspace) {
    has_bias_ = site.has_input(kBias);
    has_residual_ = site.has_input(kResidual);
    destination_size_ = form.size();
    if (form == primitive_.destination()) return {};
    PLIMSOLL_ASSIGN(Primitive unpack, onednn::MakeReorder(primitive_.destination(), form));
    made_ = workspace.Take(primitive_.destination().size());
    Bytes scratchpad = unpack.scratchpad();
    if (has_residual_) {
      PLIMSOLL_ASSIGN(Primitive pack, onednn::MakeReorder(form, primitive_.destination()));
      scratchpad = std::max(scratchpad, pack.scratchpad());
      pack_residual_.emplace(std::move(pack));
    }
    reorder_scratchpad_ = workspace.Take(scratchpad);
    unpack_.emplace(std::move(unpack));
    return {};
  }

  Status BringResidual(const KernelCall& call, void* made) const {
    if (!has_residual_) return {};
    const void* const residual = call.inputs[kResidual];
    if (pack_residual_) {
      return pack_residual_->Run({.source = residual,
                                  .destination = made,
                                  .scratchpad = At(call.workspace, reorder_scratchpad_)});
    }
    if (residual != made) {
      std::memcpy(made, residual, static_cast<size_t>(destination_size_.value()));
    }
    return {};
  }

  Primitive primitive_;
  PackedOperand source_;
  PackedOperand weights_;
  std::optional<Primitive> unpack_;         // from the primitive's form to the node's
  std::optional<Primitive> pack_residual_;  // the other way
  bool has_bias_ = false;
  bool has_residual_ = false;
  int64_t made_ = 0;
  int64_t scratchpad_ = 0;
  int64_t reorder_scratchpad_ = 0;
  Bytes destination_size_;
  Bytes workspace_;
};

}  // namespace

Result<KernelPointer> MakeFloatConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  return FloatConvolutionKernel::Make(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
