#include <algorithm>
#include <numeric>

#include "kernels/cpu/axis_split.h"
#include "kernels/cpu/element_order.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// The first `kept` of a lane's places in order, the lower index first among equals. `places` has
// room for the lane.
template <typename Before>
void OrderPlaces(int64_t* places, int64_t length, int64_t kept, const Before& before) {
  std::iota(places, places + length, 0);
  if (kept < length) std::nth_element(places, places + kept, places + length, before);
  std::sort(places, places + kept, before);
}

template <typename T>
void RunTopK(const KernelCall& call, const AxisSplit& split, int64_t kept, bool largest) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* values = static_cast<T*>(call.outputs[0]);
  auto* indices = static_cast<int64_t*>(call.outputs[1]);
  auto* places = static_cast<int64_t*>(call.workspace);
  for (int64_t lane = 0; lane < split.lanes(); ++lane) {
    const int64_t outer = lane / split.inner;
    const int64_t inner = lane % split.inner;
    const T* first = from + outer * split.length * split.inner + inner;
    OrderPlaces(places, split.length, kept, [&](int64_t a, int64_t b) {
      const T& left = first[a * split.inner];
      const T& right = first[b * split.inner];
      if (ComesBefore(left, right)) return !largest;
      if (ComesBefore(right, left)) return largest;
      return a < b;
    });
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t at = (outer * kept + i) * split.inner + inner;
      if (values != nullptr) values[at] = first[places[i] * split.inner];
      if (indices != nullptr) indices[at] = places[i];
    }
  }
}

// Always sorted: `sorted` = 0 allows any order.
Result<KernelPointer> MakeTopK(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", -1), data.rank()));
  const AxisSplit split = SplitAt(data.dims, axis);
  const TensorInfo& out = site.has_output(0) ? site.outputs[0] : site.outputs[1];
  const int64_t kept = out.dims[axis];
  if (kept > split.length) {
    return site.BadInput(StrCat("cannot take ", kept, " of ", split.length, " elements"));
  }
  const bool largest = site.attributes().Int("largest", 1) != 0;
  KernelPointer kernel;
  VisitType<AllNumbers>(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [=](const KernelCall& call) {
          if (kept > 0) RunTopK<T>(call, split, kept, largest);
        },
        Bytes(split.length * int64_t{sizeof(int64_t)}));
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kRows[] = {
    {"", "TopK", 1, graph::kNewest, MakeTopK},
};

}  // namespace

std::span<const KernelRow> TopKKernels() { return kRows; }

}  // namespace plimsoll::kernels::cpu
