#include <cmath>
#include <string>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

// Comparisons and predicates: elements in, bools out.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

struct IsEqual {
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a == b;
  }
};

struct IsLess {
  template <typename T>
  static bool Apply(T a, T b) {
    return a < b;
  }
};

struct IsLessOrEqual {
  template <typename T>
  static bool Apply(T a, T b) {
    return a <= b;
  }
};

template <typename Op, typename List>
BinaryLoop ComparisonLoop(DataType type) {
  BinaryLoop loop = nullptr;
  VisitType<List>(type, [&]<typename T>() { loop = &BinaryLoopOf<Op, T, bool>; });
  return loop;
}

void EqualStrings(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
                  int64_t count) {
  const auto* left = static_cast<const std::string*>(a);
  const auto* right = static_cast<const std::string*>(b);
  auto* out = static_cast<bool*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = left[i * step_a] == right[i * step_b];
}

Result<KernelPointer> MakeEqual(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  if (type == DataType::kString) return MakeBinaryKernel(site, EqualStrings);
  if (graph::IsInteger(type) || type == DataType::kBool) {
    return MakeBinaryKernel(site, ComparisonLoop<IsEqual, UnsignedIntegers>(UnsignedOfWidth(type)));
  }
  return MakeBinaryKernel(site, ComparisonLoop<IsEqual, AllFloats>(type));
}

Result<KernelPointer> MakeLess(KernelSite& site) {
  return MakeBinaryKernel(site, ComparisonLoop<IsLess, AllNumbers>(site.inputs[0].type));
}

Result<KernelPointer> MakeGreater(KernelSite& site) {
  return MakeSwappedBinaryKernel(site, ComparisonLoop<IsLess, AllNumbers>(site.inputs[0].type));
}

Result<KernelPointer> MakeLessOrEqual(KernelSite& site) {
  return MakeBinaryKernel(site, ComparisonLoop<IsLessOrEqual, AllNumbers>(site.inputs[0].type));
}

Result<KernelPointer> MakeGreaterOrEqual(KernelSite& site) {
  return MakeSwappedBinaryKernel(site,
                                 ComparisonLoop<IsLessOrEqual, AllNumbers>(site.inputs[0].type));
}

struct IsNan {
  template <typename T>
  static bool Apply(T x, const Coefficients&) {
    return std::isnan(x);
  }
};

// alpha and beta tell whether the positive and the negative infinity count.
struct IsInfinite {
  template <typename T>
  static bool Apply(T x, const Coefficients& counts) {
    return std::isinf(x) && (x > 0 ? counts.alpha : counts.beta) != 0;
  }
};

template <typename Op>
Result<KernelPointer> MakePredicate(KernelSite& site, const Coefficients& coefficients) {
  const DataType type = site.inputs[0].type;
  UnaryLoop loop = nullptr;
  VisitType<AllFloats>(type, [&]<typename T>() { loop = &UnaryLoopOf<Op, T, bool>; });
  if (loop != nullptr || graph::Bits(type) != 8 || !graph::IsFloating(type)) {
    return MakeUnaryKernel(site, loop, coefficients);
  }
  return MakeKernel(
      [type, coefficients, count = site.outputs[0].elements()](const KernelCall& call) {
        auto* out = static_cast<bool*>(call.outputs[0]);
        for (int64_t i = 0; i < count; ++i) {
          out[i] = Op::Apply(LoadDouble(type, call.inputs[0], i), coefficients);
        }
      });
}

Result<KernelPointer> MakeIsNan(KernelSite& site) { return MakePredicate<IsNan>(site, {}); }

Result<KernelPointer> MakeIsInf(KernelSite& site) {
  const auto flag = [&](std::string_view name) {
    return site.attributes().Int(name, 1) != 0 ? 1.0 : 0.0;
  };
  return MakePredicate<IsInfinite>(site, {flag("detect_positive"), flag("detect_negative")});
}

constexpr KernelRow kComparisonRows[] = {
    {"", "Equal", 7, graph::kNewest, MakeEqual},
    {"", "Less", 7, graph::kNewest, MakeLess},
    {"", "Greater", 7, graph::kNewest, MakeGreater},
    {"", "LessOrEqual", 12, graph::kNewest, MakeLessOrEqual},
    {"", "GreaterOrEqual", 12, graph::kNewest, MakeGreaterOrEqual},
    {"", "IsNaN", 9, graph::kNewest, MakeIsNan},
    {"", "IsInf", 10, graph::kNewest, MakeIsInf},
};

}  // namespace

std::span<const KernelRow> ComparisonKernels() { return kComparisonRows; }

}  // namespace plimsoll::kernels::cpu
