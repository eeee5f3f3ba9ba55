#include <algorithm>
#include <cstring>

#include "kernels/cpu/families.h"

// Optionals whose element is a tensor that is known to be there, or known to be left out: host
// operators serve the others.
namespace plimsoll::kernels::cpu {
namespace {

Result<KernelPointer> MakeOptionalHasElement(KernelSite& site) {
  return MakeKernel([present = site.has_input(0)](const KernelCall& call) {
    *static_cast<bool*>(call.outputs[0]) = present;
  });
}

Result<KernelPointer> MakeOptionalGetElement(KernelSite& site) {
  if (!site.has_input(0)) return site.BadInput("the optional is left out");
  if (site.inputs[0].type == graph::DataType::kString) {
    return MakeKernel([count = site.inputs[0].elements()](const KernelCall& call) {
      std::copy_n(static_cast<const std::string*>(call.inputs[0]), count,
                  static_cast<std::string*>(call.outputs[0]));
    });
  }
  return MakeKernel([bytes = site.inputs[0].size().value()](const KernelCall& call) {
    if (call.inputs[0] == call.outputs[0] || bytes == 0) return;
    std::memcpy(call.outputs[0], call.inputs[0], static_cast<size_t>(bytes));
  });
}

constexpr KernelRow kOptionalRows[] = {
    {"", "OptionalGetElement", 15, graph::kNewest, MakeOptionalGetElement},
    {"", "OptionalHasElement", 15, graph::kNewest, MakeOptionalHasElement},
};

}  // namespace

std::span<const KernelRow> OptionalKernels() { return kOptionalRows; }

}  // namespace plimsoll::kernels::cpu
