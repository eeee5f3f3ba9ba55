#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/index_tuples.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Elements and slices fetched by index. Negative indices count from the end.
namespace plimsoll::kernels::cpu {
namespace {

// Bytes or strings that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 15;

struct GatherPlan {
  AxisSplit data;
  int64_t picks = 0;
  graph::DataType index_type;
  Error outside;
};

// Single elements: `picks` of each of some rows of the data.
template <typename T, typename Index>
void PickElements(const GatherPlan& plan, const Index* indices, int64_t rows, const T* from,
                  T* to) {
  const int64_t length = plan.data.length;
  const auto place = [&](int64_t i) {
    const auto index = static_cast<int64_t>(indices[i]);
    return index < 0 ? index + length : index;
  };
  // The result may be the part of the data that is picked, as CopyRun has it.
  const bool may_be_there = plan.picks > 0 && from + place(0) == to;
  for (int64_t row = 0; row < rows; ++row, from += length, to += plan.picks) {
    for (int64_t i = 0; may_be_there && i < plan.picks; ++i) CopyRun(from + place(i), to + i, 1);
    for (int64_t i = 0; !may_be_there && i < plan.picks; ++i) to[i] = from[place(i)];
  }
}

template <typename T, typename Index>
Status RunGather(const GatherPlan& plan, const KernelCall& call) {
  const AxisSplit& data = plan.data;
  const auto* const indices = static_cast<const Index*>(call.inputs[1]);
  for (int64_t i = 0; i < plan.picks; ++i) {
    const auto index = static_cast<int64_t>(indices[i]);
    if (index < -data.length || index >= data.length) {
      return IndexOutside(plan.outside, index, data.length);
    }
  }
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  if (data.inner == 1) {
    const int64_t grain = kGrain / std::max<int64_t>(plan.picks, 1) + 1;
    ParallelFor(data.outer, grain, [&](int64_t begin, int64_t end) {
      PickElements(plan, indices, end - begin, from + begin * data.length, to + begin * plan.picks);
    });
    return {};
  }
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(data.inner, 1), 1);
  ParallelFor(data.outer * plan.picks, grain, [&](int64_t begin, int64_t end) {
    int64_t outer = begin / plan.picks;
    int64_t pick = begin % plan.picks;
    for (int64_t run = begin; run < end; ++run) {
      auto index = static_cast<int64_t>(indices[pick]);
      if (index < 0) index += data.length;
      CopyRun(from + (outer * data.length + index) * data.inner, to + run * data.inner, data.inner);
      if (++pick == plan.picks) {
        pick = 0;
        ++outer;
      }
    }
  });
  return {};
}

template <typename T>
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(GatherPlan plan) : plan_(std::move(plan)) {}
  Status Run(const KernelCall& call) const override {
    return plan_.index_type == graph::DataType::kInt64 ? RunGather<T, int64_t>(plan_, call)
                                                       : RunGather<T, int32_t>(plan_, call);
  }
  int64_t rows_read(size_t input) const override {
    const bool rows = input == 0 && plan_.data.outer == 1 && MovesBytes<T>(plan_.data.inner);
    return rows ? plan_.picks : 0;
  }

 private:
  const GatherPlan plan_;
};

Result<KernelPointer> MakeGather(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
  GatherPlan plan{SplitAt(data.dims, axis), site.inputs[1].elements(), site.inputs[1].type,
                  site.BadInput("")};
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = std::make_unique<const GatherKernel<T>>(std::move(plan));
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

// One element for each index, from the same place of the data on all other axes.
Result<KernelPointer> MakeGatherElements(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
  PLIMSOLL_ASSIGN(const ElementPlaces places, ElementPlaces::Make(site, axis));
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = MakeKernel([places](const KernelCall& call) -> Status {
      const auto* from = static_cast<const T*>(call.inputs[0]);
      auto* to = static_cast<T*>(call.outputs[0]);
      const auto copy = [&](int64_t place, int64_t position, int64_t count) {
        CopyRun(from + place, to + position, count);
      };
      return places.VisitInParallel(call.inputs[1], copy);
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

Result<KernelPointer> MakeGatherNd(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const IndexTuples tuples,
                  IndexTuples::Make(site, site.attributes().Int("batch_dims", 0)));
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = MakeKernel([tuples](const KernelCall& call) -> Status {
      const auto* from = static_cast<const T*>(call.inputs[0]);
      auto* to = static_cast<T*>(call.outputs[0]);
      return tuples.Visit(call.inputs[1], [&](int64_t tuple, int64_t offset) {
        CopyRun(from + offset, to + tuple * tuples.slice(), tuples.slice());
      });
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kGatherRows[] = {
    {"", "Gather", 1, graph::kNewest, MakeGather},
    {"", "GatherElements", 11, graph::kNewest, MakeGatherElements},
    {"", "GatherND", 11, graph::kNewest, MakeGatherNd},
};

}  // namespace

std::span<const KernelRow> GatherKernels() { return kGatherRows; }

}  // namespace plimsoll::kernels::cpu
