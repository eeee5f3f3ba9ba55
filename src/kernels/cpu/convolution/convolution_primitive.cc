#include "kernels/cpu/convolution/convolution_primitive.h"

namespace plimsoll::kernels::cpu {

using onednn::ConvolutionSpec;
using onednn::Form;
using onednn::Primitive;

namespace {

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

ConvolutionSpec SpecOf(const KernelSite& site, const FloatConvolution& wanted,
                       const ConvolutionForms& forms) {
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  ConvolutionSpec spec;
  spec.source = forms.source;
  spec.weights = Form::Chosen(WeightDims(shape));
  spec.destination = forms.destination;
  spec.strides = window.Own(window.strides);
  spec.dilations = window.Own(window.dilations);
  spec.pads_begin = window.Own(window.begin);
  Window::Sizes end;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    end[axis] = window.End(axis);
  }
  spec.pads_end = window.Own(end);
  if (site.has_input(kConvolutionBias)) spec.finish.bias = Form::Plain({shape.filters});
  spec.finish.adds_destination = site.has_input(kConvolutionResidual);
  spec.finish.activation = wanted.activation;
  spec.deterministic = site.deterministic;
  spec.multiplications =
      SaturatingMultiply(SaturatingMultiply(shape.batch * window.OutputSize(), shape.filters),
                         SaturatingMultiply(shape.GroupChannels(), window.KernelSize()));
  return spec;
}

}  // namespace

ConvolutionForms FormsOf(const FloatConvolution& wanted) {
  const ConvolutionShape& shape = wanted.shape;
  const Dims source = ImageDims(shape.batch, shape.channels, shape.window.Own(shape.window.input));
  const Dims destination =
      ImageDims(shape.batch, shape.filters, shape.window.Own(shape.window.output));
  return {.source = wanted.source_blocked ? Form::Blocked(source) : Form::Plain(source),
          .weights = Form::Plain(WeightDims(shape)),
          .destination =
              wanted.destination_blocked ? Form::Blocked(destination) : Form::Plain(destination)};
}

Result<Primitive> MakeConvolutionPrimitive(const KernelSite& site, const FloatConvolution& wanted,
                                           const ConvolutionForms& own) {
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  const ConvolutionForms free = {
      .source = Form::Chosen(ImageDims(shape.batch, shape.channels, window.Own(window.input))),
      .weights = own.weights,
      .destination =
          Form::Chosen(ImageDims(shape.batch, shape.filters, window.Own(window.output)))};
  const ConvolutionForms partly = {
      .source = wanted.source_blocked ? own.source : free.source,
      .weights = own.weights,
      .destination = wanted.destination_blocked ? own.destination : free.destination};
  for (const ConvolutionForms& forms : {partly, free}) {
    Result<Primitive> made = MakeConvolution(SpecOf(site, wanted, forms));
    if (made.ok() && !made->IsReference()) return made;
  }
  return site.Unsupported("oneDNN has no fast convolution of this shape");
}

}  // namespace plimsoll::kernels::cpu
