#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/operator_row.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

// Operators of ai.onnx.ml that change features one by one: Binarizer, Scaler, Imputer, Normalizer.
// Features are the last axis.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

using FeatureTypes = TypeList<float, double, int64_t, int32_t>;

int64_t FeatureCount(const KernelSite& site) {
  const Dims& dims = site.inputs[0].dims;
  return dims.empty() ? 1 : dims.back();
}

// Either one value for all features or one for each of them.
template <typename Value>
Result<std::vector<Value>> PerFeature(const KernelSite& site, std::string_view name,
                                      const std::vector<Value>* values, Value otherwise) {
  const auto features = static_cast<size_t>(FeatureCount(site));
  if (values == nullptr || values->empty()) return std::vector<Value>(features, otherwise);
  if (values->size() == 1) return std::vector<Value>(features, values->front());
  if (values->size() == features) return *values;
  return site.BadInput(
      StrCat("attribute ", name, " has ", values->size(), " numbers for ", features, " features"));
}

struct IsAbove {
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return static_cast<T>(static_cast<double>(x) > c.alpha ? 1 : 0);
  }
};

Result<KernelPointer> MakeBinarizer(KernelSite& site) {
  return MakeUnaryKernel(site, UnaryLoopFor<IsAbove, FeatureTypes>(site.inputs[0].type),
                         {.alpha = site.attributes().Float("threshold", 0)});
}

Result<KernelPointer> MakeScaler(KernelSite& site) {
  PLIMSOLL_ASSIGN(std::vector<double> offsets,
                  PerFeature(site, "offset", site.attributes().Floats("offset"), 0.0));
  PLIMSOLL_ASSIGN(std::vector<double> scales,
                  PerFeature(site, "scale", site.attributes().Floats("scale"), 1.0));
  KernelPointer kernel;
  VisitType<FeatureTypes>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([=, count = site.outputs[0].elements()](const KernelCall& call) {
      const auto* in = static_cast<const T*>(call.inputs[0]);
      auto* out = static_cast<float*>(call.outputs[0]);
      const auto features = static_cast<int64_t>(offsets.size());
      for (int64_t i = 0; i < count; ++i) {
        const auto feature = static_cast<size_t>(i % features);
        out[i] =
            static_cast<float>((static_cast<double>(in[i]) - offsets[feature]) * scales[feature]);
      }
    });
  });
  if (kernel == nullptr) return NoKernelForType(site, site.inputs[0].type);
  return kernel;
}

// Puts a value in the place of another one; NaN, where it is to be replaced, equals NaN.
template <typename T, typename Value>
KernelPointer MakeImputerFor(const KernelSite& site, T replaced, std::vector<Value> imputed) {
  return MakeKernel([replaced, imputed = std::move(imputed),
                     count = site.outputs[0].elements()](const KernelCall& call) {
    const auto* in = static_cast<const T*>(call.inputs[0]);
    auto* out = static_cast<T*>(call.outputs[0]);
    const auto features = static_cast<int64_t>(imputed.size());
    for (int64_t i = 0; i < count; ++i) {
      const bool missing = in[i] == replaced || (replaced != replaced && in[i] != in[i]);
      out[i] = missing ? static_cast<T>(imputed[static_cast<size_t>(i % features)]) : in[i];
    }
  });
}

Result<KernelPointer> MakeImputer(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  if (type == DataType::kInt32 || type == DataType::kInt64) {
    const int64_t replaced = site.attributes().Int("replaced_value_int64", 0);
    PLIMSOLL_ASSIGN(std::vector<int64_t> imputed,
                    PerFeature(site, "imputed_value_int64s",
                               site.attributes().Ints("imputed_value_int64s"), int64_t{0}));
    if (type == DataType::kInt64) return MakeImputerFor<int64_t>(site, replaced, imputed);
    return MakeImputerFor<int32_t>(site, static_cast<int32_t>(replaced), imputed);
  }
  const double replaced = site.attributes().Float("replaced_value_float", 0);
  PLIMSOLL_ASSIGN(std::vector<double> imputed,
                  PerFeature(site, "imputed_value_floats",
                             site.attributes().Floats("imputed_value_floats"), 0.0));
  if (type == DataType::kFloat32) {
    return MakeImputerFor<float>(site, static_cast<float>(replaced), imputed);
  }
  if (type == DataType::kFloat64) return MakeImputerFor<double>(site, replaced, imputed);
  return NoKernelForType(site, type);
}

enum class Norm { kMax, kL1, kL2 };

template <typename T>
double NormOf(Norm norm, const T* row, int64_t count) {
  double size = norm == Norm::kMax ? static_cast<double>(row[0]) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(row[i]);
    if (norm == Norm::kMax) size = std::max(size, x);
    if (norm == Norm::kL1) size += std::abs(x);
    if (norm == Norm::kL2) size += x * x;
  }
  return norm == Norm::kL2 ? std::sqrt(size) : size;
}

Result<KernelPointer> MakeNormalizer(KernelSite& site) {
  const std::string name = site.attributes().String("norm", "MAX");
  if (name != "MAX" && name != "L1" && name != "L2") {
    return site.BadInput("attribute norm is none of MAX, L1 and L2");
  }
  const Norm norm = name == "MAX" ? Norm::kMax : name == "L1" ? Norm::kL1 : Norm::kL2;
  KernelPointer kernel;
  VisitType<FeatureTypes>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([norm, features = FeatureCount(site),
                         count = site.outputs[0].elements()](const KernelCall& call) {
      const auto* in = static_cast<const T*>(call.inputs[0]);
      auto* out = static_cast<float*>(call.outputs[0]);
      for (int64_t row = 0; row < count; row += features) {
        const double size = NormOf(norm, in + row, features);
        const double divisor = size == 0 ? 1 : size;
        for (int64_t i = row; i < row + features; ++i) {
          out[i] = static_cast<float>(static_cast<double>(in[i]) / divisor);
        }
      }
    });
  });
  if (kernel == nullptr) return NoKernelForType(site, site.inputs[0].type);
  return kernel;
}

constexpr KernelRow kFeatureScalingRows[] = {
    {graph::kMachineLearningDomain, "Binarizer", 1, graph::kNewest, MakeBinarizer},
    {graph::kMachineLearningDomain, "Scaler", 1, graph::kNewest, MakeScaler},
    {graph::kMachineLearningDomain, "Imputer", 1, graph::kNewest, MakeImputer},
    {graph::kMachineLearningDomain, "Normalizer", 1, graph::kNewest, MakeNormalizer},
};

}  // namespace

std::span<const KernelRow> FeatureScalingKernels() { return kFeatureScalingRows; }

}  // namespace plimsoll::kernels::cpu
