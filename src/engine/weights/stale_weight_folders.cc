#include "engine/weights/stale_weight_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/weights/file_descriptor.h"
#include "engine/weights/weight_names.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

std::vector<std::string> NamesIn(int folder) {
  std::vector<std::string> names;
  // A descriptor of its own: reading a folder moves the place that duplicates share.
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again), &::closedir);
  if (listing == nullptr) {
    ::close(again);
    return names;
  }
  while (const dirent* entry = ::readdir(listing.get())) names.emplace_back(entry->d_name);
  return names;
}

bool IsFileIn(int folder, const std::string& name) {
  struct stat about {};
  return ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(about.st_mode);
}

// The lock of a folder that a dead process left, held; not open when the folder is no such one.
FileDescriptor LockIfStale(int folder) {
  struct stat about {};
  if (::fstat(folder, &about) != 0 || about.st_uid != ::geteuid()) return {};
  if (!IsFileIn(folder, kWeightLockName)) return {};
  FileDescriptor lock(::openat(folder, kWeightLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.open() || ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return {};
  return lock;
}

}  // namespace

void RemoveStaleWeightFolders(int work_folder) {
  for (const std::string& name : NamesIn(work_folder)) {
    if (!IsWeightFolderName(name)) continue;
    const FileDescriptor folder(
        ::openat(work_folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.open()) continue;
    const FileDescriptor lock = LockIfStale(folder.number());
    if (!lock.open()) continue;
    for (const std::string& file : NamesIn(folder.number())) {
      if (!IsWeightFileName(file) || !IsFileIn(folder.number(), file)) continue;
      ::unlinkat(folder.number(), file.c_str(), 0);
    }
    ::unlinkat(folder.number(), kWeightLockName, 0);
    if (::unlinkat(work_folder, name.c_str(), AT_REMOVEDIR) == 0) {
      Log(LogLevel::kInfo, StrCat("removed ", name, ", which a process that ended had left"));
    }
  }
}

}  // namespace plimsoll::engine
