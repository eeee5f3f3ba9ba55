#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/elementwise/broadcast_factor.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/vector/normalized_rows.h"
#include "kernels/parallel.h"

// LayerNormalization and RMSNormalization. Each piece of a row is read before it is written, so
// that they may work in place.
namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kLayerNormalizationGrain = 1 << 13;
constexpr int64_t kLayerNormalizationPiece = 256;  // elements widened at a time

// Rows to normalise, with everything that shapes and attributes tell.
struct Normalization {
  int64_t rows = 0;
  int64_t length = 0;
  double epsilon = 0;
  bool centred = true;  // LayerNormalization; else RMSNormalization, which keeps the mean
  WideElements<double> x;
  WideElements<double> y;
  BroadcastFactor scale{1.0};
  BroadcastFactor bias{0.0};
  std::array<graph::DataType, 2> statistics{};  // outputs 1 and 2; kUndefined: left out

  bool all_float = false;
  bool running_means = false;

  void RunFloat(const KernelCall& call, int64_t begin, int64_t end) const;
  void RunWide(const KernelCall& call, int64_t begin, int64_t end) const;
  void StoreStatistics(const KernelCall& call, int64_t row, double mean, double factor) const;
};

void Normalization::StoreStatistics(const KernelCall& call, int64_t row, double mean,
                                    double factor) const {
  if (statistics[0] != graph::DataType::kUndefined) {
    StoreDouble(statistics[0], call.outputs[1], row, mean);
  }
  if (statistics[1] != graph::DataType::kUndefined) {
    StoreDouble(statistics[1], call.outputs[2], row, factor);
  }
}

void Normalization::RunFloat(const KernelCall& call, int64_t begin, int64_t end) const {
  const RowNormalization normalization{
      .length = length,
      .epsilon = static_cast<float>(epsilon),
      .centred = centred,
      .running_means = running_means,
      .scale = static_cast<const float*>(call.inputs[1]),
      .bias = bias.present() ? static_cast<const float*>(call.inputs[2]) : nullptr};
  for (int64_t row = begin; row < end; row += kRowsTogether) {
    const int64_t rows_here = std::min(kRowsTogether, end - row);
    const RowMoments moments =
        NormalizeRows(normalization, static_cast<const float*>(call.inputs[0]) + row * length,
                      rows_here, static_cast<float*>(call.outputs[0]) + row * length);
    for (int64_t i = 0; i < rows_here; ++i) {
      StoreStatistics(call, row + i, moments.mean[i], moments.inverse_deviation[i]);
    }
  }
}

void Normalization::RunWide(const KernelCall& call, int64_t begin, int64_t end) const {
  std::array<double, kLayerNormalizationPiece> values;
  std::array<double, kLayerNormalizationPiece> scales;
  std::array<double, kLayerNormalizationPiece> biases;
  for (int64_t row = begin; row < end; ++row) {
    const auto each_piece = [&](const auto& visit) {
      for (int64_t at = 0; at < length; at += kLayerNormalizationPiece) {
        const int64_t count = std::min(kLayerNormalizationPiece, length - at);
        x.load(call.inputs[0], row * length + at, count, values.data());
        visit(at, count);
      }
    };
    double mean = 0;
    if (centred) {
      each_piece([&](int64_t, int64_t count) {
        for (int64_t i = 0; i < count; ++i) mean += values[i];
      });
      mean /= static_cast<double>(length);
    }
    double squares = 0;
    each_piece([&](int64_t, int64_t count) {
      for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    });
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    each_piece([&](int64_t at, int64_t count) {
      scale.Load(call.inputs[1], row, at, count, scales.data());
      bias.Load(bias.present() ? call.inputs[2] : nullptr, row, at, count, biases.data());
      for (int64_t i = 0; i < count; ++i) {
        values[i] = (values[i] - mean) * factor * scales[i] + biases[i];
      }
      y.store(values.data(), count, call.outputs[0], row * length + at);
    });
    StoreStatistics(call, row, mean, factor);
  }
}

template <bool kCentred>
Result<KernelPointer> MakeRowNormalization(KernelSite& site) {
  using graph::DataType;
  const TensorInfo& x = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", -1), x.rank()));
  const AxisSplit split = SplitAt(x.dims, axis);
  Normalization work{.rows = split.outer,
                     .length = split.length * split.inner,
                     .epsilon = site.attributes().Float("epsilon", 1e-5),
                     .centred = kCentred,
                     .x = WideElementsOf<double>(x.type),
                     .y = WideElementsOf<double>(site.outputs[0].type),
                     .scale = BroadcastFactor(site.inputs[1], x.dims, static_cast<size_t>(axis))};
  if (site.has_input(2)) {
    work.bias = BroadcastFactor(site.inputs[2], x.dims, static_cast<size_t>(axis));
  }
  if (work.x.load == nullptr || work.y.load == nullptr || !work.scale.present()) {
    return site.Unsupported("normalisation is of numbers");
  }
  for (size_t i = 0; i < 2; ++i) {
    if (site.has_output(i + 1)) work.statistics[i] = site.outputs[i + 1].type;
  }
  const auto is_float_row = [](const BroadcastFactor& factor) {
    return !factor.present() || (factor.is_row() && factor.type() == DataType::kFloat32);
  };
  work.all_float = x.type == DataType::kFloat32 && site.outputs[0].type == DataType::kFloat32 &&
                   is_float_row(work.scale) && is_float_row(work.bias);
  work.running_means = site.attributes().Int("running_means", 0) != 0;
  return MakeKernel([work = std::move(work)](const KernelCall& call) {
    const int64_t grain =
        std::max<int64_t>(kLayerNormalizationGrain / std::max<int64_t>(work.length, 1), 1);
    ParallelFor(work.rows, grain, [&](int64_t begin, int64_t end) {
      if (work.all_float) {
        work.RunFloat(call, begin, end);
      } else {
        work.RunWide(call, begin, end);
      }
    });
  });
}

constexpr KernelRow kLayerNormalizationRows[] = {
    {"", "LayerNormalization", 17, graph::kNewest, MakeRowNormalization<true>},
    {"", "RMSNormalization", 23, graph::kNewest, MakeRowNormalization<false>},
};

}  // namespace

std::span<const KernelRow> LayerNormalizationKernels() { return kLayerNormalizationRows; }

}  // namespace plimsoll::kernels::cpu
