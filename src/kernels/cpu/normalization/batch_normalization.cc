#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/half_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

constexpr size_t kData = 0;
constexpr size_t kScale = 1;
constexpr size_t kBias = 2;
constexpr size_t kMean = 3;
constexpr size_t kVariance = 4;

// Data as [batch, channels, places]; each channel has its own statistics.
struct BatchNormalization {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t places = 0;
  double epsilon = 0;
  double momentum = 0;
  bool training = false;
  std::array<DataType, 5> types;  // of the inputs
  std::array<DataType, 5> made;   // of the outputs
  int64_t outputs = 1;

  double Parameter(const KernelCall& call, size_t input, int64_t channel) const {
    return LoadDouble(types[input], call.inputs[input], channel);
  }
};

struct Statistics {
  double mean = 0;
  double variance = 0;
};

// Of one channel over the whole batch.
template <typename T>
Statistics Measure(const BatchNormalization& shape, const T* x, int64_t channel) {
  const auto count = static_cast<double>(shape.batch * shape.places);
  const auto sum = [&](auto&& of) {
    double total = 0;
    for (int64_t image = 0; image < shape.batch; ++image) {
      const T* const row = x + (image * shape.channels + channel) * shape.places;
      for (int64_t i = 0; i < shape.places; ++i) total += of(static_cast<double>(row[i]));
    }
    return total;
  };
  Statistics statistics;
  statistics.mean = sum([](double element) { return element; }) / count;
  statistics.variance = sum([&](double element) {
                          return (element - statistics.mean) * (element - statistics.mean);
                        }) /
                        count;
  return statistics;
}

// Up to version 13 outputs 3 and 4 give the batch's own statistics.
void StoreStatistics(const BatchNormalization& shape, const KernelCall& call, int64_t channel,
                     const Statistics& batch, const Statistics& running) {
  const double numbers[] = {0, running.mean, running.variance, batch.mean, batch.variance};
  for (size_t i = 1; i < static_cast<size_t>(shape.outputs); ++i) {
    if (call.outputs[i] == nullptr) continue;
    StoreDouble(shape.made[i], call.outputs[i], channel, numbers[i]);
  }
}

// x * factor + offset, of halves some at a time as float32.
template <typename T>
void ScaleAndShift(const T* x, int64_t count, Wide<T> factor, Wide<T> offset, T* y) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * factor + offset;
  } else {
    std::array<float, 512> some;
    for (int64_t first = 0; first < count; first += std::ssize(some)) {
      const int64_t now = std::min<int64_t>(std::ssize(some), count - first);
      WidenRow(x + first, now, some.data());
      for (int64_t i = 0; i < now; ++i) {
        float& element = some[static_cast<size_t>(i)];
        element = element * factor + offset;
      }
      NarrowRow(some.data(), now, y + first);
    }
  }
}

template <typename T>
void Normalize(const BatchNormalization& shape, const KernelCall& call, int64_t channel) {
  const T* const x = static_cast<const T*>(call.inputs[kData]);
  T* const y = static_cast<T*>(call.outputs[0]);
  Statistics used{shape.Parameter(call, kMean, channel), shape.Parameter(call, kVariance, channel)};
  if (shape.training) {
    const Statistics batch = Measure(shape, x, channel);
    const double kept = shape.momentum;
    StoreStatistics(shape, call, channel, batch,
                    {used.mean * kept + batch.mean * (1 - kept),
                     used.variance * kept + batch.variance * (1 - kept)});
    used = batch;
  }
  const double slope =
      shape.Parameter(call, kScale, channel) / std::sqrt(used.variance + shape.epsilon);
  const auto factor = static_cast<Wide<T>>(slope);
  const auto offset =
      static_cast<Wide<T>>(shape.Parameter(call, kBias, channel) - used.mean * slope);
  for (int64_t image = 0; image < shape.batch; ++image) {
    const int64_t row = (image * shape.channels + channel) * shape.places;
    ScaleAndShift(x + row, shape.places, factor, offset, y + row);
  }
}

bool IsTraining(const KernelSite& site) {
  const int version = site.node().version;
  if (version >= 14) return site.attributes().Int("training_mode", 0) != 0;
  if (version < 7) return site.attributes().Int("is_test", 0) == 0;
  for (size_t i = 1; i < site.outputs.size(); ++i) {
    if (site.has_output(i)) return true;
  }
  return false;
}

Result<KernelPointer> MakeBatchNormalization(KernelSite& site) {
  const Dims& dims = site.inputs[kData].dims;
  BatchNormalization shape;
  shape.batch = dims.empty() ? 1 : dims[0];
  shape.channels = dims.size() < 2 ? 1 : dims[1];
  shape.places = ElementCount(std::span(dims).subspan(std::min<size_t>(2, dims.size())));
  const bool per_channel = site.node().version >= 9 || site.attributes().Int("spatial", 1) != 0;
  if (!per_channel) {
    shape.channels *= shape.places;
    shape.places = 1;
  }
  shape.epsilon = site.attributes().Float("epsilon", 1e-5);
  shape.momentum = site.attributes().Float("momentum", 0.9);
  shape.training = IsTraining(site);
  shape.types.fill(DataType::kUndefined);
  shape.made.fill(DataType::kUndefined);
  for (size_t i = 0; i < shape.types.size(); ++i) shape.types[i] = site.inputs[i].type;
  shape.outputs = static_cast<int64_t>(std::min(site.outputs.size(), shape.made.size()));
  for (size_t i = 0; i < static_cast<size_t>(shape.outputs); ++i) {
    shape.made[i] = site.outputs[i].type;
  }
  for (const size_t input : {kScale, kBias, kMean, kVariance}) {
    if (site.inputs[input].elements() < shape.channels) {
      return site.BadInput(StrCat("input ", input, " does not have ", shape.channels, " elements"));
    }
  }
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[kData].type, [&]<typename T>() {
    kernel = MakeKernel([shape](const KernelCall& call) {
      ParallelFor(shape.channels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel) Normalize<T>(shape, call, channel);
      });
    });
  });
  if (kernel == nullptr) {
    return site.Unsupported(
        StrCat("there is no normalization of ", graph::Name(site.inputs[kData].type)));
  }
  return kernel;
}

constexpr KernelRow kBatchNormalizationRows[] = {
    {"", "BatchNormalization", 1, graph::kNewest, MakeBatchNormalization},
};

}  // namespace

std::span<const KernelRow> BatchNormalizationKernels() { return kBatchNormalizationRows; }

}  // namespace plimsoll::kernels::cpu
