#include <array>

#include "kernels/cpu/families.h"

namespace plimsoll::kernels::cpu {
namespace {

// Where element `index` of the output finds its two operands, which broadcast to it.
struct Operands {
  Dims dims;                    // of the output
  std::array<Dims, 2> strides;  // of each input along them, 0 where it broadcasts

  std::array<int64_t, 2> At(int64_t index) const {
    std::array<int64_t, 2> at{0, 0};
    for (size_t axis = dims.size(); axis-- > 0;) {
      const int64_t place = index % dims[axis];
      index /= dims[axis];
      for (size_t input = 0; input < 2; ++input) at[input] += place * strides[input][axis];
    }
    return at;
  }
};

Dims BroadcastStrides(const Dims& from, size_t rank) {
  Dims strides(rank, 0);
  int64_t stride = 1;
  for (size_t back = 1; back <= from.size(); ++back) {
    const int64_t size = from[from.size() - back];
    if (size != 1) strides[rank - back] = stride;
    stride *= size;
  }
  return strides;
}

Result<KernelPointer> MakeStringConcat(KernelSite& site) {
  const Dims& dims = site.outputs[0].dims;
  Operands operands{dims,
                    {BroadcastStrides(site.inputs[0].dims, dims.size()),
                     BroadcastStrides(site.inputs[1].dims, dims.size())}};
  return MakeKernel(
      [operands = std::move(operands), count = site.outputs[0].elements()](const KernelCall& call) {
        const auto* first = static_cast<const std::string*>(call.inputs[0]);
        const auto* second = static_cast<const std::string*>(call.inputs[1]);
        auto* joined = static_cast<std::string*>(call.outputs[0]);
        for (int64_t i = 0; i < count; ++i) {
          const auto [left, right] = operands.At(i);
          joined[i] = first[left] + second[right];
        }
      });
}

constexpr KernelRow kStringConcatRows[] = {
    {"", "StringConcat", 20, graph::kNewest, MakeStringConcat},
};

}  // namespace

std::span<const KernelRow> StringConcatKernels() { return kStringConcatRows; }

}  // namespace plimsoll::kernels::cpu
