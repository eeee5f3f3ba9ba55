#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/value_type.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// How the bytes of a picture become numbers: divided by 255, less the mean, over the deviation,
// each for a channel, or one for all.
struct Normalization {
  std::vector<double> mean = {0};
  std::vector<double> deviation = {1};
};
// "unit" (0 to 1), "signed" (-1 to 1), "bytes" (0 to 255), "imagenet", or "MEAN,...:DEVIATION,...".
// Fails with input.normalize.
Result<Normalization> ParseNormalization(std::string_view text);

// Whether the name is one of a picture: .png, .jpg, .jpeg.
bool IsImage(std::string_view file);

// A picture as a tensor for an input of this type: [batch,channels,height,width] or
// [batch,height,width,channels] with one batch, or without it; one channel is grey, three are red,
// green and blue, a fourth is alpha. Sizes must be the picture's where the type tells them; nothing
// is scaled. Bytes stay as they are for an input of uint8. PNG by libpng, JPEG by libjpeg; fails
// with image.file, image.shape, and input.reader where the program was built without them.
Result<kernels::HostTensor> ReadImage(const std::string& file, const std::string& input,
                                      const graph::ValueType& type,
                                      const Normalization& normalization);

}  // namespace plimsoll::cli
