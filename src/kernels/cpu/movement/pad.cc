#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/cpu/movement/table_copy.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Tensors made larger or smaller at their borders.
namespace plimsoll::kernels::cpu {
namespace {

// What part of the input lies in the output, the input beginning `front[axis]` places behind the
// output's beginning (before it, where negative).
StridedCopy CopyOfOverlap(graph::DataType type, const Dims& in, const Dims& out,
                          const Dims& front) {
  const Dims from = StridesOf(in);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  int64_t from_first = 0;
  int64_t to_first = 0;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    const int64_t begin = std::max<int64_t>(front[axis], 0);
    const int64_t end = std::min(front[axis] + in[axis], out[axis]);
    axes.push_back({std::max<int64_t>(end - begin, 0), from[axis], to[axis]});
    from_first += (begin - front[axis]) * from[axis];
    to_first += begin * to[axis];
  }
  return {type, std::move(axes), from_first, to_first};
}

// What of an output the input does not cover, axis by axis: what lies in front of and behind it is
// written in runs.
class Border {
 public:
  Border(const Dims& in, const Dims& out, const Dims& front) {
    const Dims steps = StridesOf(out);
    for (size_t axis = 0; axis < in.size(); ++axis) {
      const int64_t begin = std::clamp<int64_t>(front[axis], 0, out[axis]);
      const int64_t end = std::clamp<int64_t>(front[axis] + in[axis], begin, out[axis]);
      axes_.push_back({begin, end, out[axis], steps[axis]});
      if (begin > 0 || end < out[axis]) padded_ = axes_.size();
    }
  }

  template <typename T>
  void Fill(T element, T* to) const {
    FillFrom(0, element, to);
  }

 private:
  struct Axis {
    int64_t begin, end;  // that the input covers
    int64_t count;
    int64_t step;
  };

  template <typename T>
  void FillFrom(size_t at, T element, T* to) const {
    if (at == padded_) return;
    const Axis& axis = axes_[at];
    FillRun(element, to, axis.begin * axis.step);
    for (int64_t i = axis.begin; i < axis.end && at + 1 < padded_; ++i) {
      FillFrom(at + 1, element, to + i * axis.step);
    }
    FillRun(element, to + axis.end * axis.step, (axis.count - axis.end) * axis.step);
  }

  std::vector<Axis> axes_;
  size_t padded_ = 0;  // no axis from here on is padded
};

// The element at `value` (zero, or "", where it is null) around a copy of the input.
void FillAround(graph::DataType type, const Border& border, int64_t count, const void* value,
                void* to) {
  const bool whole = VisitMoved(type, [&]<typename T>() {
    border.Fill(value == nullptr ? T() : *static_cast<const T*>(value), static_cast<T*>(to));
  });
  if (!whole) FillElements(type, to, count, value);  // elements below a byte
}

// Where, on an axis of `length`, the place `at` before, in or behind it is read.
int64_t Folded(const std::string& mode, int64_t at, int64_t length) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, length - 1);
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (mode == "wrap") return modulo(at, length);
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t place = modulo(at, period);
  return place < length ? place : period - place;
}

Result<KernelPointer> MakeFoldedPad(const KernelSite& site, const std::string& mode,
                                    const Dims& front) {
  const TensorInfo& data = site.inputs[0];
  if (!TableCopy::Supports(data.type)) {
    return site.Unsupported(
        StrCat("data is ", graph::Name(data.type), " and mode is '", mode, "'"));
  }
  std::vector<Dims> places(front.size());
  for (size_t axis = 0; axis < front.size(); ++axis) {
    const int64_t length = data.dims[axis];
    if (length == 0 && site.outputs[0].dims[axis] > 0) {
      return site.BadInput(StrCat("axis ", axis, " is empty: there is nothing to pad it with"));
    }
    for (int64_t i = 0; i < site.outputs[0].dims[axis]; ++i) {
      places[axis].push_back(Folded(mode, i - front[axis], length));
    }
  }
  return MakeKernel(
      [copy = TableCopy(data.type, data.dims, std::move(places))](const KernelCall& call) {
        copy.Run(call.inputs[0], call.outputs[0], nullptr);
      });
}

// Whether rows of a few planes or more get pads: a table's way, which writes nothing twice.
bool PadsRows(const TensorInfo& data, const Dims& out, const Dims& front) {
  constexpr int64_t kMostPlaces = 4096;
  if (out.size() < 3 || !TableCopy::Supports(data.type) || out.back() > kMostPlaces) return false;
  return front.back() > 0 || front.back() + data.dims.back() < out.back();
}

Result<KernelPointer> MakeConstantPadOfRows(const KernelSite& site, const Dims& front) {
  const TensorInfo& data = site.inputs[0];
  std::vector<Dims> places(front.size());
  for (size_t axis = 0; axis < front.size(); ++axis) {
    for (int64_t i = 0; i < site.outputs[0].dims[axis]; ++i) {
      const int64_t at = i - front[axis];
      const bool inside = at >= 0 && at < data.dims[axis];
      places[axis].push_back(inside ? at : TableCopy::kOutside);
    }
  }
  return MakeKernel([copy = TableCopy(data.type, data.dims, std::move(places)), type = data.type,
                     by_input = site.has_input(2),
                     value = site.attributes().Float("value", 0)](const KernelCall& call) {
    alignas(16) std::byte element[16] = {};
    if (value != 0) StoreDouble(type, element, 0, value);
    copy.Run(call.inputs[0], call.outputs[0], by_input ? call.inputs[2] : element);
  });
}

// How many places each axis gets in front.
Result<Dims> ReadFront(const KernelSite& site) {
  const auto rank = static_cast<size_t>(site.inputs[0].rank());
  std::vector<int64_t> pads;
  std::vector<int64_t> axes;
  if (const auto* given = site.attributes().Ints("pads")) pads = *given;
  if (site.has_input(1)) pads = site.inputs[1].Integers();
  if (site.has_input(3)) {
    axes = site.inputs[3].Integers();
  } else {
    for (size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  }
  if (pads.size() != 2 * axes.size()) {
    return site.BadInput(StrCat("there are ", pads.size(), " pads for ", axes.size(), " axes"));
  }
  Dims front(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    PLIMSOLL_ASSIGN(const int64_t axis, NormalAxis(site, axes[i], site.inputs[0].rank()));
    front[axis] = pads[i];
  }
  return front;
}

Result<KernelPointer> MakePad(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Dims front, ReadFront(site));
  const std::string mode = site.attributes().String("mode", "constant");
  if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    return MakeFoldedPad(site, mode, front);
  }
  if (mode != "constant") return site.Unsupported(StrCat("mode is '", mode, "'"));
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  const bool text = data.type == graph::DataType::kString;
  if (!text && PadsRows(data, out, front)) return MakeConstantPadOfRows(site, front);
  const bool by_input = site.has_input(2);
  double attribute = site.attributes().Float("value", 0);
  return MakeKernel([copy = CopyOfOverlap(data.type, data.dims, out, front),
                     border = Border(data.dims, out, front), type = data.type,
                     count = ElementCount(out), by_input, attribute](const KernelCall& call) {
    alignas(16) std::byte element[16] = {};
    if (attribute != 0) StoreDouble(type, element, 0, attribute);
    const void* by_attribute = attribute == 0 ? nullptr : element;
    FillAround(type, border, count, by_input ? call.inputs[2] : by_attribute, call.outputs[0]);
    copy.Run(call.inputs[0], call.outputs[0]);
  });
}

// Cuts take one place more from the back, pads put one more there.
Result<KernelPointer> MakeCenterCropPad(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  Dims front;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t extra = out[axis] - data.dims[axis];
    front.push_back(extra >= 0 ? extra / 2 : -(-extra / 2));
  }
  return MakeKernel([copy = CopyOfOverlap(data.type, data.dims, out, front),
                     border = Border(data.dims, out, front), type = data.type,
                     count = ElementCount(out)](const KernelCall& call) {
    FillAround(type, border, count, nullptr, call.outputs[0]);
    copy.Run(call.inputs[0], call.outputs[0]);
  });
}

constexpr KernelRow kPadRows[] = {
    {"", "Pad", 2, graph::kNewest, MakePad},
    {"", "CenterCropPad", 18, graph::kNewest, MakeCenterCropPad},
};

}  // namespace

std::span<const KernelRow> PadKernels() { return kPadRows; }

}  // namespace plimsoll::kernels::cpu
