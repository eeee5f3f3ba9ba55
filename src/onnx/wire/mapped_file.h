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
  // Bytes of another file, which `storage` keeps mapped.
  static std::shared_ptr<const MappedFile> View(std::span<const std::byte> bytes,
                                                std::shared_ptr<const void> storage);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes,
                      std::shared_ptr<const void> storage = nullptr)
      : bytes_(bytes), storage_(std::move(storage)) {}

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> storage_;  // null: the mapping is its own
};

}  // namespace plimsoll::onnx
