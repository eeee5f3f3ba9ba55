#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

struct LocalResponse {
  AxisSplit split;  // at the channels
  int64_t size;
  double alpha;
  double beta;
  double bias;
};

// x / base^beta. 3/4, which every network uses, is two square roots.
template <typename Number>
void Divide(const Number* from, Number* base, int64_t count, Number beta) {
  if (beta == Number{0.75}) {
    for (int64_t i = 0; i < count; ++i) {
      const Number root = std::sqrt(base[i]);
      base[i] = from[i] / (root * std::sqrt(root));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) base[i] = from[i] / std::pow(base[i], beta);
  }
}

// The squares of neighbouring channels are summed where the result will lie.
template <typename Number>
void RunInOwnType(const LocalResponse& local, const KernelCall& call) {
  const auto* from = static_cast<const Number*>(call.inputs[0]);
  auto* to = static_cast<Number*>(call.outputs[0]);
  const AxisSplit& split = local.split;
  const auto scale = static_cast<Number>(local.alpha / static_cast<double>(local.size));
  const int64_t grain =
      std::max<int64_t>((int64_t{1} << 14) / std::max<int64_t>(split.inner, 1), 1);
  ParallelFor(split.outer * split.length, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t channel = image % split.length;
      const Number* first = from + (image - channel) * split.inner;
      Number* sum = to + image * split.inner;
      std::fill_n(sum, split.inner, static_cast<Number>(local.bias));
      const int64_t low = std::max<int64_t>(channel - (local.size - 1) / 2, 0);
      const int64_t high = std::min(channel + local.size / 2, split.length - 1);
      for (int64_t other = low; other <= high; ++other) {
        const Number* row = first + other * split.inner;
        for (int64_t i = 0; i < split.inner; ++i) sum[i] += scale * row[i] * row[i];
      }
      Divide(first + channel * split.inner, sum, split.inner, static_cast<Number>(local.beta));
    }
  });
}

// Half types are summed in float, a few places of a channel at a time.
template <typename T>
void RunInFloat(const LocalResponse& local, const KernelCall& call) {
  constexpr int64_t kPlaces = 256;
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  const AxisSplit& split = local.split;
  const auto scale = static_cast<float>(local.alpha / static_cast<double>(local.size));
  ParallelFor(split.outer * split.length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t channel = image % split.length;
      const int64_t low = std::max<int64_t>(channel - (local.size - 1) / 2, 0);
      const int64_t high = std::min(channel + local.size / 2, split.length - 1);
      for (int64_t first = 0; first < split.inner; first += kPlaces) {
        const int64_t count = std::min(kPlaces, split.inner - first);
        std::array<float, kPlaces> sums;
        std::array<float, kPlaces> own;
        sums.fill(static_cast<float>(local.bias));
        for (int64_t other = low; other <= high; ++other) {
          const T* row = from + (image - channel + other) * split.inner + first;
          for (int64_t i = 0; i < count; ++i) {
            const float x = row[i];
            sums[i] += scale * x * x;
            if (other == channel) own[i] = x;
          }
        }
        Divide(own.data(), sums.data(), count, static_cast<float>(local.beta));
        T* const results = to + image * split.inner + first;
        for (int64_t i = 0; i < count; ++i) results[i] = T(sums[i]);
      }
    }
  });
}

Result<KernelPointer> MakeLocalResponse(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  if (data.rank() < 2) return site.BadInput("it needs channels on axis 1");
  const LocalResponse local{SplitAt(data.dims, 1), site.attributes().Int("size", 0),
                            site.attributes().Float("alpha", 1e-4),
                            site.attributes().Float("beta", 0.75),
                            site.attributes().Float("bias", 1)};
  if (local.size < 1) return site.BadInput(StrCat("size is ", local.size));
  KernelPointer kernel;
  VisitType<TypeList<float, double>>(data.type, [&]<typename T>() {
    kernel = MakeKernel([local](const KernelCall& call) { RunInOwnType<T>(local, call); });
  });
  VisitType<HalfFloats>(data.type, [&]<typename T>() {
    kernel = MakeKernel([local](const KernelCall& call) { RunInFloat<T>(local, call); });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kLocalResponseRows[] = {
    {"", "LRN", 1, graph::kNewest, MakeLocalResponse},
};

}  // namespace

std::span<const KernelRow> LocalResponseKernels() { return kLocalResponseRows; }

}  // namespace plimsoll::kernels::cpu
