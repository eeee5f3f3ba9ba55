#include "cli/inputs/compressed_file.h"

#include <lzma.h>

#include <string_view>
#include <vector>

#include "cli/inputs/text_file.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

Error Broken(const std::string& path, std::string why) {
  return {ErrorKind::kBadFile,    "file.xz", "cannot unpack the file", path, std::move(why),
          "pack it again with xz"};
}

// Ends the decoder whatever happens.
struct Decoder {
  lzma_stream stream = LZMA_STREAM_INIT;
  ~Decoder() { lzma_end(&stream); }
};

Result<std::string> Unpack(const std::string& path, const std::string& packed) {
  constexpr uint64_t kMostWorkingMemory = uint64_t{512} << 20;
  Decoder decoder;
  if (lzma_stream_decoder(&decoder.stream, kMostWorkingMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return Broken(path, "the decoder does not start");
  }
  decoder.stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  decoder.stream.avail_in = packed.size();
  std::string text;
  std::vector<uint8_t> piece(size_t{1} << 16);
  for (;;) {
    decoder.stream.next_out = piece.data();
    decoder.stream.avail_out = piece.size();
    const lzma_ret answer = lzma_code(&decoder.stream, LZMA_FINISH);
    text.append(reinterpret_cast<const char*>(piece.data()),
                piece.size() - decoder.stream.avail_out);
    if (text.size() > kMostUnpacked) {
      return Broken(path, StrCat("it unpacks to more than ", Bytes(kMostUnpacked)));
    }
    if (answer == LZMA_STREAM_END) return text;
    if (answer != LZMA_OK) return Broken(path, "it is damaged, cut short, or no xz file");
  }
}

}  // namespace

Result<std::string> ReadMaybeCompressed(const std::string& path) {
  PLIMSOLL_ASSIGN(std::string text, ReadTextFile(path));
  constexpr std::string_view kXz(
      "\xFD"
      "7zXZ\0",
      6);
  if (!path.ends_with(".xz") && !text.starts_with(kXz)) return text;
  return Unpack(path, text);
}

}  // namespace plimsoll::cli
