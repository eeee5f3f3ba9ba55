#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/moved_element.h"
#include "plimsoll/base/text.h"

// Elements that move or vanish inside matrices: Trilu and ReverseSequence.
namespace plimsoll::kernels::cpu {
namespace {

// Keeps the part of each matrix on one side of a diagonal. Rows are copied before they are cleared,
// so the output may be the input.
template <typename T>
void RunTrilu(const KernelCall& call, int64_t matrices, int64_t rows, int64_t columns, bool upper) {
  const int64_t wanted = call.inputs.size() > 1 && call.inputs[1] != nullptr
                             ? *static_cast<const int64_t*>(call.inputs[1])
                             : 0;
  const int64_t diagonal = std::clamp<int64_t>(wanted, -rows, columns);
  for (int64_t row = 0; row < matrices * rows; ++row) {
    const T* from = static_cast<const T*>(call.inputs[0]) + row * columns;
    T* to = static_cast<T*>(call.outputs[0]) + row * columns;
    // The first column kept by the upper part; the first one cleared by the lower.
    const int64_t edge = row % rows + diagonal + (upper ? 0 : 1);
    const int64_t cut = std::clamp<int64_t>(edge, 0, columns);
    if (upper) {
      if (from != to) CopyRun(from + cut, to + cut, columns - cut);
      std::fill_n(to, cut, T());
    } else {
      if (from != to) CopyRun(from, to, cut);
      std::fill_n(to + cut, columns - cut, T());
    }
  }
}

Result<KernelPointer> MakeTrilu(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  if (data.rank() < 2) return site.BadInput("it needs a matrix");
  if (site.has_input(1) && site.inputs[1].type != graph::DataType::kInt64) {
    return site.Unsupported("k is not int64");
  }
  const int64_t columns = data.dims.back();
  const int64_t rows = data.dims[data.dims.size() - 2];
  const int64_t matrices = rows * columns == 0 ? 0 : data.elements() / (rows * columns);
  const bool upper = site.attributes().Int("upper", 1) != 0;
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [=](const KernelCall& call) { RunTrilu<T>(call, matrices, rows, columns, upper); });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

// Time and batch are the first two axes, in either order.
struct Sequences {
  int64_t times;
  int64_t batches;
  int64_t inner;
  bool time_first;
  graph::DataType length_type;
  Error outside;

  int64_t At(int64_t time, int64_t batch) const {
    return (time_first ? time * batches + batch : batch * times + time) * inner;
  }
};

template <typename T>
Status RunReverseSequence(const Sequences& sequences, const KernelCall& call) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  for (int64_t batch = 0; batch < sequences.batches; ++batch) {
    const int64_t length = IndexAt(sequences.length_type, call.inputs[1], batch);
    if (length < 0 || length > sequences.times) {
      return IndexOutside(sequences.outside, length, sequences.times);
    }
    for (int64_t time = 0; time < sequences.times; ++time) {
      const int64_t source = time < length ? length - 1 - time : time;
      CopyRun(from + sequences.At(source, batch), to + sequences.At(time, batch), sequences.inner);
    }
  }
  return {};
}

Result<KernelPointer> MakeReverseSequence(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const int64_t time = site.attributes().Int("time_axis", 0);
  const int64_t batch = site.attributes().Int("batch_axis", 1);
  if (data.rank() < 2 || time + batch != 1 || time < 0 || time > 1) {
    return site.BadInput("time and batch must be the first two axes");
  }
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  if (site.inputs[1].elements() != data.dims[batch]) {
    return site.BadInput(StrCat("there are ", site.inputs[1].elements(), " lengths for a batch of ",
                                data.dims[batch]));
  }
  const Sequences sequences{data.dims[time], data.dims[batch],    SplitAt(data.dims, 1).inner,
                            time == 0,       site.inputs[1].type, site.BadInput("")};
  KernelPointer kernel;
  VisitMoved(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [sequences](const KernelCall& call) { return RunReverseSequence<T>(sequences, call); });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kArrangementRows[] = {
    {"", "Trilu", 14, graph::kNewest, MakeTrilu},
    {"", "ReverseSequence", 10, graph::kNewest, MakeReverseSequence},
};

}  // namespace

std::span<const KernelRow> ArrangementKernels() { return kArrangementRows; }

}  // namespace plimsoll::kernels::cpu
