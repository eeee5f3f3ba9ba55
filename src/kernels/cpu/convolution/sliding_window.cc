#include "kernels/cpu/convolution/sliding_window.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// `rank` entries of `list` from `first` on, behind as many fillers as make up all axes.
Window::Sizes Aligned(const Dims& list, size_t first, size_t rank, int64_t filler) {
  Window::Sizes sizes;
  sizes.fill(filler);
  for (size_t axis = 0; axis < rank; ++axis) {
    sizes[Window::kAxes - rank + axis] = list[first + axis];
  }
  return sizes;
}

Window::Sizes ReadSizes(const KernelSite& site, std::string_view name, size_t first, size_t rank,
                        int64_t otherwise) {
  const std::vector<int64_t>* given = site.attributes().Ints(name);
  const bool usable = given != nullptr && given->size() >= first + rank;
  return Aligned(usable ? *given : Dims(first + rank, otherwise), first, rank, otherwise);
}

// All but the padding that is not explicit.
Result<Window> ReadSizesOf(const KernelSite& site, const Dims& data, const Dims& kernel,
                           const Dims& output) {
  Window window;
  window.rank = kernel.size();
  if (window.rank > Window::kAxes) {
    return site.Unsupported(StrCat("there are ", window.rank, " spatial axes, more than three"));
  }
  window.input = Aligned(data, 2, window.rank, 1);
  window.output = Aligned(output, 2, window.rank, 1);
  window.kernel = Aligned(kernel, 0, window.rank, 1);
  window.strides = ReadSizes(site, "strides", 0, window.rank, 1);
  window.dilations = ReadSizes(site, "dilations", 0, window.rank, 1);
  window.begin = ReadSizes(site, "pads", 0, window.rank, 0);
  window.declared_end = ReadSizes(site, "pads", window.rank, window.rank, 0);
  return window;
}

}  // namespace

Result<Window> ReadWindow(const KernelSite& site, const Dims& data, const Dims& kernel,
                          const Dims& output) {
  PLIMSOLL_ASSIGN(Window window, ReadSizesOf(site, data, kernel, output));
  const std::string auto_pad = site.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET" || auto_pad.empty()) return window;
  window.begin.fill(0);
  window.declared_end.fill(0);
  if (auto_pad == "VALID") return window;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    const int64_t total = std::max<int64_t>(window.End(axis), 0);
    const int64_t less = total / 2;
    window.begin[axis] = auto_pad == "SAME_LOWER" ? total - less : less;
    window.declared_end[axis] = total - window.begin[axis];
  }
  return window;
}

Result<Window> ReadTransposedWindow(const KernelSite& site, const Dims& data, const Dims& kernel,
                                    const Dims& output) {
  PLIMSOLL_ASSIGN(Window window, ReadSizesOf(site, data, kernel, output));
  const std::string auto_pad = site.attributes().String("auto_pad", "NOTSET");
  const std::vector<int64_t>* wanted = site.attributes().Ints("output_shape");
  const bool by_shape = wanted != nullptr && !wanted->empty();
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (auto_pad == "VALID") {
    window.begin.fill(0);
    window.declared_end.fill(0);
  } else if (by_shape || same) {
    const Window::Sizes extra = ReadSizes(site, "output_padding", 0, window.rank, 0);
    window.begin.fill(0);
    for (size_t axis = 0; axis < Window::kAxes; ++axis) {
      const int64_t total = std::max<int64_t>(window.TransposedEnd(axis) + extra[axis], 0);
      const int64_t less = total / 2;
      window.begin[axis] = auto_pad == "SAME_UPPER" ? less : total - less;
      window.declared_end[axis] = total - window.begin[axis];
    }
  }
  return window;
}

std::vector<bool> PhasesThatTapsMeet(int64_t taps, int64_t dilation, int64_t stride) {
  std::vector<bool> met(static_cast<size_t>(stride));
  for (int64_t tap = 0; tap < taps; ++tap) met[static_cast<size_t>(tap * dilation % stride)] = true;
  return met;
}

}  // namespace plimsoll::kernels::cpu
