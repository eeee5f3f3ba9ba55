#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/elementwise/wide_elements.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/parallel.h"

// GroupNormalization and InstanceNormalization: the channels of a group normalised together, each
// with a scale and bias of its own. Each piece is read before it is written, so that they may work
// in place.
namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kChannelNormalizationGrain = 1 << 13;
constexpr int64_t kChannelNormalizationPiece = 256;  // elements widened at a time

struct ChannelNormalization {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t groups = 0;
  int64_t places = 0;                // elements of a channel
  int64_t channels_of_a_factor = 1;  // more than one before version 21: one scale a group
  double epsilon = 0;
  graph::DataType type = graph::DataType::kUndefined;
  WideElements<double> elements;

  int64_t channels_of_a_group() const { return channels / groups; }
  int64_t group_length() const { return channels_of_a_group() * places; }

  // Scale and bias of a channel.
  std::array<double, 2> Factors(const KernelCall& call, int64_t channel) const {
    const int64_t at = channel / channels_of_a_factor;
    return {LoadDouble(type, call.inputs[1], at), LoadDouble(type, call.inputs[2], at)};
  }

  void RunFloat(const KernelCall& call, int64_t begin, int64_t end) const;
  void RunWide(const KernelCall& call, int64_t begin, int64_t end) const;
};

void ChannelNormalization::RunFloat(const KernelCall& call, int64_t begin, int64_t end) const {
  const int64_t length = group_length();
  for (int64_t group = begin; group < end; ++group) {
    const float* x = static_cast<const float*>(call.inputs[0]) + group * length;
    float* y = static_cast<float*>(call.outputs[0]) + group * length;
    const float mean = RowSum(x, length) / static_cast<float>(length);
    const float variance = RowSumOfSquares(x, length, mean) / static_cast<float>(length);
    const double factor = 1.0 / std::sqrt(variance + epsilon);
    for (int64_t c = 0; c < channels_of_a_group(); ++c) {
      const auto [scale, bias] = Factors(call, group % groups * channels_of_a_group() + c);
      const double times = factor * scale;
      RowAffine(x + c * places, places, static_cast<float>(times),
                static_cast<float>(bias - mean * times), y + c * places);
    }
  }
}

void ChannelNormalization::RunWide(const KernelCall& call, int64_t begin, int64_t end) const {
  const int64_t length = group_length();
  std::array<double, kChannelNormalizationPiece> values;
  for (int64_t group = begin; group < end; ++group) {
    const auto each_piece = [&](int64_t first, int64_t count, const auto& visit) {
      for (int64_t at = first; at < first + count; at += kChannelNormalizationPiece) {
        const int64_t some = std::min(kChannelNormalizationPiece, first + count - at);
        elements.load(call.inputs[0], at, some, values.data());
        visit(at, some);
      }
    };
    double mean = 0;
    each_piece(group * length, length, [&](int64_t, int64_t count) {
      for (int64_t i = 0; i < count; ++i) mean += values[i];
    });
    mean /= static_cast<double>(length);
    double squares = 0;
    each_piece(group * length, length, [&](int64_t, int64_t count) {
      for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    });
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (int64_t c = 0; c < channels_of_a_group(); ++c) {
      const std::array<double, 2> factors =
          Factors(call, group % groups * channels_of_a_group() + c);
      each_piece(group * length + c * places, places, [&](int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          values[i] = (values[i] - mean) * factor * factors[0] + factors[1];
        }
        elements.store(values.data(), count, call.outputs[0], at);
      });
    }
  }
}

Result<KernelPointer> MakeChannelNormalization(KernelSite& site, int64_t groups,
                                               int64_t channels_of_a_factor) {
  const TensorInfo& x = site.inputs[0];
  ChannelNormalization work{.batch = x.dims[0],
                            .channels = x.dims[1],
                            .groups = groups,
                            .places = ElementCount(std::span(x.dims).subspan(2)),
                            .channels_of_a_factor = channels_of_a_factor,
                            .epsilon = site.attributes().Float("epsilon", 1e-5),
                            .type = x.type,
                            .elements = WideElementsOf<double>(x.type)};
  if (!VisitType<AllFloats>(x.type, []<typename T>() {})) {
    return site.Unsupported("normalisation is of floats");
  }
  return MakeKernel([work](const KernelCall& call) {
    if (work.group_length() == 0) return;
    const int64_t grain = std::max<int64_t>(kChannelNormalizationGrain / work.group_length(), 1);
    ParallelFor(work.batch * work.groups, grain, [&](int64_t begin, int64_t end) {
      if (work.type == graph::DataType::kFloat32) {
        work.RunFloat(call, begin, end);
      } else {
        work.RunWide(call, begin, end);
      }
    });
  });
}

Result<KernelPointer> MakeInstanceNormalization(KernelSite& site) {
  if (site.inputs[0].dims[1] == 0) return MakeKernel([](const KernelCall&) {});
  return MakeChannelNormalization(site, site.inputs[0].dims[1], 1);
}

Result<KernelPointer> MakeGroupNormalization(KernelSite& site) {
  const int64_t channels = site.inputs[0].dims[1];
  const int64_t groups = site.attributes().Int("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return site.BadInput("the channels do not split into num_groups groups");
  }
  const int64_t factors = site.inputs[1].elements();
  if (site.inputs[2].elements() != factors || (factors != channels && factors != groups)) {
    return site.BadInput("scale and bias must have one element for each channel or group");
  }
  return MakeChannelNormalization(site, groups, factors == channels ? 1 : channels / groups);
}

constexpr KernelRow kChannelNormalizationRows[] = {
    {"", "InstanceNormalization", 1, graph::kNewest, MakeInstanceNormalization},
    {"", "GroupNormalization", 18, graph::kNewest, MakeGroupNormalization},
};

}  // namespace

std::span<const KernelRow> ChannelNormalizationKernels() { return kChannelNormalizationRows; }

}  // namespace plimsoll::kernels::cpu
