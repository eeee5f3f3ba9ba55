#include "cli/inputs/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "cli/inputs/output_file.h"
#include "engine/debug/npy_format.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using kernels::Dims;
using kernels::HostTensor;

Error BadNpy(const std::filesystem::path& file, std::string why) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "npy.file",
               .what = "cannot read the array",
               .where = file.string(),
               .why = std::move(why),
               .remedy = "write it with numpy.save, row-major and little-endian"};
}

// The text after `'key':` up to the next comma outside of brackets.
std::optional<std::string_view> Field(std::string_view header, std::string_view key) {
  const size_t at = header.find(StrCat("'", key, "'"));
  if (at == std::string_view::npos) return std::nullopt;
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = Trim(header.substr(colon + 1));
  const size_t end = rest.starts_with("(") ? rest.find(')') : rest.find_first_of(",}");
  if (end == std::string_view::npos) return std::nullopt;
  return rest.starts_with("(") ? rest.substr(1, end - 1) : Trim(rest.substr(0, end));
}

std::optional<Dims> ParseDims(std::string_view text) {
  Dims dims;
  for (const std::string_view part : Split(text, ',')) {
    if (Trim(part).empty()) continue;
    const auto dim = ParseInteger(Trim(part));
    if (!dim || *dim < 0) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

std::optional<DataType> ParseType(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  return engine::NpyType(text.substr(1, text.size() - 2));
}

}  // namespace

Result<HostTensor> ReadNpy(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return BadNpy(file, "it cannot be opened");
  std::array<char, 8> start{};
  if (!in.read(start.data(), start.size()) ||
      std::string_view(start.data(), engine::kNpyMagic.size()) != engine::kNpyMagic) {
    return BadNpy(file, "it does not begin as an .npy file does");
  }
  const int length_bytes = start[6] == 1 ? 2 : 4;
  std::array<unsigned char, 4> length{};
  if (!in.read(reinterpret_cast<char*>(length.data()), length_bytes)) {
    return BadNpy(file, "its header is cut off");
  }
  size_t header_bytes = 0;
  for (int i = length_bytes; i-- > 0;)
    header_bytes = header_bytes * 256 + length[static_cast<size_t>(i)];
  constexpr size_t kLongestHeader = 1 << 16;
  std::string header(std::min(header_bytes, kLongestHeader), '\0');
  if (header_bytes > kLongestHeader ||
      !in.read(header.data(), static_cast<std::streamsize>(header.size()))) {
    return BadNpy(file, "its header is cut off");
  }
  const auto type = ParseType(Field(header, "descr").value_or(""));
  const auto dims = ParseDims(Field(header, "shape").value_or("-1"));
  if (!type) return BadNpy(file, "its element type is not one of the standard's numbers");
  if (!dims) return BadNpy(file, "its shape cannot be read");
  if (Field(header, "fortran_order") != "False") return BadNpy(file, "it is in column order");
  const auto begin = in.tellg();
  in.seekg(0, std::ios::end);
  const Bytes present(static_cast<int64_t>(in.tellg() - begin));
  const Bytes expected = graph::SizeOf(*type, kernels::ElementCount(*dims));
  if (present != expected) {
    return BadNpy(file, StrCat("it holds ", present.value(),
                               " bytes of elements, its shape asks for ", expected.value()));
  }
  in.seekg(begin);
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(*type, *dims));
  if (!in.read(static_cast<char*>(tensor.data.get()), expected.value())) {
    return BadNpy(file, "its elements cannot be read");
  }
  return tensor;
}

Status WriteNpy(const std::filesystem::path& file, const HostTensor& tensor) {
  const auto header = engine::NpyHeader(tensor.type, tensor.dims);
  if (!header) {
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "npy.write",
                 .what = "cannot write the array",
                 .where = file.string(),
                 .why = StrCat("NumPy has no ", graph::Name(tensor.type)),
                 .remedy = "let the model cast it"};
  }
  const auto* elements = static_cast<const char*>(tensor.data.get());
  return WriteFile(file.string(),
                   std::array<std::string_view, 2>{
                       *header, {elements, static_cast<size_t>(tensor.size().value())}});
}

}  // namespace plimsoll::cli
