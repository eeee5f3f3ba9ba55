#include "cli/inputs/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/unfinished_file.h"
#include "engine/weights/file_descriptor.h"
#include "engine/weights/file_size_signal.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr mode_t kMode = 0666;

Error CannotWrite(const std::string& path, int number) {
  return Error{ErrorKind::kRunFailed,   "file.write",
               "cannot write the file", path,
               std::strerror(number),   "check the folder, its permissions and the disk's space"};
}

// The system's error number, or 0.
int WriteAll(int file, std::span<const std::string_view> parts) {
  const engine::FileSizeSignalBlocked blocked;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t written = write(file, part.data(), part.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written < 0 ? errno : ENOSPC;
      part.remove_prefix(static_cast<size_t>(written));
    }
  }
  return 0;
}

int WriteInto(const std::string& path, std::span<const std::string_view> parts) {
  const engine::FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.open() ? WriteAll(file.number(), parts) : errno;
}

// A new file next to the old one, whose name and mode it takes once it is whole.
int Replace(const std::string& path, const struct stat* old,
            std::span<const std::string_view> parts) {
  const std::string unfinished = StrCat(path, ".", getpid(), ".unfinished");
  const UnfinishedFile removable(unfinished);
  const engine::FileDescriptor file(
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file.open()) return errno;
  int number = WriteAll(file.number(), parts);
  if (number == 0 && old != nullptr && fchmod(file.number(), old->st_mode & 07777) != 0) {
    number = errno;
  }
  if (number == 0 && std::rename(unfinished.c_str(), path.c_str()) != 0) number = errno;
  if (number != 0) unlink(unfinished.c_str());
  return number;
}

}  // namespace

std::string LinkTarget(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(path, failed);
  if (!failed) return whole.string();
  const std::filesystem::path leads_to = std::filesystem::read_symlink(path, failed);
  if (failed) return path;
  return (std::filesystem::path(path).parent_path() / leads_to).string();
}

Status WriteFile(const std::string& path, std::span<const std::string_view> parts) {
  if (path == "-") {
    std::cout.flush();
    const int number = WriteAll(STDOUT_FILENO, parts);
    return number == 0 ? Status() : CannotWrite("standard output", number);
  }
  struct stat there {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) return CannotWrite(path, EISDIR);
  const bool special = exists && !S_ISREG(there.st_mode);
  const int number = special ? WriteInto(path, parts)
                             : Replace(LinkTarget(path), exists ? &there : nullptr, parts);
  if (number == 0) return {};
  return CannotWrite(path, number);
}

}  // namespace plimsoll::cli
