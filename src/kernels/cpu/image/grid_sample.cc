#include <algorithm>
#include <array>
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
  bool one_image;  // for all grids
  int64_t batches;
  int64_t channels;
  int64_t points;  // of the grid, for one image
  Dims image;      // the axes of one channel
  Dims strides;
};

// Grid coordinates go from -1 to 1, from edge to edge or from centre to centre of the last pixels.
// Each step is rounded to W, as in ONNX Runtime.
template <typename W>
double ToPixels(W coordinate, int64_t length, bool align_corners) {
  const auto size = static_cast<W>(length);
  const W from_edge = coordinate + 1;
  return static_cast<double>(align_corners ? from_edge / 2 * (size - 1)
                                           : (from_edge * size - 1) / 2);
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

Taps TapsAt(const Sampling& sampling, double place, size_t axis) {
  const int64_t length = sampling.image[axis];
  double x = place;
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

// Where some points of one image lie along one of its two axes.
struct AxisPlaces {
  static constexpr int64_t kMostPoints = 128;
  static constexpr int64_t kMostPixels = 1 << 30;
  int32_t pixels[kMostPoints];  // the nearest, or the last one before it; may be outside
  double behind[kMostPoints];   // how far behind that it is, from 0 to 1

  // `places` are changed.
  void Set(std::span<double> places, int64_t length, bool nearest) {
    constexpr double kRounds = 6755399441055744.0;  // from which on doubles are whole numbers
    constexpr double kBefore = 2;
    const auto most = static_cast<double>(length + 1);
    for (double& place : places) {
      place = place > -kBefore ? place : -kBefore;  // not a number: outside
      place = place < most ? place : most;
    }
    if (nearest) {
      for (double& place : places) place = (place + kRounds) - kRounds;
    }
    for (size_t i = 0; i < places.size(); ++i) {
      pixels[i] = static_cast<int32_t>(places[i] + kBefore) - static_cast<int32_t>(kBefore);
      behind[i] = places[i] - static_cast<double>(pixels[i]);
    }
  }
};

bool IsInside(int64_t pixel, int64_t length) {
  return static_cast<uint64_t>(pixel) < static_cast<uint64_t>(length);
}

// The pixels that each of some points is made of, and what each of them counts. One at -1 is read
// as zero.
template <typename W>
struct PointPixels {
  int64_t offsets[4][AxisPlaces::kMostPoints];
  // Of each pixel or, by rows, of the two columns and of the two rows.
  W weights[4][AxisPlaces::kMostPoints];
};

template <typename T>
class GridSampler {
 public:
  GridSampler(const Sampling& sampling, graph::DataType grid_type, const KernelCall& call)
      : sampling_(sampling),
        image_size_(ElementCount(sampling.image)),
        by_rows_(sampling.align_corners || sampling.padding != Padding::kZeros),
        grid_type_(grid_type),
        grid_(call.inputs[1]),
        from_(static_cast<const T*>(call.inputs[0])),
        to_(static_cast<T*>(call.outputs[0])) {}

  void Run() const {
    const Dims& image = sampling_.image;
    const bool in_blocks = sampling_.interpolation != Interpolation::kCubic && image.size() == 2 &&
                           std::max(image[0], image[1]) < AxisPlaces::kMostPixels;
    ParallelFor(sampling_.batches * sampling_.points, 256, [&](int64_t begin, int64_t end) {
      for (int64_t point = begin; point < end;) {
        const int64_t left = std::min(end - point, sampling_.points - point % sampling_.points);
        const int64_t count = std::min(left, AxisPlaces::kMostPoints);
        if (in_blocks) {
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
  using Pixels = PointPixels<W>;

  // The grid names the last axis of the image first.
  W CoordinateAt(int64_t point, size_t axis) const {
    const size_t rank = sampling_.image.size();
    const auto at = point * static_cast<int64_t>(rank) + static_cast<int64_t>(rank - 1 - axis);
    if (grid_type_ == graph::DataType::kFloat32) {
      return static_cast<W>(static_cast<const float*>(grid_)[at]);
    }
    return static_cast<W>(LoadDouble(grid_type_, grid_, at));
  }
  double PlaceAt(int64_t point, size_t axis) const {
    return ToPixels<W>(CoordinateAt(point, axis), sampling_.image[axis], sampling_.align_corners);
  }
  const T* ImageAt(int64_t point, int64_t channel) const {
    const int64_t image = sampling_.one_image ? 0 : point / sampling_.points;
    return from_ + (image * sampling_.channels + channel) * image_size_;
  }
  T* ResultAt(int64_t point, int64_t channel) const {
    const int64_t image = point / sampling_.points * sampling_.channels + channel;
    return to_ + image * sampling_.points + point % sampling_.points;
  }

  void RunPoint(int64_t point) const {
    const size_t rank = sampling_.image.size();
    Taps taps[kMostAxes];
    for (size_t axis = 0; axis < rank; ++axis) {
      taps[axis] = TapsAt(sampling_, PlaceAt(point, axis), axis);
    }
    for (int64_t c = 0; c < sampling_.channels; ++c) {
      const double value = Sampled(ImageAt(point, c), std::span(taps, rank), 0);
      *ResultAt(point, c) = static_cast<T>(static_cast<W>(value));
    }
  }

  // Points of one image. What is outside is 0, or made one by one.
  void RunBlock(int64_t point, int64_t count) const {
    const bool nearest = sampling_.interpolation == Interpolation::kNearest;
    AxisPlaces axes[2];
    double places[AxisPlaces::kMostPoints];
    for (size_t axis = 0; axis < 2; ++axis) {
      for (int64_t i = 0; i < count; ++i) places[i] = PlaceAt(point + i, axis);
      axes[axis].Set(std::span(places, static_cast<size_t>(count)), sampling_.image[axis], nearest);
    }
    Pixels pixels;
    const bool all_inside =
        nearest ? FindNearest(axes, count, pixels) : FindFour(axes, count, pixels);
    for (int64_t c = 0; c < sampling_.channels; ++c) {
      const T* const image = ImageAt(point, c);
      T* const results = ResultAt(point, c);
      if (nearest) {
        TakeNearest(pixels, image, results, count);
      } else if (all_inside) {
        // The other three lie beside and below the first.
        const int64_t apart[] = {0, 1, sampling_.image[1], sampling_.image[1] + 1};
        SumFour(pixels, results, count, [&](int64_t tap, int64_t i) {
          return static_cast<W>(image[pixels.offsets[0][i] + apart[tap]]);
        });
      } else {
        SumFour(pixels, results, count, [&](int64_t tap, int64_t i) {
          const int64_t at = pixels.offsets[tap][i];
          return at < 0 ? W(0) : static_cast<W>(image[at]);
        });
      }
    }
    if (all_inside || sampling_.padding == Padding::kZeros) return;
    const int taps = nearest ? 1 : 4;
    for (int64_t i = 0; i < count; ++i) {
      bool inside = true;
      for (int tap = 0; tap < taps; ++tap) inside &= pixels.offsets[tap][i] >= 0;
      if (!inside) RunPoint(point + i);
    }
  }

  // Gives whether all are pixels of the image.
  bool FindNearest(const AxisPlaces (&axes)[2], int64_t count, Pixels& pixels) const {
    const auto [height, width] = std::pair(sampling_.image[0], sampling_.image[1]);
    bool all_inside = true;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = axes[0].pixels[i];
      const int64_t column = axes[1].pixels[i];
      const bool inside = IsInside(row, height) && IsInside(column, width);
      pixels.offsets[0][i] = inside ? row * width + column : -1;
      all_inside &= inside;
    }
    return all_inside;
  }

  // Likewise, with what they count.
  bool FindFour(const AxisPlaces (&axes)[2], int64_t count, Pixels& pixels) const {
    const auto [height, width] = std::pair(sampling_.image[0], sampling_.image[1]);
    bool all_inside = true;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = axes[0].pixels[i];
      const int64_t column = axes[1].pixels[i];
      const bool rows[] = {IsInside(row, height), IsInside(row + 1, height)};
      const bool columns[] = {IsInside(column, width), IsInside(column + 1, width)};
      const double below = axes[0].behind[i];
      const double right = axes[1].behind[i];
      const W down[] = {static_cast<W>(1 - below), static_cast<W>(below)};
      const W across[] = {static_cast<W>(1 - right), static_cast<W>(right)};
      const int64_t first = row * width + column;
      for (int64_t tap = 0; tap < 4; ++tap) {
        const int64_t y = tap / 2;
        const int64_t x = tap % 2;
        pixels.offsets[tap][i] = rows[y] && columns[x] ? first + y * width + x : -1;
        pixels.weights[tap][i] = down[y] * across[x];
      }
      all_inside &= rows[0] && rows[1] && columns[0] && columns[1];
    }
    for (int64_t i = 0; by_rows_ && i < count; ++i) {
      for (int64_t axis = 0; axis < 2; ++axis) {
        const double behind = axes[1 - axis].behind[i];
        pixels.weights[2 * axis][i] = static_cast<W>(1 - behind);
        pixels.weights[2 * axis + 1][i] = static_cast<W>(behind);
      }
    }
    return all_inside;
  }

  static void TakeNearest(const Pixels& pixels, const T* image, T* results, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = pixels.offsets[0][i];
      results[i] = at < 0 ? T(0) : image[at];
    }
  }

  // `pixel(tap, i)` gives them. In the order of ONNX Runtime.
  template <typename Pixel>
  void SumFour(const Pixels& pixels, T* results, int64_t count, const Pixel& pixel) const {
    const auto& weights = pixels.weights;
    if (by_rows_) {
      const auto row = [&](int64_t tap, int64_t i) {
        return weights[0][i] * pixel(tap, i) + weights[1][i] * pixel(tap + 1, i);
      };
      for (int64_t i = 0; i < count; ++i) {
        results[i] = static_cast<T>(weights[2][i] * row(0, i) + weights[3][i] * row(2, i));
      }
      return;
    }
    const auto part = [&](int64_t tap, int64_t i) { return weights[tap][i] * pixel(tap, i); };
    for (int64_t i = 0; i < count; ++i) {
      results[i] = static_cast<T>(part(0, i) + part(1, i) + part(2, i) + part(3, i));
    }
  }

  const Sampling& sampling_;
  const int64_t image_size_;
  const bool by_rows_;
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
  sampling.batches = site.inputs[1].dims[0];
  sampling.one_image = data.dims[0] == 1;
  sampling.channels = data.dims[1];
  sampling.points = ElementCount(std::span(site.outputs[0].dims).subspan(2));
  if (ElementCount(sampling.image) == 0) return site.BadInput("the images are empty");
  if ((!sampling.one_image && data.dims[0] != sampling.batches) ||
      site.inputs[1].elements() !=
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
