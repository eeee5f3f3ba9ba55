#include "engine/debug/dump_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/unfinished_file.h"
#include "engine/weights/file_descriptor.h"
#include "engine/weights/file_size_signal.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

Error CannotDump(const std::filesystem::path& path, std::string_view step, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "dump.write",
               .what = "cannot write for debugging",
               .where = path.string(),
               .why = StrCat(step, ": ", std::strerror(number)),
               .remedy = full ? "make room there, or name another folder"
                              : "name a folder that you may write to"};
}

constexpr mode_t kDumpMode = 0644;

int WriteAll(int file, std::span<const std::byte> bytes) {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

// A new name for a file, if nothing has that name. Some file systems have no such move.
int MoveToNewName(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (access(to, F_OK) == 0) return EEXIST;
  return std::rename(from, to) == 0 ? 0 : errno;
}

}  // namespace

Status WriteNewFile(const std::filesystem::path& path,
                    std::span<const std::span<const std::byte>> parts) {
  const std::string partial = path.string() + ".partial";
  const UnfinishedFile removable(partial);
  const FileDescriptor file(
      open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kDumpMode));
  if (!file.open()) return CannotDump(path, "opening it", errno);
  const char* step = "writing";
  int number = 0;
  for (const auto part : parts) {
    if (number == 0) number = WriteAll(file.number(), part);
  }
  if (number == 0) {
    step = "naming it";
    number = MoveToNewName(partial.c_str(), path.c_str());
  }
  if (number == 0) return {};
  unlink(partial.c_str());
  return CannotDump(path, step, number);
}

Status WriteNewFile(const std::filesystem::path& path, std::string_view text) {
  const std::array parts = {std::as_bytes(std::span(text))};
  return WriteNewFile(path, parts);
}

Status AppendToFile(const std::filesystem::path& path, std::string_view text) {
  const FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kDumpMode));
  if (!file.open()) return CannotDump(path, "opening it", errno);
  const int number = WriteAll(file.number(), std::as_bytes(std::span(text)));
  if (number == 0) return {};
  return CannotDump(path, "writing", number);
}

Result<std::filesystem::path> MakeNewFolder(const std::filesystem::path& path) {
  std::error_code error;
  if (!path.parent_path().empty()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return CannotDump(path.parent_path(), "making the folder", error.value());
  std::filesystem::path made = path;
  for (int i = 1; !std::filesystem::create_directory(made, error); ++i) {
    // What is there already is no error of create_directory when it is a folder.
    if (error && error != std::errc::file_exists) {
      return CannotDump(made, "making the folder", error.value());
    }
    made = path.string() + StrCat(".", i);
  }
  return made;
}

std::string SafeFileName(std::string_view name) {
  constexpr size_t kLongest = 80;
  std::string safe;
  for (const char c : name) {
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (stays) {
      safe += c;
    } else if (safe.empty() || safe.back() != '_') {
      safe += '_';
    }
  }
  if (safe.empty()) return "_";
  if (safe.size() <= kLongest) return safe;
  std::array<char, 20> hash{};
  std::snprintf(hash.data(), hash.size(), "-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(name.data(), name.size())));
  return safe.substr(0, kLongest) + hash.data();
}

std::string UnusedNames::Take(const std::string& name) {
  const int before = taken_[name]++;
  return before == 0 ? name : StrCat(name, ".", before);
}

std::string TimeStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &parts);
  return text.data();
}

}  // namespace plimsoll::engine
