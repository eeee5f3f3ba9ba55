#include "kernels/cpu/elementwise/fused_activation.h"

#include <limits>

#include "kernels/cpu/elementwise/float32_functions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using Kind = FusedActivation::Kind;

struct NamedActivation {
  std::string_view name;
  Kind kind;
  double alpha;  // where the node does not say
  double beta;
};

constexpr NamedActivation kActivations[] = {
    {"", Kind::kNone, 0, 0},
    {"Relu", Kind::kRelu, 0, 0},
    {"LeakyRelu", Kind::kLeakyRelu, 0.01, 0},
    {"Clip", Kind::kClip, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()},
    {"Elu", Kind::kElu, 1, 0},
    {"Sigmoid", Kind::kSigmoid, 0, 0},
    {"Tanh", Kind::kTanh, 0, 0},
    {"Swish", Kind::kSwish, 1, 0},
    {"HardSigmoid", Kind::kHardSigmoid, 0.2, 0.5},
    {"HardSwish", Kind::kHardSwish, 1.0 / 6, 0.5},
    {"Gelu", Kind::kGelu, 0, 0},
    {"GeluTanh", Kind::kGeluTanh, 0, 0},
    {"Mish", Kind::kMish, 0, 0},
};

}  // namespace

UnaryLoop FusedActivation::Float32Loop() const {
  const Float32Functions::Steps& steps = Float32().steps;
  switch (kind) {
    case Kind::kRelu:
      return Float32().relu;
    case Kind::kLeakyRelu:
      return Float32().leaky_relu;
    case Kind::kClip:
      return Float32().clip;
    case Kind::kSigmoid:
      return float_steps ? steps.sigmoid : Float32().sigmoid;
    case Kind::kTanh:
      return Float32().tanh;
    case Kind::kSwish:
      return float_steps ? steps.swish : Float32().swish;
    case Kind::kHardSigmoid:
      return Float32().hard_sigmoid;
    case Kind::kHardSwish:
      return Float32().hard_swish;
    case Kind::kGelu:
      return float_steps ? steps.gelu : Float32().gelu;
    case Kind::kGeluTanh:
      return float_steps ? steps.tanh_gelu : Float32().tanh_gelu;
    case Kind::kElu:
      return Float32().elu;
    case Kind::kMish:
      return Float32().mish;
    case Kind::kNone:
      return nullptr;
  }
  return nullptr;
}

Result<FusedActivation> ReadActivation(const KernelSite& site) {
  const std::string name = site.attributes().String("activation", "");
  for (const NamedActivation& known : kActivations) {
    if (known.name != name) continue;
    return FusedActivation{
        .kind = known.kind,
        .alpha = static_cast<float>(site.attributes().Float("activation_alpha", known.alpha)),
        .beta = static_cast<float>(site.attributes().Float("activation_beta", known.beta)),
        .float_steps = site.attributes().Int("activation_steps", 0) != 0};
  }
  return site.Unsupported(StrCat("there is no fused activation '", name, "'"));
}

}  // namespace plimsoll::kernels::cpu
