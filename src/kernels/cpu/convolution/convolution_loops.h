#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/parallel.h"

// Convolutions by their definition, for element types that have no fast implementation.
namespace plimsoll::kernels::cpu {

struct ConvolutionShape {
  Window window;
  int64_t batch = 0;
  int64_t channels = 0;  // of the data
  int64_t filters = 0;   // channels of the output
  int64_t groups = 1;

  int64_t GroupChannels() const { return channels / groups; }
  int64_t GroupFilters() const { return filters / groups; }
};

// The shape of a convolution of `data` with `weights` [filters, channels of a group, kernel...]
// into `output`, as the node's attributes have it.
Result<ConvolutionShape> ReadConvolution(const KernelSite& site, const Dims& data,
                                         const Dims& weights, const Dims& output);

// The sum over the kernel's places of x * w for one output place; `x` and `w` begin at one channel.
// They are pointers, or read like pointers.
template <typename T, typename Data, typename Weights>
T WindowSum(const Window& window, Data x, Weights w, const Window::Sizes& place) {
  Window::Sizes origin;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    origin[axis] = place[axis] * window.strides[axis] - window.begin[axis];
  }
  const int64_t step = window.dilations[2];
  const int64_t left = std::max<int64_t>(-origin[2], 0);
  const int64_t right = std::max<int64_t>(window.input[2] - origin[2], 0);
  const int64_t first = step == 1 ? left : (left + step - 1) / step;
  const int64_t last = std::min(step == 1 ? right : (right + step - 1) / step, window.kernel[2]);
  T sum = 0;
  for (int64_t a = 0; a < window.kernel[0]; ++a) {
    const int64_t z = origin[0] + a * window.dilations[0];
    if (z < 0 || z >= window.input[0]) continue;
    for (int64_t b = 0; b < window.kernel[1]; ++b) {
      const int64_t y = origin[1] + b * window.dilations[1];
      if (y < 0 || y >= window.input[1]) continue;
      const Data row = x + (z * window.input[1] + y) * window.input[2];
      const Weights weights = w + (a * window.kernel[1] + b) * window.kernel[2];
      for (int64_t c = first; c < last; ++c) sum += row[origin[2] + c * step] * weights[c];
    }
  }
  return sum;
}

// Calls run(map, filter, x, w) for every output map of every image: which one it is, its filter,
// and where its channels and its weights [filters, channels of a group, kernel...] begin.
template <typename RunMap>
void ConvolveMaps(const ConvolutionShape& shape, const RunMap& run) {
  ParallelFor(shape.batch * shape.filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t map = begin; map < end; ++map) {
      const int64_t image = map / shape.filters;
      const int64_t filter = map % shape.filters;
      const int64_t first = filter / shape.GroupFilters() * shape.GroupChannels();
      run(map, filter, (image * shape.channels + first) * shape.window.InputSize(),
          filter * shape.GroupChannels() * shape.window.KernelSize());
    }
  });
}

// Weights [filters, channels of a group, kernel...]; bias may be null.
template <typename T>
void Convolve(const ConvolutionShape& shape, const T* data, const T* weights, const T* bias,
              T* output) {
  const Window& window = shape.window;
  ConvolveMaps(shape, [&](int64_t map, int64_t filter, int64_t x_map, int64_t w_map) {
    const T* x = data + x_map;
    const T* w = weights + w_map;
    T* y = output + map * window.OutputSize();
    for (int64_t a = 0; a < window.output[0]; ++a) {
      for (int64_t b = 0; b < window.output[1]; ++b) {
        for (int64_t c = 0; c < window.output[2]; ++c) {
          T sum = bias == nullptr ? T(0) : bias[filter];
          for (int64_t channel = 0; channel < shape.GroupChannels(); ++channel) {
            sum += WindowSum<T>(window, x + channel * window.InputSize(),
                                w + channel * window.KernelSize(), {a, b, c});
          }
          *y++ = sum;
        }
      }
    }
  });
}

// Adds what one input map gives to one output map, through one kernel.
template <typename T>
void SpreadMap(const Window& window, const T* x, const T* w, T* y) {
  for (int64_t i = 0; i < window.InputSize(); ++i) {
    const Window::Sizes place = {i / (window.input[1] * window.input[2]),
                                 i / window.input[2] % window.input[1], i % window.input[2]};
    for (int64_t k = 0; k < window.KernelSize(); ++k) {
      const Window::Sizes tap = {k / (window.kernel[1] * window.kernel[2]),
                                 k / window.kernel[2] % window.kernel[1], k % window.kernel[2]};
      int64_t target = 0;
      bool inside = true;
      for (size_t axis = 0; axis < Window::kAxes; ++axis) {
        const int64_t at = place[axis] * window.strides[axis] + tap[axis] * window.dilations[axis] -
                           window.begin[axis];
        inside = inside && at >= 0 && at < window.output[axis];
        target = target * window.output[axis] + at;
      }
      if (inside) y[target] += x[i] * w[k];
    }
  }
}

// Weights [channels, filters of a group, kernel...]; bias may be null.
template <typename T>
void ConvolveTransposed(const ConvolutionShape& shape, const T* data, const T* weights,
                        const T* bias, T* output) {
  const Window& window = shape.window;
  ParallelFor(shape.batch * shape.filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t map = begin; map < end; ++map) {
      const int64_t image = map / shape.filters;
      const int64_t filter = map % shape.filters;
      const int64_t group = filter / shape.GroupFilters();
      T* y = output + map * window.OutputSize();
      std::fill(y, y + window.OutputSize(), bias == nullptr ? T(0) : bias[filter]);
      for (int64_t c = 0; c < shape.GroupChannels(); ++c) {
        const int64_t channel = group * shape.GroupChannels() + c;
        const int64_t kernel = channel * shape.GroupFilters() + filter % shape.GroupFilters();
        SpreadMap(window, data + (image * shape.channels + channel) * window.InputSize(),
                  weights + kernel * window.KernelSize(), y);
      }
    }
  });
}

}  // namespace plimsoll::kernels::cpu
