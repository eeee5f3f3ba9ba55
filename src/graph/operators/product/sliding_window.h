#pragma once

#include <cstdint>
#include <vector>

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// The attributes of a window that slides over the spatial axes of its input: `kernel_shape`,
// `strides`, `dilations`, `pads`, `auto_pad`, `ceil_mode`, with their defaults filled in.
// Immutable once read; each function costs a constant.
struct SlidingWindow {
  enum class Padding { kExplicit, kSame, kValid };

  std::vector<Dim> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  // beginnings of all axes, then ends; zeros unless explicit
  Padding padding = Padding::kExplicit;
  bool ceil = false;

  size_t rank() const { return kernel.size(); }
  Dim Extent(size_t axis) const;  // of the dilated kernel
  Dim Pads(size_t axis) const;    // both sides together

  // How many positions the window takes on an axis of that size.
  Dim Positions(const Dim& size, size_t axis) const;
};

// Reads the window of a node whose kernel is given by weights: their spatial dimensions are
// `kernel`, which attribute `kernel_shape` must not contradict.
Result<SlidingWindow> ReadWindow(const InferContext& context, std::vector<Dim> kernel);

// Reads the window of a node whose kernel is attribute `kernel_shape` alone.
Result<SlidingWindow> ReadWindow(const InferContext& context);

// `lead` (batch and channels), then the positions of the window over the axes of `data` from the
// third on. Fails when the window does not fit into an axis even once.
Result<Shape> Slide(const InferContext& context, const SlidingWindow& window, const Shape& data,
                    Shape lead);

}  // namespace plimsoll::graph::operators
