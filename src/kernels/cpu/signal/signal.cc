#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/signal/fourier.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Fourier transforms of whole axes (DFT) and of windows that slide over a signal (STFT). The last
// axis of a signal holds the real part, or the real and the imaginary part.
namespace plimsoll::kernels::cpu {
namespace {

Bytes WorkspaceOf(const FourierTransform& transform) {
  return Bytes((transform.length() + transform.scratch()) * int64_t{sizeof(ComplexNumber)});
}

// How the lanes of a DFT lie: [outer, length, inner, parts].
struct Transformed {
  AxisSplit from;
  AxisSplit to;
  int64_t from_parts;
  int64_t to_parts;
  bool mirrored;  // the input is the first half of a spectrum; the rest is its mirror image
};

template <typename T>
void RunTransform(const KernelCall& call, const Transformed& shape,
                  const FourierTransform& transform) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  auto* numbers = static_cast<ComplexNumber*>(call.workspace);
  ComplexNumber* scratch = numbers + transform.length();
  const int64_t length = transform.length();
  for (int64_t lane = 0; lane < shape.from.lanes(); ++lane) {
    const int64_t outer = lane / shape.from.inner;
    const int64_t inner = lane % shape.from.inner;
    const auto read = [&](int64_t i) -> ComplexNumber {
      if (i >= shape.from.length) return {};
      const T* number =
          from + ((outer * shape.from.length + i) * shape.from.inner + inner) * shape.from_parts;
      return {static_cast<double>(Wide<T>(number[0])),
              shape.from_parts == 2 ? static_cast<double>(Wide<T>(number[1])) : 0};
    };
    for (int64_t i = 0; i < length; ++i) {
      const bool in_mirror = shape.mirrored && i > length / 2;
      numbers[i] = read(in_mirror ? length - i : i);
      if (in_mirror) numbers[i].imaginary = -numbers[i].imaginary;
    }
    transform.Run(numbers, scratch);
    for (int64_t i = 0; i < shape.to.length; ++i) {
      T* number = to + ((outer * shape.to.length + i) * shape.to.inner + inner) * shape.to_parts;
      number[0] = static_cast<T>(static_cast<Wide<T>>(numbers[i].real));
      if (shape.to_parts == 2)
        number[1] = static_cast<T>(static_cast<Wide<T>>(numbers[i].imaginary));
    }
  }
}

Result<KernelPointer> MakeFourier(KernelSite& site) {
  const TensorInfo& signal = site.inputs[0];
  const TensorInfo& out = site.outputs[0];
  int64_t given = -2;
  if (site.node().version < 20) given = site.attributes().Int("axis", 1);
  if (site.node().version >= 20 && site.has_input(2)) {
    const std::vector<int64_t> axes = site.inputs[2].Integers();
    if (axes.size() != 1) return site.BadInput("the axis is not one number");
    given = axes[0];
  }
  PLIMSOLL_ASSIGN(const int64_t axis, NormalAxis(site, given, signal.rank()));
  const int64_t parts = signal.dims.back();
  if (axis + 1 >= signal.rank() || (parts != 1 && parts != 2)) {
    return site.BadInput("the last axis must hold one or two parts of each number");
  }
  const bool inverse = site.attributes().Int("inverse", 0) != 0;
  const bool one_sided = site.attributes().Int("onesided", 0) != 0;
  // The output's length, but for a spectrum of which the first half is kept.
  int64_t length = out.dims[axis];
  if (one_sided && !inverse) {
    length = signal.dims[axis];
    if (site.has_input(1)) {
      const std::vector<int64_t> lengths = site.inputs[1].Integers();
      if (lengths.size() != 1) return site.BadInput("dft_length is not one number");
      length = lengths[0];
    }
  }
  if (length < 1) return site.BadInput(StrCat("the length of the transform is ", length));
  const auto split_of = [&](const Dims& dims) {
    return SplitAt(std::span(dims).first(dims.size() - 1), axis);
  };
  const Transformed shape{split_of(signal.dims), split_of(out.dims), parts, out.dims.back(),
                          one_sided && inverse};
  const FourierTransform transform(length, inverse);
  KernelPointer kernel;
  VisitType<AllFloats>(signal.type, [&]<typename T>() {
    kernel = MakeKernel(
        [shape, transform](const KernelCall& call) { RunTransform<T>(call, shape, transform); },
        WorkspaceOf(transform), "one lane of complex numbers in float64");
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(signal.type)));
  return kernel;
}

struct Frames {
  int64_t batches;
  int64_t length;  // of the signal
  int64_t parts;
  int64_t frames;
  int64_t step;
  int64_t kept;  // numbers of each spectrum
  bool windowed;
};

template <typename T>
void RunFrames(const KernelCall& call, const Frames& shape, const FourierTransform& transform) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  const auto* window = shape.windowed ? static_cast<const T*>(call.inputs[2]) : nullptr;
  auto* to = static_cast<T*>(call.outputs[0]);
  auto* numbers = static_cast<ComplexNumber*>(call.workspace);
  for (int64_t frame = 0; frame < shape.batches * shape.frames; ++frame) {
    const int64_t first = frame / shape.frames * shape.length + frame % shape.frames * shape.step;
    for (int64_t i = 0; i < transform.length(); ++i) {
      const T* number = from + (first + i) * shape.parts;
      const double weight = window == nullptr ? 1 : static_cast<double>(Wide<T>(window[i]));
      numbers[i] = {static_cast<double>(Wide<T>(number[0])) * weight,
                    shape.parts == 2 ? static_cast<double>(Wide<T>(number[1])) * weight : 0};
    }
    transform.Run(numbers, numbers + transform.length());
    for (int64_t i = 0; i < shape.kept; ++i) {
      *to++ = static_cast<T>(static_cast<Wide<T>>(numbers[i].real));
      *to++ = static_cast<T>(static_cast<Wide<T>>(numbers[i].imaginary));
    }
  }
}

Result<KernelPointer> MakeShortTimeFourier(KernelSite& site) {
  const TensorInfo& signal = site.inputs[0];
  const TensorInfo& out = site.outputs[0];
  const std::vector<int64_t> step = site.inputs[1].Integers();
  int64_t length = signal.dims[1];
  if (site.has_input(3) && site.inputs[3].Integers().size() == 1) {
    length = site.inputs[3].Integers()[0];
  } else if (site.has_input(2)) {
    length = site.inputs[2].elements();
  }
  const bool one_sided = site.attributes().Int("onesided", 1) != 0;
  const int64_t parts = signal.rank() == 3 ? signal.dims[2] : 1;
  if (step.size() != 1 || step[0] < 1 || length < 1 || (parts != 1 && parts != 2) ||
      (site.has_input(2) && site.inputs[2].elements() != length) ||
      (out.dims[1] > 0 && (out.dims[1] - 1) * step[0] + length > signal.dims[1])) {
    return site.BadInput("the frames do not fit the signal or the window");
  }
  const Frames shape{signal.dims[0],   signal.dims[1], parts,
                     out.dims[1],      step[0],        one_sided ? length / 2 + 1 : length,
                     site.has_input(2)};
  const FourierTransform transform(length, false);
  KernelPointer kernel;
  VisitType<AllFloats>(signal.type, [&]<typename T>() {
    kernel = MakeKernel(
        [shape, transform](const KernelCall& call) { RunFrames<T>(call, shape, transform); },
        WorkspaceOf(transform), "one lane of complex numbers in float64");
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(signal.type)));
  return kernel;
}

constexpr KernelRow kSignalRows[] = {
    {"", "DFT", 17, graph::kNewest, MakeFourier},
    {"", "STFT", 17, graph::kNewest, MakeShortTimeFourier},
};

}  // namespace

std::span<const KernelRow> SignalKernels() { return kSignalRows; }

}  // namespace plimsoll::kernels::cpu
