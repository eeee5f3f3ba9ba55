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

// The pixels around each of some points, and what each of them counts.
template <typename W>
struct FourPixels {
  static constexpr int64_t kMostPoints = 128;
  int64_t offsets[4][kMostPoints];
  W weights[4][kMostPoints];

  void Set(int64_t point, const Taps& down, const Taps& across) {
    for (size_t i = 0; i < 4; ++i) {
      offsets[i][point] = down.offsets[i / 2] + across.offsets[i % 2];
      weights[i][point] = static_cast<W>(down.weights[i / 2] * across.weights[i % 2]);
    }
  }
  void Leave(int64_t point) {
    for (size_t i = 0; i < 4; ++i) offsets[i][point] = 0;
    for (size_t i = 0; i < 4; ++i) weights[i][point] = 0;
  }
};

template <typename T>
class GridSampler {
 public:
  GridSampler(const Sampling& sampling, graph::DataType grid_type, const KernelCall& call)
      : sampling_(sampling),
        grid_type_(grid_type),
        grid_(call.inputs[1]),
        from_(static_cast<const T*>(call.inputs[0])),
        to_(static_cast<T*>(call.outputs[0])) {}

  void Run() const {
    ParallelFor(sampling_.batches * sampling_.points, 256, [&](int64_t begin, int64_t end) {
      const bool between_four =
          sampling_.interpolation == Interpolation::kLinear && sampling_.image.size() == 2;
      for (int64_t point = begin; point < end;) {
        const int64_t left = std::min(end - point, sampling_.points - point % sampling_.points);
        const int64_t count = std::min(left, Pixels::kMostPoints);
        if (between_four) {
          RunBlock(point, count);
        } else {
          for (int64_t i = 0; i < count; ++i) RunPoint(point + i);
        }
        point += count;
      }
    });
  }

 private:
  using W = Wide<T>;
  using Pixels = FourPixels<W>;

  // The grid names the last axis of the image first.
  Taps TapsOf(int64_t point, size_t axis) const {
    const size_t rank = sampling_.image.size();
    const auto at = point * static_cast<int64_t>(rank) + static_cast<int64_t>(rank - 1 - axis);
    return TapsAt(sampling_, LoadDouble(grid_type_, grid_, at), axis);
  }
  const T* ImageAt(int64_t point, int64_t channel) const {
    const int64_t image = point / sampling_.points * sampling_.channels + channel;
    return from_ + image * ElementCount(sampling_.image);
  }
  T* ResultAt(int64_t point, int64_t channel) const {
    const int64_t image = point / sampling_.points * sampling_.channels + channel;
    return to_ + image * sampling_.points + point % sampling_.points;
  }

  void RunPoint(int64_t point) const {
    const size_t rank = sampling_.image.size();
    Taps taps[kMostAxes];
    for (size_t axis = 0; axis < rank; ++axis) taps[axis] = TapsOf(point, axis);
    for (int64_t c = 0; c < sampling_.channels; ++c) {
      const double value = Sampled(ImageAt(point, c), std::span(taps, rank), 0);
      *ResultAt(point, c) = static_cast<T>(static_cast<W>(value));
    }
  }

  // Points of one image, most of which lie between four pixels.
  void RunBlock(int64_t point, int64_t count) const {
    Pixels pixels;
    int64_t others[Pixels::kMostPoints];
    int64_t other_count = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Taps taps[] = {TapsOf(point + i, 0), TapsOf(point + i, 1)};
      if (IsBetweenFour(taps)) {
        pixels.Set(i, taps[0], taps[1]);
      } else {
        pixels.Leave(i);
        others[other_count++] = point + i;
      }
    }
    for (int64_t c = 0; c < sampling_.channels; ++c) {
      const T* const image = ImageAt(point, c);
      T* const results = ResultAt(point, c);
      const auto pixel = [&](size_t tap, int64_t i) {
        return pixels.weights[tap][i] * static_cast<W>(image[pixels.offsets[tap][i]]);
      };
      for (int64_t i = 0; i < count; ++i) {
        results[i] = static_cast<T>((pixel(0, i) + pixel(1, i)) + (pixel(2, i) + pixel(3, i)));
      }
    }
    for (int64_t i = 0; i < other_count; ++i) RunPoint(others[i]);
  }

  const Sampling& sampling_;
  const graph::DataType grid_type_;
  const void* const grid_;
  const T* const from_;
  T* const to_;
};

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
      GridSampler<T>(sampling, grid_type, call).Run();
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
