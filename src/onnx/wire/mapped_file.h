#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// The bytes of a file, mapped read-only for as long as the object lives. Mapping costs no memory:
// a page becomes resident when it is first read.
//
// An empty file gives an empty span. A file that is missing, unreadable, or no regular file is an
// error (kBadFile) that says which. Thread-safe: nothing changes after Open. Whoever shortens the
// file while it is mapped makes later reads fault, as with any mapping.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& file);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace plimsoll::onnx
