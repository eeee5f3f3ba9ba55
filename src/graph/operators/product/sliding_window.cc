#include "graph/operators/product/sliding_window.h"

#include <utility>

#include "graph/operators/agreement.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Larger numbers are no window but an attempt at overflow.
constexpr int64_t kLargestSetting = int64_t{1} << 31;

Result<std::vector<int64_t>> ReadList(const InferContext& context, std::string_view name,
                                      size_t count, int64_t otherwise, int64_t least) {
  const std::vector<int64_t>* given = context.attributes().Ints(name);
  if (given == nullptr || given->empty()) return std::vector<int64_t>(count, otherwise);
  if (given->size() != count) {
    return context.Fail(StrCat("attribute ", name, " has ", given->size(), " numbers where ", count,
                               " are needed"));
  }
  for (int64_t number : *given) {
    if (number < least || number > kLargestSetting) {
      return context.Fail(StrCat("attribute ", name, " holds ", number));
    }
  }
  return *given;
}

}  // namespace

Dim SlidingWindow::Extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }

Dim SlidingWindow::Pads(size_t axis) const { return Dim(pads[axis]) + pads[axis + rank()]; }

Dim SlidingWindow::Positions(const Dim& size, size_t axis) const {
  const Dim stride = strides[axis];
  if (padding == Padding::kSame) return Dim::CeilDiv(size, stride);
  const Dim room = size + Pads(axis) - Extent(axis);
  // With `auto_pad` VALID rounding up and down give the same: windows stay inside the data.
  if (!ceil || padding == Padding::kValid) return Dim::FloorDiv(room, stride) + 1;
  // A window that would start in the padding at the end is left out.
  return Dim::Min(Dim::CeilDiv(room, stride) + 1, Dim::CeilDiv(size + pads[axis], stride));
}

Result<SlidingWindow> ReadWindow(const InferContext& context, std::vector<Dim> kernel) {
  SlidingWindow window;
  const size_t rank = kernel.size();
  if (const std::vector<int64_t>* given = context.attributes().Ints("kernel_shape");
      given != nullptr && !given->empty()) {
    if (given->size() != rank) {
      return context.Fail(StrCat("kernel_shape has ", given->size(),
                                 " dimensions, but the data has ", rank, " spatial ones"));
    }
    for (size_t axis = 0; axis < rank; ++axis) {
      PLIMSOLL_TRY(
          CheckEqual(context, "kernel_shape and the weights", (*given)[axis], kernel[axis]));
      kernel[axis] = (*given)[axis];
    }
  }
  for (const Dim& size : kernel) {
    if (size.is_number() && (size.number() < 1 || size.number() > kLargestSetting)) {
      return context.Fail(StrCat("the kernel is ", Text(Shape(kernel))));
    }
  }
  window.kernel = std::move(kernel);
  PLIMSOLL_ASSIGN(window.strides, ReadList(context, "strides", rank, 1, 1));
  PLIMSOLL_ASSIGN(window.dilations, ReadList(context, "dilations", rank, 1, 1));
  PLIMSOLL_ASSIGN(window.pads, ReadList(context, "pads", 2 * rank, 0, -kLargestSetting));
  const std::string auto_pad = context.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    window.padding = SlidingWindow::Padding::kSame;
  } else if (auto_pad == "VALID") {
    window.padding = SlidingWindow::Padding::kValid;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return context.Fail(
        StrCat("auto_pad is '", auto_pad, "', not NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
  }
  if (window.padding != SlidingWindow::Padding::kExplicit) window.pads.assign(2 * rank, 0);
  window.ceil = context.attributes().Int("ceil_mode", 0) != 0;
  return window;
}

Result<SlidingWindow> ReadWindow(const InferContext& context) {
  const std::vector<int64_t>* given = context.attributes().Ints("kernel_shape");
  if (given == nullptr || given->empty()) return context.Fail("attribute kernel_shape is missing");
  return ReadWindow(context, ShapeOf(*given));
}

Result<Shape> Slide(const InferContext& context, const SlidingWindow& window, const Shape& data,
                    Shape lead) {
  if (data.size() != window.rank() + 2) {
    return context.Fail(StrCat("the window has ", window.rank(), " dimensions, but the data is ",
                               Text(data), " with batch and channels"));
  }
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    Dim positions = window.Positions(data[axis + 2], axis);
    if (positions.is_number() && positions.number() < 0) {
      return context.Fail(StrCat("a window of ", window.Extent(axis).Text(),
                                 " does not fit into axis ", axis + 2, " of ", Text(data)));
    }
    lead.push_back(std::move(positions));
  }
  return lead;
}

}  // namespace plimsoll::graph::operators
