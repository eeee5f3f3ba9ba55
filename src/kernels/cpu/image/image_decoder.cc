#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/image/image_pixels.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

enum class PixelFormat { kRgb, kBgr, kGray };

Result<PixelFormat> ReadPixelFormat(const KernelSite& site) {
  const std::string name = site.attributes().String("pixel_format", "RGB");
  if (name == "RGB") return PixelFormat::kRgb;
  if (name == "BGR") return PixelFormat::kBgr;
  if (name == "Grayscale") return PixelFormat::kGray;
  return site.BadInput(StrCat("pixel_format '", name, "' is none of the standard's"));
}

// The brightness that television gives a color (ITU-R 601), in 16 bits of fraction.
uint8_t Brightness(int red, int green, int blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

void WritePixel(const uint8_t* pixel, const ImagePixels& image, PixelFormat format, uint8_t* out) {
  const uint8_t red = pixel[image.channels[0]];
  const uint8_t green = pixel[image.channels[1]];
  const uint8_t blue = pixel[image.channels[2]];
  if (format == PixelFormat::kGray) {
    out[0] = Brightness(red, green, blue);
    return;
  }
  out[0] = format == PixelFormat::kRgb ? red : blue;
  out[1] = green;
  out[2] = format == PixelFormat::kRgb ? blue : red;
}

// Files that are not compressed are unpacked here; the compressed kinds have no decoder. The answer
// for what is no image at all is, by the standard, an empty one.
Result<KernelPointer> MakeImageDecoder(KernelSite& site) {
  PLIMSOLL_ASSIGN(const PixelFormat format, ReadPixelFormat(site));
  const TensorInfo& file = site.inputs[0];
  if (file.data == nullptr) return site.Unsupported("it needs the file to tell the image's size");
  const auto size = static_cast<size_t>(file.elements());
  const FileBytes bytes(static_cast<const uint8_t*>(file.data), size);
  const std::optional<ImagePixels> image = FindPixels(bytes);
  if (!image && FormatOf(bytes) != ImageFormat::kUnknown) {
    return site.Unsupported(
        "there is no decoder for images of this kind: only for BMP, PNM and "
        "TIFF of 8 bits per channel that are not compressed");
  }
  const int64_t depth = format == PixelFormat::kGray ? 1 : 3;
  const ImagePixels found = image.value_or(ImagePixels());
  TensorInfo& decoded = site.outputs[0];
  decoded.dims = {found.height, found.width, depth};
  decoded.sized = true;
  return MakeKernel([found, format, depth](const KernelCall& call) {
    const auto* top = static_cast<const uint8_t*>(call.inputs[0]) + found.first;
    auto* out = static_cast<uint8_t*>(call.outputs[0]);
    for (int64_t row = 0; row < found.height; ++row) {
      for (int64_t column = 0; column < found.width; ++column, out += depth) {
        WritePixel(top + row * found.row_step + column * found.pixel_step, found, format, out);
      }
    }
  });
}

constexpr KernelRow kImageDecoderRows[] = {
    {"", "ImageDecoder", 20, graph::kNewest, MakeImageDecoder},
};

}  // namespace

std::span<const KernelRow> ImageDecoderKernels() { return kImageDecoderRows; }

}  // namespace plimsoll::kernels::cpu
