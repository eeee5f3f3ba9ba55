#include "kernels/cpu/fused_activation.h"

#include <limits>

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

Result<FusedActivation> ReadActivation(const KernelSite& site) {
  const std::string name = site.attributes().String("activation", "");
  for (const NamedActivation& known : kActivations) {
    if (known.name != name) continue;
    return FusedActivation{
        .kind = known.kind,
        .alpha = static_cast<float>(site.attributes().Float("activation_alpha", known.alpha)),
        .beta = static_cast<float>(site.attributes().Float("activation_beta", known.beta))};
  }
  return site.Unsupported(StrCat("there is no fused activation '", name, "'"));
}

}  // namespace plimsoll::kernels::cpu
