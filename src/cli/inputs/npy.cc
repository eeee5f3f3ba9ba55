#include "cli/inputs/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>

#include "cli/inputs/npy_text.h"
#include "cli/inputs/output_file.h"
#include "engine/debug/npy_format.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using kernels::Dims;
using kernels::HostTensor;

Error BadNpy(const std::string& where, std::string why) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "npy.file",
               .what = "cannot read the array",
               .where = where,
               .why = std::move(why),
               .remedy = "write it with numpy.save"};
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

// What a header says of the elements.
struct NpyElements {
  DataType type = DataType::kUndefined;
  bool swapped = false;  // the other byte order than ours
};

std::string_view Unquoted(std::string_view text) {
  return text.size() < 2 ? std::string_view() : text.substr(1, text.size() - 2);
}

std::optional<NpyElements> ParseElements(std::string_view text) {
  std::string name(Unquoted(text));
  if (name.size() < 2) return std::nullopt;
  const bool swapped = name.front() == '>';
  if (swapped || name.front() == '=') name.front() = '<';
  const auto type = engine::NpyType(name);
  if (!type) return std::nullopt;
  return NpyElements{*type, swapped};
}

// Turns each number of so many bytes around.
void SwapBytes(std::span<std::byte> bytes, size_t number) {
  for (size_t i = 0; i + number <= bytes.size(); i += number) {
    std::reverse(bytes.data() + i, bytes.data() + i + number);
  }
}

// Elements in column order, the first dimension fastest, into row order.
Result<HostTensor> ToRowOrder(const HostTensor& columns) {
  PLIMSOLL_ASSIGN(HostTensor rows, kernels::AllocateOnHeap(columns.type, columns.dims));
  const int64_t element = graph::SizeOf(columns.type, 1).value();
  std::vector<int64_t> strides(columns.dims.size(), 1);
  for (size_t i = 1; i < strides.size(); ++i) strides[i] = strides[i - 1] * columns.dims[i - 1];
  std::vector<int64_t> place(columns.dims.size(), 0);
  const auto* from = static_cast<const std::byte*>(columns.data.get());
  auto* to = static_cast<std::byte*>(rows.data.get());
  for (int64_t i = 0; i < columns.elements(); ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * strides[axis];
    std::memcpy(to + i * element, from + offset * element, static_cast<size_t>(element));
    for (size_t axis = place.size(); axis-- > 0 && ++place[axis] == columns.dims[axis];) {
      place[axis] = 0;
    }
  }
  return rows;
}

}  // namespace

Result<HostTensor> ReadNpy(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return BadNpy(file.string(), "it cannot be opened");
  return ReadNpy(in, file.string());
}

Result<HostTensor> ReadNpy(std::istream& in, const std::string& where) {
  std::array<char, 8> start{};
  if (!in.read(start.data(), start.size()) ||
      std::string_view(start.data(), engine::kNpyMagic.size()) != engine::kNpyMagic) {
    return BadNpy(where, "it does not begin as an .npy file does");
  }
  const int length_bytes = start[6] == 1 ? 2 : 4;
  std::array<unsigned char, 4> length{};
  if (!in.read(reinterpret_cast<char*>(length.data()), length_bytes)) {
    return BadNpy(where, "its header is cut off");
  }
  size_t header_bytes = 0;
  for (int i = length_bytes; i-- > 0;)
    header_bytes = header_bytes * 256 + length[static_cast<size_t>(i)];
  constexpr size_t kLongestHeader = 1 << 16;
  std::string header(std::min(header_bytes, kLongestHeader), '\0');
  if (header_bytes > kLongestHeader ||
      !in.read(header.data(), static_cast<std::streamsize>(header.size()))) {
    return BadNpy(where, "its header is cut off");
  }
  const auto stored = ParseElements(Field(header, "descr").value_or(""));
  const auto dims = ParseDims(Field(header, "shape").value_or("-1"));
  const auto text = ParseNpyText(Unquoted(Field(header, "descr").value_or("")));
  if (!stored && !text) {
    return BadNpy(where, "its element type is neither one of the standard's numbers nor text");
  }
  if (!dims) return BadNpy(where, "its shape cannot be read");
  const auto columns = Field(header, "fortran_order");
  if (columns != "False" && columns != "True") return BadNpy(where, "its order cannot be read");
  const auto begin = in.tellg();
  in.seekg(0, std::ios::end);
  const Bytes present(static_cast<int64_t>(in.tellg() - begin));
  const Bytes expected = text ? Bytes(text->element_bytes()) * kernels::ElementCount(*dims)
                              : graph::SizeOf(stored->type, kernels::ElementCount(*dims));
  if (present != expected) {
    return BadNpy(where, StrCat("it holds ", present.value(),
                                " bytes of elements, its shape asks for ", expected.value()));
  }
  in.seekg(begin);
  if (text) {
    if (columns == "True" && dims->size() > 1) return BadNpy(where, "text is in column order");
    PLIMSOLL_ASSIGN(HostTensor strings, kernels::AllocateOnHeap(DataType::kString, *dims));
    if (!ReadNpyText(in, *text, strings)) return BadNpy(where, "its text cannot be read");
    return strings;
  }
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(stored->type, *dims));
  if (!in.read(static_cast<char*>(tensor.data.get()), expected.value())) {
    return BadNpy(where, "its elements cannot be read");
  }
  if (stored->swapped) {
    const bool pair = stored->type == DataType::kComplex64 || stored->type == DataType::kComplex128;
    const auto element = static_cast<size_t>(graph::SizeOf(stored->type, 1).value());
    SwapBytes({static_cast<std::byte*>(tensor.data.get()), static_cast<size_t>(expected.value())},
              pair ? element / 2 : element);
  }
  if (columns == "True" && tensor.dims.size() > 1) return ToRowOrder(tensor);
  return tensor;
}

Status WriteNpy(const std::filesystem::path& file, const HostTensor& tensor) {
  if (tensor.type == DataType::kString) {
    const auto whole = NpyTextFile(tensor);
    if (whole) return WriteFile(file.string(), std::array<std::string_view, 1>{*whole});
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "npy.write",
                 .what = "cannot write the array",
                 .where = file.string(),
                 .why = "a text of it is no UTF-8",
                 .remedy = "let the model give its index"};
  }
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
