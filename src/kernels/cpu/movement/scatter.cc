#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/index_tuples.h"
#include "kernels/cpu/movement/moved_element.h"
#include "plimsoll/base/text.h"

// Updates written into a copy of a tensor, or joined with what is there. The copy is left out where
// the output is the input's memory.
namespace plimsoll::kernels::cpu {
namespace {

enum class Reduction { kNone, kAdd, kMultiply, kMin, kMax };

Result<Reduction> ReadReduction(const KernelSite& site) {
  const std::string name = site.attributes().String("reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMultiply;
  if (name == "min") return Reduction::kMin;
  if (name == "max") return Reduction::kMax;
  return site.Unsupported(StrCat("reduction is '", name, "'"));
}

// NaN wins in both directions, as it does in numpy.
template <typename T>
T Joined(Reduction reduction, T old, T update) {
  const Wide<T> a = old;
  const Wide<T> b = update;
  switch (reduction) {
    case Reduction::kAdd:
      return static_cast<T>(a + b);
    case Reduction::kMultiply:
      return static_cast<T>(a * b);
    case Reduction::kMin:
      return b < a || b != b ? update : old;
    case Reduction::kMax:
      return b > a || b != b ? update : old;
    default:
      return update;
  }
}

template <typename T>
struct Overwrite {
  void operator()(T* to, const T* from, int64_t count) const { CopyRun(from, to, count); }
};

template <typename T>
struct Reduce {
  Reduction reduction;
  void operator()(T* to, const T* from, int64_t count) const {
    // A loop of its own for the one that networks over graphs run through long rows.
    if (reduction == Reduction::kAdd) {
      for (int64_t i = 0; i < count; ++i) to[i] = Joined(Reduction::kAdd, to[i], from[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = Joined(reduction, to[i], from[i]);
    }
  }
};

using ReducedTypes = TypeList<float, double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                              uint8_t, uint16_t, uint32_t, uint64_t, bool>;

// The kernel that make_with.operator()<T>(write) gives for the site's type and reduction, where
// write(to, from, count) puts updates into the output.
template <typename MakeWith>
Result<KernelPointer> MakeForReduction(const KernelSite& site, const MakeWith& make_with) {
  PLIMSOLL_ASSIGN(const Reduction reduction, ReadReduction(site));
  const graph::DataType type = site.inputs[0].type;
  KernelPointer kernel;
  if (reduction == Reduction::kNone) {
    VisitMoved(type,
               [&]<typename T>() { kernel = make_with.template operator()<T>(Overwrite<T>{}); });
  } else {
    VisitType<ReducedTypes>(type, [&]<typename T>() {
      kernel = make_with.template operator()<T>(Reduce<T>{reduction});
    });
  }
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(type)));
  return kernel;
}

Result<KernelPointer> MakeScatterElements(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
  PLIMSOLL_ASSIGN(const ElementPlaces places, ElementPlaces::Make(site, axis));
  return MakeForReduction(site, [&]<typename T>(auto write) {
    return MakeKernel([places, write, type = data.type,
                       count = data.elements()](const KernelCall& call) -> Status {
      CopyTensor(type, call.inputs[0], call.outputs[0], count);
      const auto* updates = static_cast<const T*>(call.inputs[2]);
      auto* to = static_cast<T*>(call.outputs[0]);
      return places.Visit(call.inputs[1], [&](int64_t place, int64_t position, int64_t run) {
        write(to + place, updates + position, run);
      });
    });
  });
}

Result<KernelPointer> MakeScatterNd(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const IndexTuples tuples, IndexTuples::Make(site, 0));
  return MakeForReduction(site, [&]<typename T>(auto write) {
    return MakeKernel([tuples, write, type = data.type,
                       count = data.elements()](const KernelCall& call) -> Status {
      CopyTensor(type, call.inputs[0], call.outputs[0], count);
      const auto* updates = static_cast<const T*>(call.inputs[2]);
      auto* to = static_cast<T*>(call.outputs[0]);
      return tuples.Visit(call.inputs[1], [&](int64_t tuple, int64_t offset) {
        write(to + offset, updates + tuple * tuples.slice(), tuples.slice());
      });
    });
  });
}

// A cache with new entries along one axis, for each tensor of the batch from its own index on.
Result<KernelPointer> MakeTensorScatter(KernelSite& site) {
  const TensorInfo& cache = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", -2), cache.rank()));
  const bool circular = site.attributes().String("mode", "linear") == "circular";
  const AxisSplit to_split = SplitAt(cache.dims, axis);
  const AxisSplit from_split = SplitAt(site.inputs[1].dims, axis);
  const int64_t per_batch = to_split.outer / std::max<int64_t>(cache.dims[0], 1);
  if (from_split.length > to_split.length) {
    return site.BadInput(
        StrCat("an update of ", from_split.length, " does not fit a cache of ", to_split.length));
  }
  const bool indexed = site.has_input(2);
  const graph::DataType index_type = indexed ? site.inputs[2].type : graph::DataType::kInt64;
  if (indexed) PLIMSOLL_TRY(CheckIndexType(site, 2));
  KernelPointer kernel;
  VisitMoved(cache.type, [&]<typename T>() {
    kernel = MakeKernel([=, type = cache.type, count = cache.elements(),
                         outside = site.BadInput("")](const KernelCall& call) -> Status {
      CopyTensor(type, call.inputs[0], call.outputs[0], count);
      const auto* from = static_cast<const T*>(call.inputs[1]);
      auto* to = static_cast<T*>(call.outputs[0]);
      for (int64_t outer = 0; outer < to_split.outer; ++outer) {
        const int64_t first = indexed ? IndexAt(index_type, call.inputs[2], outer / per_batch) : 0;
        if (first < 0 || (!circular && first > to_split.length - from_split.length)) {
          return IndexOutside(outside, first, to_split.length);
        }
        for (int64_t i = 0; i < from_split.length; ++i) {
          const int64_t at = (first % to_split.length + i) % to_split.length;
          CopyRun(from + (outer * from_split.length + i) * from_split.inner,
                  to + (outer * to_split.length + at) * to_split.inner, to_split.inner);
        }
      }
      return {};
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(cache.type)));
  return kernel;
}

constexpr KernelRow kScatterRows[] = {
    {"", "Scatter", 9, graph::kNewest, MakeScatterElements},
    {"", "ScatterElements", 11, graph::kNewest, MakeScatterElements},
    {"", "ScatterND", 11, graph::kNewest, MakeScatterNd},
    {"", "TensorScatter", 24, graph::kNewest, MakeTensorScatter},
};

}  // namespace

std::span<const KernelRow> ScatterKernels() { return kScatterRows; }

}  // namespace plimsoll::kernels::cpu
