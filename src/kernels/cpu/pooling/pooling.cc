#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/pooling/flat_max.h"
#include "kernels/cpu/pooling/pooling_loops.h"
#include "kernels/cpu/pooling/window_lines.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

Result<Window> ReadPoolWindow(const KernelSite& site) {
  const std::vector<int64_t>* kernel = site.attributes().Ints("kernel_shape");
  if (kernel == nullptr) return site.BadInput("attribute kernel_shape is missing");
  return ReadWindow(site, site.inputs[0].dims, *kernel, site.outputs[0].dims);
}

int64_t MapCount(const KernelSite& site) { return site.inputs[0].dims[0] * site.inputs[0].dims[1]; }

// Calls body(map) for each map of a channel of an image.
template <typename Body>
void ForEachMap(int64_t maps, const Body& body) {
  ParallelFor(maps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t map = begin; map < end; ++map) body(map);
  });
}

Error NoPooling(const KernelSite& site) {
  return site.Unsupported(
      StrCat("there is no ", site.node().op, " of ", graph::Name(site.inputs[0].type)));
}

template <typename T>
constexpr T kLeast = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();

template <typename T>
void MaxMap(const Window& window, const T* x, T* y) {
  if constexpr (!std::is_same_v<T, double>) {
    if (FitsWindowLines(window)) return MaxOfWindows(window, x, y);
  }
  std::fill(y, y + window.OutputSize(), kLeast<T>);
  FoldWindows(window, x, y,
              [](T best, T candidate) { return candidate > best ? candidate : best; });
}

// Where the largest element under one window lies: its place in the map, rows first.
template <typename T>
int64_t LargestPlace(const Window& window, const T* x, const Window::Sizes& place) {
  int64_t best = -1;
  for (int64_t tap = 0; tap < window.KernelSize(); ++tap) {
    const Window::Sizes taps = {tap / (window.kernel[1] * window.kernel[2]),
                                tap / window.kernel[2] % window.kernel[1], tap % window.kernel[2]};
    int64_t at = 0;
    bool inside = true;
    for (size_t axis = 0; axis < Window::kAxes; ++axis) {
      const int64_t along = place[axis] * window.strides[axis] +
                            taps[axis] * window.dilations[axis] - window.begin[axis];
      inside = inside && along >= 0 && along < window.input[axis];
      at = at * window.input[axis] + along;
    }
    if (inside && (best < 0 || x[at] > x[best])) best = at;
  }
  return best;
}

// A place counted rows first, counted columns first.
int64_t ColumnsFirst(const Window& window, int64_t place) {
  const int64_t column = place % window.input[2];
  const int64_t row = place / window.input[2] % window.input[1];
  const int64_t plane = place / window.input[2] / window.input[1];
  return (column * window.input[1] + row) * window.input[0] + plane;
}

template <typename T>
void MaxMapWithPlaces(const Window& window, const T* x, int64_t base, bool columns_first, T* y,
                      int64_t* places) {
  for (int64_t i = 0; i < window.OutputSize(); ++i) {
    const int64_t best =
        LargestPlace(window, x,
                     {i / (window.output[1] * window.output[2]),
                      i / window.output[2] % window.output[1], i % window.output[2]});
    y[i] = best < 0 ? kLeast<T> : x[best];
    places[i] = best < 0 ? -1 : base + (columns_first ? ColumnsFirst(window, best) : best);
  }
}

Result<KernelPointer> MakeMaxPool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Window window, ReadPoolWindow(site));
  const bool columns_first = site.attributes().Int("storage_order", 0) != 0;
  const bool with_places = site.has_output(1);
  const int64_t maps = MapCount(site);
  KernelPointer kernel;
  using Types = TypeList<float, double, int8_t, uint8_t>;
  VisitType<Types>(site.inputs[0].type, [&]<typename T>() {
    if constexpr (sizeof(T) == 1) {
      if (!with_places && FlatMax::Fits(window)) {
        kernel = MakeKernel([flat = FlatMax(window), window, maps](const KernelCall& call) {
          const auto* const x = static_cast<const uint8_t*>(call.inputs[0]);
          auto* const y = static_cast<uint8_t*>(call.outputs[0]);
          ForEachMap(maps, [&](int64_t map) {
            flat.Run(x + map * window.InputSize(), std::is_signed_v<T>,
                     y + map * window.OutputSize());
          });
        });
        return;
      }
    }
    kernel = MakeKernel([window, columns_first, with_places, maps](const KernelCall& call) {
      const T* const x = static_cast<const T*>(call.inputs[0]);
      T* const y = static_cast<T*>(call.outputs[0]);
      ForEachMap(maps, [&](int64_t map) {
        const int64_t base = map * window.InputSize();
        const int64_t made = map * window.OutputSize();
        if (with_places) {
          MaxMapWithPlaces(window, x + base, base, columns_first, y + made,
                           static_cast<int64_t*>(call.outputs[1]) + made);
        } else {
          MaxMap(window, x + base, y + made);
        }
      });
    });
  });
  if (kernel == nullptr) return NoPooling(site);
  return kernel;
}

// How many taps count, by axis.
using TapTable = std::array<std::vector<int64_t>, Window::kAxes>;

template <typename T>
void AverageMap(const Window& window, const TapTable& counts, const T* x, T* y) {
  std::fill(y, y + window.OutputSize(), T(0));
  FoldWindows(window, x, y, [](T sum, T element) { return sum + element; });
  for (const int64_t planes : counts[0]) {
    for (const int64_t rows : counts[1]) {
      for (const int64_t columns : counts[2]) *y++ /= static_cast<T>(planes * rows * columns);
    }
  }
}

void AverageMapByLines(const Window& window, const TapTable& counts, std::span<const float> columns,
                       const float* x, float* y) {
  SumOfWindows(window, x, y);
  for (const int64_t planes : counts[0]) {
    for (const int64_t rows : counts[1]) {
      DivideByCounts(static_cast<float>(planes * rows), columns, y);
      y += window.output[2];
    }
  }
}

// How many taps of each place along an axis count: those inside the input, or inside its padding
// too.
std::vector<int64_t> TapCounts(const Window& window, size_t axis, bool with_pads) {
  const int64_t first = with_pads ? -window.begin[axis] : 0;
  const int64_t last = window.input[axis] + (with_pads ? window.declared_end[axis] : 0);
  std::vector<int64_t> counts;
  for (int64_t place = 0; place < window.output[axis]; ++place) {
    int64_t count = 0;
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
      const int64_t at =
          place * window.strides[axis] + tap * window.dilations[axis] - window.begin[axis];
      count += at >= first && at < last ? 1 : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

Result<KernelPointer> MakeAveragePool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Window window, ReadPoolWindow(site));
  const bool with_pads = site.attributes().Int("count_include_pad", 0) != 0;
  TapTable counts;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    counts[axis] = TapCounts(window, axis, with_pads);
  }
  const int64_t maps = MapCount(site);
  const std::vector<float> columns(counts[2].begin(), counts[2].end());
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([window, counts, columns, maps](const KernelCall& call) {
      ForEachMap(maps, [&](int64_t map) {
        const T* const x = static_cast<const T*>(call.inputs[0]) + map * window.InputSize();
        T* const y = static_cast<T*>(call.outputs[0]) + map * window.OutputSize();
        if constexpr (std::is_same_v<T, float>) {
          if (FitsWindowLines(window)) return AverageMapByLines(window, counts, columns, x, y);
        }
        AverageMap(window, counts, x, y);
      });
    });
  });
  if (kernel == nullptr) return NoPooling(site);
  return kernel;
}

// The exponent of LpPool: a float up to version 1, an integer after.
double ReadExponent(const KernelSite& site) {
  return site.attributes().Float("p", static_cast<double>(site.attributes().Int("p", 2)));
}

Result<KernelPointer> MakeLpPool(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Window window, ReadPoolWindow(site));
  const double exponent = ReadExponent(site);
  const int64_t maps = MapCount(site);
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([window, exponent, maps](const KernelCall& call) {
      const auto power = static_cast<T>(exponent);
      ForEachMap(maps, [&](int64_t map) {
        T* const y = static_cast<T*>(call.outputs[0]) + map * window.OutputSize();
        std::fill(y, y + window.OutputSize(), T(0));
        FoldWindows(window, static_cast<const T*>(call.inputs[0]) + map * window.InputSize(), y,
                    [power](T sum, T element) { return sum + std::pow(std::abs(element), power); });
        for (int64_t i = 0; i < window.OutputSize(); ++i) y[i] = std::pow(y[i], 1 / power);
      });
    });
  });
  if (kernel == nullptr) return NoPooling(site);
  return kernel;
}

// Folds all elements of each map: y = finish(fold(start, x...), count).
template <typename Fold>
Result<KernelPointer> MakeGlobal(const KernelSite& site, const Fold& fold) {
  const int64_t maps = MapCount(site);
  const int64_t count = ElementCount(
      std::span(site.inputs[0].dims).subspan(std::min<size_t>(2, site.inputs[0].dims.size())));
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([fold, maps, count](const KernelCall& call) {
      ForEachMap(maps, [&](int64_t map) {
        static_cast<T*>(call.outputs[0])[map] =
            fold(static_cast<const T*>(call.inputs[0]) + map * count, count);
      });
    });
  });
  if (kernel == nullptr) return NoPooling(site);
  return kernel;
}

Result<KernelPointer> MakeGlobalMaxPool(KernelSite& site) {
  return MakeGlobal(site, []<typename T>(const T* x, int64_t count) {
    // Several side by side, which the compiler makes vectors of.
    constexpr size_t kTogether = 32;
    std::array<T, kTogether> best;
    best.fill(kLeast<T>);
    int64_t i = 0;
    for (; i + int64_t{kTogether} <= count; i += kTogether) {
      for (size_t k = 0; k < kTogether; ++k) best[k] = x[i + k] > best[k] ? x[i + k] : best[k];
    }
    for (; i < count; ++i) best[0] = x[i] > best[0] ? x[i] : best[0];
    return *std::max_element(best.begin(), best.end());
  });
}

Result<KernelPointer> MakeGlobalAveragePool(KernelSite& site) {
  return MakeGlobal(site, []<typename T>(const T* x, int64_t count) {
    double sum = 0;
    if constexpr (std::is_same_v<T, float>) {
      sum = RowSum(x, count);
    } else {
      for (int64_t i = 0; i < count; ++i) sum += x[i];
    }
    return static_cast<T>(sum / static_cast<double>(count));
  });
}

Result<KernelPointer> MakeGlobalLpPool(KernelSite& site) {
  return MakeGlobal(site, [exponent = ReadExponent(site)]<typename T>(const T* x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += std::pow(std::abs(static_cast<double>(x[i])), exponent);
    return static_cast<T>(std::pow(sum, 1 / exponent));
  });
}

constexpr KernelRow kPoolingRows[] = {
    {"", "MaxPool", 1, graph::kNewest, WithHalvesWidened<MakeMaxPool>},
    {"", "AveragePool", 1, graph::kNewest, WithHalvesWidened<MakeAveragePool>},
    {"", "LpPool", 1, graph::kNewest, WithHalvesWidened<MakeLpPool>},
    {"", "GlobalMaxPool", 1, graph::kNewest, WithHalvesWidened<MakeGlobalMaxPool>},
    {"", "GlobalAveragePool", 1, graph::kNewest, WithHalvesWidened<MakeGlobalAveragePool>},
    {"", "GlobalLpPool", 1, graph::kNewest, WithHalvesWidened<MakeGlobalLpPool>},
};

}  // namespace

std::span<const KernelRow> PoolingKernels() { return kPoolingRows; }

}  // namespace plimsoll::kernels::cpu
