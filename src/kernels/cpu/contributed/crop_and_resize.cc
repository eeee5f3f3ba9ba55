#include <algorithm>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Boxes [y1, x1, y2, x2] of images, 0 to 1 from one side to the other, each brought to one size.
struct Crop {
  int64_t images, channels, height, width;
  int64_t boxes, out_height, out_width;
  bool bilinear = true;
  float outside = 0;
  Error wrong_image;

  // Where place `i` of `count` lies in an axis of `size` places, between the two ends of a box.
  static float Source(float first, float last, int64_t i, int64_t count, int64_t size) {
    const auto most = static_cast<float>(size - 1);
    if (count == 1) return 0.5F * (first + last) * most;
    return first * most +
           static_cast<float>(i) * ((last - first) * most / static_cast<float>(count - 1));
  }

  template <typename T>
  void Run(const T* image, const T* box, T* out) const {
    for (int64_t y = 0; y < out_height; ++y) {
      const float in_y = Source(box[0], box[2], y, out_height, height);
      for (int64_t x = 0; x < out_width; ++x) {
        const float in_x = Source(box[1], box[3], x, out_width, width);
        const bool inside = in_y >= 0 && in_y <= static_cast<float>(height - 1) && in_x >= 0 &&
                            in_x <= static_cast<float>(width - 1);
        for (int64_t c = 0; c < channels; ++c) {
          T& to = out[(c * out_height + y) * out_width + x];
          to = inside ? Read(image + c * height * width, in_y, in_x) : static_cast<T>(outside);
        }
      }
    }
  }

  template <typename T>
  T Read(const T* map, float y, float x) const {
    if (!bilinear) {
      return map[static_cast<int64_t>(std::round(y)) * width + static_cast<int64_t>(std::round(x))];
    }
    const auto top = static_cast<int64_t>(std::floor(y));
    const auto left = static_cast<int64_t>(std::floor(x));
    const int64_t bottom = std::min(static_cast<int64_t>(std::ceil(y)), height - 1);
    const int64_t right = std::min(static_cast<int64_t>(std::ceil(x)), width - 1);
    const float down = y - static_cast<float>(top);
    const float over = x - static_cast<float>(left);
    const auto mix = [over](T a, T b) {
      return static_cast<float>(a) + (static_cast<float>(b) - static_cast<float>(a)) * over;
    };
    const float upper = mix(map[top * width + left], map[top * width + right]);
    const float lower = mix(map[bottom * width + left], map[bottom * width + right]);
    return static_cast<T>(upper + (lower - upper) * down);
  }
};

Result<KernelPointer> MakeCropAndResize(KernelSite& site) {
  const Dims& image = site.inputs[0].dims;
  if (!site.outputs[0].sized) {
    const std::vector<int64_t> size = site.inputs[3].Integers();
    if (size.size() != 2) return site.Unsupported("the size of the crops is not known beforehand");
    site.outputs[0].dims = {site.inputs[1].dims[0], image[1], size[0], size[1]};
    site.outputs[0].sized = true;
  }
  const Dims& output = site.outputs[0].dims;
  const std::string mode = site.attributes().String("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") {
    return site.Unsupported(StrCat("mode is '", mode, "', not bilinear or nearest"));
  }
  if (site.inputs[1].dims.size() != 2 || site.inputs[1].dims[1] != 4) {
    return site.BadInput("a box does not have four numbers");
  }
  const Crop crop{.images = image[0],
                  .channels = image[1],
                  .height = image[2],
                  .width = image[3],
                  .boxes = output[0],
                  .out_height = output[2],
                  .out_width = output[3],
                  .bilinear = mode == "bilinear",
                  .outside = static_cast<float>(site.attributes().Float("extrapolation_value", 0)),
                  .wrong_image = site.BadInput("")};
  if (crop.height < 1 || crop.width < 1) return site.BadInput("there is no image");
  KernelPointer kernel;
  VisitType<TypeList<float>>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([crop](const KernelCall& call) -> Status {
      const auto* const numbers = static_cast<const int32_t*>(call.inputs[2]);
      for (int64_t i = 0; i < crop.boxes; ++i) {
        if (numbers[i] < 0 || numbers[i] >= crop.images) {
          return IndexOutside(crop.wrong_image, numbers[i], crop.images);
        }
      }
      ParallelFor(crop.boxes, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          crop.Run(static_cast<const T*>(call.inputs[0]) +
                       numbers[i] * crop.channels * crop.height * crop.width,
                   static_cast<const T*>(call.inputs[1]) + 4 * i,
                   static_cast<T*>(call.outputs[0]) +
                       i * crop.channels * crop.out_height * crop.out_width);
        }
      });
      return {};
    });
  });
  if (kernel == nullptr) {
    return site.Unsupported(StrCat("the image is ", graph::Name(site.inputs[0].type)));
  }
  return kernel;
}

constexpr KernelRow kCropRows[] = {
    {graph::kContributedDomain, "CropAndResize", 1, graph::kNewest, MakeCropAndResize},
};

}  // namespace

std::span<const KernelRow> CropKernels() { return kCropRows; }

}  // namespace plimsoll::kernels::cpu
