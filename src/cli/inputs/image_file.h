#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

struct DecodedImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> bytes;  // row by row, the channels of a pixel together
};

// A PNG or JPEG file, told apart by its content, with so many channels: 1 is grey, 3 are red, green
// and blue, 4 have alpha. Transparency is laid over black where it is not asked for. Fails with
// image.file; with input.reader where the program was built without the library.
Result<DecodedImage> DecodeImage(const std::string& file, int channels);

}  // namespace plimsoll::cli
