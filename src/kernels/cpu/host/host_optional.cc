#include <utility>

#include "kernels/cpu/host_families.h"

// Optionals, and Identity over whatever is no tensor.
namespace plimsoll::kernels::cpu {
namespace {

Status RunIdentity(HostSite& site) {
  site.outputs[0] = std::move(site.inputs[0]);
  return {};
}

Status RunOptional(HostSite& site) {
  std::vector<HostValue> element;
  if (site.has_input(0)) element.push_back(std::move(site.inputs[0]));
  site.outputs[0] = HostValue::Optional(std::move(element));
  return {};
}

// A value that is no optional counts as one that is there.
Status RunOptionalHasElement(HostSite& site) {
  const bool present = site.has_input(0) && (site.inputs[0].kind != HostValue::Kind::kOptional ||
                                             !site.inputs[0].elements.empty());
  PLIMSOLL_ASSIGN(HostTensor answer, site.allocate(graph::DataType::kBool, {}));
  *static_cast<bool*>(answer.data.get()) = present;
  site.outputs[0] = HostValue::Of(std::move(answer));
  return {};
}

Status RunOptionalGetElement(HostSite& site) {
  if (!site.has_input(0)) return site.BadInput("the optional is left out");
  if (site.inputs[0].kind != HostValue::Kind::kOptional) return RunIdentity(site);
  if (site.inputs[0].elements.empty()) return site.BadInput("the optional holds nothing");
  site.outputs[0] = std::move(site.inputs[0].elements.front());
  return {};
}

constexpr HostOperator kHostOptionalRows[] = {
    {"", "Identity", 1, RunIdentity},
    {"", "Optional", 15, RunOptional},
    {"", "OptionalGetElement", 15, RunOptionalGetElement},
    {"", "OptionalHasElement", 15, RunOptionalHasElement, true},
};

}  // namespace

std::span<const HostOperator> OptionalOperators() { return kHostOptionalRows; }

}  // namespace plimsoll::kernels::cpu
