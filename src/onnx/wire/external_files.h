#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/wire/mapped_file.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// The files next to a model that hold its weights. Each is mapped once, however many tensors lie in
// it, and shared by them. Not thread-safe: one reader, one object.
class ExternalFiles {
 public:
  // An empty `folder`: there are none, every file is missing.
  ExternalFiles(const Source& source, std::filesystem::path folder)
      : source_(source), folder_(std::move(folder)) {}

  // Those of the model in `file`. Where the model is a link, data next to the link may be a link to
  // the folder that holds the model itself, as in caches of downloads.
  static ExternalFiles NextTo(const Source& source, const std::filesystem::path& file);

  // From now on `file` is what this location means, wherever the folder is.
  void Give(std::string location, std::shared_ptr<const MappedFile> file) {
    open_[std::move(location)] = std::move(file);
  }

  std::vector<ByteSpan> mapped() const;  // all that was opened

  struct Slice {
    std::string file;  // relative to the model
    bool missing = false;
    Bytes offset;
    ByteSpan bytes;
    std::shared_ptr<const void> storage;
  };
  using Entries = std::vector<std::pair<std::string_view, std::string_view>>;

  // The bytes that a tensor's entries (location, offset, length) name. A location that leads out of
  // the folder, by its text or by a link, is an error (but see NextTo), and so are bytes beyond the
  // end of the file or fewer or more of them than `expected`. `where` is how errors name the
  // tensor.
  Result<Slice> Find(const Entries& entries, Bytes expected, const std::string& where);

 private:
  // Null: the file is not there.
  Result<std::shared_ptr<const MappedFile>> Open(std::string_view location,
                                                 const std::string& where);

  const Source& source_;
  std::filesystem::path folder_;
  std::filesystem::path linked_folder_;  // resolved; empty where there is none
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> open_;
};

}  // namespace plimsoll::onnx
