#include <cmath>

#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// A convolution whose taps are moved by offsets that data gives.
struct DeformedConvolution {
  ConvolutionShape shape;
  int64_t offset_groups = 1;
};

// An element between elements of one map, linearly; 0 beyond the map's edges.
template <typename T>
T Interpolate(const Window& window, const T* x, const std::array<T, Window::kAxes>& place) {
  std::array<int64_t, Window::kAxes> low;
  std::array<T, Window::kAxes> rest;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    const T floor = std::floor(place[axis]);
    // Also false for NaN, and keeps the conversion below in range.
    const bool near = floor >= T(-1) && floor <= static_cast<T>(window.input[axis]);
    if (!near) return 0;
    low[axis] = static_cast<int64_t>(floor);
    rest[axis] = place[axis] - floor;
  }
  T sum = 0;
  for (unsigned corner = 0; corner < (1u << Window::kAxes); ++corner) {
    T weight = 1;
    int64_t at = 0;
    bool inside = true;
    for (size_t axis = 0; axis < Window::kAxes; ++axis) {
      const bool high = ((corner >> axis) & 1u) != 0;
      const int64_t along = low[axis] + (high ? 1 : 0);
      weight *= high ? rest[axis] : 1 - rest[axis];
      inside = inside && along >= 0 && along < window.input[axis];
      at = at * window.input[axis] + along;
    }
    if (inside && weight != 0) sum += weight * x[at];
  }
  return sum;
}

// One output element of one filter.
template <typename T>
T DeformedSum(const DeformedConvolution& convolution, const T* x, const T* weights,
              const T* offsets, const T* mask, int64_t group, int64_t output) {
  const ConvolutionShape& shape = convolution.shape;
  const Window& window = shape.window;
  const int64_t size = window.OutputSize();
  const size_t first_axis = Window::kAxes - window.rank;
  const Window::Sizes place = {output / (window.output[1] * window.output[2]),
                               output / window.output[2] % window.output[1],
                               output % window.output[2]};
  T sum = 0;
  for (int64_t c = 0; c < shape.GroupChannels(); ++c) {
    const int64_t channel = group * shape.GroupChannels() + c;
    const int64_t offset_group = channel / (shape.channels / convolution.offset_groups);
    for (int64_t tap = 0; tap < window.KernelSize(); ++tap) {
      const Window::Sizes taps = {tap / (window.kernel[1] * window.kernel[2]),
                                  tap / window.kernel[2] % window.kernel[1],
                                  tap % window.kernel[2]};
      const int64_t moved = offset_group * window.KernelSize() + tap;
      std::array<T, Window::kAxes> at = {};
      for (size_t axis = first_axis; axis < Window::kAxes; ++axis) {
        const auto number = static_cast<int64_t>(axis - first_axis);
        const int64_t row = moved * static_cast<int64_t>(window.rank) + number;
        at[axis] = static_cast<T>(place[axis] * window.strides[axis] - window.begin[axis] +
                                  taps[axis] * window.dilations[axis]) +
                   offsets[row * size + output];
      }
      const T element = Interpolate(window, x + channel * window.InputSize(), at);
      const T factor = mask == nullptr ? T(1) : mask[moved * size + output];
      sum += weights[c * window.KernelSize() + tap] * factor * element;
    }
  }
  return sum;
}

template <typename T>
void Deform(const DeformedConvolution& convolution, const KernelCall& call) {
  const ConvolutionShape& shape = convolution.shape;
  const Window& window = shape.window;
  const auto input = [&](size_t i) {
    return i < call.inputs.size() ? static_cast<const T*>(call.inputs[i]) : nullptr;
  };
  const int64_t size = window.OutputSize();
  const int64_t moves = convolution.offset_groups * window.KernelSize() * size;
  ParallelFor(shape.batch * shape.filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t map = begin; map < end; ++map) {
      const int64_t image = map / shape.filters;
      const int64_t filter = map % shape.filters;
      const T* const x = input(0) + image * shape.channels * window.InputSize();
      const T* const weights = input(1) + filter * shape.GroupChannels() * window.KernelSize();
      const T* const offsets = input(2) + image * moves * static_cast<int64_t>(window.rank);
      const T* const mask = input(4) == nullptr ? nullptr : input(4) + image * moves;
      T* const y = static_cast<T*>(call.outputs[0]) + map * size;
      for (int64_t i = 0; i < size; ++i) {
        y[i] =
            (input(3) == nullptr ? T(0) : input(3)[filter]) +
            DeformedSum(convolution, x, weights, offsets, mask, filter / shape.GroupFilters(), i);
      }
    }
  });
}

Result<KernelPointer> MakeDeformConv(KernelSite& site) {
  DeformedConvolution convolution;
  PLIMSOLL_ASSIGN(convolution.shape, ReadConvolution(site, site.inputs[0].dims, site.inputs[1].dims,
                                                     site.outputs[0].dims));
  convolution.offset_groups = site.attributes().Int("offset_group", 1);
  if (convolution.offset_groups < 1 ||
      convolution.shape.channels % convolution.offset_groups != 0) {
    return site.BadInput(StrCat(convolution.shape.channels, " channels cannot be split into ",
                                convolution.offset_groups, " groups of offsets"));
  }
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([convolution](const KernelCall& call) { Deform<T>(convolution, call); });
  });
  if (kernel == nullptr) {
    return site.Unsupported(
        StrCat("there is no convolution of ", graph::Name(site.inputs[0].type)));
  }
  return kernel;
}

constexpr KernelRow kDeformConvRows[] = {
    {"", "DeformConv", 19, graph::kNewest, WithHalvesWidened<MakeDeformConv>},
};

}  // namespace

std::span<const KernelRow> DeformConvKernels() { return kDeformConvRows; }

}  // namespace plimsoll::kernels::cpu
