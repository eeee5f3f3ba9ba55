#include <utility>

#include "kernels/cpu/convolution_loops.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantized_operand.h"
#include "kernels/cpu/workspace.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// Which inputs of a node hold what.
struct Ports {
  size_t data;
  size_t data_zero;
  size_t weights;
  size_t weights_zero;
};

// A convolution of 8-bit integers, each less its zero point; weights have one, or one a filter.
struct IntegerConvolution {
  Ports ports;
  ConvolutionShape shape;
  DataType data_type;
  DataType weights_type;
  int64_t data_elements;
  int64_t weights_elements;
  int64_t weights_zeros;
  int64_t data_offset;
  int64_t weights_offset;

  void Run(const KernelCall& call, const uint32_t* bias, uint32_t* sums) const {
    uint32_t* const x = At<uint32_t>(call.workspace, data_offset);
    uint32_t* const w = At<uint32_t>(call.workspace, weights_offset);
    const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
    const int64_t filter_size = shape.GroupChannels() * shape.window.KernelSize();
    SubtractZeroPoint(
        data_type, call.inputs[ports.data], data_elements, input(ports.data_zero),
        [](int64_t) { return 0; }, x);
    SubtractZeroPoint(
        weights_type, call.inputs[ports.weights], weights_elements, input(ports.weights_zero),
        [&](int64_t i) { return i / filter_size % weights_zeros; }, w);
    Convolve(shape, x, w, bias, sums);
  }
};

Result<IntegerConvolution> ReadIntegerConvolution(const KernelSite& site, const Ports& ports,
                                                  WorkspaceLayout& workspace) {
  const TensorInfo& data = site.inputs[ports.data];
  const TensorInfo& weights = site.inputs[ports.weights];
  for (const TensorInfo* tensor : {&data, &weights}) {
    if (!IsByte(tensor->type)) {
      return site.Unsupported(
          StrCat("there is no integer convolution of ", graph::Name(tensor->type)));
    }
  }
  IntegerConvolution made{.ports = ports,
                          .shape = {},
                          .data_type = data.type,
                          .weights_type = weights.type,
                          .data_elements = data.elements(),
                          .weights_elements = weights.elements(),
                          .weights_zeros = 1,
                          .data_offset = workspace.Take(Bytes(data.elements() * 4)),
                          .weights_offset = workspace.Take(Bytes(weights.elements() * 4))};
  PLIMSOLL_ASSIGN(made.shape, ReadConvolution(site, data.dims, weights.dims, site.outputs[0].dims));
  for (const size_t zero : {ports.data_zero, ports.weights_zero}) {
    if (site.has_input(zero) && site.inputs[zero].elements() < 1) {
      return site.BadInput("a zero point has no elements");
    }
  }
  if (site.has_input(ports.weights_zero)) {
    made.weights_zeros = site.inputs[ports.weights_zero].elements();
  }
  return made;
}

Result<KernelPointer> MakeConvInteger(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(const IntegerConvolution convolution,
                  ReadIntegerConvolution(site, {0, 2, 1, 3}, workspace));
  return MakeKernel(
      [convolution](const KernelCall& call) {
        convolution.Run(call, nullptr, static_cast<uint32_t*>(call.outputs[0]));
      },
      workspace.total());
}

Result<KernelPointer> MakeQLinearConv(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(const IntegerConvolution convolution,
                  ReadIntegerConvolution(site, {0, 2, 3, 5}, workspace));
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized convolution into ", graph::Name(type)));
  }
  const int64_t elements = site.outputs[0].elements();
  const int64_t scales = site.inputs[4].elements();
  const bool sized = scales > 0 && site.inputs[1].elements() > 0 && site.inputs[6].elements() > 0 &&
                     site.inputs[7].elements() > 0;
  if (!sized) return site.BadInput("a scale or zero point has no elements");
  const bool biased = site.has_input(8);
  const DataType scale_type = site.inputs[1].type;
  const int64_t sums = workspace.Take(Bytes(elements * 4));
  return MakeKernel(
      [convolution, type, scale_type, elements, scales, biased, sums](const KernelCall& call) {
        uint32_t* const c = At<uint32_t>(call.workspace, sums);
        const void* const bias = biased ? call.inputs[8] : nullptr;
        convolution.Run(call, static_cast<const uint32_t*>(bias), c);
        const double x_scale = LoadDouble(scale_type, call.inputs[1], 0);
        const double y_scale = LoadDouble(scale_type, call.inputs[6], 0);
        const int64_t y_zero = LoadInteger(type, call.inputs[7], 0);
        const ConvolutionShape& shape = convolution.shape;
        for (int64_t i = 0; i < elements; ++i) {
          const int64_t filter = i / shape.window.OutputSize() % shape.filters;
          const double w_scale = LoadDouble(scale_type, call.inputs[4], filter % scales);
          StoreQuantized(
              type, static_cast<double>(static_cast<int32_t>(c[i])) * x_scale * w_scale / y_scale,
              y_zero, call.outputs[0], i);
        }
      },
      workspace.total());
}

constexpr KernelRow kRows[] = {
    {"", "ConvInteger", 10, graph::kNewest, MakeConvInteger},
    {"", "QLinearConv", 10, graph::kNewest, MakeQLinearConv},
};

}  // namespace

std::span<const KernelRow> IntegerConvolutionKernels() { return kRows; }

}  // namespace plimsoll::kernels::cpu
