#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Elements repeated: along axes of one (Expand), or whole tensors side by side (Tile).
namespace plimsoll::kernels::cpu {
namespace {

KernelPointer MakeCopyKernel(graph::DataType type, std::vector<CopyAxis> axes) {
  return MakeKernel([copy = StridedCopy(type, std::move(axes))](const KernelCall& call) {
    copy.Run(call.inputs[0], call.outputs[0]);
  });
}

Result<KernelPointer> MakeExpand(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  if (data.dims.size() > out.size())
    return site.BadInput("the input has more axes than the output");
  const size_t added = out.size() - data.dims.size();
  const Dims from = StridesOf(data.dims);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t length = axis < added ? 1 : data.dims[axis - added];
    if (length != 1 && length != out[axis]) {
      return site.BadInput(StrCat("an axis of ", length, " does not expand to ", out[axis]));
    }
    axes.push_back({out[axis], length == 1 ? 0 : from[axis - added], to[axis]});
  }
  return MakeCopyKernel(data.type, std::move(axes));
}

// An axis of a tensor that is repeated, and how many elements one step along it is.
struct TiledAxis {
  int64_t count = 1;
  int64_t repeats = 1;
  int64_t from = 1;
  int64_t to = 1;  // in the output

  int64_t block() const { return count * to; }  // what is repeated
};

// Axes whose elements are repeated only together with those of the axis before them are one. The
// last one's elements are runs.
std::vector<TiledAxis> TiledAxes(const Dims& data, const Dims& out) {
  std::vector<TiledAxis> axes;
  int64_t from = 1;
  int64_t to = 1;
  for (size_t axis = data.size(); axis-- > 0;) {
    const TiledAxis next{data[axis], data[axis] == 0 ? 0 : out[axis] / data[axis], from, to};
    if (!axes.empty() && axes.back().repeats == 1) {
      axes.back().count *= next.count;
      axes.back().repeats = next.repeats;
    } else {
      axes.push_back(next);
    }
    from *= data[axis];
    to *= out[axis];
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

// The block at `to` is there; so are as many more of it behind it. What is there is copied whole,
// so that short blocks soon are long ones.
template <typename T>
void Repeat(T* to, int64_t block, int64_t repeats) {
  for (int64_t done = 1; done < repeats;) {
    const int64_t some = std::min(done, repeats - done);
    CopyRun(to, to + done * block, some * block);
    done += some;
  }
}

template <typename T>
void FillTiles(std::span<const TiledAxis> axes, const T* from, T* to) {
  const TiledAxis& axis = axes[0];
  if (axes.size() == 1) {
    CopyRun(from, to, axis.count);
  } else {
    for (int64_t i = 0; i < axis.count; ++i) {
      FillTiles(axes.subspan(1), from + i * axis.from, to + i * axis.to);
    }
  }
  Repeat(to, axis.block(), axis.repeats);
}

// The first axis is shared out, then its repetitions are.
template <typename T>
void RunTile(const std::vector<TiledAxis>& axes, const T* from, T* to) {
  constexpr int64_t kGrain = 1 << 15;
  const TiledAxis& first = axes[0];
  const std::span<const TiledAxis> inner = std::span(axes).subspan(1);
  if (inner.empty()) {
    CopyRun(from, to, first.count);
  } else {
    ParallelFor(first.count, kGrain / first.to + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        FillTiles(inner, from + i * first.from, to + i * first.to);
    });
  }
  if (first.block() < kGrain) return Repeat(to, first.block(), first.repeats);
  ParallelFor(first.repeats - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) CopyRun(to, to + (i + 1) * first.block(), first.block());
  });
}

Result<KernelPointer> MakeTile(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  if (ElementCount(out) > 0 && data.rank() > 0) {
    KernelPointer kernel;
    VisitMoved(data.type, [&]<typename T>() {
      kernel = MakeKernel([axes = TiledAxes(data.dims, out)](const KernelCall& call) {
        RunTile(axes, static_cast<const T*>(call.inputs[0]), static_cast<T*>(call.outputs[0]));
      });
    });
    if (kernel != nullptr) return kernel;
  }
  const Dims from = StridesOf(data.dims);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t length = data.dims[axis];
    axes.push_back({length == 0 ? 0 : out[axis] / length, 0, length * to[axis]});
    axes.push_back({length, from[axis], to[axis]});
  }
  return MakeCopyKernel(data.type, std::move(axes));
}

constexpr KernelRow kExpandRows[] = {
    {"", "Expand", 8, graph::kNewest, MakeExpand},
    {"", "Tile", 6, graph::kNewest, MakeTile},
};

}  // namespace

std::span<const KernelRow> ExpandKernels() { return kExpandRows; }

}  // namespace plimsoll::kernels::cpu
