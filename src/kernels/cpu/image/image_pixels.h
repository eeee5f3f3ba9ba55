#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll::kernels::cpu {

// Where an image file that is not compressed keeps its pixels, of a byte a channel. Every pixel
// lies inside the file it was found in.
struct ImagePixels {
  int64_t height = 0;
  int64_t width = 0;
  int64_t first = 0;                  // the byte of the pixel at the top left
  int64_t row_step = 0;               // to the row below; negative where the file begins below
  int64_t pixel_step = 0;             // to the pixel on the right
  std::array<int64_t, 3> channels{};  // red, green and blue inside a pixel
};

using FileBytes = std::span<const uint8_t>;

enum class ImageFormat { kUnknown, kBmp, kPnm, kTiff, kJpeg, kJpeg2000, kPng, kWebp };

// By the first bytes of the file.
ImageFormat FormatOf(FileBytes file);

// The pixels of a BMP of 24 or 32 bits, a binary PGM or PPM of 8 bits, a TIFF of 8 bits in one run,
// none of them compressed. Nothing for a file of another kind or one that is broken.
std::optional<ImagePixels> FindPixels(FileBytes file);

}  // namespace plimsoll::kernels::cpu
