#include "cli/inputs/image_file.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <string_view>

#include "plimsoll/base/text.h"

#ifdef PLIMSOLL_HAS_PNG
#include <png.h>
#endif
#ifdef PLIMSOLL_HAS_JPEG
#include <jpeglib.h>
#endif

namespace plimsoll::cli {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

Error BadImage(const std::string& file, std::string why) {
  return {ErrorKind::kBadFile,      "image.file", "cannot read the picture", file, std::move(why),
          "give a PNG or JPEG file"};
}

#if !defined(PLIMSOLL_HAS_PNG) || !defined(PLIMSOLL_HAS_JPEG)
Error NoImages(const std::string& file, std::string_view library) {
  return {ErrorKind::kUnsupported,
          "input.reader",
          "cannot read the picture",
          file,
          StrCat("this program was built without ", library),
          "give an array: name=file.npy"};
}
#endif

[[maybe_unused]] bool TooLarge(int64_t width, int64_t height) {
  return height > 0 && width > kMostPixels / height;
}

#ifdef PLIMSOLL_HAS_PNG
Result<DecodedImage> DecodePng(const std::string& file, int channels) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&png, png_image_free);
  if (png_image_begin_read_from_file(&png, file.c_str()) == 0) return BadImage(file, png.message);
  if (TooLarge(png.width, png.height)) return BadImage(file, "it is too large");
  png.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  DecodedImage image{.width = png.width, .height = png.height, .bytes = {}};
  image.bytes.resize(PNG_IMAGE_SIZE(png));
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&png, &black, image.bytes.data(), 0, nullptr) == 0) {
    return BadImage(file, png.message);
  }
  return image;
}
#endif

#ifdef PLIMSOLL_HAS_JPEG
// libjpeg's way out of an error: back to where reading began.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> message;
};

[[noreturn]] void LeaveJpeg(j_common_ptr decoder) {
  auto* errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->back, 1);
}

// Nothing with a destructor lives here: an error jumps over it.
bool ReadJpeg(std::FILE* in, int channels, JpegErrors& errors, DecodedImage& image) {
  jpeg_decompress_struct decoder;
  decoder.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = LeaveJpeg;
  errors.manager.output_message = [](j_common_ptr) {};
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&decoder);
    return false;
  }
  jpeg_create_decompress(&decoder);
  jpeg_stdio_src(&decoder, in);
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
  jpeg_start_decompress(&decoder);
  image.width = decoder.output_width;
  image.height = decoder.output_height;
  if (TooLarge(image.width, image.height)) {
    jpeg_destroy_decompress(&decoder);
    std::snprintf(errors.message.data(), errors.message.size(), "it is too large");
    return false;
  }
  const auto row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(channels);
  image.bytes.resize(row_bytes * static_cast<size_t>(image.height));
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = image.bytes.data() + row_bytes * decoder.output_scanline;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return true;
}

Result<DecodedImage> DecodeJpeg(const std::string& file, int channels) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"),
                                                           std::fclose);
  if (in == nullptr) return BadImage(file, "it cannot be opened");
  JpegErrors errors = {};
  DecodedImage image;
  if (!ReadJpeg(in.get(), channels, errors, image)) return BadImage(file, errors.message.data());
  return image;
}
#endif

}  // namespace

Result<DecodedImage> DecodeImage(const std::string& file, [[maybe_unused]] int channels) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"),
                                                           std::fclose);
  if (in == nullptr) return BadImage(file, "it cannot be opened");
  std::array<unsigned char, 4> start = {};
  const size_t read = std::fread(start.data(), 1, start.size(), in.get());
  if (read == 4 && start == std::array<unsigned char, 4>{0x89, 'P', 'N', 'G'}) {
#ifdef PLIMSOLL_HAS_PNG
    return DecodePng(file, channels);
#else
    return NoImages(file, "libpng");
#endif
  }
  if (read == 4 && start[0] == 0xff && start[1] == 0xd8) {
#ifdef PLIMSOLL_HAS_JPEG
    return DecodeJpeg(file, channels);
#else
    return NoImages(file, "libjpeg");
#endif
  }
  return BadImage(file, "it is neither");
}

}  // namespace plimsoll::cli
