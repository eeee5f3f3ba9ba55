#include <utility>

#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/quantized_operand.h"
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
// Elements are read as they lie, and sums given away one by one: there is no workspace.
struct IntegerConvolution {
  Ports ports;
  ConvolutionShape shape;
  DataType data_type;
  DataType weights_type;
  int64_t weights_zeros;

  // Calls store(place in the output, filter, sum) for every output.
  template <typename Store>
  void Run(const KernelCall& call, const uint32_t* bias, const Store& store) const {
    VisitType<Bytes8>(data_type, [&]<typename X>() {
      VisitType<Bytes8>(weights_type, [&]<typename W>() { RunOf<X, W>(call, bias, store); });
    });
  }

 private:
  using Bytes8 = TypeList<int8_t, uint8_t>;

  template <typename X, typename W, typename Store>
  void RunOf(const KernelCall& call, const uint32_t* bias, const Store& store) const {
    const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
    const auto* const x_zero = static_cast<const X*>(input(ports.data_zero));
    const auto* const w_zeros = static_cast<const W*>(input(ports.weights_zero));
    const Window& window = shape.window;
    ConvolveMaps(shape, [&](int64_t map, int64_t filter, int64_t x_map, int64_t w_map) {
      const LessZero<X> x{static_cast<const X*>(call.inputs[ports.data]) + x_map,
                          x_zero == nullptr ? 0 : *x_zero};
      const LessZero<W> w{static_cast<const W*>(call.inputs[ports.weights]) + w_map,
                          w_zeros == nullptr ? 0 : w_zeros[filter % weights_zeros]};
      for (int64_t i = 0; i < window.OutputSize(); ++i) {
        const Window::Sizes place = {i / window.output[2] / window.output[1],
                                     i / window.output[2] % window.output[1], i % window.output[2]};
        uint32_t sum = bias == nullptr ? 0 : bias[filter];
        for (int64_t channel = 0; channel < shape.GroupChannels(); ++channel) {
          sum += WindowSum<uint32_t>(window, x + channel * window.InputSize(),
                                     w + channel * window.KernelSize(), place);
        }
        store(map * window.OutputSize() + i, filter, sum);
      }
    });
  }
};

Result<IntegerConvolution> ReadIntegerConvolution(const KernelSite& site, const Ports& ports) {
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
                          .weights_zeros = 1};
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
  PLIMSOLL_ASSIGN(const IntegerConvolution convolution, ReadIntegerConvolution(site, {0, 2, 1, 3}));
  return MakeKernel([convolution](const KernelCall& call) {
    auto* const sums = static_cast<uint32_t*>(call.outputs[0]);
    convolution.Run(call, nullptr,
                    [sums](int64_t place, int64_t, uint32_t sum) { sums[place] = sum; });
  });
}

Result<KernelPointer> MakeQLinearConv(KernelSite& site) {
  PLIMSOLL_ASSIGN(const IntegerConvolution convolution, ReadIntegerConvolution(site, {0, 2, 3, 5}));
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized convolution into ", graph::Name(type)));
  }
  const int64_t scales = site.inputs[4].elements();
  const bool sized = scales > 0 && site.inputs[1].elements() > 0 && site.inputs[6].elements() > 0 &&
                     site.inputs[7].elements() > 0;
  if (!sized) return site.BadInput("a scale or zero point has no elements");
  const bool biased = site.has_input(8);
  const DataType scale_type = site.inputs[1].type;
  return MakeKernel([convolution, type, scale_type, scales, biased](const KernelCall& call) {
    const void* const bias = biased ? call.inputs[8] : nullptr;
    const double x_scale = LoadDouble(scale_type, call.inputs[1], 0);
    const double y_scale = LoadDouble(scale_type, call.inputs[6], 0);
    const int64_t y_zero = LoadInteger(type, call.inputs[7], 0);
    convolution.Run(
        call, static_cast<const uint32_t*>(bias), [&](int64_t place, int64_t filter, uint32_t sum) {
          const double w_scale = LoadDouble(scale_type, call.inputs[4], filter % scales);
          StoreQuantized(
              type, static_cast<double>(static_cast<int32_t>(sum)) * x_scale * w_scale / y_scale,
              y_zero, call.outputs[0], place);
        });
  });
}

constexpr KernelRow kIntegerConvolutionRows[] = {
    {"", "ConvInteger", 10, graph::kNewest, MakeConvInteger},
    {"", "QLinearConv", 10, graph::kNewest, MakeQLinearConv},
};

}  // namespace

std::span<const KernelRow> IntegerConvolutionKernels() { return kIntegerConvolutionRows; }

}  // namespace plimsoll::kernels::cpu
