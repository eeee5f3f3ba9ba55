#include "engine/weights/file_replacement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "engine/weights/file_size_signal.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

Error Failed(const std::string& path, const char* step, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "file.write",
               .what = "cannot write the file; the old one is as it was",
               .where = path,
               .why = StrCat(step, ": ", std::strerror(number)),
               .remedy = full ? "make room there, or write to another folder"
                              : "write to a folder that exists and that you may write to"};
}

// Whether the open file is still what the path leads to.
bool IsAt(int file, const std::string& path) {
  struct stat open_one {};
  struct stat at_path {};
  return fstat(file, &open_one) == 0 && lstat(path.c_str(), &at_path) == 0 &&
         open_one.st_ino == at_path.st_ino && open_one.st_dev == at_path.st_dev;
}

// A renamed file is on the disk once its folder is.
Status SyncFolder(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const int folder =
      open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return Failed(path, "opening its folder", errno);
  const int synced = fsync(folder);
  const int number = errno;
  close(folder);
  // Some file systems have no such call for folders, and need none.
  if (synced != 0 && number != EINVAL) return Failed(path, "flushing its folder", number);
  return {};
}

}  // namespace

Result<FileReplacement> FileReplacement::Begin(std::string path) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "file.write",
                 .what = "cannot write the file",
                 .where = path,
                 .why = "there is something else of that name",
                 .remedy = "name a file"};
  }
  constexpr mode_t kMode = 0644;
  const std::string partial = path + ".partial";
  const int file = open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (file < 0) return Failed(partial, "opening it", errno);
  if (flock(file, LOCK_EX | LOCK_NB) != 0 || !IsAt(file, partial)) {
    close(file);
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "file.busy",
                 .what = "cannot write the file; the old one is as it was",
                 .where = partial,
                 .why = "somebody else is writing it",
                 .remedy = "try again when they are done, or write to another name"};
  }
  FileReplacement replacement(std::move(path), file);
  if (ftruncate(file, 0) != 0) return Failed(partial, "emptying it", errno);
  return replacement;
}

Result<FileReplacement> FileReplacement::BeginWhenFree(const std::string& path) {
  constexpr int kMostTries = 50;
  constexpr auto kPause = std::chrono::milliseconds(10);
  for (int tries = 1;; ++tries) {
    Result<FileReplacement> begun = Begin(path);
    if (begun.ok() || begun.error().code != "file.busy" || tries == kMostTries) return begun;
    std::this_thread::sleep_for(kPause);
  }
}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      removable_(std::move(other.removable_)) {}

FileReplacement::~FileReplacement() {
  if (file_ < 0) return;
  unlink(Partial().c_str());
  close(file_);
}

Status FileReplacement::WriteAt(uint64_t place, std::span<const std::byte> bytes) {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed(path_, "writing", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
    place += static_cast<uint64_t>(written);
  }
  return {};
}

Status FileReplacement::Commit() {
  if (fsync(file_) != 0) return Failed(path_, "flushing", errno);
  PLIMSOLL_TRY(CommitUnflushed());
  return SyncFolder(path_);
}

Status FileReplacement::CommitUnflushed() {
  if (std::rename(Partial().c_str(), path_.c_str()) != 0) {
    return Failed(path_, "renaming", errno);
  }
  close(std::exchange(file_, -1));
  return {};
}

}  // namespace plimsoll::engine
