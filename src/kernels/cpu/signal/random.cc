#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/signal/random_stream.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// RandomNormal, RandomUniform and what is like them, Bernoulli and Multinomial.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

bool IsStorable(DataType type) {
  return graph::IsFloating(type) || graph::IsInteger(type) || type == DataType::kBool;
}

// Fills the output with draw(stream, position); sub-byte types, which share bytes, in one thread.
template <typename Draw>
Result<KernelPointer> MakeDrawn(const KernelSite& site, const Draw& draw) {
  const DataType type = site.outputs[0].type;
  if (!IsStorable(type)) return NoKernelForType(site, type);
  const int64_t count = site.outputs[0].elements();
  return MakeKernel([=, stream = StreamOf(site)](const KernelCall& call) {
    ParallelFor(count, graph::Bits(type) < 8 ? count : kElementGrain,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    StoreDouble(type, call.outputs[0], i, draw(call, stream, i));
                  }
                });
  });
}

Result<KernelPointer> MakeNormal(KernelSite& site) {
  const double mean = site.attributes().Float("mean", 0);
  const double scale = site.attributes().Float("scale", 1);
  return MakeDrawn(site, [=](const KernelCall&, const RandomStream& stream, int64_t i) {
    return mean + scale * stream.Normal(i);
  });
}

Result<KernelPointer> MakeUniform(KernelSite& site) {
  const double low = site.attributes().Float("low", 0);
  const double high = site.attributes().Float("high", 1);
  return MakeDrawn(site, [=](const KernelCall&, const RandomStream& stream, int64_t i) {
    return low + (high - low) * stream.Uniform(i);
  });
}

Result<KernelPointer> MakeBernoulli(KernelSite& site) {
  const DataType from = site.inputs[0].type;
  if (!graph::IsFloating(from)) return NoKernelForType(site, from);
  return MakeDrawn(site, [=](const KernelCall& call, const RandomStream& stream, int64_t i) {
    return stream.Uniform(i) < LoadDouble(from, call.inputs[0], i) ? 1.0 : 0.0;
  });
}

// Rows of logarithms of weights: a draw goes to the first class at which the running sum of weights
// passes a random share of their total.
Result<KernelPointer> MakeMultinomial(KernelSite& site) {
  const DataType from = site.inputs[0].type;
  const DataType to = site.outputs[0].type;
  if (!graph::IsFloating(from)) return NoKernelForType(site, from);
  if (!graph::IsInteger(to)) return NoKernelForType(site, to);
  const int64_t classes = site.inputs[0].dims[1];
  const int64_t samples = site.outputs[0].dims[1];
  const int64_t batch = site.outputs[0].dims[0];
  if (classes == 0 && batch * samples > 0) return site.BadInput("there is no class to draw");
  return MakeKernel([=, stream = StreamOf(site)](const KernelCall& call) {
    for (int64_t row = 0; row < batch; ++row) {
      const auto logarithm = [&](int64_t column) {
        return LoadDouble(from, call.inputs[0], row * classes + column);
      };
      double highest = -HUGE_VAL;
      for (int64_t c = 0; c < classes; ++c) highest = std::max(highest, logarithm(c));
      double total = 0;
      for (int64_t c = 0; c < classes; ++c) total += std::exp(logarithm(c) - highest);
      for (int64_t sample = row * samples; sample < (row + 1) * samples; ++sample) {
        const double share = stream.Uniform(sample) * total;
        int64_t drawn = 0;
        double sum = std::exp(logarithm(0) - highest);
        while (sum <= share && drawn + 1 < classes) {
          sum += std::exp(logarithm(++drawn) - highest);
        }
        StoreInteger(to, call.outputs[0], sample, drawn);
      }
    }
  });
}

constexpr KernelRow kRandomRows[] = {
    {"", "RandomNormal", 1, graph::kNewest, MakeNormal},
    {"", "RandomNormalLike", 1, graph::kNewest, MakeNormal},
    {"", "RandomUniform", 1, graph::kNewest, MakeUniform},
    {"", "RandomUniformLike", 1, graph::kNewest, MakeUniform},
    {"", "Bernoulli", 15, graph::kNewest, MakeBernoulli},
    {"", "Multinomial", 7, graph::kNewest, MakeMultinomial},
};

}  // namespace

std::span<const KernelRow> RandomKernels() { return kRandomRows; }

}  // namespace plimsoll::kernels::cpu
