#include "cli/inputs/image.h"

#include <algorithm>
#include <optional>

#include "cli/inputs/image_file.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using kernels::HostTensor;

// Where the picture's sizes stand in the input's dimensions.
struct ImageAxes {
  std::optional<size_t> batch;
  std::optional<size_t> channels;  // none: one channel
  size_t height = 0;
  size_t width = 1;
};

bool CanBeChannels(const graph::Dim& dim) {
  const auto number = dim.AsNumber();
  return number == 1 || number == 3 || number == 4;
}

std::optional<ImageAxes> FindAxes(const graph::Shape& shape) {
  const size_t rank = shape.size();
  if (rank == 2) return ImageAxes{};
  if (rank != 3 && rank != 4) return std::nullopt;
  ImageAxes axes;
  if (rank == 4) axes.batch = 0;
  const size_t first = rank - 3;
  const bool channels_first = CanBeChannels(shape[first]);
  if (!channels_first && !CanBeChannels(shape[rank - 1])) return std::nullopt;
  axes.channels = channels_first ? first : rank - 1;
  axes.height = channels_first ? first + 1 : first;
  axes.width = axes.height + 1;
  return axes;
}

std::optional<std::vector<double>> Numbers(std::string_view text) {
  std::vector<double> numbers;
  for (const std::string_view part : Split(text, ',')) {
    const auto number = ParseDouble(Trim(part));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

double Of(const std::vector<double>& numbers, int64_t channel) {
  return numbers[std::min(static_cast<size_t>(channel), numbers.size() - 1)];
}

}  // namespace

Result<Normalization> ParseNormalization(std::string_view text) {
  if (text == "unit") return Normalization{};
  if (text == "signed") return Normalization{{0.5}, {0.5}};
  if (text == "bytes") return Normalization{{0}, {1.0 / 255}};
  if (text == "imagenet") return Normalization{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto mean = Numbers(text.substr(0, colon));
    const auto deviation = Numbers(text.substr(colon + 1));
    const bool good = mean && deviation && !mean->empty() && !deviation->empty() &&
                      std::count(deviation->begin(), deviation->end(), 0.0) == 0;
    if (good) return Normalization{*mean, *deviation};
  }
  return Error{ErrorKind::kUsage,
               "input.normalize",
               "normalization not understood",
               StrCat("--normalize ", text),
               "it is no name and no MEAN:DEVIATION",
               "write unit, signed, bytes, imagenet, or numbers such as 0.5,0.5,0.5:0.2,0.2,0.2"};
}

bool IsImage(std::string_view file) {
  return file.ends_with(".png") || file.ends_with(".jpg") || file.ends_with(".jpeg");
}

Result<HostTensor> ReadImage(const std::string& file, const std::string& input,
                             const graph::ValueType& type, const Normalization& normalization) {
  const auto bad = [&](std::string why, std::string remedy) {
    return Error{ErrorKind::kUsage,
                 "image.shape",
                 "cannot make an input of the picture",
                 StrCat("input '", input, "' ", Text(type)),
                 std::move(why),
                 std::move(remedy)};
  };
  const auto axes = type.shape ? FindAxes(*type.shape) : std::nullopt;
  const bool numbers = graph::IsFloating(type.data_type) || type.data_type == DataType::kUint8;
  if (!axes || !numbers) {
    return bad("it is no picture: that has height and width, and 1, 3 or 4 channels",
               "give an array with --input NAME=file.npy");
  }
  const graph::Shape& shape = *type.shape;
  const int64_t channels = axes->channels ? *shape[*axes->channels].AsNumber() : 1;
  PLIMSOLL_ASSIGN(const DecodedImage image, DecodeImage(file, static_cast<int>(channels)));
  std::vector<int64_t> dims(shape.size(), 1);
  if (axes->channels) dims[*axes->channels] = channels;
  dims[axes->height] = image.height;
  dims[axes->width] = image.width;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto asked = shape[i].AsNumber();
    if (!asked || *asked == dims[i]) continue;
    if (axes->batch == i) return bad("one picture is a batch of 1", "give an array of them");
    return bad(
        StrCat("the picture ", file, " is ", image.width, " wide and ", image.height, " high"),
        "scale it before: nothing is scaled here");
  }
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(type.data_type, dims));
  const bool channels_last = axes->channels && *axes->channels > axes->width;
  const int64_t pixels = image.height * image.width;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t from = pixel * channels + channel;
      const int64_t to = channels_last ? from : channel * pixels + pixel;
      const uint8_t byte = image.bytes[static_cast<size_t>(from)];
      if (type.data_type == DataType::kUint8) {
        kernels::StoreInteger(tensor.type, tensor.data.get(), to, byte);
        continue;
      }
      const double value =
          (byte / 255.0 - Of(normalization.mean, channel)) / Of(normalization.deviation, channel);
      kernels::StoreDouble(tensor.type, tensor.data.get(), to, value);
    }
  }
  return tensor;
}

}  // namespace plimsoll::cli
