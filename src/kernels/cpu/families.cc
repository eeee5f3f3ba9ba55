#include "kernels/cpu/families.h"

namespace plimsoll::kernels::cpu {

std::vector<std::span<const KernelRow>> Families() {
  return {
      ViewKernels(),
  };
}

}  // namespace plimsoll::kernels::cpu
