#include <algorithm>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Images read at places that a grid gives.
namespace plimsoll::kernels::cpu {
namespace {

constexpr size_t kMostAxes = 8;
constexpr int kMostTaps = 4;

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct Sampling {
  Interpolation interpolation;
  Padding padding;
  bool align_corners;
  int64_t batches;
  int64_t channels;
  int64_t points;  // of the grid, for one image
  Dims image;      // the axes of one channel
  Dims strides;
};

// Grid coordinates go from -1 to 1, from edge to edge or from centre to centre of the last pixels.
double ToPixels(double coordinate, int64_t length, bool align_corners) {
  const auto size = static_cast<double>(length);
  return align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
}

// Thrown back at both ends as often as it takes.
double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  const double distance = std::fmod(std::abs(x - low), 2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

double Padded(const Sampling& sampling, double x, int64_t length) {
  const auto last = static_cast<double>(length - 1);
  const double low = sampling.align_corners ? 0 : -0.5;
  const double high = sampling.align_corners ? last : last + 0.5;
  if (x >= low && x <= high) return x;
  if (sampling.padding == Padding::kBorder) return std::clamp(x, 0.0, last);
  return sampling.padding == Padding::kReflection ? Reflected(x, low, high) : x;
}

// The pixels along one axis that a sample is made of; a place of -1 is read as zero.
struct Taps {
  int count = 0;
  int64_t offsets[kMostTaps];
  double weights[kMostTaps];
};

int64_t PixelAt(const Sampling& sampling, double place, int64_t length) {
  constexpr double kFar = 1e9;
  const double x = std::isnan(place) ? -kFar : std::clamp(place, -kFar, kFar);
  const auto pixel = static_cast<int64_t>(x);
  if (pixel >= 0 && pixel < length) return pixel;
  if (sampling.padding == Padding::kZeros) return -1;
  const double inside = Padded(sampling, x, length);
  return std::clamp<int64_t>(static_cast<int64_t>(inside), 0, length - 1);
}

double CubicWeight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::abs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
}

Taps TapsAt(const Sampling& sampling, double coordinate, size_t axis) {
  const int64_t length = sampling.image[axis];
  double x = ToPixels(coordinate, length, sampling.align_corners);
  if (sampling.interpolation == Interpolation::kNearest) x = std::nearbyint(x);
  // Cubic weights are those of the place itself: at a border its pixels are brought back, not it.
  const bool by_pixel =
      sampling.interpolation == Interpolation::kCubic && sampling.padding == Padding::kBorder;
  if (!by_pixel) x = Padded(sampling, x, length);
  Taps taps;
  const auto add = [&](double place, double weight) {
    const int64_t pixel = PixelAt(sampling, place, length);
    taps.offsets[taps.count] = pixel < 0 ? -1 : pixel * sampling.strides[axis];
    taps.weights[taps.count++] = weight;
  };
  if (sampling.interpolation == Interpolation::kLinear && x >= 0 &&
      x < static_cast<double>(length - 1)) {
    const auto pixel = static_cast<int64_t>(x);
    const double behind = x - static_cast<double>(pixel);
    taps.count = 2;
    taps.offsets[0] = pixel * sampling.strides[axis];
    taps.offsets[1] = taps.offsets[0] + sampling.strides[axis];
    taps.weights[0] = 1 - behind;
    taps.weights[1] = behind;
    return taps;
  }
  const double first = std::floor(x);
  switch (sampling.interpolation) {
    case Interpolation::kNearest:
      add(x, 1);
      break;
    case Interpolation::kLinear:
      add(first, 1 - (x - first));
      add(first + 1, x - first);
      break;
    case Interpolation::kCubic:
      for (int i = -1; i < 3; ++i) add(first + i, CubicWeight(x - first - i));
  }
  return taps;
}

template <typename T>
double Sampled(const T* image, std::span<const Taps> axes, int64_t offset) {
  if (axes.empty()) return static_cast<double>(Wide<T>(image[offset]));
  double sum = 0;
  for (int i = 0; i < axes[0].count; ++i) {
    if (axes[0].offsets[i] < 0) continue;
    sum += axes[0].weights[i] * Sampled(image, axes.subspan(1), offset + axes[0].offsets[i]);
  }
  return sum;
}

// Whether a sample lies between four pixels that all are there: most do.
bool IsBetweenFour(std::span<const Taps> axes) {
  return axes.size() == 2 && axes[0].count == 2 && axes[1].count == 2 &&
         std::min(
             {axes[0].offsets[0], axes[0].offsets[1], axes[1].offsets[0], axes[1].offsets[1]}) >= 0;
}

template <typename T>
double SampledOfFour(const T* image, const Taps& down, const Taps& across) {
  const auto row = [&](int64_t offset) {
    return across.weights[0] * static_cast<double>(Wide<T>(image[offset + across.offsets[0]])) +
           across.weights[1] * static_cast<double>(Wide<T>(image[offset + across.offsets[1]]));
  };
  return down.weights[0] * row(down.offsets[0]) + down.weights[1] * row(down.offsets[1]);
}

template <typename T>
void RunGridSample(const Sampling& sampling, graph::DataType grid_type, const KernelCall& call) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  const size_t rank = sampling.image.size();
  const int64_t channel = ElementCount(sampling.image);
  ParallelFor(sampling.batches * sampling.points, 256, [&](int64_t begin, int64_t end) {
    Taps taps[kMostAxes];
    for (int64_t point = begin; point < end; ++point) {
      // The grid names the last axis of the image first.
      for (size_t axis = 0; axis < rank; ++axis) {
        const auto at = point * static_cast<int64_t>(rank) + static_cast<int64_t>(rank - 1 - axis);
        taps[axis] = TapsAt(sampling, LoadDouble(grid_type, call.inputs[1], at), axis);
      }
      const int64_t batch = point / sampling.points;
      const int64_t place = point % sampling.points;
      const bool between_four = IsBetweenFour(std::span(taps, rank));
      for (int64_t c = 0; c < sampling.channels; ++c) {
        const int64_t image = batch * sampling.channels + c;
        const T* const first = from + image * channel;
        const double value = between_four ? SampledOfFour(first, taps[0], taps[1])
                                          : Sampled(first, std::span(taps, rank), 0);
        to[image * sampling.points + place] = static_cast<T>(static_cast<Wide<T>>(value));
      }
    }
  });
}

Result<KernelPointer> MakeGridSample(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const size_t rank = data.dims.size() - 2;
  if (data.dims.size() < 3 || rank > kMostAxes) return site.Unsupported("images of that rank");
  const std::string mode = site.attributes().String("mode", "linear");
  const std::string padding = site.attributes().String("padding_mode", "zeros");
  Sampling sampling;
  if (mode == "nearest") {
    sampling.interpolation = Interpolation::kNearest;
  } else if (mode == "linear" || mode == "bilinear") {
    sampling.interpolation = Interpolation::kLinear;
  } else if (mode == "cubic" || mode == "bicubic") {
    sampling.interpolation = Interpolation::kCubic;
  } else {
    return site.Unsupported(StrCat("mode is '", mode, "'"));
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return site.Unsupported(StrCat("padding_mode is '", padding, "'"));
  }
  sampling.padding = padding == "zeros"    ? Padding::kZeros
                     : padding == "border" ? Padding::kBorder
                                           : Padding::kReflection;
  sampling.align_corners = site.attributes().Int("align_corners", 0) != 0;
  sampling.image.assign(data.dims.begin() + 2, data.dims.end());
  sampling.strides = StridesOf(sampling.image);
  sampling.batches = data.dims[0];
  sampling.channels = data.dims[1];
  sampling.points = ElementCount(std::span(site.outputs[0].dims).subspan(2));
  if (ElementCount(sampling.image) == 0) return site.BadInput("the images are empty");
  if (site.inputs[1].elements() !=
      sampling.batches * sampling.points * static_cast<int64_t>(rank)) {
    return site.BadInput("the grid does not fit the data");
  }
  KernelPointer kernel;
  VisitType<AllFloats>(data.type, [&]<typename T>() {
    kernel = MakeKernel([sampling, grid_type = site.inputs[1].type](const KernelCall& call) {
      RunGridSample<T>(sampling, grid_type, call);
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kGridSampleRows[] = {
    {"", "GridSample", 16, graph::kNewest, MakeGridSample},
};

}  // namespace

std::span<const KernelRow> GridSampleKernels() { return kGridSampleRows; }

}  // namespace plimsoll::kernels::cpu
