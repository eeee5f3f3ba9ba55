#include "kernels/cpu/image/image_pixels.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {
namespace {

// Little-endian (or, as TIFF may choose, big-endian) numbers at a byte of the file; 0 outside.
class Numbers {
 public:
  explicit Numbers(FileBytes file, bool big_endian = false)
      : file_(file), big_endian_(big_endian) {}

  int64_t Two(int64_t at) const { return Read(at, 2); }
  int64_t Four(int64_t at) const { return Read(at, 4); }

 private:
  int64_t Read(int64_t at, int64_t width) const {
    if (at < 0 || at > static_cast<int64_t>(file_.size()) - width) return 0;
    int64_t number = 0;
    for (int64_t i = 0; i < width; ++i) {
      const int64_t byte = file_[static_cast<size_t>(at + (big_endian_ ? i : width - 1 - i))];
      number = number << 8 | byte;
    }
    return number;
  }

  FileBytes file_;
  bool big_endian_;
};

// The image, if all its rows lie in the file.
std::optional<ImagePixels> Checked(FileBytes file, const ImagePixels& image) {
  const int64_t row = SaturatingMultiply(image.width, image.pixel_step);
  const int64_t down = SaturatingMultiply(std::max<int64_t>(image.height - 1, 0), image.row_step);
  const int64_t lowest = SaturatingAdd(image.first, std::min<int64_t>(down, 0));
  const int64_t end = SaturatingAdd(SaturatingAdd(image.first, std::max<int64_t>(down, 0)), row);
  const bool whole = image.height > 0 && image.width > 0 && lowest >= 0 &&
                     end <= static_cast<int64_t>(file.size());
  return whole ? std::optional<ImagePixels>(image) : std::nullopt;
}

std::optional<ImagePixels> FindBmp(FileBytes file) {
  const Numbers at(file);
  const int64_t bits = at.Two(28);
  const int64_t compression = at.Four(30);
  if (at.Four(14) < 40 || compression != 0 || (bits != 24 && bits != 32)) return std::nullopt;
  const int64_t signed_height = static_cast<int32_t>(at.Four(22));
  ImagePixels image{.height = std::abs(signed_height),
                    .width = static_cast<int32_t>(at.Four(18)),
                    .first = at.Four(10),
                    .pixel_step = bits / 8,
                    .channels = {2, 1, 0}};
  image.row_step = Bytes(image.width * image.pixel_step).RoundUp(4).value();
  if (signed_height > 0) {
    image.first = SaturatingAdd(image.first, SaturatingMultiply(image.height - 1, image.row_step));
    image.row_step = -image.row_step;
  }
  return Checked(file, image);
}

// A header of numbers in text, with comments from '#' to the end of the line.
std::optional<ImagePixels> FindPnm(FileBytes file) {
  std::array<int64_t, 3> numbers{};  // width, height, brightest
  size_t at = 2;
  for (int64_t& number : numbers) {
    while (at < file.size() && (std::isspace(file[at]) != 0 || file[at] == '#')) {
      const bool comment = file[at] == '#';
      while (comment && at < file.size() && file[at] != '\n') ++at;
      if (!comment) ++at;
    }
    constexpr int64_t kMost = int64_t{1} << 30;
    for (; at < file.size() && std::isdigit(file[at]) != 0; ++at) {
      number = number * 10 + (file[at] - '0');
      if (number > kMost) return std::nullopt;
    }
  }
  if (numbers[2] != 255) return std::nullopt;
  const bool color = file[1] == '6';
  ImagePixels image{.height = numbers[1],
                    .width = numbers[0],
                    .first = static_cast<int64_t>(at) + 1,
                    .pixel_step = color ? 3 : 1,
                    .channels = {0, color ? 1 : 0, color ? 2 : 0}};
  image.row_step = image.width * image.pixel_step;
  return Checked(file, image);
}

// What the entries of a TIFF directory say that matters here.
struct TiffEntries {
  int64_t width = 0;
  int64_t height = 0;
  int64_t bits = 1;
  int64_t compression = 1;
  int64_t meaning = 0;  // of the samples: 1 brightness, 2 red, green and blue
  int64_t first = 0;
  int64_t samples = 1;
  int64_t planes = 1;  // 1: the samples of a pixel lie together
};

TiffEntries ReadTiffEntries(const Numbers& at, int64_t directory) {
  TiffEntries entries;
  const int64_t count = at.Two(directory);
  int64_t strips = 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t entry = directory + 2 + 12 * i;
    constexpr int64_t kShort = 3;
    const bool is_short = at.Two(entry + 2) == kShort;
    const int64_t values = at.Four(entry + 4);
    const int64_t place = values * (is_short ? 2 : 4) > 4 ? at.Four(entry + 8) : entry + 8;
    const int64_t value = is_short ? at.Two(place) : at.Four(place);
    switch (at.Two(entry)) {
      case 256:
        entries.width = value;
        break;
      case 257:
        entries.height = value;
        break;
      case 258:
        entries.bits = value;
        break;
      case 259:
        entries.compression = value;
        break;
      case 262:
        entries.meaning = value;
        break;
      case 273:
        entries.first = value, strips = values;
        break;
      case 277:
        entries.samples = value;
        break;
      case 284:
        entries.planes = value;
        break;
      default:
        break;
    }
  }
  constexpr int64_t kHeader = 8;
  if (strips != 1 || entries.first < kHeader) entries.first = -1;
  return entries;
}

std::optional<ImagePixels> FindTiff(FileBytes file) {
  const Numbers at(file, file[0] == 'M');
  const TiffEntries entries = ReadTiffEntries(at, at.Four(4));
  const bool color = entries.meaning == 2 && entries.samples >= 3;
  const bool plain = entries.bits == 8 && entries.compression == 1 && entries.planes == 1;
  if (!plain || !(color || (entries.meaning == 1 && entries.samples >= 1))) return std::nullopt;
  ImagePixels image{.height = entries.height,
                    .width = entries.width,
                    .first = entries.first,
                    .pixel_step = entries.samples,
                    .channels = {0, color ? 1 : 0, color ? 2 : 0}};
  image.row_step = SaturatingMultiply(image.width, image.pixel_step);
  return Checked(file, image);
}

bool Starts(FileBytes file, std::string_view with, size_t at = 0) {
  return file.size() >= at + with.size() &&
         std::equal(with.begin(), with.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

}  // namespace

ImageFormat FormatOf(FileBytes file) {
  using namespace std::string_view_literals;
  if (Starts(file, "BM")) return ImageFormat::kBmp;
  if (Starts(file, "P5") || Starts(file, "P6")) return ImageFormat::kPnm;
  if (Starts(file, "II*\0"sv) || Starts(file, "MM\0*"sv)) return ImageFormat::kTiff;
  if (Starts(file, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (Starts(file, "jP  ", 4) || Starts(file, "\xff\x4f\xff\x51")) return ImageFormat::kJpeg2000;
  if (Starts(file, "\x89PNG")) return ImageFormat::kPng;
  if (Starts(file, "RIFF") && Starts(file, "WEBP", 8)) return ImageFormat::kWebp;
  return ImageFormat::kUnknown;
}

std::optional<ImagePixels> FindPixels(FileBytes file) {
  switch (FormatOf(file)) {
    case ImageFormat::kBmp:
      return FindBmp(file);
    case ImageFormat::kPnm:
      return FindPnm(file);
    case ImageFormat::kTiff:
      return FindTiff(file);
    default:
      return std::nullopt;
  }
}

}  // namespace plimsoll::kernels::cpu
