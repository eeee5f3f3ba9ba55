#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "plimsoll/base/text.h"

// Elements picked by what is in a tensor: the output's size is known with the data only.
namespace plimsoll::kernels::cpu {
namespace {

using CheckedTypes = TypeList<float, double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                              uint8_t, uint16_t, uint32_t, uint64_t, bool>;

template <typename T>
bool IsNonZero(const T& element) {
  return static_cast<Wide<T>>(element) != 0;
}

bool IsNonZero(const std::string& element) { return !element.empty(); }

// A constant's elements may be unaligned at preparation.
template <typename T>
int64_t CountNonZero(const void* data, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, std::string>) {
      found += IsNonZero(static_cast<const std::string*>(data)[i]) ? 1 : 0;
    } else {
      T element;
      std::memcpy(&element, static_cast<const std::byte*>(data) + i * int64_t{sizeof(T)},
                  sizeof(T));
      found += IsNonZero(element) ? 1 : 0;
    }
  }
  return found;
}

// Row `axis` of the output holds the places along that axis, in the order of the elements. Those
// along all axes but the last are the same for all elements of a line.
template <typename T>
void RunNonZero(const KernelCall& call, const Dims& dims, int64_t found) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<int64_t*>(call.outputs[0]);
  if (dims.empty()) return;
  const size_t last = dims.size() - 1;
  const int64_t lines = dims[last] == 0 ? 0 : ElementCount(dims) / dims[last];
  int64_t at = 0;
  for (int64_t line = 0; line < lines && at < found; ++line) {
    const int64_t first = at;
    int64_t* const places = to + static_cast<int64_t>(last) * found;
    for (int64_t i = 0; i < dims[last] && at < found; ++i) {
      if (IsNonZero(from[line * dims[last] + i])) places[at++] = i;
    }
    if (at == first) continue;
    int64_t rest = line;
    for (size_t axis = last; axis-- > 0; rest /= dims[axis]) {
      int64_t* const row = to + static_cast<int64_t>(axis) * found;
      std::fill(row + first, row + at, rest % dims[axis]);
    }
  }
}

Result<KernelPointer> MakeNonZero(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  TensorInfo& out = site.outputs[0];
  KernelPointer kernel;
  const auto make = [&]<typename T>() {
    if (!out.sized) out.dims = {data.rank(), CountNonZero<T>(data.data, data.elements())};
    out.sized = true;
    kernel = MakeKernel([dims = data.dims, found = out.dims[1]](const KernelCall& call) {
      RunNonZero<T>(call, dims, found);
    });
  };
  if (data.type == graph::DataType::kString) {
    make.template operator()<std::string>();
  } else {
    VisitType<CheckedTypes>(data.type, make);
  }
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

// Without an axis the input is one long list.
Result<KernelPointer> MakeCompress(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  TensorInfo& out = site.outputs[0];
  AxisSplit split{1, data.elements(), 1};
  int64_t axis = 0;
  const bool has_axis = site.attributes().Find("axis") != nullptr;
  if (has_axis) {
    PLIMSOLL_ASSIGN(axis, NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
    split = SplitAt(data.dims, axis);
  }
  const int64_t flags = std::min(split.length, site.inputs[1].elements());
  if (!out.sized) {
    out.dims = has_axis ? data.dims : Dims{0};
    out.dims[axis] = CountNonZero<bool>(site.inputs[1].data, flags);
    out.sized = true;
  }
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = MakeKernel([split, flags, kept = out.dims[axis]](const KernelCall& call) {
      const auto* from = static_cast<const T*>(call.inputs[0]);
      const auto* flag = static_cast<const bool*>(call.inputs[1]);
      auto* to = static_cast<T*>(call.outputs[0]);
      for (int64_t outer = 0; outer < split.outer; ++outer) {
        int64_t at = 0;
        for (int64_t i = 0; i < flags && at < kept; ++i) {
          if (!flag[i]) continue;
          CopyRun(from + (outer * split.length + i) * split.inner,
                  to + (outer * kept + at) * split.inner, split.inner);
          ++at;
        }
      }
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kSelectionRows[] = {
    {"", "NonZero", 9, graph::kNewest, MakeNonZero},
    {"", "Compress", 9, graph::kNewest, MakeCompress},
};

}  // namespace

std::span<const KernelRow> SelectionKernels() { return kSelectionRows; }

}  // namespace plimsoll::kernels::cpu
