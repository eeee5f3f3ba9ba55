#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/float32_arithmetic.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/elementwise/float32_mathematics.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/half_rows.h"
#include "kernels/parallel.h"

// Activations of one input and at most two coefficients; PRelu and SwiGLU, which have two inputs.
namespace plimsoll::kernels::cpu {
namespace {

using graph::Attributes;
using graph::DataType;

template <typename T>
T SigmoidOf(T x) {
  const T small = std::exp(-std::abs(x));
  return (x < 0 ? small : T(1)) / (1 + small);
}

template <typename T>
T SoftplusOf(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

// 0 to 1; a NaN stays one.
template <typename T>
T UnitClipped(T x) {
  return x < 0 ? T(0) : x > 1 ? T(1) : x;
}

struct Relu {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return x < 0 ? T(0) : x;
  }
};

struct LeakyRelu {
  static Coefficients Read(const Attributes& attributes) {
    return {attributes.Float("alpha", 0.01)};
  }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return x < 0 ? static_cast<T>(c.alpha) * x : x;
  }
};

struct ThresholdedRelu {
  static Coefficients Read(const Attributes& attributes) { return {attributes.Float("alpha", 1)}; }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return x <= static_cast<T>(c.alpha) ? T(0) : x;
  }
};

struct Elu {
  static Coefficients Read(const Attributes& attributes) { return {attributes.Float("alpha", 1)}; }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return x < 0 ? static_cast<T>(c.alpha) * std::expm1(x) : x;
  }
};

struct Celu {
  static Coefficients Read(const Attributes& attributes) { return {attributes.Float("alpha", 1)}; }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    const T alpha = static_cast<T>(c.alpha);
    return x < 0 ? alpha * std::expm1(x / alpha) : x;
  }
};

struct Selu {
  static Coefficients Read(const Attributes& attributes) {
    return {attributes.Float("alpha", 1.67326319217681884765625),
            attributes.Float("gamma", 1.05070102214813232421875)};
  }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    const T gamma = static_cast<T>(c.beta);
    return gamma * (x > 0 ? x : static_cast<T>(c.alpha) * std::expm1(x));
  }
};

struct Gelu {
  static Coefficients Read(const Attributes& attributes) {
    return {static_cast<double>(attributes.Int("of_quotient", 0))};
  }
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return T(0.5) * x * std::erfc(x * static_cast<T>(-M_SQRT1_2));
  }
};

struct TanhGelu {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    const T inner = static_cast<T>(M_2_SQRTPI * M_SQRT1_2) * (x + T(0.044715) * x * x * x);
    return x * SigmoidOf(2 * inner);
  }
};

struct Sigmoid {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return SigmoidOf(x);
  }
};

struct HardSigmoid {
  static Coefficients Read(const Attributes& attributes) {
    return {attributes.Float("alpha", 0.2), attributes.Float("beta", 0.5)};
  }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return UnitClipped(static_cast<T>(c.alpha) * x + static_cast<T>(c.beta));
  }
};

struct HardSwish {
  static Coefficients Read(const Attributes&) { return {1.0 / 6, 0.5}; }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return x * HardSigmoid::Apply(x, c);
  }
};

struct Mish {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return x * std::tanh(SoftplusOf(x));
  }
};

struct Swish {
  static Coefficients Read(const Attributes& attributes) { return {attributes.Float("alpha", 1)}; }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    return x * SigmoidOf(static_cast<T>(c.alpha) * x);
  }
};

struct Softplus {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return SoftplusOf(x);
  }
};

struct Softsign {
  template <typename T>
  static T Apply(T x, const Coefficients&) {
    return x / (1 + std::abs(x));
  }
};

// alpha is the half width of what becomes 0, beta is what the rest is moved by.
struct Shrink {
  static Coefficients Read(const Attributes& attributes) {
    return {attributes.Float("lambd", 0.5), attributes.Float("bias", 0)};
  }
  template <typename T>
  static T Apply(T x, const Coefficients& c) {
    if (x < -c.alpha) return static_cast<T>(x + c.beta);
    if (x > c.alpha) return static_cast<T>(x - c.beta);
    return x == x ? T(0) : x;
  }
};

struct Slope {
  template <typename T>
  static T Apply(T x, T slope) {
    return x < 0 ? static_cast<T>(x * slope) : x;
  }
};

template <typename Op>
Coefficients Read(const KernelSite& site) {
  if constexpr (requires { Op::Read(site.attributes()); }) return Op::Read(site.attributes());
  return {};
}

template <typename Op, typename List = AllFloats>
Result<KernelPointer> Make(KernelSite& site) {
  return MakeUnaryKernel(site, UnaryLoopFor<Op, List>(site.inputs[0].type), Read<Op>(site));
}

// A loop over float32 for halves, some at a time.
template <typename T, UnaryLoop Float32Functions::*kFloat32>
void LoopOverHalves(const void* from, void* to, int64_t count, const Coefficients& coefficients) {
  constexpr int64_t kAtOnce = 512;
  std::array<float, kAtOnce> wide;
  const UnaryLoop loop = Float32().*kFloat32;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - first);
    WidenRow(static_cast<const T*>(from) + first, some, wide.data());
    loop(wide.data(), wide.data(), some, coefficients);
    NarrowRow(wide.data(), some, static_cast<T*>(to) + first);
  }
}

// With a loop of its own for float32, which halves take too.
template <typename Op, UnaryLoop Float32Functions::*kFloat32, typename List = TypeList<double>>
Result<KernelPointer> MakeFast(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  UnaryLoop loop = type == DataType::kFloat32 ? Float32().*kFloat32 : UnaryLoopFor<Op, List>(type);
  VisitType<HalfFloats>(type, [&]<typename T>() { loop = &LoopOverHalves<T, kFloat32>; });
  return MakeUnaryKernel(site, loop, Read<Op>(site));
}

// The same with a loop that halves do not take.
template <typename Op, UnaryLoop Float32Mathematics::*kFloat32>
Result<KernelPointer> MakeOwnLoop(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  UnaryLoop loop = UnaryLoopFor<Op, AllFloats>(type);
  if (type == DataType::kFloat32) loop = Float32Math().*kFloat32;
  return MakeUnaryKernel(site, loop, Read<Op>(site));
}

// As MakeFast, but where the node asks for ONNX Runtime's steps.
template <typename Op, UnaryLoop Float32Functions::*kFloat32,
          UnaryLoop Float32Functions::Steps::*kSteps>
Result<KernelPointer> MakeWithSteps(KernelSite& site) {
  const bool steps = site.attributes().Int("float_steps", 0) != 0;
  if (!steps || site.inputs[0].type != DataType::kFloat32) return MakeFast<Op, kFloat32>(site);
  return MakeUnaryKernel(site, Float32().steps.*kSteps, Read<Op>(site));
}

Result<KernelPointer> MakeGelu(KernelSite& site) {
  using Steps = Float32Functions::Steps;
  const std::string approximate = site.attributes().String("approximate", "none");
  if (approximate == "none") {
    return MakeWithSteps<Gelu, &Float32Functions::gelu, &Steps::gelu>(site);
  }
  if (approximate == "tanh") {
    return MakeWithSteps<TanhGelu, &Float32Functions::tanh_gelu, &Steps::tanh_gelu>(site);
  }
  return site.BadInput("attribute approximate is neither none nor tanh");
}

Result<KernelPointer> MakePRelu(KernelSite& site) {
  using Others = TypeList<double, Float16, Bfloat16, int32_t, int64_t, uint32_t, uint64_t>;
  const DataType type = site.inputs[0].type;
  return MakeBinaryKernel(
      site, type == DataType::kFloat32 ? Float32Pairs().slope : BinaryLoopFor<Slope, Others>(type));
}

// The gate's swish times the value.
Result<KernelPointer> MakeSwiGlu(KernelSite& site) {
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([c = Swish::Read(site.attributes()),
                         count = site.outputs[0].elements()](const KernelCall& call) {
      ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
        const auto* gate = static_cast<const T*>(call.inputs[0]);
        const auto* value = static_cast<const T*>(call.inputs[1]);
        auto* out = static_cast<T*>(call.outputs[0]);
        for (int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<T>(Swish::Apply(static_cast<Wide<T>>(gate[i]), c) * value[i]);
        }
      });
    });
  });
  if (kernel == nullptr) return NoKernelForType(site, site.inputs[0].type);
  return kernel;
}

using ReluTypes = TypeList<double, int8_t, int16_t, int32_t, int64_t>;

constexpr KernelRow kActivationRows[] = {
    {"", "Relu", 6, graph::kNewest, MakeFast<Relu, &Float32Functions::relu, ReluTypes>},
    {"", "LeakyRelu", 6, graph::kNewest, MakeFast<LeakyRelu, &Float32Functions::leaky_relu>},
    {"", "ThresholdedRelu", 10, graph::kNewest,
     MakeOwnLoop<ThresholdedRelu, &Float32Mathematics::thresholded_relu>},
    {"", "PRelu", 7, graph::kNewest, MakePRelu},
    {"", "Elu", 6, graph::kNewest, MakeFast<Elu, &Float32Functions::elu>},
    {"", "Celu", 12, graph::kNewest, MakeOwnLoop<Celu, &Float32Mathematics::celu>},
    {"", "Selu", 6, graph::kNewest, MakeOwnLoop<Selu, &Float32Mathematics::selu>},
    {"", "Gelu", 20, graph::kNewest, MakeGelu},
    {"", "Sigmoid", 6, graph::kNewest,
     MakeWithSteps<Sigmoid, &Float32Functions::sigmoid, &Float32Functions::Steps::sigmoid>},
    {"", "HardSigmoid", 6, graph::kNewest, MakeFast<HardSigmoid, &Float32Functions::hard_sigmoid>},
    {"", "HardSwish", 14, graph::kNewest, MakeFast<HardSwish, &Float32Functions::hard_swish>},
    {"", "Mish", 18, graph::kNewest, MakeFast<Mish, &Float32Functions::mish>},
    {"", "Swish", 24, graph::kNewest,
     MakeWithSteps<Swish, &Float32Functions::swish, &Float32Functions::Steps::swish>},
    {"", "SwiGLU", 28, graph::kNewest, MakeSwiGlu},
    {"", "Softplus", 1, graph::kNewest, MakeOwnLoop<Softplus, &Float32Mathematics::softplus>},
    {"", "Softsign", 1, graph::kNewest, MakeOwnLoop<Softsign, &Float32Mathematics::softsign>},
    {"", "Shrink", 9, graph::kNewest, Make<Shrink, AllNumbers>},
};

}  // namespace

std::span<const KernelRow> ActivationKernels() { return kActivationRows; }

}  // namespace plimsoll::kernels::cpu
