#include "onnx/wire/external_files.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

namespace fs = std::filesystem;

// What the text of a location gives away; links are looked at later.
std::string Objection(std::string_view location) {
  if (location.empty()) return "it names no file";
  if (location.find('\0') != std::string_view::npos) return "its name holds a zero byte";
  const fs::path path(location);
  if (path.is_absolute()) return "it is an absolute path";
  if (std::find(path.begin(), path.end(), fs::path("..")) != path.end()) return "it holds '..'";
  return "";
}

bool IsInside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

}  // namespace

std::vector<ByteSpan> ExternalFiles::mapped() const {
  std::vector<ByteSpan> all;
  for (const auto& [location, file] : open_) {
    if (file != nullptr) all.push_back(file->bytes());
  }
  return all;
}

ExternalFiles ExternalFiles::NextTo(const Source& source, const fs::path& file) {
  const fs::path folder = file.parent_path();
  ExternalFiles files(source, folder.empty() ? fs::path(".") : folder);
  std::error_code failed;
  if (fs::is_symlink(file, failed)) {
    const fs::path model = fs::canonical(file, failed);
    if (!failed) files.linked_folder_ = model.parent_path();
  }
  return files;
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::Open(std::string_view location,
                                                              const std::string& where) {
  if (const auto found = open_.find(location); found != open_.end()) return found->second;
  std::string objection = Objection(location);
  std::shared_ptr<const MappedFile> mapped;
  if (objection.empty() && !folder_.empty()) {
    // Only resolved paths are opened, so that a link cannot lead anywhere else in between.
    std::error_code failed;
    const fs::path folder = fs::canonical(folder_, failed);
    const fs::path file = failed ? fs::path() : fs::canonical(folder / location, failed);
    if (failed) {
      const bool gone = failed == std::errc::no_such_file_or_directory;
      if (!gone) objection = failed.message();
    } else if (!IsInside(file, folder) &&
               (linked_folder_.empty() || !IsInside(file, linked_folder_))) {
      objection = StrCat("a link leads out of the folder to ", Quote(file.string()));
    } else {
      PLIMSOLL_ASSIGN(mapped, MappedFile::Open(file));
    }
  }
  if (!objection.empty()) {
    return source_.BadFile("onnx.external_path", where,
                           StrCat("its data lies in ", Quote(location), ": ", objection),
                           "external data must lie in the model's folder or below: copy it there");
  }
  open_.emplace(location, mapped);
  return mapped;
}

Result<ExternalFiles::Slice> ExternalFiles::Find(const Entries& entries, Bytes expected,
                                                 const std::string& where) {
  std::string_view location;
  Bytes offset;
  std::optional<Bytes> length;
  for (const auto& [key, value] : entries) {
    if (key == "location") location = value;
    if (key != "offset" && key != "length") continue;
    const auto number = ParseInteger(value);
    if (!number || *number < 0) {
      return source_.BadFile("onnx.external_range", where,
                             StrCat("the ", key, " ", Quote(value), " of its data is no size"));
    }
    if (key == "offset") offset = Bytes(*number);
    if (key == "length") length = Bytes(*number);
  }
  if (length && *length != expected) {
    return source_.BadFile("onnx.external_range", where,
                           StrCat("its data has ", length->value(), " bytes, but its type and ",
                                  "dimensions need ", expected.value()));
  }
  PLIMSOLL_ASSIGN(const std::shared_ptr<const MappedFile> file, Open(location, where));
  Slice slice{std::string(location), file == nullptr, offset, {}, file};
  if (slice.missing) return slice;
  const Bytes size(static_cast<int64_t>(file->bytes().size()));
  if (offset > size || expected > size - offset) {
    return source_.BadFile(
        "onnx.external_range", where,
        StrCat("its data should be bytes ", offset.value(), " to ", (offset + expected).value(),
               " of ", Quote(location), ", which has ", size.value()),
        "the data file is cut short, or belongs to another model");
  }
  slice.bytes = file->bytes().subspan(static_cast<size_t>(offset.value()),
                                      static_cast<size_t>(expected.value()));
  return slice;
}

}  // namespace plimsoll::onnx
