#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/unfinished_file.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// A file written next to another, PATH.partial, that takes its place in one move: whoever looks at
// PATH, also after a crash of this process or of the machine, finds the old file or the new one.
// What an earlier crash left as PATH.partial is written over; while another process writes it,
// Begin fails. Without Commit nothing has happened, and PATH.partial is gone.
//
// One thread. Errors have code file.write and name the path, the step and the system's reason.
class FileReplacement {
 public:
  static Result<FileReplacement> Begin(std::string path);
  // Waits a moment, half a second at most, while another process writes it.
  static Result<FileReplacement> BeginWhenFree(const std::string& path);
  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement& operator=(FileReplacement&&) = delete;
  ~FileReplacement();

  Status WriteAt(uint64_t place, std::span<const std::byte> bytes);
  Status Commit();
  // The same without waiting for the disk: a crash of the machine may leave a file with other
  // bytes, which its readers must be able to tell.
  Status CommitUnflushed();

 private:
  FileReplacement(std::string path, int file)
      : path_(std::move(path)), file_(file), removable_(Partial()) {}
  std::string Partial() const { return path_ + ".partial"; }

  std::string path_;
  int file_ = -1;  // -1: nothing to give up
  UnfinishedFile removable_;
};

}  // namespace plimsoll::engine
