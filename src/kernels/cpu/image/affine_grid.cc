#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Where the pixel `at` of an axis lies between -1 and 1, from edge to edge or centre to centre.
double GridCoordinate(int64_t at, int64_t length, bool align_corners) {
  const auto size = static_cast<double>(length);
  const auto place = static_cast<double>(at);
  if (!align_corners) return (2 * place + 1) / size - 1;
  return length > 1 ? 2 * place / (size - 1) - 1 : 0;
}

// One point a pixel: the matrix of its image applied to (x, y[, z], 1), x being the last axis.
template <typename T>
void RunAffineGrid(const KernelCall& call, const Dims& out, bool align_corners) {
  const auto rank = static_cast<int64_t>(out.size()) - 2;
  const auto* matrix = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  const int64_t points = ElementCount(std::span(out).subspan(1, static_cast<size_t>(rank)));
  for (int64_t batch = 0; batch < out[0]; ++batch, matrix += rank * (rank + 1)) {
    for (int64_t point = 0; point < points; ++point) {
      double position[3];
      int64_t rest = point;
      for (int64_t i = 0; i < rank; ++i) {
        const int64_t length = out[rank - i];
        position[i] = GridCoordinate(rest % length, length, align_corners);
        rest /= length;
      }
      for (int64_t row = 0; row < rank; ++row) {
        const T* numbers = matrix + row * (rank + 1);
        auto sum = static_cast<double>(Wide<T>(numbers[rank]));
        for (int64_t i = 0; i < rank; ++i) {
          sum += static_cast<double>(Wide<T>(numbers[i])) * position[i];
        }
        *to++ = static_cast<T>(static_cast<Wide<T>>(sum));
      }
    }
  }
}

Result<KernelPointer> MakeAffineGrid(KernelSite& site) {
  const Dims& out = site.outputs[0].dims;
  const auto rank = static_cast<int64_t>(out.size()) - 2;
  if ((rank != 2 && rank != 3) || site.inputs[0].dims != Dims{out[0], rank, rank + 1}) {
    return site.BadInput("theta does not fit the size");
  }
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([out, align = site.attributes().Int("align_corners", 0) != 0](
                            const KernelCall& call) { RunAffineGrid<T>(call, out, align); });
  });
  if (kernel == nullptr) {
    return site.Unsupported(StrCat("theta is ", graph::Name(site.inputs[0].type)));
  }
  return kernel;
}

constexpr KernelRow kAffineGridRows[] = {
    {"", "AffineGrid", 20, graph::kNewest, MakeAffineGrid},
};

}  // namespace

std::span<const KernelRow> AffineGridKernels() { return kAffineGridRows; }

}  // namespace plimsoll::kernels::cpu
