#include <cmath>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// A depthwise convolution over one axis that looks back only, and carries what it must see again.
struct CausalConvolution {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t length = 0;
  int64_t taps = 0;
  bool swish = false;
};

template <typename T>
void ConvolveRow(const CausalConvolution& shape, const T* x, const T* weights, T bias,
                 const T* past, T* y, T* present) {
  const int64_t carried = shape.taps - 1;
  const auto element = [&](int64_t place) {
    if (place >= carried) return x[place - carried];
    return past == nullptr ? T(0) : past[place];
  };
  for (int64_t i = 0; i < shape.length; ++i) {
    T sum = bias;
    for (int64_t tap = 0; tap < shape.taps; ++tap) sum += weights[tap] * element(i + tap);
    y[i] = shape.swish ? sum / (1 + std::exp(-sum)) : sum;
  }
  for (int64_t i = 0; i < carried; ++i) present[i] = element(shape.length + i);
}

template <typename T>
void Convolve(const CausalConvolution& shape, const KernelCall& call) {
  const auto input = [&](size_t i) {
    return i < call.inputs.size() ? static_cast<const T*>(call.inputs[i]) : nullptr;
  };
  const int64_t carried = shape.taps - 1;
  ParallelFor(shape.batch * shape.channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t channel = row % shape.channels;
      ConvolveRow(shape, input(0) + row * shape.length, input(1) + channel * shape.taps,
                  input(2) == nullptr ? T(0) : input(2)[channel],
                  input(3) == nullptr ? nullptr : input(3) + row * carried,
                  static_cast<T*>(call.outputs[0]) + row * shape.length,
                  static_cast<T*>(call.outputs[1]) + row * carried);
    }
  });
}

Result<KernelPointer> MakeCausalConv(KernelSite& site) {
  const Dims& data = site.inputs[0].dims;
  CausalConvolution shape{
      .batch = data[0], .channels = data[1], .length = data[2], .taps = site.inputs[1].dims[2]};
  const std::string activation = site.attributes().String("activation", "none");
  shape.swish = activation == "silu" || activation == "swish";
  if (!shape.swish && activation != "none") {
    return site.Unsupported(StrCat("there is no activation '", activation, "'"));
  }
  if (shape.taps < 1) return site.BadInput("the kernel is empty");
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([shape](const KernelCall& call) { Convolve<T>(shape, call); });
  });
  if (kernel == nullptr) {
    return site.Unsupported(
        StrCat("there is no convolution of ", graph::Name(site.inputs[0].type)));
  }
  return kernel;
}

constexpr KernelRow kCausalConvRows[] = {
    {"", "CausalConvWithState", 27, graph::kNewest, WithHalvesWidened<MakeCausalConv>},
};

}  // namespace

std::span<const KernelRow> CausalConvKernels() { return kCausalConvRows; }

}  // namespace plimsoll::kernels::cpu
