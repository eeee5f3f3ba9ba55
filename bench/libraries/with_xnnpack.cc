// XNNPACK as Debian 12 has it, images with their channels last. Usage: with_xnnpack [threads]
// [rounds]
#include <pthreadpool.h>
#include <xnnpack.h>

#include <cmath>
#include <limits>

#include "shapes.h"

using library_bench::Shape;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Makes the operator and sets it up; null where the library refuses.
xnn_operator_t Make(const Shape& shape, const std::vector<float>& weights, const float* from,
                    float* to, pthreadpool_t pool) {
  xnn_operator_t made = nullptr;
  const auto u32 = [](int64_t number) { return static_cast<uint32_t>(number); };
  const auto size = [](int64_t number) { return static_cast<size_t>(number); };
  if (shape.kind == Shape::Kind::kProduct) {
    if (shape.batch > 1 ||
        xnn_create_fully_connected_nc_f32(
            size(shape.channels), size(shape.filters), size(shape.channels), size(shape.filters),
            weights.data(), nullptr, -kInfinity, kInfinity, 0, &made) != xnn_status_success ||
        xnn_setup_fully_connected_nc_f32(made, size(shape.height), from, to, pool) !=
            xnn_status_success) {
      return nullptr;
    }
    return made;
  }
  if (shape.kind == Shape::Kind::kTransposed) {
    if (xnn_create_deconvolution2d_nhwc_f32(
            0, 0, 0, 0, u32(shape.kernel_height), u32(shape.kernel_width), u32(shape.stride),
            u32(shape.stride), 1, 1, 1, size(shape.channels), size(shape.filters),
            size(shape.channels), size(shape.filters), weights.data(), nullptr, -kInfinity,
            kInfinity, 0, &made) != xnn_status_success ||
        xnn_setup_deconvolution2d_nhwc_f32(made, 1, size(shape.height), size(shape.width), 0, 0,
                                           from, to, pool) != xnn_status_success) {
      return nullptr;
    }
    return made;
  }
  if (xnn_create_convolution2d_nhwc_f32(
          u32(shape.PadHeight()), u32(shape.PadWidth()), u32(shape.PadHeight()),
          u32(shape.PadWidth()), u32(shape.kernel_height), u32(shape.kernel_width),
          u32(shape.stride), u32(shape.stride), u32(shape.dilation), u32(shape.dilation),
          u32(shape.groups), size(shape.channels / shape.groups),
          size(shape.filters / shape.groups), size(shape.channels), size(shape.filters),
          weights.data(), nullptr, -kInfinity, kInfinity, 0, &made) != xnn_status_success ||
      xnn_setup_convolution2d_nhwc_f32(made, 1, size(shape.height), size(shape.width), from, to,
                                       pool) != xnn_status_success) {
    return nullptr;
  }
  return made;
}

}  // namespace

int main(int count, char** words) {
  const library_bench::Effort effort(count, words);
  if (xnn_initialize(nullptr) != xnn_status_success) return 1;
  const pthreadpool_t pool =
      effort.threads == 1 ? nullptr : pthreadpool_create(static_cast<size_t>(effort.threads));
  for (const Shape& shape : library_bench::Shapes()) {
    if (shape.bytes) continue;
    const std::vector<float> weights = library_bench::Floats(
        shape.filters * (shape.channels / shape.groups) * shape.kernel_height * shape.kernel_width);
    const std::vector<float> from =
        library_bench::Floats(shape.channels * shape.height * shape.width + 64);
    std::vector<float> to(
        static_cast<size_t>(shape.filters * shape.OutHeight() * shape.OutWidth() + 64));
    const xnn_operator_t what = Make(shape, weights, from.data(), to.data(), pool);
    if (what == nullptr) continue;
    library_bench::Print(
        shape, library_bench::Fastest(effort, [&] { xnn_run_operator(what, pool); }), "xnnpack");
    xnn_delete_operator(what);
  }
}
