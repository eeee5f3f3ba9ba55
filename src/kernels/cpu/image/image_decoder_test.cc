#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/image/image_pixels.h"
#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace image_decoder_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Two pixels wide, one high.
std::string Pixmap() {
  return std::string("P6\n# by hand\n2 1\n255\n") + "\x0a\x14\x1e\xff\x80\x01";
}

// One pixel wide, two high, the lower row first; rows are padded to four bytes.
std::string Bitmap() {
  std::string file(54, '\0');
  file[0] = 'B', file[1] = 'M', file[10] = 54, file[14] = 40, file[18] = 1, file[22] = 2;
  file[26] = 1, file[28] = 24;
  return file + std::string("\x03\x02\x01\0\x06\x05\x04\0", 8);
}

HostTensor FileOf(const std::string& bytes) {
  return Numbers<uint8_t>({static_cast<int64_t>(bytes.size())},
                          std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

OneNode Decoder(const std::string& format) { return {"ImageDecoder", {{"pixel_format", format}}}; }

TEST(ImageDecoderTest, ChannelsComeInTheOrderAskedFor) {
  const auto decode = [](const std::string& format) {
    return ElementsOf<uint8_t>((*Decoder(format).Run({FileOf(Pixmap())}))[0]);
  };
  EXPECT_THAT(decode("RGB"), ElementsAre(10, 20, 30, 255, 128, 1));
  EXPECT_THAT(decode("BGR"), ElementsAre(30, 20, 10, 1, 128, 255));
  EXPECT_THAT(decode("Grayscale"), ElementsAre(18, 151));
  const auto bitmap = Decoder("RGB").Run({FileOf(Bitmap())});
  ASSERT_TRUE(bitmap.ok()) << bitmap.error().Text();
  EXPECT_THAT((*bitmap)[0].dims, ElementsAre(2, 1, 3));
  EXPECT_THAT(ElementsOf<uint8_t>((*bitmap)[0]), ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(ImageDecoderTest, WhatIsNoImageIsEmptyAndWhatIsCompressedIsRefused) {
  const auto nothing = Decoder("RGB").Run({FileOf("words")});
  ASSERT_TRUE(nothing.ok());
  EXPECT_THAT((*nothing)[0].dims, ElementsAre(0, 0, 3));
  EXPECT_THAT(Decoder("RGB").Run({FileOf("\x89PNG\r\n")}).error().Text(), HasSubstr("no decoder"));
  EXPECT_EQ(Decoder("RGB").Run({FileOf("\xff\xd8\xff")}).error().kind, ErrorKind::kUnsupported);
}

// Every byte of a header set to every kind of extreme: what is found always lies in the file.
TEST(ImageDecoderTest, BrokenHeadersNeverPointOutsideOfTheFile) {
  std::string tiff("II*\0\x08\0\0\0\x05\0", 10);
  const auto entry = [&tiff](int tag, int value) {
    tiff += {static_cast<char>(tag & 255),
             static_cast<char>(tag >> 8),
             3,
             0,
             1,
             0,
             0,
             0,
             static_cast<char>(value),
             0,
             0,
             0};
  };
  entry(256, 2), entry(257, 2), entry(258, 8), entry(262, 1), entry(273, 70);
  tiff += "1234";
  ASSERT_TRUE(FindPixels({reinterpret_cast<const uint8_t*>(tiff.data()), tiff.size()}));
  for (const std::string& whole : {Pixmap(), Bitmap(), tiff}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0, 1, 0x7f, 0x80, 0xff, 0x39}) {
        std::string broken = whole;
        broken[at] = static_cast<char>(value);
        const FileBytes file(reinterpret_cast<const uint8_t*>(broken.data()), broken.size());
        const std::optional<ImagePixels> image = FindPixels(file);
        if (!image) continue;
        const int64_t size = static_cast<int64_t>(broken.size());
        for (const int64_t row : {int64_t{0}, image->height - 1}) {
          const int64_t first = image->first + row * image->row_step;
          EXPECT_GE(first, 0);
          EXPECT_LE(first + image->width * image->pixel_step, size);
        }
      }
    }
    for (size_t length = 0; length < whole.size(); ++length) {
      const FileBytes cut(reinterpret_cast<const uint8_t*>(whole.data()), length);
      EXPECT_FALSE(FindPixels(cut) && length + 2 < whole.size());
    }
  }
}

}  // namespace image_decoder_test
}  // namespace plimsoll::kernels::cpu
