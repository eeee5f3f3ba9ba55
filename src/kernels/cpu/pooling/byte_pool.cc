#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Pooling of bytes, of com.microsoft: NhwcMaxPool, QLinearAveragePool, QLinearGlobalAveragePool.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;
using PooledBytes = TypeList<int8_t, uint8_t>;

// How images lie: a step from one channel to the next and from one place to the next.
struct ImageLayout {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t channel_step = 0;
  int64_t place_step = 0;

  static ImageLayout Of(int64_t batch, int64_t channels, int64_t places, bool channels_last) {
    return channels_last ? ImageLayout{batch, channels, 1, channels}
                         : ImageLayout{batch, channels, places, 1};
  }
};

Dims WithChannelsFirst(const Dims& dims, bool channels_last) {
  if (!channels_last) return dims;
  Dims moved{dims.front(), dims.back()};
  moved.insert(moved.end(), dims.begin() + 1, dims.end() - 1);
  return moved;
}

// The window of a pool, whichever way its images lie.
Result<Window> ReadPoolWindowOf(const KernelSite& site, const Dims& data, const Dims& output) {
  const std::vector<int64_t>* kernel = site.attributes().Ints("kernel_shape");
  if (kernel == nullptr) return site.BadInput("attribute kernel_shape is missing");
  return ReadWindow(site, data, *kernel, output);
}

// Calls body(place) for each place of the input that one place of the output sees.
template <typename Body>
void ForEachTap(const Window& window, int64_t output_place, const Body& body) {
  const int64_t x = output_place % window.output[2] * window.strides[2] - window.begin[2];
  const int64_t y =
      output_place / window.output[2] % window.output[1] * window.strides[1] - window.begin[1];
  const int64_t z =
      output_place / window.output[2] / window.output[1] * window.strides[0] - window.begin[0];
  for (int64_t a = 0; a < window.kernel[0]; ++a) {
    const int64_t plane = z + a * window.dilations[0];
    if (plane < 0 || plane >= window.input[0]) continue;
    for (int64_t b = 0; b < window.kernel[1]; ++b) {
      const int64_t line = y + b * window.dilations[1];
      if (line < 0 || line >= window.input[1]) continue;
      for (int64_t c = 0; c < window.kernel[2]; ++c) {
        const int64_t column = x + c * window.dilations[2];
        if (column < 0 || column >= window.input[2]) continue;
        body((plane * window.input[1] + line) * window.input[2] + column);
      }
    }
  }
}

Result<KernelPointer> MakeNhwcMaxPool(KernelSite& site) {
  const Dims data = WithChannelsFirst(site.inputs[0].dims, true);
  const Dims output = WithChannelsFirst(site.outputs[0].dims, true);
  PLIMSOLL_ASSIGN(const Window window, ReadPoolWindowOf(site, data, output));
  KernelPointer kernel;
  VisitType<PooledBytes>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([window, batch = data[0], channels = data[1]](const KernelCall& call) {
      const int64_t places = window.OutputSize();
      ParallelFor(batch * places, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* const x =
              static_cast<const T*>(call.inputs[0]) + i / places * window.InputSize() * channels;
          T* const y = static_cast<T*>(call.outputs[0]) + i * channels;
          std::fill_n(y, channels, std::numeric_limits<T>::lowest());
          ForEachTap(window, i % places, [&](int64_t place) {
            const T* const from = x + place * channels;
            for (int64_t c = 0; c < channels; ++c) y[c] = std::max(y[c], from[c]);
          });
        }
      });
    });
  });
  if (kernel == nullptr) return site.Unsupported("NhwcMaxPool is of 8-bit integers");
  return kernel;
}

// Inputs 1 to 4: scale and zero point of the data, and of the result.
struct PoolScales {
  DataType type;

  static Result<PoolScales> Read(const KernelSite& site) {
    if (!IsByte(site.inputs[0].type)) {
      return site.Unsupported(
          StrCat("there is no ", site.node().op, " of ", graph::Name(site.inputs[0].type)));
    }
    for (const size_t input : {1, 2, 3, 4}) {
      if (site.has_input(input) && site.inputs[input].elements() != 1) {
        return site.BadInput("a scale or zero point is not one for the whole tensor");
      }
    }
    return PoolScales{site.inputs[0].type};
  }
  int64_t Zero(const KernelCall& call, size_t input) const {
    const void* const zero = input < call.inputs.size() ? call.inputs[input] : nullptr;
    return zero == nullptr ? 0 : LoadInteger(type, zero, 0);
  }
  static float Scale(const KernelCall& call, size_t input) {
    return *static_cast<const float*>(call.inputs[input]);
  }
};

Result<KernelPointer> MakeQLinearAveragePool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const PoolScales scales, PoolScales::Read(site));
  const bool last = site.attributes().Int("channels_last", 0) != 0;
  const Dims data = WithChannelsFirst(site.inputs[0].dims, last);
  const Dims output = WithChannelsFirst(site.outputs[0].dims, last);
  PLIMSOLL_ASSIGN(const Window window, ReadPoolWindowOf(site, data, output));
  const bool with_pads = site.attributes().Int("count_include_pad", 0) != 0;
  const float raised = site.attributes().Int("as_unsigned", 0) != 0 ? 128 : 0;
  const ImageLayout in = ImageLayout::Of(data[0], data[1], window.InputSize(), last);
  const ImageLayout out = ImageLayout::Of(data[0], data[1], window.OutputSize(), last);
  return MakeKernel([=](const KernelCall& call) {
    const float x_scale = PoolScales::Scale(call, 1);
    const float y_scale = PoolScales::Scale(call, 3);
    const int64_t x_zero = scales.Zero(call, 2);
    const auto y_zero = static_cast<float>(scales.Zero(call, 4));
    VisitType<PooledBytes>(scales.type, [&]<typename T>() {
      ParallelFor(in.batch * in.channels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t map = begin; map < end; ++map) {
          const int64_t image = map / in.channels;
          const int64_t channel = map % in.channels;
          const T* const x = static_cast<const T*>(call.inputs[0]) +
                             image * in.channels * window.InputSize() + channel * in.channel_step;
          const int64_t to = image * in.channels * window.OutputSize() + channel * out.channel_step;
          for (int64_t place = 0; place < window.OutputSize(); ++place) {
            float sum = 0;
            int64_t taps = 0;
            ForEachTap(window, place, [&](int64_t at) {
              sum += x_scale * static_cast<float>(x[at * in.place_step] - x_zero);
              ++taps;
            });
            // ONNX Runtime counts taps behind the padding too, where ceil_mode lets windows reach
            // there.
            if (with_pads) taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
            const float mean = taps == 0 ? 0 : sum / static_cast<float>(taps);
            // ONNX Runtime adds the zero point in float and rounds then: a mean that lies half a
            // last bit beside a tie becomes one.
            const float rounded = std::nearbyint(mean / y_scale + (y_zero + raised)) - raised;
            StoreQuantized(scales.type, rounded, 0, call.outputs[0], to + place * out.place_step);
          }
        }
      });
    });
  });
}

Result<KernelPointer> MakeQLinearGlobalAveragePool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const PoolScales scales, PoolScales::Read(site));
  const Dims data =
      WithChannelsFirst(site.inputs[0].dims, site.attributes().Int("channels_last", 0) != 0);
  const int64_t places = ElementCount(std::span(data).subspan(2));
  const ImageLayout in =
      ImageLayout::Of(data[0], data[1], places, site.attributes().Int("channels_last", 0) != 0);
  return MakeKernel([=](const KernelCall& call) {
    // Rounded to float, as ONNX Runtime has it, for sums that lie beside a tie.
    const float factor =
        PoolScales::Scale(call, 1) / (PoolScales::Scale(call, 3) * static_cast<float>(places));
    const int64_t x_zero = scales.Zero(call, 2);
    const int64_t y_zero = scales.Zero(call, 4);
    VisitType<PooledBytes>(scales.type, [&]<typename T>() {
      ParallelFor(in.batch * in.channels, 16, [&](int64_t begin, int64_t end) {
        for (int64_t map = begin; map < end; ++map) {
          const T* const x = static_cast<const T*>(call.inputs[0]) +
                             map / in.channels * in.channels * places +
                             map % in.channels * in.channel_step;
          int64_t sum = 0;
          for (int64_t place = 0; place < places; ++place) sum += x[place * in.place_step];
          StoreQuantized(scales.type, static_cast<float>(sum - places * x_zero) * factor, y_zero,
                         call.outputs[0], map);
        }
      });
    });
  });
}

constexpr KernelRow kBytePoolRows[] = {
    {graph::kContributedDomain, "NhwcMaxPool", 1, graph::kNewest, MakeNhwcMaxPool},
    {graph::kContributedDomain, "QLinearAveragePool", 1, graph::kNewest, MakeQLinearAveragePool},
    {graph::kContributedDomain, "QLinearGlobalAveragePool", 1, graph::kNewest,
     MakeQLinearGlobalAveragePool},
};

}  // namespace

std::span<const KernelRow> BytePoolKernels() { return kBytePoolRows; }

}  // namespace plimsoll::kernels::cpu
