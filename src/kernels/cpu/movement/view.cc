#include <cstring>

#include "kernels/cpu/families.h"

namespace plimsoll::kernels::cpu {
namespace {

// The same elements under another shape. Where the plan made it a view there is nothing to do.
Result<KernelPointer> MakeView(KernelSite& site) {
  if (site.inputs[0].type == graph::DataType::kString) {
    return MakeKernel([count = site.inputs[0].elements()](const KernelCall& call) {
      const auto* from = static_cast<const std::string*>(call.inputs[0]);
      std::copy(from, from + count, static_cast<std::string*>(call.outputs[0]));
    });
  }
  const auto bytes = static_cast<size_t>(site.inputs[0].size().value());
  return MakeKernel([bytes](const KernelCall& call) {
    if (call.inputs[0] != call.outputs[0] && bytes > 0) {
      std::memcpy(call.outputs[0], call.inputs[0], bytes);
    }
  });
}

constexpr KernelRow kViewRows[] = {
    {"", "Flatten", 1, graph::kNewest, MakeView},   {"", "Identity", 1, graph::kNewest, MakeView},
    {"", "Reshape", 1, graph::kNewest, MakeView},   {"", "Squeeze", 1, graph::kNewest, MakeView},
    {"", "Unsqueeze", 1, graph::kNewest, MakeView},
};

}  // namespace

std::span<const KernelRow> ViewKernels() { return kViewRows; }

}  // namespace plimsoll::kernels::cpu
