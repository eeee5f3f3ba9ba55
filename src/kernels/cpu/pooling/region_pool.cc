#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Regions of an image pooled to one size: RoiAlign samples between pixels, MaxRoiPool takes whole
// ones.
namespace plimsoll::kernels::cpu {
namespace {

struct Pooling {
  int64_t batches;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t regions;
  int64_t pooled_height;
  int64_t pooled_width;
  double scale;
  bool maximum;     // RoiAlign: the largest weighted pixel instead of the samples' mean
  bool half_pixel;  // RoiAlign: pixels are points in their middle
  int64_t samples;  // RoiAlign: along each axis of a cell; 0: as many as it has pixels
  graph::DataType batch_type;
  Error outside;
};

// What places and weights are rounded to in each step, as in ONNX Runtime.
template <typename T>
using Place = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The pixels around a point of an image and their weights; none far outside.
template <typename W>
struct Corners {
  int64_t offsets[4] = {};
  W weights[4] = {};

  Corners(W y, W x, int64_t height, int64_t width) {
    const bool near =
        y >= -1 && y <= static_cast<W>(height) && x >= -1 && x <= static_cast<W>(width);
    if (!near) return;
    const auto split = [](W place, int64_t length, int64_t& low, int64_t& high) {
      const W inside = std::clamp(place, W(0), static_cast<W>(length - 1));
      low = static_cast<int64_t>(inside);
      high = std::min(low + 1, length - 1);
      return inside - static_cast<W>(low);
    };
    int64_t top, bottom, left, right;
    const W down = split(y, height, top, bottom);
    const W across = split(x, width, left, right);
    offsets[0] = top * width + left;
    offsets[1] = top * width + right;
    offsets[2] = bottom * width + left;
    offsets[3] = bottom * width + right;
    weights[0] = (1 - down) * (1 - across);
    weights[1] = (1 - down) * across;
    weights[2] = down * (1 - across);
    weights[3] = down * across;
  }
};

// One cell of one region's grid: `rows` by `columns` samples, evenly spread.
template <typename W>
struct Cell {
  W top, left, height, width;
  int64_t rows, columns;

  // Where a sample is: down, across.
  std::pair<W, W> SampleAt(int64_t row, int64_t column) const {
    return {top + (static_cast<W>(row) + W(0.5)) * height / static_cast<W>(rows),
            left + (static_cast<W>(column) + W(0.5)) * width / static_cast<W>(columns)};
  }
};

// The standard's maximum is that of the weighted pixels, not of their sums.
template <typename T>
Place<T> PoolCell(const Pooling& pooling, const T* image, const Cell<Place<T>>& cell) {
  using W = Place<T>;
  W sum = 0;
  W largest = 0;
  for (int64_t row = 0; row < cell.rows; ++row) {
    for (int64_t column = 0; column < cell.columns; ++column) {
      const auto [y, x] = cell.SampleAt(row, column);
      const Corners<W> corners(y, x, pooling.height, pooling.width);
      W sample = 0;
      for (int i = 0; i < 4; ++i) {
        const W value = corners.weights[i] * static_cast<W>(Wide<T>(image[corners.offsets[i]]));
        sample += value;
        largest = row + column + i == 0 ? value : std::max(largest, value);
      }
      sum += sample;
    }
  }
  if (pooling.maximum) return largest;
  return cell.rows * cell.columns == 0 ? 0 : sum / static_cast<W>(cell.rows * cell.columns);
}

// Two rows of two pixels side by side around a point of an image, and their weights: zero far
// outside.
template <typename W>
struct Sample {
  int64_t top, bottom;  // where the rows begin
  W weights[4];

  Sample() {}  // NOLINT: an array of them is not cleared
  Sample(const Pooling& pooling, W y, W x) {
    const Corners<W> corners(y, x, pooling.height, pooling.width);
    top = corners.offsets[0];
    bottom = corners.offsets[2];
    // At the right edge both pixels are the last one: the pair begins before it.
    const auto last = static_cast<int64_t>(top == corners.offsets[1] && top > 0);
    top -= last;
    bottom -= last;
    for (int i = 0; i < 4; i += 2) {
      const W both = corners.weights[i] + corners.weights[i + 1];
      weights[i] = last != 0 ? 0 : corners.weights[i];
      weights[i + 1] = last != 0 ? both : corners.weights[i + 1];
    }
  }

  template <typename T>
  W Of(const T* image) const {
    const auto pixel = [&](int64_t at) { return static_cast<W>(Wide<T>(image[at])); };
    return weights[0] * pixel(top) + weights[1] * pixel(top + 1) + weights[2] * pixel(bottom) +
           weights[3] * pixel(bottom + 1);
  }
};

// The grid of one region.
template <typename W>
struct Grid {
  W top, left, cell_height, cell_width;
  int64_t rows, columns;  // samples of a cell

  template <typename T>
  Grid(const Pooling& pooling, const T* corners) {
    const W offset = pooling.half_pixel ? W(0.5) : W(0);
    const auto corner = [&](int i) {
      return static_cast<W>(Wide<T>(corners[i])) * static_cast<W>(pooling.scale) - offset;
    };
    top = corner(1);
    left = corner(0);
    const W least = pooling.half_pixel ? -std::numeric_limits<W>::infinity() : 1;
    cell_height = std::max(corner(3) - top, least) / static_cast<W>(pooling.pooled_height);
    cell_width = std::max(corner(2) - left, least) / static_cast<W>(pooling.pooled_width);
    const auto samples = [&](W size) {
      constexpr double kMost = 1 << 20;
      const double wanted = std::isnan(size) ? 0 : std::clamp<double>(std::ceil(size), 0, kMost);
      return pooling.samples > 0 ? pooling.samples : static_cast<int64_t>(wanted);
    };
    rows = samples(cell_height);
    columns = samples(cell_width);
  }

  Cell<W> CellAt(int64_t row, int64_t column) const {
    return {top + static_cast<W>(row) * cell_height,
            left + static_cast<W>(column) * cell_width,
            cell_height,
            cell_width,
            rows,
            columns};
  }
};

// Means of cells, of which several have their samples prepared at once, for all channels.
template <typename T>
class MeanCells {
  using W = Place<T>;

 public:
  static bool Takes(const Pooling& pooling, const Grid<W>& grid) {
    return !pooling.maximum && pooling.width > 1 && grid.rows <= kMost && grid.columns <= kMost &&
           grid.rows * grid.columns <= kMost;
  }

  static void Run(const Pooling& pooling, const Grid<W>& grid, const T* images, T* to) {
    const int64_t cells = pooling.pooled_height * pooling.pooled_width;
    const int64_t per_cell = grid.rows * grid.columns;
    const int64_t at_once = per_cell == 0 ? cells : kMost / per_cell;
    const auto samples = static_cast<W>(std::max<int64_t>(per_cell, 1));
    for (int64_t first = 0; first < cells; first += at_once) {
      const int64_t last = std::min(first + at_once, cells);
      MeanCells prepared;
      for (int64_t cell = first; cell < last; ++cell) {
        prepared.Prepare(pooling,
                         grid.CellAt(cell / pooling.pooled_width, cell % pooling.pooled_width));
      }
      for (int64_t channel = 0; channel < pooling.channels; ++channel) {
        const T* image = images + channel * pooling.height * pooling.width;
        const Sample<W>* sample = prepared.samples_;
        for (int64_t cell = first; cell < last; ++cell) {
          W sum = 0;
          for (int64_t i = 0; i < per_cell; ++i) sum += (sample++)->Of(image);
          to[channel * cells + cell] = static_cast<T>(static_cast<Wide<T>>(sum / samples));
        }
      }
    }
  }

 private:
  static constexpr int64_t kMost = 256;

  MeanCells() = default;

  void Prepare(const Pooling& pooling, const Cell<W>& cell) {
    for (int64_t row = 0; row < cell.rows; ++row) {
      for (int64_t column = 0; column < cell.columns; ++column) {
        const auto [y, x] = cell.SampleAt(row, column);
        samples_[count_++] = Sample<W>(pooling, y, x);
      }
    }
  }

  int64_t count_ = 0;
  Sample<W> samples_[kMost];
};

template <typename T>
void AlignRegion(const Pooling& pooling, const T* images, const T* corners, T* to) {
  const Grid<Place<T>> grid(pooling, corners);
  if (MeanCells<T>::Takes(pooling, grid)) return MeanCells<T>::Run(pooling, grid, images, to);
  for (int64_t channel = 0; channel < pooling.channels; ++channel) {
    const T* image = images + channel * pooling.height * pooling.width;
    for (int64_t row = 0; row < pooling.pooled_height; ++row) {
      for (int64_t column = 0; column < pooling.pooled_width; ++column) {
        const Place<T> pooled = PoolCell(pooling, image, grid.CellAt(row, column));
        *to++ = static_cast<T>(static_cast<Wide<T>>(pooled));
      }
    }
  }
}

template <typename T>
Status RunAlign(const Pooling& pooling, const KernelCall& call) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  const auto* corners = static_cast<const T*>(call.inputs[1]);
  auto* to = static_cast<T*>(call.outputs[0]);
  for (int64_t i = 0; i < pooling.regions; ++i) {
    const int64_t batch = IndexAt(pooling.batch_type, call.inputs[2], i);
    if (batch < 0 || batch >= pooling.batches) {
      return IndexOutside(pooling.outside, batch, pooling.batches);
    }
  }
  const int64_t image = pooling.channels * pooling.height * pooling.width;
  const int64_t pooled = pooling.channels * pooling.pooled_height * pooling.pooled_width;
  ParallelFor(pooling.regions, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = IndexAt(pooling.batch_type, call.inputs[2], i);
      AlignRegion(pooling, from + batch * image, corners + i * 4, to + i * pooled);
    }
  });
  return {};
}

// The largest pixel from `first` up to `last` of a grid cell; an empty one gives 0.
template <typename T>
T LargestPixel(const Pooling& pooling, const T* image, int64_t top, int64_t bottom, int64_t left,
               int64_t right) {
  T largest{};
  bool found = false;
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left; x < right; ++x) {
      const T value = image[y * pooling.width + x];
      if (!found || Wide<T>(value) > Wide<T>(largest)) largest = value;
      found = true;
    }
  }
  return largest;
}

template <typename T>
Status RunMaxPool(const Pooling& pooling, const KernelCall& call) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  constexpr double kFar = 1e9;
  for (int64_t region = 0; region < pooling.regions; ++region) {
    const T* numbers = static_cast<const T*>(call.inputs[1]) + region * 5;
    const auto pixel = [&](int i) {
      const double place = std::round(static_cast<double>(Wide<T>(numbers[i])) * pooling.scale);
      return static_cast<int64_t>(std::clamp(std::isnan(place) ? 0 : place, -kFar, kFar));
    };
    const auto number = static_cast<double>(Wide<T>(numbers[0]));
    const int64_t batch = number >= 0 && number < kFar ? static_cast<int64_t>(number) : -1;
    if (batch < 0 || batch >= pooling.batches) {
      return IndexOutside(pooling.outside, batch, pooling.batches);
    }
    const auto cell_height = static_cast<double>(std::max<int64_t>(pixel(4) - pixel(2) + 1, 1)) /
                             static_cast<double>(pooling.pooled_height);
    const auto cell_width = static_cast<double>(std::max<int64_t>(pixel(3) - pixel(1) + 1, 1)) /
                            static_cast<double>(pooling.pooled_width);
    const auto edge = [](double place, int64_t start, int64_t length) {
      return std::clamp<int64_t>(static_cast<int64_t>(place) + start, 0, length);
    };
    for (int64_t channel = 0; channel < pooling.channels; ++channel) {
      const T* image = from + (batch * pooling.channels + channel) * pooling.height * pooling.width;
      for (int64_t row = 0; row < pooling.pooled_height; ++row) {
        const auto y = static_cast<double>(row);
        for (int64_t column = 0; column < pooling.pooled_width; ++column) {
          const auto x = static_cast<double>(column);
          *to++ = LargestPixel(pooling, image,
                               edge(std::floor(y * cell_height), pixel(2), pooling.height),
                               edge(std::ceil((y + 1) * cell_height), pixel(2), pooling.height),
                               edge(std::floor(x * cell_width), pixel(1), pooling.width),
                               edge(std::ceil((x + 1) * cell_width), pixel(1), pooling.width));
        }
      }
    }
  }
  return {};
}

Result<Pooling> ReadPooling(const KernelSite& site, int64_t numbers) {
  const Dims& image = site.inputs[0].dims;
  const Dims& out = site.outputs[0].dims;
  if (image.size() != 4 || out.size() != 4 || site.inputs[1].dims != Dims{out[0], numbers} ||
      site.inputs[1].type != site.inputs[0].type) {
    return site.BadInput(StrCat("a region is ", numbers, " numbers of the image's type"));
  }
  return Pooling{image[0],
                 image[1],
                 image[2],
                 image[3],
                 out[0],
                 out[2],
                 out[3],
                 site.attributes().Float("spatial_scale", 1),
                 false,
                 false,
                 0,
                 graph::DataType::kInt64,
                 site.BadInput("")};
}

Result<KernelPointer> MakeRoiAlign(KernelSite& site) {
  PLIMSOLL_ASSIGN(Pooling pooling, ReadPooling(site, 4));
  PLIMSOLL_TRY(CheckIndexType(site, 2));
  const std::string mode = site.attributes().String("mode", "avg");
  if (mode != "avg" && mode != "max") return site.Unsupported(StrCat("mode is '", mode, "'"));
  const std::string_view by_version = site.node().version < 16 ? "output_half_pixel" : "half_pixel";
  pooling.maximum = mode == "max";
  pooling.half_pixel =
      site.attributes().String("coordinate_transformation_mode", by_version) == "half_pixel";
  pooling.samples = site.attributes().Int("sampling_ratio", 0);
  pooling.batch_type = site.inputs[2].type;
  if (pooling.height * pooling.width == 0) return site.BadInput("the images are empty");
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([pooling](const KernelCall& call) { return RunAlign<T>(pooling, call); });
  });
  if (kernel == nullptr) return site.Unsupported("data is not of a floating-point type");
  return kernel;
}

Result<KernelPointer> MakeMaxRoiPool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Pooling pooling, ReadPooling(site, 5));
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([pooling](const KernelCall& call) { return RunMaxPool<T>(pooling, call); });
  });
  if (kernel == nullptr) return site.Unsupported("data is not of a floating-point type");
  return kernel;
}

constexpr KernelRow kRegionPoolRows[] = {
    {"", "RoiAlign", 10, graph::kNewest, MakeRoiAlign},
    {"", "MaxRoiPool", 1, graph::kNewest, MakeMaxRoiPool},
};

}  // namespace

std::span<const KernelRow> RegionPoolKernels() { return kRegionPoolRows; }

}  // namespace plimsoll::kernels::cpu
